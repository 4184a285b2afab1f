"""An order is whole micros, its row says what it says, and the platform has one campaign of its name."""

from dataclasses import replace
from datetime import timedelta

import pytest
from pydantic import ValidationError
from sqlalchemy import text

from gaelp.budget.ledger import LedgerBroken, find_transfer
from gaelp.errors import BadInput, Refused
from gaelp.platforms import Done, find_order, guarded, reconcile


def done(door, double, *orders):
    for item in orders:
        assert guarded(door.guard, double.approve(door, item)) == Done()


def edit(door, column, value, key="b1"):
    with door.ledger.transaction() as connection:
        connection.execute(text(f"UPDATE platform_order SET {column} = :v WHERE key = :k"), {"v": value, "k": key})  # noqa: S608


@pytest.mark.parametrize("daily", [True, 5_000_000.0, "5000000", 0, -1])
def test_a_budget_that_is_no_whole_number_of_micros_is_no_order(double, daily):
    with pytest.raises(ValidationError):
        double.order(daily=daily)


@pytest.mark.parametrize("daily", [True, 5_000_000.0])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_copy_of_an_order_with_another_kind_of_number_is_refused(door, double, daily):
    item = double.approve(door, double.order()).model_copy(update={"daily_micros": daily})
    with pytest.raises(BadInput, match="give whole micros"):
        guarded(door.guard, item)
    assert door.platform.calls == []


EDITS = {"daily_micros": 900_000_000, "campaign": "summer", "kind": "enable", "renews": "b0", "body": "{}"}


@pytest.mark.parametrize(("column", "value"), EDITS.items())
def test_a_row_that_contradicts_itself_is_refused_in_words(door, double, column, value):
    done(door, double, double.order())
    edit(door, column, value)
    with pytest.raises(LedgerBroken, match=r"somebody has changed the order book.*gaelp ledger verify"):
        find_order(door.ledger, "b1")
    with pytest.raises(LedgerBroken):
        guarded(door.guard, double.approve(door, double.order("b2", daily=6_000_000)))
    assert len(door.platform.sent("set_budget")) == 1


def test_a_campaign_whose_rows_contradict_themselves_is_paused_and_its_costs_wait(door, double):
    done(door, double, double.order(), double.order("e1", "enable"))
    edit(door, "daily_micros", 900_000_000)
    assert reconcile(door.guard).paused == ("spring",)
    door.clock.advance(timedelta(days=5))
    result = reconcile(door.guard)
    assert any("the costs of 2026-11-16 are not booked" in item for item in result.failures)
    assert result.posted_micros == 0


@pytest.mark.parametrize("amount", [1, 900_000_000])
def test_room_that_the_ledger_does_not_hold_does_not_count_as_reserved(door, double, amount):
    done(door, double, double.order())
    edit(door, "amount_micros", amount)
    with pytest.raises(LedgerBroken, match="by the order book, 10000000 by the ledger"):
        guarded(door.guard, double.approve(door, double.order("b2", daily=6_000_000)))


def test_an_order_that_was_raised_by_hand_in_row_and_body_lets_no_later_one_reserve_less(door, double):
    done(door, double, double.order())
    raised = double.order(daily=40_000_000)
    edit(door, "daily_micros", 40_000_000)
    edit(door, "body", raised.body)
    done(door, double, double.order("b2", daily=40_000_000))
    assert find_transfer(door.ledger, "b2").amount_micros == 70_000_000


def twice(door, **changes):
    """From now on the platform lists each campaign a second time, with these changes."""
    real = door.platform.read_campaigns
    door.platform.read_campaigns = lambda: tuple(item for each in real() for item in (each, replace(each, **changes)))
    return real


@pytest.mark.parametrize("changes", [{}, {"status": "enabled", "daily_micros": 900_000_000}])
def test_a_campaign_that_is_read_back_twice_is_wrong(door, double, changes):
    real = twice(door, **changes)
    with pytest.raises(Refused, match="more than once"):
        guarded(door.guard, double.approve(door, double.order()))
    assert real()[0].status == "paused"


@pytest.mark.parametrize("changes", [{}, {"status": "paused"}])
def test_a_campaign_that_runs_and_is_listed_twice_is_paused(door, double, changes):
    done(door, double, double.order(), double.order("e1", "enable"))
    real = twice(door, **changes)
    assert reconcile(door.guard).paused == ("spring",)
    assert real()[0].status == "paused"


@pytest.mark.parametrize("daily", [5_000_000.0, "5000000"])
def test_a_budget_that_is_read_back_as_no_whole_number_is_wrong(door, double, daily):
    real = door.platform.read_campaigns
    door.platform.read_campaigns = lambda: tuple(replace(item, daily_micros=daily) for item in real())
    with pytest.raises(Refused, match="expected was 5000000"):
        guarded(door.guard, double.approve(door, double.order()))
