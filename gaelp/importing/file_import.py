"""Import files into a store: read, check and stage every row first, then store them; too many bad rows store nothing.

Every row is accounted for: stored + already stored + rejected = read. Ids are derived from a row's content and its
line, so importing a file again stores nothing new.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import NonNegativeInt

from gaelp.config.base import Frozen
from gaelp.config.field_types import Instant
from gaelp.config.private_files import make_private_folder
from gaelp.errors import DataError
from gaelp.importing.bad_rows import BadRowTally
from gaelp.importing.conversion import Converted, FileRows, RowConversion
from gaelp.importing.dead_letters import DeadLetters, dead_letters
from gaelp.importing.redaction import IDENTIFIERS, TRUSTED_TEXT, redact_table, redact_text
from gaelp.importing.row_source import RowSource
from gaelp.importing.times import time_zone
from gaelp.observability.alert import Alert
from gaelp.storage.schema import TABLES, TableName
from gaelp.storage.store import EpisodeStore
from gaelp.types import Phase

__all__ = ["FileReport", "ImportReport", "ImportTerms", "RejectedReason", "import_files"]

_ROWS_AN_APPEND = 500_000
_IN_TIME_ORDER = (TableName.AUCTIONS, TableName.CLICKS, TableName.SPEND_EVENTS)


@dataclass(frozen=True, slots=True)
class ImportTerms:
    """What holds for all rows of an import, and where its work goes."""

    phase: Phase
    key: bytes  # for identifiers
    now: datetime
    campaign: str | None = None
    account: str | None = None
    at: date | None = None  # of files without a time
    zone_name: str | None = None  # of times without a zone, instead of the mapping's


class RejectedReason(Frozen):
    """How many rows broke a rule, and the first of them."""

    reason: str
    rows: NonNegativeInt
    line: NonNegativeInt
    value: str
    is_expected: bool = False


class FileReport(Frozen):
    """What became of the rows of a file."""

    file: str
    source: str
    table: TableName
    read: NonNegativeInt
    stored: NonNegativeInt
    already_stored: NonNegativeInt
    rejected: NonNegativeInt
    reasons: tuple[RejectedReason, ...] = ()
    first_at: Instant | None = None
    last_at: Instant | None = None
    notes: tuple[str, ...] = ()


class ImportReport(Frozen):
    """What an import did."""

    files: tuple[FileReport, ...]
    dead_letters: str | None = None  # the file of rejected rows

    def total(self, count: str) -> int:
        """Sum of a count over all files, such as `stored`."""
        return sum(getattr(each, count) for each in self.files)


class _Alerts(Protocol):
    def __call__(self, alert: Alert, /) -> object: ...


@dataclass(slots=True)
class _Staged:
    """The good rows of a file, converted and on disk, and what is known about all of its rows."""

    source: RowSource
    path: Path
    tally: BadRowTally
    hints: dict[str, None] = field(default_factory=dict)  # on columns that are wrong as a whole
    first_at: datetime | None = None
    last_at: datetime | None = None
    steps_back: int = 0  # rows that are earlier than the row before
    first_step_back: int = 0  # the line of the first
    previous: np.datetime64 | None = None


def import_files(
    sources: Sequence[RowSource],
    terms: ImportTerms,
    store: EpisodeStore,
    *,
    work_folder: Path,
    letters_path: Path,
    alert: _Alerts,
    progress: Callable[[str, int], object] = lambda _file, _rows: None,
) -> ImportReport:
    """Import all files or none: a file with more than a tenth of bad rows raises an alert and a DataError.

    Appends hold up to half a million rows each; after a crash between two of them, the same import stores the rest.
    """
    for source in sources:
        _check_constants(source, terms)
    make_private_folder(work_folder)
    with TemporaryDirectory(dir=work_folder, prefix=".import-") as folder, dead_letters(letters_path) as letters:
        staged = [
            _stage(source, terms, Path(folder, f"{number}.parquet"), letters, progress)
            for number, source in enumerate(sources)
        ]
        _refuse_bad_files(staged, letters, terms, alert)
        reports = tuple(_store(each, store) for each in staged)
        return ImportReport(files=reports, dead_letters=str(letters.path) if letters.rows else None)


def _constants(source: RowSource, terms: ImportTerms) -> dict[str, Any]:
    at = terms.at or (source.period[1] if source.period else None)
    period = source.period or (None, None)
    return {
        "id": "",
        "phase": terms.phase.value,
        "source": source.stored_as,
        "campaign": terms.campaign,
        "account": terms.account,
        "at": None if at is None else datetime(at.year, at.month, at.day, tzinfo=UTC),
        "account_day": at,
        "period_start": period[0],
        "period_end": period[1],
        "reported_at": terms.now,
        "revision": 0,
    }


def _check_constants(source: RowSource, terms: ImportTerms) -> None:
    """Refuse an import whose rows would lack a column that the table requires."""
    constants = _constants(source, terms)
    options = {"at": "--at DAY", "campaign": "--campaign NAME", "account": "--account NAME"}
    present = {*source.columns.read_as.values(), *source.mapping.names, None}
    mapped = {name for name, column in source.mapping.columns.items() if column.column in present}
    if "at" in mapped:
        mapped.add("account_day")
    missing = [
        name for name in TABLES[source.mapping.table].required if name not in mapped and constants.get(name) is None
    ]
    if missing:
        ways = ", ".join(options.get(name, f"{name} in a mapping file") for name in missing)
        raise DataError(
            f"{source.name}: no column for {', '.join(missing)} of {source.mapping.table}; every row needs"
            f" it. Give {ways}."
        )


def _stage(
    source: RowSource,
    terms: ImportTerms,
    path: Path,
    letters: DeadLetters,
    progress: Callable[[str, int], object],
) -> _Staged:
    staged = _Staged(source, path, BadRowTally(source.name))
    constants = _constants(source, terms)
    zone = time_zone(terms.zone_name) if terms.zone_name else None
    schema = TABLES[source.mapping.table].columns
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for rows in source.rows():
            converted = RowConversion(rows, source.mapping, constants, zone).run()
            staged.tally.add(converted.check)
            staged.hints |= dict.fromkeys(converted.hints)
            letters.add(source.name, converted.check.bad_rows(rows.text_of))
            _note_times(staged, converted)
            writer.write_table(_redacted(_with_ids(converted, rows, source, terms), source, terms))
            progress(source.name, staged.tally.rows_total)
    return staged


def _with_ids(converted: Converted, rows: FileRows, source: RowSource, terms: ImportTerms) -> pa.Table:
    """Ids from the content and the line of each row; a mapped id is kept, and hashed with the other identifiers."""
    if "id" in source.mapping.columns:
        return converted.table
    salt = f"{source.mapping.table}\n{terms.phase}\n{terms.campaign or ''}\n".encode()
    good = np.flatnonzero(converted.check.good)
    contents = rows.contents()

    def row_id(row: int) -> str:
        content = contents[row].encode(errors="surrogatepass")
        return hashlib.blake2b(b"%s%d\n%s" % (salt, rows.line[row], content), digest_size=16).hexdigest()

    ids = pa.array([row_id(row) for row in good.tolist()], pa.string())
    place = converted.table.schema.get_field_index("id")
    return converted.table.set_column(place, converted.table.schema.field("id"), ids)


def _redacted(table: pa.Table, source: RowSource, terms: ImportTerms) -> pa.Table:
    own_ids = set() if "id" in source.mapping.columns else {"id"}
    return redact_table(
        table,
        table.column_names,
        terms.key,
        identifiers=IDENTIFIERS - {"account"} - own_ids,
        trusted=TRUSTED_TEXT | {"account"} | own_ids,  # an account's name was checked when it was read
    )


def _note_times(staged: _Staged, converted: Converted) -> None:
    at = converted.table["at"].to_numpy().astype("datetime64[us]")
    if not len(at):
        return
    first, last = (value.item().replace(tzinfo=UTC) for value in (at.min(), at.max()))
    staged.first_at = first if staged.first_at is None else min(staged.first_at, first)
    staged.last_at = last if staged.last_at is None else max(staged.last_at, last)
    before = np.append(at[0] if staged.previous is None else staged.previous, at[:-1])
    lines = converted.check.line[converted.check.good]
    back = lines[at < before]
    if len(back) and not staged.steps_back:
        staged.first_step_back = int(back[0])
    staged.steps_back += len(back)
    staged.previous = at[-1]


def _refuse_bad_files(staged: Sequence[_Staged], letters: DeadLetters, terms: ImportTerms, alert: _Alerts) -> None:
    bad = [each for each in staged if each.tally.too_many]
    empty = [each for each in staged if not each.tally.rows_total]
    if empty:
        raise DataError(f"{empty[0].source.name} has no row below its header; allowed: at least one. Export it again.")
    if not bad:
        return
    texts = [
        "\n".join([f"{each.source.name}: {_redacted_summary(each.tally)}", *each.hints, each.tally.too_many])
        for each in bad
    ]
    names = ", ".join(each.source.name for each in bad)
    title = redact_text(f"import refused: too many bad rows in {names}")[:200]
    alert(
        Alert(
            severity="warning",
            source="import",
            key=bad[0].source.stored_as,
            title=title,
            body="\n".join(texts)[:8000],
            at=terms.now,
        )
    )
    raise DataError("\n".join([*texts, f"Nothing was stored. The rejected rows are in {letters.path}."]))


def _redacted_summary(tally: BadRowTally) -> str:
    return "\n".join(map(redact_text, tally.summary().splitlines()))


def _store(staged: _Staged, store: EpisodeStore) -> FileReport:
    table, stored, already = staged.source.mapping.table, 0, 0
    for part in _parts(staged.path):
        appended = store.append({table: part})
        stored, already = stored + appended.stored, already + appended.already_stored
    tally = staged.tally
    notes = [redact_text(note) for note in staged.source.columns.notes()]
    if staged.steps_back and table in _IN_TIME_ORDER:
        first = f"first at line {staged.first_step_back}"
        notes.append(f"{staged.steps_back:,} rows are earlier than the row before them, {first}.")
    return FileReport(
        file=staged.source.name,
        source=staged.source.stored_as,
        table=table,
        read=tally.rows_total,
        stored=stored,
        already_stored=already,
        rejected=tally.bad,
        reasons=tuple(
            RejectedReason(
                reason=reason.name,
                rows=reason.rows,
                line=reason.line,
                value=redact_text(reason.value),
                is_expected=reason.is_expected,
            )
            for reason in tally.reasons
        ),
        first_at=staged.first_at,
        last_at=staged.last_at,
        notes=tuple(notes),
    )


def _parts(path: Path) -> Iterator[pa.Table]:
    """The staged rows in tables of bounded size."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(_ROWS_AN_APPEND):
            yield pa.Table.from_batches([batch])
