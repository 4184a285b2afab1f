"""Books and platform come together: unknown outcomes, budgets as they are, one more day, costs."""

import threading
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from gaelp.budget.ledger import CapKind, TransferState, find_transfer, overview, verify
from gaelp.budget.violations import Resolution
from gaelp.errors import Refused
from gaelp.platforms import Done, ForeignEdit, Unknown, find_order, guarded, pause, reconcile
from gaelp.platforms.renewal import renewal_of

DAY = date(2026, 11, 16)


def done(door, double, *orders):
    for each in orders:
        assert guarded(door.guard, double.approve(door, each)) == Done()


def running(door, double, **options):
    done(door, double, double.order(**options), double.order("e1", "enable", **options))


def state_of(door, key):
    return find_transfer(door.ledger, key).state


def status(door):
    return door.platform.read_campaigns()[0].status


def booked(door):
    caps = {cap.id: cap for cap in overview(door.ledger).caps}
    return caps["total:all"].reserved_micros, caps["total:all"].posted_micros


def rules(door):
    return [result.rule for result in door.guard.violations.list()]


# Unknown outcomes


@pytest.mark.parametrize("fault", ["lose answer", "raise after"])
def test_what_took_effect_without_an_answer_is_found_by_its_key(door, double, fault):
    door.platform.faults.append(fault)
    guarded(door.guard, double.approve(door, double.order()))
    assert reconcile(door.guard).resolved == {"b1": "done"}
    assert find_order(door.ledger, "b1").outcome == "done"
    assert state_of(door, "b1") is TransferState.IN_FLIGHT


@pytest.mark.parametrize("fault", ["lose call", "raise before"])
def test_what_left_no_trace_keeps_its_room_until_no_trace_can_come(door, double, fault):
    door.platform.faults.append(fault)
    each = double.approve(door, double.order())
    guarded(door.guard, each)
    door.clock.advance(timedelta(minutes=69))
    assert "unknown" in reconcile(door.guard).resolved["b1"]
    assert state_of(door, "b1") is TransferState.IN_FLIGHT
    door.clock.advance(timedelta(minutes=1))
    assert "no trace" in reconcile(door.guard).resolved["b1"]
    assert state_of(door, "b1") is TransferState.VOIDED
    assert "no trace" in guarded(door.guard, each).reason
    assert len(door.platform.calls) == 1


def test_a_call_that_arrives_late_is_found_and_its_room_was_kept(door, double):
    door.platform.faults.append("delay call")
    guarded(door.guard, double.approve(door, double.order()))
    door.clock.advance(timedelta(minutes=31))
    assert reconcile(door.guard).resolved == {"b1": "done"}


def test_what_cannot_be_looked_up_stays_unknown(door, double):
    door.platform.faults.append("lose answer")
    each = double.approve(door, double.order())
    guarded(door.guard, each)
    door.platform.down = True
    door.clock.advance(timedelta(hours=5))
    assert isinstance(guarded(door.guard, each), Unknown)
    result = reconcile(door.guard)
    assert "could not be looked up" in result.resolved["b1"]
    assert any("comparing budgets" in failure for failure in result.failures)
    assert state_of(door, "b1") is TransferState.IN_FLIGHT
    assert door.heard.alerts[-1].severity == "critical"


def test_a_call_that_arrives_after_it_was_given_up_is_a_violation_and_paused(door, double):
    running(door, double)
    door.platform.delay = timedelta(hours=3)
    door.platform.faults.append("delay call")
    guarded(door.guard, double.approve(door, double.order("b2", daily=9_000_000)))
    door.clock.advance(timedelta(hours=2))
    assert "no trace" in reconcile(door.guard).resolved["b2"]
    assert status(door) == "enabled"
    door.clock.advance(timedelta(hours=2))
    assert reconcile(door.guard).paused == ("spring",)
    assert status(door) == "paused"
    assert rules(door) == ["read-back-differs"]


# Budgets as they are


def test_a_budget_that_was_changed_by_hand_is_a_violation_and_paused(door, double):
    running(door, double)
    assert reconcile(door.guard).paused == ()
    door.platform.set_budget("spring", 7_000_000, DAY, key="by hand")
    assert reconcile(door.guard).paused == ("spring",)
    assert (status(door), rules(door)) == ("paused", ["read-back-differs"])


def test_a_campaign_that_may_run_longer_than_today_is_paused(door, double):
    running(door, double)
    door.platform.set_budget("spring", 5_000_000, DAY + timedelta(days=1), key="by hand")
    assert reconcile(door.guard).paused == ("spring",)


def test_a_campaign_nobody_ordered_is_paused(door):
    door.platform.set_budget("stray", 1_000_000, DAY, key="by hand")
    door.platform.enable("stray", key="by hand too")
    assert reconcile(door.guard).paused == ("stray",)
    assert rules(door) == ["read-back-differs"]


def test_a_budget_that_only_a_refused_order_has_named_is_none_that_was_given(door, double):
    running(door, double)
    with pytest.raises(Refused, match="expected was 9000000"):
        guarded(door.guard, double.approve(door, double.order("e2", "enable", daily=9_000_000)))
    door.platform.set_budget("spring", 9_000_000, DAY, key="by hand")
    door.platform.enable("spring", key="by hand too")
    assert reconcile(door.guard).paused == ("spring",)


def test_a_budget_that_was_reserved_and_never_sent_is_none_that_was_given(door, double):
    def die(step):
        if step == "reserved":
            raise KeyboardInterrupt

    running(door, double)
    with pytest.raises(KeyboardInterrupt):
        guarded(replace(door.guard, at_step=die), double.approve(door, double.order("b2", daily=9_000_000)))
    door.platform.set_budget("spring", 9_000_000, DAY, key="by hand")
    assert reconcile(door.guard).paused == ("spring",)


def test_a_budget_whose_order_is_unknown_still_may_be_there(door, double):
    running(door, double)
    door.platform.faults.append("lose answer")
    guarded(door.guard, double.approve(door, double.order("b2", daily=9_000_000)))
    door.platform.look_up = lambda _: Unknown("still")
    assert reconcile(door.guard).paused == ()


def test_what_runs_while_stopped_is_paused(door, double):
    running(door, double)
    door.guard.switch.stop(by="ann", reason="drill")
    door.platform.enable("spring", key="late")
    assert reconcile(door.guard).paused == ("spring",)
    assert status(door) == "paused"


@pytest.mark.parametrize("word", ["ENABLED", "limited"])
def test_a_status_nobody_knows_counts_as_running(door, double, word):
    running(door, double)
    real = door.platform.read_campaigns
    door.platform.read_campaigns = lambda: tuple(
        replace(each, status=word) if each.status == "enabled" else each for each in real()
    )
    assert reconcile(door.guard).paused == ()
    door.platform.set_budget("spring", 7_000_000, DAY, key="by hand")
    assert reconcile(door.guard).paused == ("spring",)
    door.guard.switch.stop(by="ann", reason="drill")
    door.platform.enable("spring", key="late")
    assert reconcile(door.guard).paused == ("spring",)


WRONG = {"through": datetime(2026, 11, 16, tzinfo=UTC)}, {"through": None}, {"daily_micros": None}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_malformed_campaign_is_paused_and_keeps_no_other_from_being_compared(door, double, wrong):
    done(door, double, double.order(), double.order("e1", "enable"))
    done(door, double, double.order("b2", campaign="summer"), double.order("e2", "enable", campaign="summer"))
    door.platform.set_budget("summer", 7_000_000, DAY, key="by hand")
    real = door.platform.read_campaigns
    door.platform.read_campaigns = lambda: (replace(real()[0], **wrong), *real()[1:])
    result = reconcile(door.guard)
    assert (result.paused, result.failures) == (("spring", "summer"), ())
    assert {each.status for each in real()} == {"paused"}
    assert rules(door) == ["read-back-differs"] * 2


def test_an_entry_without_a_name_is_a_failure_and_keeps_no_other_from_being_paused(door, double):
    running(door, double)
    door.platform.set_budget("spring", 7_000_000, DAY, key="by hand")
    real = door.platform.read_campaigns
    door.platform.read_campaigns = lambda: (None, *real())
    result = reconcile(door.guard)
    assert result.paused == ("spring",)
    assert ["fix the connector" in failure for failure in result.failures] == [True]
    assert door.heard.rules[-1] == "not-reconciled"


def test_everything_is_paused_before_anybody_is_alerted(door, double):
    done(door, double, double.order(), double.order("e1", "enable"))
    for name in ("stray", "foundling"):
        door.platform.set_budget(name, 1_000_000, DAY, key=f"{name} by hand")
        door.platform.enable(name, key=f"{name} by hand too")
    door.platform.charge("spring", DAY, 12_000_000)
    door.clock.advance(timedelta(hours=4))
    actual, real = [], door.heard.send

    def send(alert):
        actual.append({each.status for each in door.platform.campaigns.values()})
        real(alert)

    door.heard.send = send
    assert set(reconcile(door.guard).paused) == {"spring", "stray", "foundling"}
    assert actual == [{"paused"}] * 3
    assert len(rules(door)) == 3


def test_campaigns_that_must_not_run_are_paused_in_parallel(door):
    names = [f"stray{number}" for number in range(4)]
    for name in names:
        door.platform.set_budget(name, 1_000_000, DAY, key=f"{name} by hand")
        door.platform.enable(name, key=f"{name} by hand too")
    real, together = door.platform.pause, threading.Barrier(len(names), timeout=10)

    def wait_for_the_others(campaign, *, key):
        together.wait()
        return real(campaign, key=key)

    door.platform.pause = wait_for_the_others
    assert set(reconcile(door.guard).paused) == set(names)


def test_what_was_resolved_and_happens_again_is_on_record_again(door, double):
    running(door, double)
    for number in (1, 2):
        door.platform.set_budget("spring", 7_000_000, DAY, key=f"by hand {number}")
        for look in (1, 2):  # looked at twice, it is one violation
            door.platform.enable("spring", key=f"by hand too {number} {look}")
            reconcile(door.guard)
        assert rules(door) == ["read-back-differs"] * number
        settled = Resolution(text="set right", by="ann", at=door.clock.now())
        door.guard.violations.resolve(door.guard.violations.list()[-1].id, settled)


# One more day


def test_a_campaign_of_unknown_status_is_not_renewed_and_that_is_reported(door, double):
    running(door, double)
    real = door.platform.read_campaigns
    door.platform.read_campaigns = lambda: tuple(replace(each, status="limited") for each in real())
    door.clock.advance(timedelta(days=1))
    result = reconcile(door.guard)
    assert result.renewed == ()
    assert ["'limited', allowed: enabled or paused" in failure for failure in result.failures] == [True]


def test_an_approved_campaign_runs_one_more_day_with_its_worst_case_reserved_again(door, double):
    running(door, double)
    door.clock.advance(timedelta(days=1))
    assert reconcile(door.guard).renewed == ("spring",)
    assert door.platform.read_campaigns()[0].through == DAY + timedelta(days=1)
    assert find_transfer(door.ledger, "renew/2026-11-17/spring/1").amount_micros == 10_000_000
    calls = len(door.platform.calls)
    assert reconcile(door.guard).renewed == ()
    assert len(door.platform.calls) == calls


def test_nothing_is_renewed_beyond_the_last_day_that_was_approved(door, double):
    running(door, double, until=DAY)
    door.clock.advance(timedelta(days=1))
    assert reconcile(door.guard).renewed == ()
    door.platform.deliver()
    assert door.platform.spent(day=DAY + timedelta(days=1)) == 0


def test_a_paused_campaign_is_not_renewed(door, double):
    running(door, double)
    pause(door.platform, "spring")
    door.clock.advance(timedelta(days=1))
    assert reconcile(door.guard).renewed == ()


def test_what_could_not_be_paused_is_not_renewed(door, double):
    running(door, double)
    door.clock.advance(timedelta(days=1))
    door.platform.campaigns["spring"] = replace(door.platform.campaigns["spring"], daily_micros=7_000_000)
    door.platform.pause_faults.extend(["raise before"] * 3)
    result = reconcile(door.guard)
    assert (result.renewed, status(door)) == ((), "enabled")
    assert any("DID NOT SUCCEED" in failure for failure in result.failures)
    assert len(door.platform.sent("set_budget")) == 1


def test_a_pause_that_fails_for_days_is_one_alert_that_comes_back_at_growing_intervals(door, double):
    running(door, double)
    door.platform.campaigns["spring"] = replace(door.platform.campaigns["spring"], daily_micros=7_000_000)
    for _ in range(3 * 24):
        door.platform.pause_faults.extend(["raise before"] * 3)
        reconcile(door.guard)
        door.clock.advance(timedelta(hours=1))
    assert 4 <= door.heard.rules.count("pause-failed") <= 10
    [waiting] = [each for each in door.guard.alerts.pending if each.alert.key == "pause-failed/spring"]
    assert waiting.repeats == 3 * 24 - 1


def test_nothing_is_renewed_while_stopped(door, double):
    running(door, double)
    door.guard.switch.stop(by="ann", reason="drill")
    door.platform.enable("spring", key="late")
    door.clock.advance(timedelta(days=1))
    assert reconcile(door.guard).renewed == ()
    assert len(door.platform.sent("set_budget")) == 1


def test_a_campaign_without_room_for_another_day_ends_by_itself(make_door, double):
    door = make_door(limits={CapKind.CAMPAIGN: 15_000_000})
    running(door, double)
    door.platform.deliver()
    door.clock.advance(timedelta(days=1))
    result = reconcile(door.guard)
    assert result.renewed == ()
    assert any("renewing spring" in failure for failure in result.failures)
    door.platform.deliver()
    assert door.platform.spent() == 10_000_000


def test_a_renewal_cannot_bring_back_a_budget_that_was_replaced(door, double):
    running(door, double)
    old = renewal_of(door.guard, "spring", DAY)
    done(door, double, double.order("b2", daily=1_000_000))
    with pytest.raises(Refused, match="in force is b2"):
        guarded(door.guard, old)


@pytest.mark.parametrize("changes", [{"daily_micros": 9_000_000}, {"until": date(2027, 1, 1)}, {"requester": "dan"}])
def test_a_renewal_that_differs_from_what_was_approved_is_refused(door, double, changes):
    running(door, double)
    forged = renewal_of(door.guard, "spring", DAY).model_copy(update=changes)
    with pytest.raises(Refused, match="which it renews"):
        guarded(door.guard, forged)
    assert len(door.platform.sent("set_budget")) == 1


def test_a_renewal_that_was_rejected_is_tried_again_with_a_new_key(door, double):
    running(door, double)
    door.clock.advance(timedelta(days=1))
    door.platform.faults.append("reject")
    assert reconcile(door.guard).renewed == ()
    assert reconcile(door.guard).renewed == ("spring",)
    assert find_order(door.ledger, "renew/2026-11-17/spring/2").outcome == "done"


# Costs


def test_a_days_reservation_is_kept_until_its_cost_is_final_then_posted(door, double):
    running(door, double, until=DAY)
    door.platform.deliver(70)
    door.clock.advance(timedelta(days=3, hours=14))
    result = reconcile(door.guard)
    assert (result.posted_micros, len(result.notes)) == (0, 1)
    assert "spring on 2026-11-16, needs a report as of 2026-11-20T00:00:00+00:00 or later" in result.notes[0]
    assert booked(door) == (10_000_000, 0)
    door.clock.advance(timedelta(hours=1))
    result = reconcile(door.guard)
    assert (result.posted_micros, result.notes) == (7_000_000, ())
    assert booked(door) == (0, 7_000_000)
    assert reconcile(door.guard).posted_micros == 0
    assert verify(door.ledger).balances


@pytest.mark.parametrize("revised", [1_500_000, -2_000_000, -7_000_000])
def test_a_cost_that_is_revised_later_is_adjusted_once(door, double, revised):
    running(door, double, until=DAY)
    door.platform.deliver(70)
    door.clock.advance(timedelta(days=4))
    reconcile(door.guard)
    door.platform.charge("spring", DAY, revised)
    door.clock.advance(timedelta(days=1))
    assert [reconcile(door.guard).adjusted_micros for _ in range(2)] == [revised, 0]
    assert booked(door) == (0, 7_000_000 + revised)
    assert verify(door.ledger).balances


def test_a_cost_that_goes_up_and_down_again_is_followed(door, double):
    running(door, double, until=DAY)
    door.clock.advance(timedelta(days=4))
    reconcile(door.guard)
    for difference in (5, -5, 5, -5, 5):
        door.platform.charge("spring", DAY, difference)
        door.clock.advance(timedelta(hours=4))
        assert reconcile(door.guard).adjusted_micros == difference
    assert booked(door) == (0, 5)


def test_cost_beyond_the_reservation_is_a_violation_paused_once_and_booked(door, double):
    running(door, double)
    door.platform.charge("spring", DAY, 12_000_000)
    door.clock.advance(timedelta(hours=4))
    assert reconcile(door.guard).paused == ("spring",)
    assert (status(door), rules(door)) == ("paused", ["cost-beyond-reservation"])
    door.platform.enable("spring", key="somebody has looked")
    assert reconcile(door.guard).paused == ()
    door.clock.advance(timedelta(days=4))
    pause(door.platform, "spring")
    reconcile(door.guard)
    assert booked(door)[1] == 12_000_000


def test_cost_of_a_campaign_nobody_ordered_is_a_violation(door):
    door.platform.charge("stray", DAY, 1)
    door.clock.advance(timedelta(hours=4))
    reconcile(door.guard)
    assert rules(door) == ["cost-beyond-reservation"]


def test_the_room_of_an_unknown_outcome_is_not_posted_away(door, double):
    door.platform.faults.append("lose answer")
    guarded(door.guard, double.approve(door, double.order()))
    door.platform.look_up = lambda key: Unknown("still")
    door.clock.advance(timedelta(days=9))
    assert reconcile(door.guard).posted_micros == 0
    assert state_of(door, "b1") is TransferState.IN_FLIGHT


def test_a_report_from_the_future_is_not_booked(door, double):
    running(door, double, until=DAY)
    door.platform.report_lag = timedelta(days=-9)
    assert any("is in the future" in failure for failure in reconcile(door.guard).failures)
    assert booked(door)[1] == 0


def test_what_was_reserved_and_never_sent_expires(door, double):
    def die(step):
        if step == "reserved":
            raise KeyboardInterrupt

    each = double.approve(door, double.order())
    with pytest.raises(KeyboardInterrupt):
        guarded(replace(door.guard, at_step=die), each)
    door.clock.advance(timedelta(minutes=10))
    assert "expired" in reconcile(door.guard).resolved["b1"]
    assert state_of(door, "b1") is TransferState.EXPIRED


def test_a_cost_that_is_not_final_is_not_booked_on_an_order_that_came_to_nothing(door, double):
    running(door, double, until=DAY)
    door.platform.faults.append("reject")
    guarded(door.guard, double.approve(door, double.order("b2", daily=6_000_000)))
    door.platform.deliver(50)
    door.clock.advance(timedelta(hours=5))
    assert reconcile(door.guard).adjusted_micros == 0
    assert booked(door) == (10_000_000, 0)


def test_what_others_changed_is_reported_with_who_and_when(door, double):
    running(door, double)
    door.platform.edits.append(ForeignEdit("spring", door.clock.now(), "eve@shop.example", "the bid of group-1"))
    door.platform.edits.append(ForeignEdit("spring", door.clock.now() - timedelta(days=2), "eve", "long ago"))
    for _ in range(2):
        report = reconcile(door.guard)
        assert report.edits == ("spring: eve@shop.example changed the bid of group-1 at 2026-11-16T12:00:00+00:00",)
        assert report.failures == ()
    assert door.heard.rules == ["edited-by-others"]
    assert status(door) == "enabled"


def test_edits_that_cannot_be_read_are_a_failure_and_keep_nothing_else_from_being_done(door, double, monkeypatch):
    running(door, double)

    def lost(_since):
        raise ConnectionResetError("the line went dead")

    monkeypatch.setattr(door.platform, "read_edits", lost)
    door.clock.advance(timedelta(days=1))
    report = reconcile(door.guard)
    assert report.renewed == ("spring",)
    assert ["edits by others" in failure for failure in report.failures] == [True]
