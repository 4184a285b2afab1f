"""A world whose file was emptied or lost is refused and not replaced; a start that was killed early is repeated."""

import sqlite3

import pytest

from gaelp.database import DatabaseDamaged
from gaelp.sandbox.made_mark import is_marked, unmark
from gaelp.sandbox.world_reset import begin_again, has_world
from gaelp.sandbox.world_schema import WORLD_NAME


def _empty(path):
    path.write_bytes(b"")


def _remove(path):
    path.unlink()


def _drop_row(path):
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM world")
    connection.close()


@pytest.fixture
def folder(worlds, small_spec, tmp_path):
    """The folder of a world that was closed."""
    worlds("mine", small_spec).close()
    return tmp_path / "mine"


@pytest.mark.parametrize("with_spec", [False, True])
@pytest.mark.parametrize(
    ("lose", "problem"), [(_empty, "is empty"), (_remove, "file is gone"), (_drop_row, "row is gone")]
)
def test_a_lost_world_is_refused_until_it_is_reset(worlds, small_spec, folder, lose, problem, with_spec):
    lose(folder / WORLD_NAME)
    for _ in range(2):  # the first refusal leaves nothing that a second start would continue
        with pytest.raises(DatabaseDamaged, match=rf"{problem}, and a world was made in it.*gaelp sandbox reset"):
            worlds("mine", small_spec if with_spec else None)
    assert has_world(folder)
    begin_again(folder, spec=small_spec)
    assert worlds("mine").now() == small_spec.start


def test_a_refused_start_leaves_the_log_of_an_emptied_file_as_it_was(worlds, folder):
    _empty(folder / WORLD_NAME)
    log = folder / f"{WORLD_NAME}-wal"
    log.write_bytes(b"the last transactions")
    with pytest.raises(DatabaseDamaged):
        worlds("mine")
    assert log.read_bytes() == b"the last transactions"
    assert (folder / WORLD_NAME).read_bytes() == b""


def test_a_start_that_was_killed_before_its_world_was_stored_is_repeated(worlds, small_spec, tmp_path):
    folder = tmp_path / "early"
    folder.mkdir()
    _empty(folder / WORLD_NAME)
    assert not has_world(folder)
    assert worlds("early", small_spec).now() == small_spec.start


def test_a_world_without_a_mark_gets_one_when_it_is_opened(worlds, folder):
    unmark(folder)
    assert has_world(folder)
    worlds("mine").close()
    assert is_marked(folder)
