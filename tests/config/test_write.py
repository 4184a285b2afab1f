import os

import pytest

from gaelp.config.base import Frozen
from gaelp.config.load import load_model
from gaelp.config.write import write_models
from gaelp.errors import ConfigError


class Note(Frozen):
    text: str
    numbers: tuple[float, ...] = ()


NOTE = Note(text="no: äöü, 1e5", numbers=(1e-7, 0.1, 1e22))


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("name", ["note.yaml", "deep/er/note.yaml"])
def test_a_written_model_loads_as_it_was(tmp_path, name):
    write_models({tmp_path / name: NOTE})
    assert load_model(Note, tmp_path / name) == NOTE


def test_json_is_written_as_json(tmp_path):
    write_models({tmp_path / "note.json": NOTE})
    assert Note.model_validate_json((tmp_path / "note.json").read_text()) == NOTE


def test_an_existing_file_is_replaced_and_no_draft_stays(tmp_path):
    (tmp_path / "note.yaml").write_text("old")
    write_models({tmp_path / "note.yaml": NOTE})
    assert names(tmp_path) == ["note.yaml"]
    assert load_model(Note, tmp_path / "note.yaml") == NOTE


def test_an_unknown_suffix_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ConfigError, match=r"saw suffix '\.txt'; allowed: \.yaml or \.json"):
        write_models({tmp_path / "good.yaml": NOTE, tmp_path / "bad.txt": NOTE})
    assert names(tmp_path) == []


def test_a_folder_in_the_way_of_one_file_stops_all(tmp_path):
    (tmp_path / "note.json").mkdir()
    with pytest.raises(ConfigError, match=r"note\.json is a folder"):
        write_models({tmp_path / "good.yaml": NOTE, tmp_path / "note.json": NOTE})
    assert names(tmp_path) == ["note.json"]


def test_when_one_file_cannot_be_drafted_the_others_stay_as_they_were(tmp_path):
    (tmp_path / "good.yaml").write_text("old")
    (tmp_path / "blocked").write_text("a file, no folder")
    with pytest.raises(ConfigError, match="cannot be written"):
        write_models({tmp_path / "good.yaml": NOTE, tmp_path / "blocked" / "note.yaml": NOTE})
    assert names(tmp_path) == ["blocked", "good.yaml"]
    assert (tmp_path / "good.yaml").read_text() == "old"


def test_a_failure_while_writing_leaves_no_draft(tmp_path, monkeypatch):
    def full(_handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigError, match="No space left on device"):
        write_models({tmp_path / "note.yaml": NOTE})
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", ["1e3", "4E5", "null", "true", "123", "0x10", "1_000", ".5", "plain"])
def test_a_text_that_looks_like_something_else_is_read_back_as_the_text(tmp_path, name):
    path = tmp_path / "named.yaml"
    write_models({path: Note(text=name)})
    assert load_model(Note, path) == Note(text=name)


def test_a_new_file_is_for_its_owner_alone_and_a_replaced_one_keeps_its_rights(tmp_path):
    path = tmp_path / "note.json"
    write_models({path: NOTE})
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    write_models({path: NOTE})
    assert path.stat().st_mode & 0o777 == 0o640
