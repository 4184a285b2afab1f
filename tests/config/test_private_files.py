import fcntl
import os

from gaelp.config.private_files import make_private_file, make_private_folder


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
