import fcntl
import os
from pathlib import Path

import pytest

from gaelp.config.private_files import close_to_others, make_private_file, make_private_folder


def mode_of(path):
    return path.stat().st_mode & 0o777


def test_what_is_made_is_for_its_owner_alone(tmp_path):
    home = tmp_path / "above" / "home"
    make_private_folder(home)
    make_private_file(home / "books.db")
    assert (mode_of(home), mode_of(home / "books.db")) == (0o700, 0o600)


def test_what_is_there_keeps_its_rights_and_what_it_holds(tmp_path):
    (tmp_path / "home").mkdir(mode=0o750)
    file = tmp_path / "home" / "books.db"
    file.write_text("kept")
    file.chmod(0o640)
    make_private_folder(tmp_path / "home")
    make_private_file(file)
    assert (mode_of(tmp_path / "home"), mode_of(file), file.read_text()) == (0o750, 0o640, "kept")


def test_a_lock_that_this_process_holds_is_not_lost(tmp_path):
    file = tmp_path / "books.db"
    with file.open("wb") as held:
        fcntl.lockf(held, fcntl.LOCK_EX)
        make_private_file(file)
        child = os.fork()
        if child == 0:  # pragma: no cover - another process
            with file.open("ab") as other:
                try:
                    fcntl.lockf(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    os._exit(0)
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o770, 0o701])
def test_a_folder_of_ours_that_is_open_is_closed_once(tmp_path, mode):
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(mode)
    assert [close_to_others(home), close_to_others(home)] == [True, False]
    assert mode_of(home) == 0o700


def test_what_all_users_share_or_somebody_else_owns_stays_as_it_is(tmp_path, monkeypatch):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    other = tmp_path / "other"
    other.mkdir()
    other.chmod(0o755)
    before = mode_of(Path("/"))
    assert not close_to_others(shared)
    assert not close_to_others(Path("/"))
    assert not close_to_others(tmp_path / "missing")
    monkeypatch.setattr(os, "getuid", lambda: other.stat().st_uid + 1)
    assert not close_to_others(other)
    assert (mode_of(shared), mode_of(other), mode_of(Path("/"))) == (0o777, 0o755, before)
