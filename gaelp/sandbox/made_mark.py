"""A mark beside a world's file that it was made, so that an emptied or lost file is not replaced by a new world.

SQLite opens an empty file as a new database, and drops the -wal beside it. A start that was killed leaves an empty file
as well; it has no mark, which is written after the first row.
"""

from pathlib import Path

from gaelp.config.private_files import make_private_file
from gaelp.errors import GaelpError
from gaelp.sandbox.world_schema import STORE, WORLD_NAME

__all__ = ["check_not_lost", "is_marked", "lost_world", "mark_made", "unmark"]

_MARK_NAME = f"{WORLD_NAME}.made"


def mark_made(folder: Path) -> None:
    """Note that the world of this folder is stored."""
    make_private_file(folder / _MARK_NAME)


def unmark(folder: Path) -> None:
    """Forget it, before the world is deleted."""
    (folder / _MARK_NAME).unlink(missing_ok=True)


def is_marked(folder: Path) -> bool:
    """Whether a world was made in this folder."""
    return (folder / _MARK_NAME).exists()


def check_not_lost(folder: Path) -> None:
    """Refuse a world whose file is empty or gone; the file is not opened, for that would change what is beside it."""
    if not is_marked(folder):
        return
    path = folder / WORLD_NAME
    if not path.exists():
        raise lost_world(folder, "the file is gone")
    if path.stat().st_size == 0:
        raise lost_world(folder, "the file is empty")


def lost_world(folder: Path, problem: str) -> GaelpError:
    """The error for a world that was made here and is no longer in its file."""
    return STORE.damaged(
        f"{STORE.title} in {folder / WORLD_NAME}: {problem}, and a world was made in it: {STORE.meanwhile}."
        f" {STORE.if_damaged}"
    )
