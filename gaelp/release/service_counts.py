"""How many decisions of a release failed: orders without an answer or refused, and those that nobody made in time."""

from collections.abc import Sequence
from typing import NamedTuple

from gaelp.pilot.book_schema import OrderWord
from gaelp.pilot.decision_book import IntervalRow, OrderNote

__all__ = ["DecisionCounts", "count_decisions"]

_FAILED: tuple[OrderWord, ...] = ("late", "refused", "rejected", "unknown")


class DecisionCounts(NamedTuple):
    """Decisions about one campaign each; those that had nothing to send did not fail."""

    decisions: int
    errors: int


def count_decisions(
    notes: Sequence[OrderNote], intervals: Sequence[IntervalRow], hours: range, *, campaigns: int, decide_hours: int
) -> DecisionCounts:
    """Count what the record says of these hours; hours missed count as the decisions that were due in them."""
    words = [note.word for note in notes if note.interval in hours]
    missed = sum(row.state == "missed" for row in intervals if row.interval in hours)
    due = campaigns * -(-missed // decide_hours)
    return DecisionCounts(len(words) + due, sum(word in _FAILED for word in words) + due)
