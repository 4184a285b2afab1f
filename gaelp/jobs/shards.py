"""Shards of a job: days and campaign hashes, and the fingerprint that says whether a finished shard is still valid."""

import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from gaelp.errors import BadInput, DataError

__all__ = ["ALL_DAYS", "InputFile", "Shard", "campaign_hashes", "days_of", "fingerprint", "split_into_shards"]

ALL_DAYS = "all-days"  # of shards that need a campaign's whole history


class InputFile(NamedTuple):
    """A Parquet file of a stored table: its rows, and the days of `at` from its statistics (None: unknown)."""

    table: str
    path: str
    bytes: int
    modified: float
    rows: int = 0
    first_day: date | None = None
    last_day: date | None = None

    def covers(self, day: date) -> bool:
        """Whether it may hold rows of a day."""
        return (self.first_day is None or self.first_day <= day) and (self.last_day is None or day <= self.last_day)


class Shard(NamedTuple):
    """A part of a job that is computed and written as a whole: a day, or all of them, and a hash of the campaign."""

    day: str
    campaign_hash: int

    @property
    def name(self) -> str:
        """As in file names."""
        return f"{self.day}-{self.campaign_hash:03d}"


def days_of(files: Sequence[InputFile]) -> tuple[date, ...]:
    """The days that the files may hold, in order; BadInput if a file does not say."""
    days: set[date] = set()
    for file in files:
        if file.first_day is None or file.last_day is None:
            raise BadInput(
                f"{file.path} has no statistics of its column `at`, so its days are unknown:"
                " write it with statistics, as pyarrow does by default"
            )
        days.update(
            file.first_day + timedelta(days=offset) for offset in range((file.last_day - file.first_day).days + 1)
        )
    return tuple(sorted(days))


def fingerprint(job: str, settings: Mapping[str, object], files: Sequence[InputFile]) -> str:
    """A hash of what a shard was computed from: the job with its version, its settings, and its input files."""
    content = {
        "job": job,
        "settings": settings,
        "files": sorted([file.table, file.path, file.bytes, file.modified] for file in files),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def campaign_hashes(campaigns: pa.ChunkedArray | pa.Array, parts: int) -> pa.Array:
    """For each campaign a number from 0 to `parts` - 1, the same on every machine."""
    encoded = campaigns.combine_chunks() if isinstance(campaigns, pa.ChunkedArray) else campaigns
    encoded = encoded.dictionary_encode() if not pa.types.is_dictionary(encoded.type) else encoded
    numbers = [zlib.crc32((name or "").encode()) % parts for name in encoded.dictionary.to_pylist()]
    return pc.fill_null(pa.array(numbers, pa.int32()).take(encoded.indices), 0)


def split_into_shards(
    table: pa.Table, *, parts: int, days: frozenset[str] | None, by_day: bool
) -> Iterator[tuple[Shard, pa.Table]]:
    """The rows of each shard, by the column `day` or the day of `at`; `days` are the wanted ones (None: all)."""
    if table.num_rows == 0:
        return
    codes, names = _days(table) if by_day else (None, [ALL_DAYS])
    hashes = campaign_hashes(table.column("campaign"), parts) if parts > 1 else None
    for number, day in enumerate(names):
        if days is not None and day not in days:
            continue
        rows = table if len(names) == 1 else table.filter(pc.equal(codes, number))
        if hashes is None:
            yield Shard(day, 0), rows
            continue
        of_day = hashes if len(names) == 1 else hashes.filter(pc.equal(codes, number))
        for part in pc.unique(of_day).to_pylist():
            yield Shard(day, part), rows.filter(pc.equal(of_day, part))


def _days(table: pa.Table) -> tuple[pa.Array, list[str]]:
    """For each row the number of its day, and the days by number; a row without one is an error."""
    times = table.column("day" if "day" in table.column_names else "at")
    if times.null_count:
        raise DataError(f"{times.null_count} rows have no time, so they belong to no day: remove them from the input")
    encoded = times.cast(pa.date32()).combine_chunks().dictionary_encode()
    return encoded.indices, [day.isoformat() for day in encoded.dictionary.to_pylist()]
