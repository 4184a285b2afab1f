"""Rows of a log that cannot be used: counted by reason with an example each, and set aside with their text."""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from gaelp.arrays import Bools, Ints
from gaelp.errors import DataError

__all__ = ["BAD_SHARE_MAX", "BadReason", "BadRow", "BadRows", "RowCheck"]

BAD_SHARE_MAX = 0.10  # of a log's rows; beyond it the rest no longer represents the log


@dataclass(frozen=True, slots=True)
class BadReason:
    """A rule that some rows break, how many rows, and the first of them."""

    place: str  # such as "column time"
    rule: str
    rows: int
    line: int
    value: str  # as the file has it

    @property
    def name(self) -> str:
        """The reason without its example, the same for all its rows."""
        return f"{self.place}: {self.rule}"

    def __str__(self) -> str:
        count = "1 row:" if self.rows == 1 else f"{self.rows:,} rows, such as"
        return f"{count} line {self.line}, {self.place}: saw {self.value}; {self.rule}"


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that was set aside: where it begins in the file, the name of its reason, and its original text."""

    line: int
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class BadRows:
    """The rows of a log that were set aside, and why."""

    rows_total: int  # of the log, bad ones included
    reasons: tuple[BadReason, ...]  # the most frequent first
    rows: tuple[BadRow, ...]  # in the order of the file

    def summary(self) -> str:
        """How many rows, and a line for each reason."""
        return _summary(self.reasons, self.rows_total)

    def as_csv(self) -> str:
        """The rows as a CSV file: line, reason and the original text."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(("line", "reason", "text"))
        writer.writerows((row.line, row.reason, row.text) for row in self.rows)
        return text.getvalue()


@dataclass(slots=True)
class RowCheck:
    """Collects the first reason against each row of a log."""

    source: str
    line: Ints  # (n,) where each row begins in the file
    _reason: Ints = field(init=False)  # (n,) index into _reasons, -1 where the row is good
    _reasons: list[BadReason] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self._reason = np.full(len(self.line), -1, np.int64)

    @property
    def good(self) -> Bools:
        """Rows with nothing against them so far, shape (n,)."""
        return np.asarray(self._reason < 0)

    def refuse(self, bad: Bools, place: str, rule: str, value_of: Callable[[int], str]) -> None:
        """Note that the rows where `bad` (n,) holds break a rule; `value_of` shows the value of a row."""
        rows = np.flatnonzero(bad & self.good)
        if len(rows):
            self._reason[rows] = len(self._reasons)
            self._reasons.append(BadReason(place, rule, len(rows), int(self.line[rows[0]]), value_of(int(rows[0]))))

    @property
    def too_many(self) -> str:
        """Why so many bad rows cannot be set aside; empty if they can."""
        bad, total = int((~self.good).sum()), len(self.line)
        if bad <= BAD_SHARE_MAX * total:
            return ""
        return (
            f"{_percent(bad, total)} of the rows are bad, and at most {BAD_SHARE_MAX:.0%} may be set aside: so many"
            " mean a wrong column, unit or format. Correct the export."
        )

    def raise_if_bad(self, *, remedy: str = "Correct or drop these rows.") -> None:
        """Raise if any row is bad."""
        if self._reasons:
            raise DataError(f"{self.source}: {_summary(self._sorted_reasons(), len(self.line))}\n{remedy}")

    def set_aside(self, texts_of: Callable[[Ints], Sequence[str]]) -> BadRows:
        """The bad rows with their texts, which `texts_of` returns by position; raise if they are too many."""
        if self.too_many:
            self.raise_if_bad(remedy=self.too_many)
        rows = np.flatnonzero(~self.good)
        texts = texts_of(rows) if len(rows) else ()
        names = [self._reasons[index].name for index in self._reason[rows]]
        bad_rows = tuple(map(BadRow, self.line[rows].tolist(), names, texts))
        return BadRows(len(self.line), self._sorted_reasons(), bad_rows)

    def _sorted_reasons(self) -> tuple[BadReason, ...]:
        return tuple(sorted(self._reasons, key=lambda reason: -reason.rows))


def _summary(reasons: Sequence[BadReason], rows_total: int) -> str:
    bad = sum(reason.rows for reason in reasons)
    head = f"{bad:,} of {rows_total:,} rows ({_percent(bad, rows_total)}) cannot be used"
    return "\n".join([head + (":" if reasons else "."), *(f"  {reason}" for reason in reasons)])


def _percent(part: int, total: int) -> str:
    return f"{100 * part / total:.3g}%"
