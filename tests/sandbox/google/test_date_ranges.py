"""The named ranges of DURING."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.sandbox.google.date_ranges import DATE_RANGES, named_range

WEDNESDAY = date(2026, 11, 18)


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("TODAY", "2026-11-18", "2026-11-18"),
        ("YESTERDAY", "2026-11-17", "2026-11-17"),
        ("LAST_14_DAYS", "2026-11-04", "2026-11-17"),
        ("LAST_BUSINESS_WEEK", "2026-11-09", "2026-11-13"),
        ("THIS_MONTH", "2026-11-01", "2026-11-18"),
        ("LAST_MONTH", "2026-10-01", "2026-10-31"),
        ("THIS_WEEK_SUN_TODAY", "2026-11-15", "2026-11-18"),
        ("THIS_WEEK_MON_TODAY", "2026-11-16", "2026-11-18"),
        ("LAST_WEEK_SUN_SAT", "2026-11-08", "2026-11-14"),
        ("LAST_WEEK_MON_SUN", "2026-11-09", "2026-11-15"),
    ],
)
def test_a_named_range_has_its_first_and_last_day(name, first, last):
    assert named_range(name, WEDNESDAY) == (date.fromisoformat(first), date.fromisoformat(last))


def test_an_unknown_name_is_none():
    assert named_range("LAST_8_DAYS", WEDNESDAY) is None


@given(st.dates(date(2000, 1, 1), date(2100, 1, 1)), st.sampled_from(sorted(DATE_RANGES)))
def test_no_range_ends_after_today(today, name):
    first, last = named_range(name, today)
    assert first <= last <= today
    assert last - first <= timedelta(days=31)
