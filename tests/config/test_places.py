import os

import pytest

from gaelp.config.places import absolute, config_folders, find_file, find_folder, names_in, repository_root, shown
from gaelp.errors import ConfigError, DataError


def test_the_repository_holds_the_package_and_its_configs():
    assert (repository_root() / "gaelp" / "errors.py").is_file()
    assert (repository_root() / "configs" / "base.yaml").is_file()


def test_shipped_configs_are_found_from_any_folder(here):
    assert find_file("quick-test") == repository_root() / "configs" / "quick-test.yaml"
    assert {"base", "development", "production", "quick-test", "staging"} <= set(names_in())


def test_a_file_of_the_current_folder_wins_over_the_shipped_one(here):
    own = here / "configs" / "quick-test.yaml"
    own.parent.mkdir()
    own.write_text("run: {seed: 1}\n")
    assert find_file("quick-test") == own


def test_the_repository_is_searched_once(monkeypatch):
    monkeypatch.chdir(repository_root())
    assert config_folders() == (repository_root() / "configs",)


def test_a_path_is_taken_from_the_current_folder_only(here):
    (here / "my.yaml").write_text("run: {seed: 1}\n")
    assert find_file("my.yaml") == here / "my.yaml"
    with pytest.raises(ConfigError, match=r"configs/quick-test.yaml"):
        find_file("configs/quick-test.yaml")


def test_what_was_searched_and_what_exists_is_told(here):
    with pytest.raises(ConfigError) as caught:
        find_file("quik-test")
    message = str(caught.value)
    assert "searched: configs/quik-test.yaml, " in message
    assert (repository_root() / "configs" / "quik-test.yaml").as_posix() in message
    assert "Did you mean quick-test?" in message


@pytest.mark.parametrize("name", ["", "  ", "nothing", "no/such/file.yaml", "~nobody-here/x.yaml", "x" * 5000, "a\0b"])
def test_a_name_that_leads_nowhere_is_refused(here, name):
    with pytest.raises(DataError):
        find_file(name, "markets", error=DataError)


def test_a_folder_is_no_file_and_a_file_no_folder(here):
    (here / "configs" / "sets" / "a").mkdir(parents=True)
    (here / "configs" / "sets" / "b.yaml").write_text("x: 1\n")
    assert find_folder("a", "sets") == here / "configs" / "sets" / "a"
    assert names_in("sets", folders=True) == ("a",)
    with pytest.raises(ConfigError, match="is a folder; allowed: a file"):
        find_file("./configs/sets/a")
    with pytest.raises(ConfigError, match="is a file; allowed: a folder"):
        find_folder("./configs/sets/b.yaml")


def test_paths_are_shown_short_below_the_current_folder(here):
    assert shown(here / "a" / "b.yaml") == "a/b.yaml"
    assert shown(here.parent / "b.yaml") == (here.parent / "b.yaml").as_posix()


def test_the_users_folder_is_meant_by_a_tilde(here, monkeypatch):
    monkeypatch.setenv("HOME", str(here))
    assert absolute("~/x") == here / "x"


def test_a_path_to_nowhere_is_compared_with_names_by_its_own_name(here):
    (here / "configs" / "markets").mkdir(parents=True)
    for name in ("near", "nearby"):
        (here / "configs" / "markets" / f"{name}.yaml").write_text("x: 1\n")
    with pytest.raises(ConfigError, match=r"Did you mean near\?"):
        find_file("near.yaml", "markets")
    with pytest.raises(ConfigError, match=r"Did you mean nearby\?"):
        find_file("old/nearby.yml", "markets")


def test_only_folders_that_suit_are_offered(here):
    for name in ("mine", "other"):
        (here / "configs" / "sets" / name).mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"Known names: mine\.$"):
        find_folder("nosuch", "sets", suits=lambda folder: folder.name == "mine")


def test_where_the_current_folder_was_deleted_shipped_files_and_absolute_paths_are_still_found(here):
    (here / "gone").mkdir()
    os.chdir(here / "gone")
    (here / "gone").rmdir()
    assert config_folders() == (repository_root() / "configs",)
    assert find_file("quick-test") == repository_root() / "configs" / "quick-test.yaml"
    assert (absolute(here), shown(here)) == (here, here.as_posix())
    with pytest.raises(ConfigError, match="current folder, which is gone"):
        absolute("here.yaml")
