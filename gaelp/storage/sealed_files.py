"""Keep readers of raw files out of a store that has a sealed window, by a mark beside the files."""

from collections.abc import Iterable
from pathlib import Path, PurePath

from gaelp.config.write import write_texts
from gaelp.errors import Refused

__all__ = ["MARK_NAME", "mark_sealed", "refuse_sealed_files"]

MARK_NAME = "sealed.txt"
_COMMITS = "commits"  # the folder in which a Parquet store keeps what was appended
_TEXT = """This store has rows of a sealed window, which only a ticket of the gate opens (docs/history-data.md).
Programs that read its files directly are refused; `gaelp.jobs.stored_input.export_tables` writes the other rows.
"""


def mark_sealed(folder: Path) -> None:
    """Mark a store's folder; doing it again changes nothing."""
    if folder.is_dir() and not (folder / MARK_NAME).exists():
        write_texts({folder / MARK_NAME: _TEXT})


def refuse_sealed_files(paths: Iterable[str | Path]) -> None:
    """Refuse files that are part of a store with a sealed window."""
    for folder in {_store_folder(PurePath(path)) for path in paths} - {None}:
        if folder is not None and Path(folder, MARK_NAME).exists():
            raise Refused(
                f"{folder} has rows of a sealed window, and its files would be read past the seal; allowed: files that"
                " `gaelp.jobs.stored_input.export_tables` writes from the store, which leaves those rows out"
            )


def _store_folder(path: PurePath) -> PurePath | None:
    """The folder of the store that a file or pattern belongs to, None outside of any."""
    parts = path.parts
    return PurePath(*parts[: parts.index(_COMMITS)]) if _COMMITS in parts[1:] else None
