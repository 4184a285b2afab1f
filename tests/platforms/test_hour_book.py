"""The book of hours holds on both databases: replaced whole, by who has read it as it stands."""

from contextlib import suppress
from datetime import timedelta

import pytest
from sqlalchemy import text

from gaelp.budget.signals import load_signals
from gaelp.errors import GaelpError
from gaelp.platforms.campaign_hours import first_seen, seen_paused
from gaelp.platforms.hour_book import HourRow, create_hour_book, find_hours, store_hours, watched_campaigns

SIGNALS = load_signals()


@pytest.fixture(params=["sqlite", "postgres"])
def ledger(request, make_door, databases):
    made = make_door(place=databases.fresh_place(request.param)).ledger
    create_hour_book(made)
    return made


@pytest.fixture
def seen(double):
    return first_seen(double.NOW, double.UTC, SIGNALS)


def test_what_is_stored_is_read_back_as_it_was(ledger, seen):
    assert find_hours(ledger, "acc", "spring") is None
    assert store_hours(ledger, "acc", "spring", HourRow(seen))
    assert find_hours(ledger, "acc", "spring") == HourRow(seen, 1)
    for other in (("acc", "summer"), ("other", "spring")):
        assert find_hours(ledger, *other) is None


def test_who_comes_second_replaces_nothing(ledger, seen):
    later = seen.model_copy(update={"taken_until": seen.taken_until + timedelta(hours=1)})
    assert store_hours(ledger, "acc", "spring", HourRow(seen))
    assert not store_hours(ledger, "acc", "spring", HourRow(later))
    assert store_hours(ledger, "acc", "spring", HourRow(later, 1))
    assert not store_hours(ledger, "acc", "spring", HourRow(seen, 1))
    assert find_hours(ledger, "acc", "spring") == HourRow(later, 2)


def test_a_write_that_is_cut_off_leaves_what_was_there(ledger, seen):
    store_hours(ledger, "acc", "spring", HourRow(seen))
    with suppress(KeyboardInterrupt), ledger.transaction() as connection:
        connection.execute(text("UPDATE platform_hours SET body = ''"))
        raise KeyboardInterrupt
    assert find_hours(ledger, "acc", "spring") == HourRow(seen, 1)


def test_those_that_ran_are_told_from_those_that_stood_still(ledger, seen):
    store_hours(ledger, "acc", "summer", HourRow(seen))
    store_hours(ledger, "acc", "spring", HourRow(seen_paused(seen)))
    store_hours(ledger, "other", "autumn", HourRow(seen))
    assert watched_campaigns(ledger, "acc") == ("spring", "summer")
    assert watched_campaigns(ledger, "acc", running=True) == ("summer",)


def test_what_cannot_be_read_is_an_error_that_says_what_to_do(ledger, seen):
    store_hours(ledger, "acc", "spring", HourRow(seen))
    with ledger.transaction() as connection:
        connection.execute(text("UPDATE platform_hours SET body = '{}'"))
    with pytest.raises(GaelpError, match="delete its row of account acc and campaign spring; its hours begin anew"):
        find_hours(ledger, "acc", "spring")


def test_the_table_is_made_once(ledger, seen):
    store_hours(ledger, "acc", "spring", HourRow(seen))
    create_hour_book(ledger)
    assert find_hours(ledger, "acc", "spring") == HourRow(seen, 1)
