"""Orders that are sent together pass the same checks as alone, and every one of them is read back."""

from dataclasses import replace

import pytest

from gaelp.errors import Refused
from gaelp.platforms import Done, Unknown, guarded, guarded_all
from gaelp.platforms.order_book import NOT_READ_BACK, find_order


@pytest.fixture
def approved(door, double):
    """Budgets of both campaigns, signed."""
    orders = [double.order(f"b-{name}", campaign=name) for name in double.CAMPAIGNS]
    double.approve(door, *orders)
    return orders


def test_orders_of_several_campaigns_are_carried_out_and_read_back(door, approved):
    assert guarded_all(door.guard, approved) == [Done(), Done()]
    assert {state.daily_micros for state in door.platform.read_campaigns()} == {5_000_000}
    assert [find_order(door.ledger, order.key).detail for order in approved] == ["", ""]


def test_a_refused_order_does_not_keep_the_others_from_being_sent(door, double, approved):
    unsigned = double.order("unsigned", campaign="spring", daily=6_000_000)
    first, refused, last = guarded_all(door.guard, [approved[0], unsigned, approved[1]])
    assert (first, last) == (Done(), Done())
    assert isinstance(refused, Refused)
    assert find_order(door.ledger, "unsigned") is None
    assert len(door.guard.violations.list()) == 1


def test_a_budget_that_differs_on_the_platform_is_noticed_and_paused(door, approved):
    door.platform.faults.extend(["", "double the budget"])
    first, second = guarded_all(door.guard, approved)
    assert first == Done()
    assert isinstance(second, Refused)
    assert "10000000" in str(second)
    assert [violation.rule for violation in door.guard.violations.list()] == ["read-back-differs"]
    assert door.platform.sent("pause")[0][1] == approved[1].campaign


def test_an_unknown_outcome_is_returned_and_not_read_back(door, approved):
    door.platform.faults.append("lose answer")
    assert isinstance(guarded_all(door.guard, approved)[0], Unknown)
    assert find_order(door.ledger, approved[0].key).outcome == ""


def test_after_a_crash_before_the_read_back_the_retry_reads_it_back(door, approved):
    steps = []

    def crash(step):
        steps.append(step)
        if steps.count("before read back") == 2:  # both were sent
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        guarded_all(replace(door.guard, at_step=crash), approved)
    assert find_order(door.ledger, approved[0].key).detail == NOT_READ_BACK
    assert guarded(door.guard, approved[0]) == Done()
    assert find_order(door.ledger, approved[0].key).detail == ""
    assert len(door.platform.sent("set_budget")) == 2  # each was sent once


def test_a_stop_refuses_every_order_and_sends_nothing(door, approved):
    door.guard.switch.stop(by="ann", reason="enough")
    assert all(isinstance(outcome, Refused) for outcome in guarded_all(door.guard, approved))
    assert door.platform.sent("set_budget") == []
