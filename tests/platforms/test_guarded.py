"""The one door to money: what it lets through, what it refuses, and in which order it looks."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date, timedelta

import pytest

from gaelp.approvals import AuditLog, open_database
from gaelp.budget.ledger import (
    Cap,
    CapKind,
    CapReached,
    KeyReused,
    LedgerUnavailable,
    SpendingStopped,
    TransferState,
    UnknownTransfer,
    find_transfer,
    overview,
    set_limit,
    verify,
)
from gaelp.content import load_checker
from gaelp.errors import BadInput, GaelpError, Refused, WaitingForPerson
from gaelp.money import Money
from gaelp.platforms import ALL_CAPS, Done, Rejected, Unknown, find_order, guarded, pause, pause_all

MONEY_CALLS = ("set_budget", "publish", "enable")
STEPS = (
    "before switch",
    "before order",
    "before approval",
    "before content",
    "before reservation",
    "recorded",
    "reserved",
    "before send",
)


def done(door, double, *orders):
    for each in orders:
        assert guarded(door.guard, double.approve(door, each)) == Done()


def held(door, key):
    return find_transfer(door.ledger, key)


def uses(door):
    return [row for row in AuditLog(open_database(door.folder / "approvals.db")).rows() if row.kind == "approval.used"]


def at(door, step, act):
    """Let something happen once when this step is reached."""
    waiting = [step]

    def hook(reached):
        if reached in waiting:
            waiting.clear()
            act()

    return replace(door.guard, at_step=hook)


# What passes


def test_a_campaign_is_made_filled_and_enabled_and_its_worst_day_is_reserved(door, double):
    done(door, double, double.order(), double.order("p1", "publish"), double.order("e1", "enable"))
    (state,) = door.platform.read_campaigns()
    assert (state.status, state.daily_micros, len(state.creatives)) == ("enabled", 5_000_000, 1)
    assert [held(door, key).amount_micros for key in ("b1", "p1", "e1")] == [10_000_000, 0, 0]
    assert {held(door, key).state for key in ("b1", "p1", "e1")} == {TransferState.IN_FLIGHT}
    assert verify(door.ledger).balances


def test_what_needs_no_more_room_passes_under_caps_that_are_exactly_full(make_door, double):
    door = make_door(limits=dict.fromkeys(ALL_CAPS, 10_000_000))
    done(door, double, double.order(), double.order("p1", "publish"), double.order("e1", "enable"))
    assert {cap.headroom_micros for cap in overview(door.ledger).caps if cap.subject != "summer"} == {0}
    with pytest.raises(Refused):
        guarded(door.guard, double.approve(door, double.order("b2", daily=5_010_000)))
    assert verify(door.ledger).balances


def test_a_budget_is_leased_for_today_only(door, double):
    done(door, double, double.order())
    assert door.platform.read_campaigns()[0].through == double.NOW.date()


def test_the_same_order_again_is_not_sent_again(door, double):
    each = double.order()
    done(door, double, each)
    assert guarded(door.guard, each) == Done()
    assert len(door.platform.sent("set_budget")) == 1


def test_a_raised_budget_reserves_the_difference_and_a_lowered_one_frees_nothing(door, double):
    done(door, double, double.order(), double.order("b2", daily=8_000_000), double.order("b3", daily=1_000_000))
    assert [held(door, key).amount_micros for key in ("b1", "b2", "b3")] == [10_000_000, 6_000_000, 0]


def test_an_order_whose_outcome_is_unknown_does_not_count_as_reserved_for_the_next(door, double):
    door.platform.faults.append("lose call")
    assert isinstance(guarded(door.guard, double.approve(door, double.order())), Unknown)
    done(door, double, double.order("b2", daily=8_000_000))
    assert held(door, "b2").amount_micros == 16_000_000


def test_the_worst_case_is_in_flight_in_the_ledger_when_the_platform_is_called(door, double):
    actual = []
    real = door.platform.set_budget

    def spy(*args, key, **options):
        actual.append((held(door, key).state, held(door, key).amount_micros))
        return real(*args, key=key, **options)

    door.platform.set_budget = spy
    done(door, double, double.order())
    assert actual == [(TransferState.IN_FLIGHT, 10_000_000)]


def test_attempts_with_one_key_at_the_same_moment_send_once(door, double):
    each = double.approve(door, double.order())
    with ThreadPoolExecutor(8) as pool:
        outcomes = [attempt.result() for attempt in [pool.submit(guarded, door.guard, each) for _ in range(8)]]
    assert len(door.platform.sent("set_budget")) == 1
    assert all(isinstance(outcome, Done | Unknown) for outcome in outcomes)
    assert held(door, "b1").state is TransferState.IN_FLIGHT


def test_orders_that_race_for_one_cap_never_get_more_than_it_holds(make_door, double):
    door = make_door(limits={CapKind.TOTAL: 25_000_000})
    orders = [double.order(f"r{n}", campaign=double.CAMPAIGNS[n % 2]) for n in range(8)]
    double.approve(door, *orders)

    def tried(order):
        try:
            return guarded(door.guard, order)
        except Refused:
            return None

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(tried, orders))
    reserved = {cap.id: cap.reserved_micros for cap in overview(door.ledger).caps}
    assert 20_000_000 <= reserved["total:all"] <= 25_000_000
    assert verify(door.ledger).balances


# Kill switch


def test_nothing_is_sent_reserved_or_used_up_while_stopped(door, double):
    each = double.approve(door, double.order())
    door.guard.switch.stop(by="ann", reason="drill")
    with pytest.raises(SpendingStopped, match="release is approved"):
        guarded(door.guard, each)
    assert door.platform.sent(*MONEY_CALLS) == []
    assert uses(door) == []
    assert find_order(door.ledger, each.key) is None
    assert door.heard.rules == ["stopped"]


@pytest.mark.parametrize("step", STEPS)
def test_a_stop_between_any_two_steps_keeps_the_call_from_being_made(door, double, step):
    done(door, double, double.order())
    each = double.approve(door, double.order("e1", "enable"))
    guard = at(door, step, lambda: door.guard.switch.stop(by="ann", reason="drill"))
    with pytest.raises(SpendingStopped):
        guarded(guard, each)
    assert door.platform.sent("enable") == []
    assert ("pause", "spring") in [call[:2] for call in door.platform.sent("pause")]
    assert pause(door.platform, "spring") == Done()
    row = find_order(door.ledger, "e1")
    assert row is None or row.outcome in ("", "rejected")
    assert verify(door.ledger).balances


@pytest.mark.parametrize("step", ["sent", "before read back"])
def test_what_was_enabled_while_the_stop_was_made_is_paused(door, double, step):
    done(door, double, double.order())
    guard = at(door, step, lambda: door.guard.switch.stop(by="ann", reason="drill"))
    with pytest.raises(Refused, match="paused because of the stop"):
        guarded(guard, double.approve(door, double.order("e1", "enable")))
    assert door.platform.read_campaigns()[0].status == "paused"


def test_a_call_that_lands_after_the_stops_pause_is_paused_again(door, double):
    done(door, double, double.order())
    real = door.platform.enable

    def slow(campaign, *, key):
        door.guard.switch.stop(by="ann", reason="drill")
        return real(campaign, key=key)

    door.platform.enable = slow
    with pytest.raises(Refused, match="paused because of the stop"):
        guarded(door.guard, double.approve(door, double.order("e1", "enable")))
    assert door.platform.read_campaigns()[0].status == "paused"


def test_a_latch_that_cannot_be_read_refuses(door, double):
    each = double.approve(door, double.order())
    door.ledger.latch.path.symlink_to("/nowhere")
    with pytest.raises(SpendingStopped):
        guarded(door.guard, each)
    assert door.platform.calls == []


# Approval


def test_without_an_approval_nothing_is_sent_and_a_violation_is_on_record(door, double):
    each = double.order()
    with pytest.raises(GaelpError):
        guarded(door.guard, each)
    double.approve(door, each, who=("ann",))
    with pytest.raises(Refused, match="more of 2 approvers"):
        guarded(door.guard, each)
    assert door.platform.calls == []
    assert [results.rule for results in door.guard.violations.list()] == ["not-approved"] * 2


@pytest.mark.parametrize(
    "changes", [{"daily": 5_010_000}, {"key": "b2"}, {"campaign": "summer"}, {"kind": "enable"}, {"requester": "dan"}]
)
def test_an_approval_fits_exactly_one_order(door, double, changes):
    double.approve(door, double.order())
    with pytest.raises(GaelpError):
        guarded(door.guard, double.order(**changes))
    assert door.platform.calls == []


def test_another_creative_needs_another_approval(door, double):
    done(door, double, double.order())
    double.approve(door, double.order("p1", "publish"))
    edited = double.ADVERT.model_copy(update={"headline": "Fresher Bread"})
    with pytest.raises(GaelpError):
        guarded(door.guard, double.order("p1", "publish", creative=edited))
    assert door.platform.sent("publish") == []


def test_an_approval_that_has_run_out_is_refused(door, double):
    each = double.approve(door, double.order())
    door.clock.advance(timedelta(hours=9))
    with pytest.raises(Refused):
        guarded(door.guard, each)
    assert door.platform.calls == []


def test_an_approval_that_runs_out_on_the_way_is_refused_and_the_room_given_back(door, double):
    each = double.approve(door, double.order(), at=double.NOW - timedelta(hours=7, minutes=59))
    guard = at(door, "before send", lambda: door.clock.advance(timedelta(minutes=2)))
    with pytest.raises(Refused, match="authorisation holds"):
        guarded(guard, each)
    assert door.platform.calls == []
    assert held(door, "b1").state is TransferState.VOIDED


def test_an_unsigned_policy_never_opens_the_door_to_a_live_platform(make_door, double):
    door = make_door()
    guard = replace(door.guard, authority=replace(door.guard.authority, policy=double.SANDBOX))
    with pytest.raises(Refused, match="real money"):
        guarded(guard, double.approve(door, double.order()))
    assert door.platform.calls == []


# Content


def test_a_blocked_creative_is_not_published_and_no_room_is_taken(door, double):
    done(door, double, double.order())
    door.judge.find("block")
    with pytest.raises(Refused, match="a-rule"):
        guarded(door.guard, double.approve(door, double.order("p1", "publish")))
    assert door.platform.sent("publish") == []
    with pytest.raises(UnknownTransfer):
        held(door, "p1")
    assert [results.rule for results in door.guard.violations.list()] == ["content-refused"]


def test_a_doubtful_creative_waits_for_a_person_and_passes_when_approved(door, double):
    done(door, double, double.order())
    door.judge.find("review")
    each = double.approve(door, double.order("p1", "publish"))
    with pytest.raises(WaitingForPerson, match="gaelp content decide"):
        guarded(door.guard, each)
    assert door.platform.sent("publish") == []
    (case,) = door.guard.reviews.cases()
    door.guard.reviews.decide(case.case, "approve", who="ann", why="study attached")
    assert guarded(door.guard, each) == Done()


def test_content_is_not_asked_about_what_nobody_approved(door, double):
    def check(_creative):
        raise AssertionError("asked")

    door.judge.check = check
    each = double.order("p1", "publish")
    double.approve(door, each, who=("ann",))
    with pytest.raises(Refused, match="approvers"):
        guarded(door.guard, each)


def test_a_checker_that_fails_publishes_nothing(door, double):
    def check(_creative):
        raise RuntimeError("out of order")

    done(door, double, double.order())
    door.judge.check = check
    with pytest.raises(RuntimeError):
        guarded(door.guard, double.approve(door, double.order("p1", "publish")))
    assert door.platform.sent("publish") == []
    assert door.heard.alerts[-1].severity == "critical"


def test_the_real_checker_keeps_a_forbidden_advert_out(door, double):
    done(door, double, double.order())
    guard = replace(door.guard, judge=load_checker())
    bad = double.ADVERT.model_copy(update={"advertiser": "demo-shop", "headline": "Online c.a.s.i.n.o for kids"})
    with pytest.raises((Refused, WaitingForPerson)):
        guarded(guard, double.approve(door, double.order("p1", "publish", creative=bad)))
    assert door.platform.sent("publish") == []


# Reservation


def test_a_cap_without_room_refuses_and_the_same_order_passes_when_there_is_room(make_door, double):
    door = make_door(limits={CapKind.CAMPAIGN: 9_999_999})
    each = double.approve(door, double.order())
    with pytest.raises(CapReached):
        guarded(door.guard, each)
    assert door.platform.calls == []
    assert door.heard.rules == ["refused-at-reservation"]
    set_limit(door.ledger, Cap(CapKind.CAMPAIGN, "spring"), Money(10_000_000, "USD"), account_id="acc")
    assert guarded(door.guard, each) == Done()


def test_the_worst_cases_of_all_campaigns_stay_within_the_accounts_day(make_door, double):
    door = make_door(limits={CapKind.ACCOUNT_DAY: 19_999_999})
    done(door, double, double.order())
    with pytest.raises(Refused, match="largest budget that fits is 4990000"):
        guarded(door.guard, double.approve(door, double.order("b2", campaign="summer")))
    assert len(door.platform.sent("set_budget")) == 1


def test_a_ledger_that_is_away_keeps_everything_from_being_sent(door, double):
    each = double.approve(door, double.order())
    door.ledger.close()
    (door.folder / "ledger.db").rename(door.folder / "gone.db")
    with pytest.raises((LedgerUnavailable, SpendingStopped)):
        guarded(door.guard, each)
    assert door.platform.calls == []


@pytest.mark.parametrize("changes", [{"daily": 5_000_001}, {"until": date(2026, 11, 15)}])
def test_an_order_that_makes_no_sense_is_refused_before_its_approval_is_used(door, double, changes):
    with pytest.raises(BadInput):
        guarded(door.guard, double.approve(door, double.order(**changes)))
    assert uses(door) == []
    assert door.platform.calls == []


def test_a_key_with_another_body_is_refused_for_ever(door, double):
    done(door, double, double.order())
    with pytest.raises(KeyReused, match="needs a new key"):
        guarded(door.guard, double.approve(door, double.order(daily=6_000_000)))
    assert len(door.platform.sent("set_budget")) == 1
    assert [results.rule for results in door.guard.violations.list()] == ["key-reused"]


def test_a_reservation_of_yesterday_is_not_sent_today(door, double):
    door.clock.advance(timedelta(hours=11, minutes=59))
    guard = at(door, "before send", lambda: door.clock.advance(timedelta(minutes=2)))
    with pytest.raises(Refused, match="order it again"):
        guarded(guard, double.approve(door, double.order()))
    assert door.platform.calls == []
    assert held(door, "b1").state is TransferState.VOIDED


def test_an_attempt_that_slept_too_long_after_it_was_marked_is_not_sent(door, double):
    guard = at(door, "before send", lambda: door.clock.advance(timedelta(minutes=11)))
    with pytest.raises(Refused, match="time to send is over"):
        guarded(guard, double.approve(door, double.order()))
    assert door.platform.calls == []


# What the platform answers


def test_what_the_platform_rejects_gives_its_room_back(door, double):
    door.platform.faults.append("reject")
    each = double.approve(door, double.order())
    assert isinstance(guarded(door.guard, each), Rejected)
    assert held(door, "b1").state is TransferState.VOIDED
    assert isinstance(guarded(door.guard, each), Rejected)
    assert len(door.platform.calls) == 1


@pytest.mark.parametrize("fault", ["lose answer", "lose call", "delay call", "raise after", "raise before"])
def test_no_answer_keeps_the_reservation_and_is_never_sent_twice(door, double, fault):
    door.platform.faults.append(fault)
    each = double.approve(door, double.order())
    assert isinstance(guarded(door.guard, each), Unknown)
    assert held(door, "b1").state is TransferState.IN_FLIGHT
    assert door.heard.rules == ["outcome-unknown"]
    again = guarded(door.guard, each)
    assert isinstance(again, Done if fault in ("lose answer", "raise after") else Unknown)
    assert held(door, "b1").state is TransferState.IN_FLIGHT
    assert len(door.platform.calls) == 1


def test_a_budget_that_is_read_back_differently_is_a_violation_and_paused(door, double):
    door.platform.faults.append("double the budget")
    with pytest.raises(Refused, match="daily budget of 10000000 micros, expected was 5000000"):
        guarded(door.guard, double.approve(door, double.order()))
    assert len(door.platform.sent("pause")) == 1
    assert [(results.rule, results.severity) for results in door.guard.violations.list()] == [
        ("read-back-differs", "critical")
    ]
    assert held(door, "b1").state is TransferState.IN_FLIGHT


def test_a_campaign_that_cannot_be_read_back_is_paused(door, double):
    def fail():
        raise TimeoutError("no answer")

    done(door, double, double.order())
    door.platform.read_campaigns = fail
    with pytest.raises(Refused, match="could not be read back"):
        guarded(door.guard, double.approve(door, double.order("e1", "enable")))
    assert len(door.platform.sent("pause")) == 1


def test_a_refusal_holds_even_if_it_cannot_be_put_on_record(door, double):
    class Deaf:
        def send(self, alert, **_):
            raise OSError("no line")

    (door.folder / "violations.sqlite").write_bytes(b"not a database" * 100)
    guard = replace(door.guard, alerts=Deaf())
    double.approve(door, double.order(), who=("ann",))
    with pytest.raises(Refused, match="approvers") as refusal:
        guarded(guard, double.order())
    assert "could not be recorded" in refusal.value.__notes__[0]
    assert "could not be sent" in refusal.value.__notes__[0]


# Pausing


def test_pause_needs_no_approval_no_ledger_and_no_open_switch(door, double):
    done(door, double, double.order(), double.order("e1", "enable"))
    door.guard.switch.stop(by="ann", reason="drill")
    door.platform.enable("spring", key="by hand")
    door.ledger.close()
    (door.folder / "ledger.db").unlink()
    assert pause(door.platform, "spring") == Done()
    assert door.platform.read_campaigns()[0].status == "paused"


def test_pause_is_tried_again_while_its_outcome_is_unknown(door, double):
    done(door, double, double.order(), double.order("e1", "enable"))
    door.platform.pause_faults.extend(["lose call", "raise before"])
    assert pause(door.platform, "spring") == Done()
    assert door.platform.read_campaigns()[0].status == "paused"


def test_pause_all_pauses_what_is_known_even_if_the_list_cannot_be_read(door, double):
    def fail():
        raise TimeoutError("no answer")

    done(door, double, double.order(), double.order("e1", "enable"))
    real, door.platform.read_campaigns = door.platform.read_campaigns, fail
    with pytest.raises(GaelpError, match="by hand"):
        pause_all(door.platform, ["spring"])
    assert real()[0].status == "paused"


@pytest.mark.parametrize(
    "changes", [{"caps": ()}, {"trace_within": timedelta(0)}, {"final_after": timedelta(days=30)}, {"cost_days": 2}]
)
def test_a_guard_that_could_not_guard_is_not_built(door, changes):
    with pytest.raises(BadInput):
        replace(door.guard, **changes)
