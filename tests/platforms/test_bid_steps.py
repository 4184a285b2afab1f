"""Bids under a mandate change by a bounded share within any hour, up and down; people may sign any step."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gaelp.errors import BadInput, Refused
from gaelp.platforms import Bid, Done, Unknown, guarded


@pytest.fixture
def bidding(door, double):
    """A campaign with a budget under a mandate; the answer makes one bid for group-1, and then some."""
    granted = double.grant(door, double.mandate())
    assert guarded(door.guard, double.under(granted)) == Done()
    numbers = iter(range(1000))

    def bid(micros, target="group-1", guard=None):
        bids = (Bid(target=target, micros=micros),)
        order = double.under(granted, f"bid-{next(numbers)}", "bid").model_copy(update={"bids": bids})
        return guarded(guard or door.guard, order)

    return bid


def refused(bid, *given):
    with pytest.raises(Refused) as refusal:
        bid(*given)
    return str(refusal.value)


def test_the_first_bid_is_bounded_by_the_ceiling_alone(bidding):
    assert bidding(400_000) == Done()
    assert "a bid of $0.40" in refused(bidding, 400_001, "group-2")


@pytest.mark.parametrize(("micros", "allowed"), [(300_000, True), (300_001, False), (133_334, True), (133_333, False)])
def test_a_bid_changes_by_at_most_half_within_an_hour(bidding, micros, allowed):
    bidding(200_000)
    if allowed:
        assert bidding(micros) == Done()
    else:
        assert "had $0.20 to $0.20 within the last hour, allowed: $0.133334 to $0.30 (50% an hour)" in refused(
            bidding, micros
        )


def test_small_steps_within_an_hour_do_not_add_up(door, bidding):
    for micros in (100_000, 120_000, 150_000):
        bidding(micros)
        door.clock.advance(timedelta(minutes=10))
    assert "allowed: $0.10 to $0.15" in refused(bidding, 151_000)
    assert "allowed: $0.10 to $0.15" in refused(bidding, 99_000)
    door.clock.advance(timedelta(minutes=41))  # an hour and a minute after the second bid
    assert bidding(180_000) == Done()


def test_an_hour_later_the_bid_that_was_in_force_counts_and_none_before_it(door, bidding):
    bidding(100_000)
    door.clock.advance(timedelta(hours=2))
    bidding(150_000)
    door.clock.advance(timedelta(minutes=59))
    assert "$0.10 to $0.15" in refused(bidding, 225_000)
    door.clock.advance(timedelta(minutes=1))
    assert bidding(225_000) == Done()


def test_a_bid_that_may_have_arrived_counts(door, bidding):
    bidding(200_000)
    door.platform.faults.append("lose call")
    assert isinstance(bidding(300_000), Unknown)
    assert "had $0.20 to $0.30" in refused(bidding, 190_000)


def test_targets_are_bounded_each_by_itself(bidding):
    bidding(100_000)
    assert bidding(400_000, "group-2") == Done()


def test_people_may_sign_a_larger_step_and_it_counts_from_then_on(door, double, bidding):
    bidding(100_000)
    signed = double.order("by-hand", "bid", bids=(Bid(target="group-1", micros=400_000),))
    assert guarded(door.guard, double.approve(door, signed)) == Done()
    assert "had $0.10 to $0.40" in refused(bidding, 300_000)
    door.clock.advance(timedelta(hours=1))
    assert bidding(300_000) == Done()


def test_another_share_can_be_configured(door, bidding):
    strict = replace(door.guard, bid_change_percent=10)
    bidding(100_000)
    assert "allowed: $0.09091 to $0.11 (10% an hour)" in refused(bidding, 111_000, "group-1", strict)
    with pytest.raises(BadInput, match="bid_change_percent=0"):
        replace(door.guard, bid_change_percent=0)
