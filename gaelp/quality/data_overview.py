"""What a store holds, by table, phase and source, and how it fared in the last check; as rows and as a plot."""

from collections.abc import Mapping, Sequence
from datetime import date
from io import BytesIO
from itertools import groupby

from matplotlib.figure import Figure

from gaelp.config.base import Frozen
from gaelp.quality.last_check import LastChecks
from gaelp.storage.schema import TableName
from gaelp.storage.store import StoredPart
from gaelp.types import Phase

__all__ = ["StoredSource", "overview", "overview_png"]

_LEGEND_MOST = 12


class StoredSource(Frozen):
    """What is stored of one table from one source, and the quality of the table in its last check."""

    table: TableName
    phase: Phase
    source: str
    rows: int
    bytes: int
    first_day: date
    last_day: date
    quality: str

    @property
    def days(self) -> str:
        """The first and the last day, or the only one."""
        return str(self.first_day) if self.first_day == self.last_day else f"{self.first_day} to {self.last_day}"


def overview(parts: Sequence[StoredPart], checks: LastChecks) -> tuple[StoredSource, ...]:
    """Sum the parts of a store over days."""
    ordered = sorted(parts, key=lambda part: (part.table, part.phase, part.source, part.day))
    groups = groupby(ordered, key=lambda part: (part.table, part.phase, part.source))
    rows = {table: sum(part.rows for part in same) for table, same in groupby(ordered, key=lambda part: part.table)}
    return tuple(_source(list(days), checks, rows) for _, days in groups)


def overview_png(parts: Sequence[StoredPart]) -> bytes:
    """Rows a day, one line a table and phase, on a logarithmic scale."""
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    axes = figure.add_subplot()
    ordered = sorted(parts, key=lambda part: (part.table, part.phase, part.day))
    for (table, phase), group in groupby(ordered, key=lambda part: (part.table, part.phase)):
        days = {day: sum(part.rows for part in same) for day, same in groupby(group, key=lambda part: part.day)}
        axes.plot(list(days), list(days.values()), marker="o", label=f"{table}, {phase}")
    axes.set(ylabel="rows a day", title="Stored rows", yscale="log" if parts else "linear")
    if parts:
        axes.legend(fontsize="small", ncols=1 + len(axes.lines) // _LEGEND_MOST)
    figure.autofmt_xdate()
    png = BytesIO()
    figure.savefig(png, format="png", dpi=110)
    return png.getvalue()


def _source(days: Sequence[StoredPart], checks: LastChecks, rows: Mapping[TableName, int]) -> StoredSource:
    first = days[0]
    return StoredSource(
        table=first.table,
        phase=first.phase,
        source=first.source,
        rows=sum(part.rows for part in days),
        bytes=sum(part.bytes for part in days),
        first_day=first.day,
        last_day=days[-1].day,
        quality=_quality(checks, first.table, rows[first.table]),
    )


def _quality(checks: LastChecks, table: TableName, rows: int) -> str:
    """The result of the table's last check, with how many rows it read where it did not read all that are stored."""
    result = checks.results.get(table)
    if result is None:
        return "not checked"
    verdict = f"{len(result.failed)} of {len(result.results)} failed" if result.failed else "good"
    part = "" if result.rows == rows else f", {result.rows:,} of {rows:,} rows"
    return f"{verdict} ({result.checked_at:%Y-%m-%d}{part})"
