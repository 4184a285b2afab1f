import os
from pathlib import Path

import pytest

from gaelp.config import load_settings
from gaelp.config.home import check_home, existing_part, require_home
from gaelp.errors import ConfigError


def test_a_home_that_can_be_made_is_right_and_not_made(here):
    check_home(Path("a/b/.gaelp"))
    assert list(here.iterdir()) == []


def test_a_home_that_is_there_is_right_and_left_as_it_was(here):
    (here / ".gaelp").mkdir()
    check_home(Path(".gaelp"))
    assert list((here / ".gaelp").iterdir()) == []


def test_a_home_below_a_file_is_refused(here):
    (here / "file").write_text("")
    for home in ("file", "file/below"):
        with pytest.raises(ConfigError, match=f"home: '{home}' cannot be written: Not a directory.*GAELP_HOME"):
            check_home(Path(home))


def test_a_home_where_the_system_forbids_writing_is_refused():
    with pytest.raises(ConfigError, match="cannot be written"):
        check_home(Path("/proc/gaelp"))


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind the superuser")
@pytest.mark.parametrize("mode", [0o000, 0o500, 0o300])
def test_a_home_without_permission_is_refused(here, mode):
    folder = here / "locked"
    folder.mkdir(mode=mode)
    for home in (folder, folder / "below"):
        with pytest.raises(ConfigError, match="cannot be written: Permission denied"):
            check_home(home)


def test_the_existing_part_of_a_home_is_the_closest_folder(here):
    assert existing_part(Path("a/b")) == here
    (here / "a").mkdir()
    assert existing_part(Path("a/b")) == here / "a"


def test_a_home_that_does_not_exist_is_named_with_the_setting_that_names_it(here):
    with pytest.raises(ConfigError, match=rf"there is no home at {here}/hmoe, which GAELP_HOME names: .* GAELP_HOME"):
        require_home(load_settings(environ={"GAELP_HOME": "hmoe"}))
    (here / "hmoe").mkdir()
    require_home(load_settings(environ={"GAELP_HOME": "hmoe"}))
