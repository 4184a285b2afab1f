"""A campaign that is read back wrong is paused and reported; a failed pause is never reported as successful."""

import traceback
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gaelp.errors import Refused
from gaelp.platforms import Done, Unknown, find_order, guarded, pause, reconcile


def done(door, double, *orders):
    for each in orders:
        assert guarded(door.guard, double.approve(door, each)) == Done()


def doubled(door, double, each, *, pause_fails=False):
    """An order that the platform carries out with twice its budget; what the door says to that."""
    door.platform.faults.append("double the budget")
    door.platform.pause_faults.extend(["raise before"] * 3 if pause_fails else [])
    with pytest.raises(Refused) as refusal:
        guarded(door.guard, double.approve(door, each))
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


def test_a_pause_that_fails_is_reported_though_the_difference_was_reported_before_and_counted_when_it_fails_again(
    door, double
):
    done(door, double, double.order(), double.order("e1", "enable"))
    doubled(door, double, double.order("b2", daily=6_000_000))
    done(door, double, double.order("b3"), double.order("e2", "enable"))
    for key in ("b4", "b5"):
        doubled(door, double, double.order(key, daily=6_000_000), pause_fails=True)
    assert door.heard.rules == ["read-back-differs", "pause-failed"]
    assert all("DID NOT SUCCEED" in alert.body for alert in door.heard.alerts[1:])
    [waiting] = [each for each in door.guard.alerts.pending if each.alert.key == "pause-failed/spring"]
    assert waiting.repeats == 1


def test_after_an_answer_the_next_difference_is_reported_and_so_is_the_pause_of_the_next_reconcile(door, double):
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
    result = reconcile(door.guard)
    assert result.paused == ()
    assert ["DID NOT SUCCEED" in failure for failure in result.failures] == [True]


def test_a_cost_beyond_its_reservation_is_paused_again_until_the_pause_succeeds(door, double):
    done(door, double, double.order(), double.order("e1", "enable"))
    door.platform.charge("spring", double.NOW.date(), 12_000_000)
    door.clock.advance(timedelta(hours=4))
    door.platform.pause_faults.extend(["raise before"] * 3)
    assert reconcile(door.guard).paused == ()
    assert [reconcile(door.guard).paused for _ in range(2)] == [("spring",), ()]


# The same order again


def test_a_retry_of_what_was_read_back_wrong_gets_the_same_answer_until_the_platform_has_it_right(door, double):
    each = double.order()
    doubled(door, double, each)
    with pytest.raises(Refused, match="daily budget of 10000000 micros, expected was 5000000"):
        guarded(door.guard, each)
    door.platform.set_budget("spring", 5_000_000, double.NOW.date(), key="by hand")
    assert guarded(door.guard, each) == Done()
    assert find_order(door.ledger, each.key).detail == ""


def test_a_retry_pauses_what_the_first_attempt_could_not(door, double):
    done(door, double, double.order(), double.order("e1", "enable"))
    each = double.order("b2", daily=6_000_000)
    doubled(door, double, each, pause_fails=True)
    with pytest.raises(Refused, match="so it was paused"):
        guarded(door.guard, each)
    assert status(door) == "paused"


def test_a_retry_of_an_old_order_pauses_nothing_that_newer_orders_made_right(door, double):
    each = double.order()
    doubled(door, double, each)
    done(door, double, double.order("b2", daily=8_000_000), double.order("e2", "enable", daily=8_000_000))
    with pytest.raises(Refused, match="newer orders of spring"):
        guarded(door.guard, each)
    assert status(door) == "enabled"


def test_what_was_enabled_and_paused_again_is_not_answered_as_done(door, double):
    done(door, double, double.order())
    real, door.platform.read_campaigns = door.platform.read_campaigns, None
    each = double.order("e1", "enable")
    with pytest.raises(Refused, match="could not be read back"):
        guarded(door.guard, double.approve(door, each))
    door.platform.read_campaigns = real
    for _ in range(2):
        with pytest.raises(Refused, match="still paused: enable it with a new order"):
            guarded(door.guard, each)


def test_what_took_effect_without_an_answer_is_read_back_by_the_retry(door, double):
    each = double.approve(door, double.order())
    door.platform.faults.append("lose answer")
    guarded(door.guard, each)
    state = door.platform.campaigns["spring"]
    door.platform.campaigns["spring"] = replace(state, daily_micros=10_000_000)
    with pytest.raises(Refused, match="expected was 5000000"):
        guarded(door.guard, each)


def test_what_was_done_and_right_is_not_read_back_by_a_retry(door, double):
    each = double.order()
    done(door, double, each)
    door.platform.set_budget("spring", 7_000_000, double.NOW.date(), key="by hand")
    assert guarded(door.guard, each) == Done()
    assert door.platform.sent("pause") == []


def test_a_retry_of_what_was_replaced_names_the_cause_and_no_longer_what_was_to_be_done(door, double):
    done(door, double, double.order(), double.order("e1", "enable"))
    each = double.order("b2", daily=6_000_000)
    doubled(door, double, each, pause_fails=True)
    done(door, double, double.order("b3"))
    with pytest.raises(Refused, match="daily budget of 12000000 micros, expected was 6000000") as refusal:
        guarded(door.guard, each)
    assert "newer orders of spring" in str(refusal.value)
    assert all(words not in str(refusal.value) for words in ("DID NOT SUCCEED", "by hand", "now"))


def test_an_enable_that_is_found_out_later_and_is_paused_is_not_answered_as_done(door, double):
    done(door, double, double.order())
    each = double.order("e1", "enable")
    door.platform.faults.append("lose answer")
    guarded(door.guard, double.approve(door, each))
    assert reconcile(door.guard).resolved == {"e1": "done"}
    pause(door.platform, "spring")
    for _ in range(2):
        with pytest.raises(Refused, match="still paused: enable it with a new order"):
            guarded(door.guard, each)


# What landed after the stop


def landed(door, double, each, *, pause_fails=0):
    """An order whose call is on the line when the stop comes, and takes effect after the stop's own pause."""
    real = door.platform.enable

    def slow(campaign, *, key):
        door.guard.switch.stop(by="ann", reason="drill")
        door.platform.pause_faults.extend(["raise before"] * pause_fails)
        return real(campaign, key=key)

    door.platform.enable = slow
    return guarded(door.guard, double.approve(door, each))


def test_an_enable_that_landed_after_the_stop_is_paused_and_said_to_be_then_and_on_a_retry(door, double):
    done(door, double, double.order())
    each = double.order("e1", "enable")
    with pytest.raises(Refused, match="paused because of the stop"):
        landed(door, double, each)
    assert (status(door), door.heard.rules) == ("paused", ["landed-after-stop"])
    with pytest.raises(Refused, match="paused because of the stop"):
        guarded(door.guard, each)
    door.guard.switch.release(lambda _: None)
    with pytest.raises(Refused, match="still paused: enable it with a new order"):
        guarded(door.guard, each)


def test_what_landed_after_the_stop_and_could_not_be_paused_is_refused_until_it_is(door, double):
    done(door, double, double.order())
    each = double.order("e1", "enable")
    with pytest.raises(Refused, match="DID NOT SUCCEED"):
        landed(door, double, each, pause_fails=6)
    assert (status(door), door.heard.rules) == ("enabled", ["pause-failed"])
    door.platform.pause_faults.extend(["raise before"] * 3)
    with pytest.raises(Refused, match=r"'enabled' while the kill switch is set; THE PAUSE DID NOT SUCCEED"):
        guarded(door.guard, each)
    with pytest.raises(Refused, match="so it was paused"):
        guarded(door.guard, each)
    assert status(door) == "paused"


def test_a_budget_that_landed_after_the_stop_is_done_only_if_its_campaign_is_paused(door, double):
    done(door, double, double.order(), double.order("e1", "enable"))
    at_call = []

    def stop_at(step):
        if step == "sent" and not at_call:
            at_call.append(step)
            door.platform.pause_faults.extend(["raise before"] * 12)
            door.guard.switch.stop(by="ann", reason="drill")

    each = double.approve(door, double.order("b2", daily=6_000_000))
    with pytest.raises(Refused, match="DID NOT SUCCEED"):
        guarded(replace(door.guard, at_step=stop_at), each)
    door.platform.pause_faults.clear()
    with pytest.raises(Refused, match="so it was paused"):
        guarded(door.guard, each)
    assert guarded(door.guard, each) == Done()


def test_an_unknown_that_landed_after_the_stop_is_paused_and_says_so(door, double):
    done(door, double, double.order())
    door.platform.faults.append("lose answer")
    outcome = landed(door, double, double.order("e1", "enable"))
    assert isinstance(outcome, Unknown)
    assert "being sent when the kill switch was set, so it was paused" in outcome.detail
    assert status(door) == "paused"


# What cannot be read


class Unreadable(Exception):
    """As a client raises it, with the address it was calling."""


def unreadable():
    raise Unreadable("no answer from https://api.example/?access_token=s3cr3tvalue")


def test_what_cannot_be_read_back_is_a_violation_and_each_order_is_reported(door, double):
    done(door, double, double.order())
    real, door.platform.read_campaigns = door.platform.read_campaigns, unreadable
    for key in ("e1", "e2"):
        with pytest.raises(Refused, match="could not be read back"):
            guarded(door.guard, double.approve(door, double.order(key, "enable")))
    assert [alert.key for alert in door.heard.alerts] == ["not-read-back/e1", "not-read-back/e2"]
    result = door.guard.violations.list(scope="spring")
    assert [(each.rule, each.severity) for each in result] == [("not-read-back", "warning")] * 2
    assert real()[0].status == "paused"


def test_a_traceback_of_what_cannot_be_read_back_shows_no_secret(door, double):
    done(door, double, double.order())
    door.platform.read_campaigns = unreadable
    with pytest.raises(Refused, match="Unreadable") as refusal:
        guarded(door.guard, double.approve(door, double.order("e1", "enable")))
    shown = "".join(traceback.format_exception(refusal.value))
    assert "s3cr3tvalue" not in shown


@pytest.mark.parametrize("wrong", [{"through": datetime(2026, 11, 16, tzinfo=UTC)}, {"through": None}])
def test_what_is_read_back_and_cannot_be_compared_is_paused(door, double, wrong):
    done(door, double, double.order())
    real = door.platform.read_campaigns
    door.platform.read_campaigns = lambda: tuple(replace(each, **wrong) for each in real())
    with pytest.raises(Refused, match="could not be read back"):
        guarded(door.guard, double.approve(door, double.order("e1", "enable")))
    assert real()[0].status == "paused"


def test_a_malformed_neighbour_keeps_nothing_from_being_read_back(door, double):
    real = door.platform.read_campaigns
    door.platform.read_campaigns = lambda: (None, *real())
    done(door, double, double.order())


# Alerts about unknown outcomes


def test_each_order_of_unknown_outcome_is_reported(door, double):
    for key in ("b1", "b2"):
        door.platform.faults.append("lose call")
        guarded(door.guard, double.approve(door, double.order(key)))
    assert [alert.key for alert in door.heard.alerts] == ["outcome-unknown/b1", "outcome-unknown/b2"]
    assert "budget of spring" in door.heard.alerts[0].body


def test_a_pause_that_works_needs_no_separate_alert(door, double):
    done(door, double, double.order(), double.order("e1", "enable"))
    assert pause(door.platform, "spring") == Done()
    assert door.heard.alerts == []
