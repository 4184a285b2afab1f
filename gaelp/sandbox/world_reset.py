"""Begin a sandbox again while no process has it open; the only way out of a damaged file."""

from contextlib import closing
from pathlib import Path

from gaelp.database import DatabaseDamaged, has_store, open_database
from gaelp.sandbox.made_mark import is_marked, unmark
from gaelp.sandbox.spec import SandboxSpec, load_sandbox_spec
from gaelp.sandbox.world import claimed_folder, open_world
from gaelp.sandbox.world_rows import read_world
from gaelp.sandbox.world_schema import STORE, WORLD_NAME

__all__ = ["begin_again", "has_world"]

_FILES = (WORLD_NAME, f"{WORLD_NAME}-wal", f"{WORLD_NAME}-shm")


def has_world(folder: Path) -> bool:
    """Whether there is a world in a folder; a damaged or lost one counts, one whose making was interrupted does not."""
    if is_marked(folder):
        return True
    path = folder / WORLD_NAME
    try:
        if not has_store(path, STORE):
            return False
        with closing(open_database(path, STORE, create=False)) as database, database.reading() as connection:
            return read_world(connection) is not None
    except DatabaseDamaged:
        return True


def begin_again(folder: Path, *, spec: SandboxSpec | None = None, seed: int | None = None) -> None:
    """Replace the world by a new one: from this spec, else from its own, else from the default if it cannot be read."""
    fresh = spec or _stored_spec(folder) or load_sandbox_spec()
    with claimed_folder(folder):
        unmark(folder)
        for name in _FILES:
            (folder / name).unlink(missing_ok=True)
    open_world(folder, fresh if seed is None else fresh.model_copy(update={"seed": seed})).close()


def _stored_spec(folder: Path) -> SandboxSpec | None:
    try:
        world = open_world(folder) if has_world(folder) else None
    except DatabaseDamaged:
        return None
    if world is None:
        return None
    world.close()
    return world.spec
