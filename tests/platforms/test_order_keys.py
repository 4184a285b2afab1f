"""An order's key is none that the system makes itself, and a copy that nobody checked is checked at the door."""

from datetime import date, timedelta

import pytest
from pydantic import ValidationError
from sqlalchemy import text

from gaelp.budget.ledger import Cap, CapKind, Reservation, verify
from gaelp.errors import BadInput
from gaelp.money import Money
from gaelp.platforms import Bid, Done, find_order, guarded, reconcile

DAY = date(2026, 11, 16)
OWN = "unreserved/2026-11-16/acc/spring"
SYSTEM_KEYS = (OWN, "unreserved/x", "renew/2026-11-17/spring/1", "pause/spring/0")


@pytest.mark.parametrize("key", SYSTEM_KEYS)
def test_an_order_with_a_key_of_the_system_is_no_order(double, key):
    with pytest.raises(ValidationError, match="reserved for the system"):
        double.order(key)


@pytest.mark.parametrize("key", SYSTEM_KEYS)
def test_a_copy_with_a_key_of_the_system_is_refused_at_the_door_and_leaves_no_trace(door, double, key):
    granted = double.grant(door, double.mandate())
    with pytest.raises(BadInput, match="reserved for the system"):
        guarded(door.guard, double.under(granted).model_copy(update={"key": key}))
    assert (door.platform.calls, find_order(door.ledger, key)) == ([], None)


def test_the_ledger_reserves_nothing_under_the_key_of_unreserved_cost():
    with pytest.raises(BadInput, match="unreserved cost"):
        Reservation(OWN, "acc", Money(1, "USD"), (Cap(CapKind.TOTAL, "all"),))


def test_an_older_order_with_such_a_key_is_still_read_and_its_cost_counts_once(door, double):
    for each in (double.order(until=DAY), double.order("e1", "enable", until=DAY)):
        assert guarded(door.guard, double.approve(door, each)) == Done()
    rename(door, "b1", OWN)
    assert find_order(door.ledger, OWN).order.key == OWN
    door.platform.deliver(100)
    door.clock.advance(timedelta(days=5))
    assert reconcile(door.guard).posted_micros == 10_000_000
    assert [reconcile(door.guard).adjusted_micros for _ in range(3)] == [0, 0, 0]
    assert verify(door.ledger).findings == ()


def rename(door, old, new):
    """As books would be that were written before such keys were refused."""
    with door.ledger.transaction() as connection:
        connection.execute(text("PRAGMA defer_foreign_keys = ON"))
        for table, column in (
            ("ledger_transfer", "key"),
            ("ledger_entry", "transfer_key"),
            ("platform_order", "key"),
        ):
            change = f"UPDATE {table} SET {column} = :new WHERE {column} = :old"  # noqa: S608 - constants of the test
            connection.execute(text(change), {"new": new, "old": old})
        quoted = {"old": f'"key":"{old}"', "new": f'"key":"{new}"', "key": new}
        connection.execute(text("UPDATE platform_order SET body = REPLACE(body, :old, :new) WHERE key = :key"), quoted)


@pytest.mark.parametrize("micros", [True, float("nan"), -5, 0, 1.5, "9"])
def test_a_bid_that_is_no_whole_positive_number_of_micros_is_refused_at_the_door(door, double, micros):
    granted = double.grant(door, double.mandate())
    assert guarded(door.guard, double.under(granted)) == Done()
    bids = (Bid.model_construct(target="group-1", micros=micros),)
    with pytest.raises(BadInput, match=r"bids\.0\.micros"):
        guarded(door.guard, double.under(granted, "bid-1", "bid").model_copy(update={"bids": bids}))
    assert (door.platform.sent("set_bids"), find_order(door.ledger, "bid-1")) == ([], None)


@pytest.mark.parametrize(
    "change",
    [
        {"daily_micros": -5_000_000},
        {"daily_micros": float("nan")},
        {"daily_micros": "5000000"},
        {"kind": "budgetx"},
        {"bids": (Bid(target="t", micros=1),)},
        {"kind": "enable", "renews": "b0"},
    ],
)
def test_an_unchecked_copy_that_is_no_order_is_refused_at_the_door(door, double, change):
    granted = double.grant(door, double.mandate())
    with pytest.raises(BadInput, match="give whole micros and allowed values"):
        guarded(door.guard, double.under(granted).model_copy(update=change))
    assert (door.platform.calls, find_order(door.ledger, "b1")) == ([], None)
