"""What is read back wrong is paused and told; a pause that fails is told each time, and nobody is told it succeeded."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gaelp.errors import Refused
from gaelp.platforms import Done, find_order, guarded, pause, reconcile


def done(door, double, *orders):
    for one in orders:
        assert guarded(door.guard, double.approve(door, one)) == Done()


def doubled(door, double, one, *, pause_fails=False):
    """An order that the platform carries out with twice its budget; what the door says to that."""
    door.platform.faults.append("double the budget")
    door.platform.pause_faults.extend(["raise before"] * 3 if pause_fails else [])
    with pytest.raises(Refused) as refusal:
        guarded(door.guard, double.approve(door, one))
    return str(refusal.value)


def status(door):
    return door.platform.campaigns["spring"].status


def test_the_refusal_says_that_it_was_paused_only_if_it_was(door, double):
    done(door, double, double.order(), double.order("e1", "enable"))
    assert "so it was paused" in doubled(door, double, double.order("b2", daily=6_000_000))
    done(door, double, double.order("b3"), double.order("e2", "enable"))
    said = doubled(door, double, double.order("b4", daily=6_000_000), pause_fails=True)
    assert (status(door), "so it was paused" in said) == ("enabled", False)
    assert "THE PAUSE DID NOT SUCCEED" in said
    assert "by hand, now" in said


def test_a_pause_that_fails_is_told_each_time_though_the_difference_was_told_before(door, double):
    done(door, double, double.order(), double.order("e1", "enable"))
    doubled(door, double, double.order("b2", daily=6_000_000))
    done(door, double, double.order("b3"), double.order("e2", "enable"))
    for key in ("b4", "b5"):
        doubled(door, double, double.order(key, daily=6_000_000), pause_fails=True)
    assert door.heard.rules == ["read-back-differs", "pause-failed", "pause-failed"]
    assert all("DID NOT SUCCEED" in alert.body for alert in door.heard.alerts[1:])
    [waiting] = [one for one in door.guard.alerts.pending if one.alert.key == "pause-failed/spring"]
    assert waiting.repeats == 1


def test_after_an_answer_the_next_difference_is_told_and_so_is_the_pause_of_the_next_reconcile(door, double):
    done(door, double, double.order(), double.order("e1", "enable"))
    doubled(door, double, double.order("b2", daily=6_000_000))
    door.guard.alerts.acknowledge("guarded", "read-back-differs/spring")
    done(door, double, double.order("b3"), double.order("e2", "enable"))
    doubled(door, double, double.order("b4", daily=6_000_000), pause_fails=True)
    assert reconcile(door.guard).paused == ("spring",)
    assert door.heard.rules == ["read-back-differs", "pause-failed", "read-back-differs"]


def test_a_campaign_that_reconcile_could_not_pause_is_a_failure_and_not_among_the_paused(door, double):
    done(door, double, double.order(), double.order("e1", "enable"))
    door.platform.set_budget("spring", 7_000_000, double.NOW.date(), key="by hand")
    door.platform.pause_faults.extend(["raise before"] * 3)
    found = reconcile(door.guard)
    assert found.paused == ()
    assert ["DID NOT SUCCEED" in failure for failure in found.failures] == [True]


def test_a_cost_beyond_its_reservation_is_paused_again_until_the_pause_succeeds(door, double):
    done(door, double, double.order(), double.order("e1", "enable"))
    door.platform.charge("spring", double.NOW.date(), 12_000_000)
    door.clock.advance(timedelta(hours=4))
    door.platform.pause_faults.extend(["raise before"] * 3)
    assert reconcile(door.guard).paused == ()
    assert [reconcile(door.guard).paused for _ in range(2)] == [("spring",), ()]


# The same order again


def test_a_retry_of_what_was_read_back_wrong_is_told_the_same_until_the_platform_has_it_right(door, double):
    one = double.order()
    doubled(door, double, one)
    with pytest.raises(Refused, match="daily budget of 10000000 micros, wanted was 5000000"):
        guarded(door.guard, one)
    door.platform.set_budget("spring", 5_000_000, double.NOW.date(), key="by hand")
    assert guarded(door.guard, one) == Done()
    assert find_order(door.ledger, one.key).detail == ""


def test_a_retry_pauses_what_the_first_attempt_could_not(door, double):
    done(door, double, double.order(), double.order("e1", "enable"))
    one = double.order("b2", daily=6_000_000)
    doubled(door, double, one, pause_fails=True)
    with pytest.raises(Refused, match="so it was paused"):
        guarded(door.guard, one)
    assert status(door) == "paused"


def test_a_retry_of_an_old_order_pauses_nothing_that_newer_orders_made_right(door, double):
    one = double.order()
    doubled(door, double, one)
    done(door, double, double.order("b2", daily=8_000_000), double.order("e2", "enable", daily=8_000_000))
    with pytest.raises(Refused, match="newer orders of spring"):
        guarded(door.guard, one)
    assert status(door) == "enabled"


def test_what_was_enabled_and_paused_again_is_not_answered_as_done(door, double):
    done(door, double, double.order())
    real, door.platform.read_campaigns = door.platform.read_campaigns, None
    one = double.order("e1", "enable")
    with pytest.raises(Refused, match="cannot be read back"):
        guarded(door.guard, double.approve(door, one))
    door.platform.read_campaigns = real
    for _ in range(2):
        with pytest.raises(Refused, match="paused still: enable it with a new order"):
            guarded(door.guard, one)


def test_what_took_effect_without_an_answer_is_read_back_by_the_retry(door, double):
    one = double.approve(door, double.order())
    door.platform.faults.append("lose answer")
    guarded(door.guard, one)
    state = door.platform.campaigns["spring"]
    door.platform.campaigns["spring"] = replace(state, daily_micros=10_000_000)
    with pytest.raises(Refused, match="wanted was 5000000"):
        guarded(door.guard, one)


def test_what_was_done_and_right_is_not_read_back_by_a_retry(door, double):
    one = double.order()
    done(door, double, one)
    door.platform.set_budget("spring", 7_000_000, double.NOW.date(), key="by hand")
    assert guarded(door.guard, one) == Done()
    assert door.platform.sent("pause") == []


# What is told of the unknown


def test_each_order_of_unknown_outcome_is_told(door, double):
    for key in ("b1", "b2"):
        door.platform.faults.append("lose call")
        guarded(door.guard, double.approve(door, double.order(key)))
    assert [alert.key for alert in door.heard.alerts] == ["outcome-unknown/b1", "outcome-unknown/b2"]
    assert "budget of spring" in door.heard.alerts[0].body


def test_a_pause_that_works_needs_no_alert_of_its_own(door, double):
    done(door, double, double.order(), double.order("e1", "enable"))
    assert pause(door.platform, "spring") == Done()
    assert door.heard.alerts == []
