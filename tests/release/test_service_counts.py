"""Which decisions count as failed."""

from datetime import UTC, datetime

import pytest

from gaelp.pilot.decision_book import IntervalRow, OrderNote
from gaelp.release.service_counts import count_decisions

AT = datetime(2026, 11, 17, tzinfo=UTC)
HOURS = range(24, 48)


def notes(*words):
    return [OrderNote("spring", 24 + number, word) for number, word in enumerate(words)]


def count(given, intervals=(), **more):
    return count_decisions(given, intervals, HOURS, **{"campaigns": 2, "decide_hours": 1} | more)


@pytest.mark.parametrize("word", ["unknown", "rejected", "refused", "late"])
def test_an_order_that_failed_counts(word):
    assert count(notes("sent", word, "same")) == (3, 1)


@pytest.mark.parametrize("word", ["sent", "same", "small", "quota", "held"])
def test_a_decision_that_was_carried_out_or_had_nothing_to_send_did_not_fail(word):
    assert count(notes(word)) == (1, 0)


@pytest.mark.parametrize(("decide_hours", "due"), [(1, 6), (12, 2)])
def test_missed_hours_count_as_the_decisions_that_were_due(decide_hours, due):
    missed = [IntervalRow(hour, AT, "missed") for hour in (23, 30, 31, 32, 48)]
    assert count(notes("sent"), missed, decide_hours=decide_hours) == (1 + due, due)


def test_only_the_hours_since_the_last_check_count():
    assert count([OrderNote("spring", hour, "unknown") for hour in (23, 24, 47, 48)]) == (2, 2)
