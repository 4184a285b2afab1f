"""The book of orders holds on both databases: one body per key, one ending per order."""

from datetime import timedelta

import pytest

from gaelp.budget.ledger import CapKind, KeyReused, TransferState, find_transfer, verify
from gaelp.errors import GaelpError, Refused
from gaelp.platforms import Done, Unknown, find_order, guarded, open_orders, reconcile
from gaelp.platforms.order_book import (
    NOT_READ_BACK,
    newest_orders,
    note_read_back,
    orders_of_campaign,
    orders_of_day,
    record_order,
    record_outcome,
)


@pytest.fixture(params=["sqlite", "postgres"])
def door(request, make_door, databases):
    return make_door(place=databases.fresh_place(request.param), limits={CapKind.CAMPAIGN_DAY: 40_000_000})


def record(door, order, *, day="2026-11-16", amount=10):
    return record_order(door.ledger, order, account_id="acc", day=day, amount_micros=amount)


def test_an_order_without_room_is_stored_again_and_one_with_room_is_kept(door, double):
    each = double.order()
    assert record(door, each).amount_micros == 10
    assert record(door, each, day="2026-11-17", amount=20).day == "2026-11-17"
    assert guarded(door.guard, double.approve(door, each)) == Done()
    assert record(door, each, day="2026-11-18", amount=30).day == "2026-11-16"


def test_a_key_is_for_one_order(door, double):
    record(door, double.order())
    with pytest.raises(KeyReused):
        record(door, double.order(daily=6_000_000))
    assert find_order(door.ledger, "b1").daily_micros == 5_000_000


def test_an_order_ends_once(door, double):
    record(door, double.order())
    record_outcome(door.ledger, "b1", "done")
    record_outcome(door.ledger, "b1", "done")
    with pytest.raises(GaelpError, match="ended as done"):
        record_outcome(door.ledger, "b1", "rejected")
    with pytest.raises(GaelpError, match="is unknown"):
        record_outcome(door.ledger, "b2", "done")
    assert open_orders(door.ledger, "acc") == []


def test_what_is_done_is_marked_until_it_was_read_back(door, double):
    record(door, double.order())
    note_read_back(door.ledger, "b1", "too early")
    assert find_order(door.ledger, "b1").detail == ""
    record_outcome(door.ledger, "b1", "done", NOT_READ_BACK)
    for finding in ("it differs" * 100, ""):
        note_read_back(door.ledger, "b1", finding)
        assert find_order(door.ledger, "b1").detail == finding[:500]


def test_orders_are_listed_as_they_came(door, double):
    for key in ("z", "a", "m"):
        record(door, double.order(key))
    assert [row.key for row in orders_of_day(door.ledger, "acc", "2026-11-16")] == ["z", "a", "m"]
    assert [row.key for row in orders_of_campaign(door.ledger, "acc", "spring")] == ["m", "a", "z"]
    assert find_order(door.ledger, "a").order == double.order("a")


def test_a_whole_life_leaves_books_that_balance(door, double):
    for each in (double.order(), double.order("p1", "publish"), double.order("e1", "enable")):
        assert guarded(door.guard, double.approve(door, each)) == Done()
    door.platform.faults.extend(["lose answer", "lose call"])
    for key in ("b2", "b3"):
        outcome = guarded(door.guard, double.approve(door, double.order(key, daily=6_000_000)))
        assert isinstance(outcome, Unknown)
    with pytest.raises(Refused):
        guarded(door.guard, double.approve(door, double.order("b4", daily=20_000_000)))
    door.platform.deliver(50)
    door.clock.advance(timedelta(hours=2))
    assert reconcile(door.guard).failures == ()
    assert find_transfer(door.ledger, "b3").state is TransferState.VOIDED
    for _ in range(5):
        door.clock.advance(timedelta(days=1))
        assert reconcile(door.guard).failures == ()
    assert find_transfer(door.ledger, "b1").state is TransferState.POSTED
    assert verify(door.ledger).balances


def test_the_newest_orders_of_a_kind_come_first_however_many_there_are(door, double):
    for number in range(20):
        record(door, double.order(f"b{number}"))
        record(door, double.order(f"e{number}", "enable"))
    record(door, double.order("other", campaign="summer"))
    found = [row.key for row in newest_orders(door.ledger, "acc", "spring", "budget")]
    assert found == [f"b{number}" for number in reversed(range(20))]
    assert [row.key for row in orders_of_day(door.ledger, "acc", "2026-11-16", "summer")] == ["other"]
