"""Rows of a log that cannot be used: counted by reason with an example each, and set aside with their text."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gaelp.arrays import Bools, Ints
from gaelp.errors import DataError
from gaelp.importing.text_rows import LineFault

__all__ = ["BAD_SHARE_MAX", "BadReason", "BadRow", "BadRowTally", "BadRows", "RowCheck"]

BAD_SHARE_MAX = 0.10  # of a log's rows; beyond it the rest no longer represents the log


@dataclass(frozen=True, slots=True)
class BadReason:
    """A rule that some rows break, how many rows, and the first of them."""

    place: str  # such as "column time"
    rule: str
    rows: int
    line: int
    value: str  # as the file has it
    is_expected: bool = False  # in any good export, such as a line of totals

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
    """Collects the first reason against each row of a part of a log."""

    line: Ints  # (n,) where each row begins in the file
    reasons: list[BadReason] = field(init=False, default_factory=list)
    _reason: Ints = field(init=False)  # (n,) index into reasons, -1 where the row is good

    def __post_init__(self) -> None:
        self._reason = np.full(len(self.line), -1, np.int64)

    @property
    def good(self) -> Bools:
        """Rows with nothing against them so far, shape (n,)."""
        return np.asarray(self._reason < 0)

    def refuse(
        self, bad: Bools, place: str, rule: str, value_of: Callable[[int], str], *, is_expected: bool = False
    ) -> None:
        """Note that the rows where `bad` (n,) holds break a rule; `value_of` shows the value of a row."""
        rows = np.flatnonzero(bad & self.good)
        if len(rows):
            self._reason[rows] = len(self.reasons)
            line, value = int(self.line[rows[0]]), value_of(int(rows[0]))
            self.reasons.append(BadReason(place, rule, len(rows), line, value, is_expected))

    def refuse_lines(self, faults: Mapping[int, LineFault]) -> None:
        """Note the rows whose line is wrong as a whole, by position."""
        for place, rule in dict.fromkeys((fault.place, fault.rule) for fault in faults.values()):
            rows = [row for row, fault in faults.items() if fault[:2] == (place, rule)]
            self.refuse(np.isin(np.arange(len(self.line)), rows), place, rule, lambda row: faults[row].value)

    def bad_rows(self, text_of: Callable[[int], str]) -> list[BadRow]:
        """The bad rows with their texts, which `text_of` returns by position."""
        rows = np.flatnonzero(~self.good).tolist()
        return [BadRow(int(self.line[row]), self.reasons[self._reason[row]].name, text_of(row)) for row in rows]


@dataclass(slots=True)
class BadRowTally:
    """Adds up the checks of all parts of a log."""

    source: str
    rows_total: int = 0
    _reasons: dict[str, BadReason] = field(init=False, default_factory=dict)

    def add(self, check: RowCheck) -> None:
        """Count the rows of one more part."""
        self.rows_total += len(check.line)
        for reason in check.reasons:
            first = self._reasons.get(reason.name)
            self._reasons[reason.name] = replace(first, rows=first.rows + reason.rows) if first else reason

    @property
    def reasons(self) -> tuple[BadReason, ...]:
        """Every reason, the most frequent first."""
        return tuple(sorted(self._reasons.values(), key=lambda reason: -reason.rows))

    @property
    def bad(self) -> int:
        """How many rows are bad."""
        return sum(reason.rows for reason in self._reasons.values())

    @property
    def too_many(self) -> str:
        """Why so many bad rows cannot be set aside; empty if they can."""
        expected = sum(reason.rows for reason in self._reasons.values() if reason.is_expected)
        bad, total = self.bad - expected, self.rows_total - expected
        if bad <= BAD_SHARE_MAX * total:
            return ""
        return (
            f"{_percent(bad, total)} of the rows are bad, and at most {BAD_SHARE_MAX:.0%} may be set aside: so many"
            " mean a wrong column, unit or format. Correct the export."
        )

    def summary(self) -> str:
        """How many rows are bad, and a line for each reason."""
        return _summary(self.reasons, self.rows_total)

    def raise_if_bad(self, *, remedy: str = "Correct or drop these rows.") -> None:
        """Raise if any row is bad."""
        if self._reasons:
            raise DataError(f"{self.source}: {self.summary()}\n{remedy}")

    def set_aside(self, rows: Sequence[BadRow]) -> BadRows:
        """What is kept of these bad rows; raise if they are too many."""
        if self.too_many:
            self.raise_if_bad(remedy=self.too_many)
        return BadRows(self.rows_total, self.reasons, tuple(rows))


def _summary(reasons: Sequence[BadReason], rows_total: int) -> str:
    bad = sum(reason.rows for reason in reasons)
    head = f"{bad:,} of {rows_total:,} rows ({_percent(bad, rows_total)}) cannot be used"
    return "\n".join([head + (":" if reasons else "."), *(f"  {reason}" for reason in reasons)])


def _percent(part: int, total: int) -> str:
    return f"{100 * part / total:.3g}%" if total else "0%"
