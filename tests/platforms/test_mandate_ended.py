"""Nothing keeps running on a budget or on bids of a mandate that has ended, known to be in force or not."""

import pytest

from gaelp.budget.ledger import close_mandate
from gaelp.platforms import Bid, Done, Unknown, guarded, reconcile


@pytest.fixture
def granted(door, double):
    return double.grant(door, double.mandate())


def passes(door, *orders):
    for each in orders:
        assert guarded(door.guard, each) == Done()


def signed(door, double, key, kind="budget", **more):
    passes(door, double.approve(door, double.order(key, kind, **more)))


def test_a_budget_whose_outcome_is_unknown_is_paused_when_its_mandate_ends(door, double, granted):
    signed(door, double, "x1")
    signed(door, double, "e1", "enable")
    door.platform.look_up = lambda _: None
    door.platform.faults.append("lose answer")
    assert isinstance(guarded(door.guard, double.under(granted)), Unknown)
    assert reconcile(door.guard).paused == ()
    close_mandate(door.ledger, granted)
    assert reconcile(door.guard).paused == ("spring",)


def test_a_campaign_is_paused_when_the_mandate_of_its_bids_ends(door, double, granted):
    signed(door, double, "x1")
    signed(door, double, "e1", "enable")
    passes(door, double.under(granted, "bid-1", "bid"))
    assert reconcile(door.guard).paused == ()
    close_mandate(door.ledger, granted)
    result = reconcile(door.guard)
    assert (result.paused, result.renewed) == (("spring",), ())


def test_a_campaign_runs_again_once_budget_and_bids_of_the_ended_mandate_are_replaced(door, double, granted):
    passes(door, *(double.under(granted, kind, kind) for kind in ("budget", "enable", "bid")))
    close_mandate(door.ledger, granted)
    assert reconcile(door.guard).paused == ("spring",)
    signed(door, double, "x1")
    signed(door, double, "x2", "bid", bids=(Bid(target="another", micros=100_000),))
    signed(door, double, "x3", "enable")
    assert reconcile(door.guard).paused == ("spring",)
    signed(door, double, "x4", "bid", bids=(Bid(target="group-1", micros=100_000),))
    signed(door, double, "x5", "enable")
    assert reconcile(door.guard).paused == ()
