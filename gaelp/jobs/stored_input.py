"""Give stored tables to a job as Parquet files: those of a store's own folder, or the matching rows of any store."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq

from gaelp.storage.schema import TableName
from gaelp.storage.sealed_files import refuse_sealed_files
from gaelp.storage.store import EpisodeStore, RowFilter

__all__ = ["export_tables", "table_pattern"]

_COMMITS = "commits"  # the folder in which a Parquet store keeps what was appended


def export_tables(
    store: EpisodeStore, folder: Path, tables: Sequence[TableName], rows: RowFilter | None = None
) -> dict[TableName, int]:
    """Write the matching rows of some tables as FOLDER/<table>/part-<number>.parquet; returns the rows of each.

    Any store can be read so, and only the rows of a run, while others write to it.
    """
    written = {}
    for name in tables:
        place = folder / name.value
        place.mkdir(parents=True, exist_ok=True)
        for old in place.glob("part-*.parquet"):
            old.unlink()
        written[name] = 0
        for number, table in enumerate(store.scan(name, rows)):
            pq.write_table(table, place / f"part-{number:06d}.parquet", compression="zstd")
            written[name] += table.num_rows
    return written


def table_pattern(folder: Path, table: TableName) -> str | None:
    """The pattern of a table's Parquet files below a folder of tables or of a Parquet store; None if there are none.

    Refused for a store that has a sealed window: `export_tables` writes what may be read of it.
    """
    if (folder / _COMMITS).is_dir():
        refuse_sealed_files([folder / _COMMITS])
        return (
            f"{folder}/{_COMMITS}/*/{table.value}/*.parquet"
            if _has_any(folder, f"{_COMMITS}/*/{table.value}/*")
            else None
        )
    return f"{folder}/{table.value}/**.parquet" if _has_any(folder, f"{table.value}/**/*") else None


def _has_any(folder: Path, pattern: str) -> bool:
    return any(folder.glob(f"{pattern}.parquet"))
