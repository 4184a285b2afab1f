"""The book of hours works on both databases: a row is replaced only by who has read its current version."""

from contextlib import suppress
from datetime import timedelta

import pytest
from sqlalchemy import text

from gaelp.budget.signals import load_signals
from gaelp.errors import GaelpError
from gaelp.platforms.campaign_hours import first_observed, mark_paused
from gaelp.platforms.hour_book import HourRow, create_hour_book, find_hours, store_hours, watched_campaigns

SIGNALS = load_signals()


@pytest.fixture(params=["sqlite", "postgres"])
def ledger(request, make_door, databases):
    made = make_door(place=databases.fresh_place(request.param)).ledger
    create_hour_book(made)
    return made


@pytest.fixture
def actual(double):
    return first_observed(double.NOW, double.UTC, SIGNALS)


def test_what_is_stored_is_read_back_as_it_was(ledger, actual):
    assert find_hours(ledger, "acc", "spring") is None
    assert store_hours(ledger, "acc", {"spring": HourRow(actual)})
    assert find_hours(ledger, "acc", "spring") == HourRow(actual, 1)
    for other in (("acc", "summer"), ("other", "spring")):
        assert find_hours(ledger, *other) is None


def test_who_comes_second_replaces_nothing(ledger, actual):
    later = actual.model_copy(update={"taken_until": actual.taken_until + timedelta(hours=1)})
    assert store_hours(ledger, "acc", {"spring": HourRow(actual)})
    assert not store_hours(ledger, "acc", {"spring": HourRow(later)})
    assert store_hours(ledger, "acc", {"spring": HourRow(later, 1)})
    assert not store_hours(ledger, "acc", {"spring": HourRow(actual, 1)})
    assert find_hours(ledger, "acc", "spring") == HourRow(later, 2)


def test_a_write_that_is_cut_off_leaves_what_was_there(ledger, actual):
    store_hours(ledger, "acc", {"spring": HourRow(actual)})
    with suppress(KeyboardInterrupt), ledger.transaction() as connection:
        connection.execute(text("UPDATE platform_hours SET body = ''"))
        raise KeyboardInterrupt
    assert find_hours(ledger, "acc", "spring") == HourRow(actual, 1)


def test_running_and_paused_campaigns_are_distinguished(ledger, actual):
    store_hours(ledger, "acc", {"summer": HourRow(actual)})
    store_hours(ledger, "acc", {"spring": HourRow(mark_paused(actual))})
    store_hours(ledger, "other", {"autumn": HourRow(actual)})
    assert watched_campaigns(ledger, "acc") == ("spring", "summer")
    assert watched_campaigns(ledger, "acc", running=True) == ("summer",)


def test_what_cannot_be_read_is_an_error_that_says_what_to_do(ledger, actual):
    store_hours(ledger, "acc", {"spring": HourRow(actual)})
    with ledger.transaction() as connection:
        connection.execute(text("UPDATE platform_hours SET body = '{}'"))
    with pytest.raises(GaelpError, match="delete its row of account acc and campaign spring; its hours start again"):
        find_hours(ledger, "acc", "spring")


def test_the_table_is_made_once(ledger, actual):
    store_hours(ledger, "acc", {"spring": HourRow(actual)})
    create_hour_book(ledger)
    assert find_hours(ledger, "acc", "spring") == HourRow(actual, 1)
