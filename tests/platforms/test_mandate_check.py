"""Orders and bids under a mandate: what passes without a signature, what is refused with which number, what ends it."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import date, timedelta

import pytest

from gaelp.budget.ledger import (
    CapReached,
    MandateClosed,
    SpendingStopped,
    close_mandate,
    find_transfer,
    mandate_use,
    verify,
)
from gaelp.content import Creative
from gaelp.errors import Refused
from gaelp.platforms import Bid, Done, Unknown, find_order, guarded, reconcile
from gaelp.platforms.mandate_check import highest_before_micros

DAY = date(2026, 11, 16)


@pytest.fixture
def granted(door, double):
    return double.grant(door, double.mandate())


def passes(door, *orders):
    for item in orders:
        assert guarded(door.guard, item) == Done()


def refused(door, item):
    before = len(door.platform.calls)
    with pytest.raises(Refused) as refusal:
        guarded(door.guard, item)
    assert len(door.platform.calls) == before
    return str(refusal.value)


def running(door, double, granted, **options):
    passes(door, double.under(granted, **options), double.under(granted, "e1", "enable", **options))


# What passes


def test_orders_and_bids_inside_a_mandate_pass_without_a_signature_of_their_own(door, double, granted):
    passes(door, *(double.under(granted, kind, kind) for kind in ("budget", "publish", "enable", "bid")))
    [state] = door.platform.read_campaigns()
    assert (state.status, state.daily_micros, state.bids) == ("enabled", 5_000_000, (("group-1", 200_000),))
    assert mandate_use(door.ledger, granted).reserved.micros == 10_000_000
    assert verify(door.ledger).balances


def test_a_bid_needs_no_room_and_changes_neither_budget_nor_status(door, double, granted):
    running(door, double, granted)
    passes(door, double.under(granted, "bid-1", "bid", bid=400_000))
    assert find_transfer(door.ledger, "bid-1").amount_micros == 0
    assert door.platform.campaigns["spring"].daily_micros == 5_000_000


def test_a_bid_can_be_signed_by_itself_like_any_order(door, double):
    item = double.order("bid-1", "bid", bids=(Bid(target="g", micros=900_000),))
    for each in (double.order(), item):
        passes(door, double.approve(door, each))
    assert door.platform.campaigns["spring"].bids == (("g", 900_000),)


def test_what_runs_under_a_mandate_is_renewed_until_its_last_day(door, double, granted):
    running(door, double, granted)
    door.clock.advance(timedelta(days=1))
    assert reconcile(door.guard).renewed == ("spring",)
    assert mandate_use(door.ledger, granted).reserved.micros == 20_000_000


# What is outside


@pytest.mark.parametrize(
    ("changes", "actual"),
    [
        ({"daily": 9_010_000}, ["$9.01", "$9.00"]),
        ({"daily": 6_000_000}, ["$6.00 after none before", "$5.00 today"]),
        ({"model": "cd" * 32}, ["cdcdcdcdcdcd", "abababababab"]),
        ({"campaign": "winter"}, ["'winter'", "spring, summer"]),
        ({"until": date(2026, 11, 27)}, ["2026-11-27", "2026-11-26"]),
    ],
)
def test_a_budget_outside_the_mandate_is_refused_with_the_actual_and_the_allowed_number(
    door, double, granted, changes, actual
):
    why = refused(door, double.under(granted, **changes))
    assert all(words in why for words in actual), why
    assert find_order(door.ledger, "b1") is None


def test_a_bid_beyond_the_ceiling_is_refused_with_both_numbers(door, double, granted):
    running(door, double, granted)
    why = refused(door, double.under(granted, "bid-1", "bid", bid=400_001))
    assert "$0.400001 for group-1, allowed: $0.40" in why


def test_an_advert_that_the_mandate_does_not_name_is_refused(door, double, granted):
    passes(door, double.under(granted))
    other = Creative(id="cake-1", headline="Fresh Cake", landing_url="https://www.shop.example/cake")
    assert "none of its 1" in refused(door, double.under(granted, "p1", "publish", creative=other))


def test_a_budget_rises_by_the_percent_above_the_highest_of_the_last_day_and_no_faster(door, double, granted):
    passes(door, double.under(granted), double.under(granted, "low", daily=1_000_000))
    door.clock.advance(timedelta(days=2))
    assert highest_before_micros(door.guard, "spring", door.guard.today()) == 5_000_000
    assert "$6.01 after $5.00 at most on its last day, allowed: $6.00" in refused(
        door, double.under(granted, "b2", daily=6_010_000)
    )
    passes(door, double.under(granted, "b3", daily=6_000_000))
    assert "allowed: $6.00 today" in refused(door, double.under(granted, "b4", daily=7_200_000))


def test_a_budget_whose_outcome_is_unknown_or_rejected_is_no_ground_to_rise_from(door, double, granted):
    door.platform.faults.extend(["lose call"])
    assert isinstance(guarded(door.guard, double.under(granted)), Unknown)
    door.clock.advance(timedelta(days=1))
    assert "after none before" in refused(door, double.under(granted, "b2", daily=6_000_000))


def test_the_day_and_the_total_count_what_is_reserved_or_spent_under_the_mandate(door, double):
    granted = double.grant(door, double.mandate(account_daily_micros=15_000_000, total_micros=25_000_000))
    passes(door, double.under(granted))
    assert "mandate_day" in refused(door, double.under(granted, "b2", campaign="summer"))
    door.clock.advance(timedelta(days=1))
    passes(door, double.under(granted, "b3"))
    door.clock.advance(timedelta(days=1))
    with pytest.raises(CapReached, match=r"\$20.00 reserved and \$0.00 spent of \$25.00"):
        guarded(door.guard, double.under(granted, "b4"))


def test_every_cap_of_the_ledger_still_holds(make_door, double):
    door = make_door(limits={double.CapKind.CAMPAIGN: 5_000_000})
    granted = double.grant(door, double.mandate())
    assert "cap campaign:spring has no room" in refused(door, double.under(granted))


@pytest.mark.parametrize("kind", ["bid", "enable", "publish"])
def test_without_a_budget_for_today_nothing_else_passes(door, double, granted, kind):
    assert "no budget for 2026-11-16" in refused(door, double.under(granted, "x1", kind))
    passes(door, double.under(granted))
    assert "expects a daily budget of 4000000 micros, in force is 5000000" in refused(
        door, double.under(granted, "x2", kind, daily=4_000_000)
    )
    door.clock.advance(timedelta(days=1))
    assert "no budget for 2026-11-17" in refused(door, double.under(granted, "x3", kind))


@pytest.mark.parametrize("changes", [{"account": "other"}, {"currency": "EUR"}])
def test_a_mandate_for_another_account_or_currency_allows_nothing(door, double, changes):
    granted = double.grant(door, double.mandate(**changes))
    assert "is for" in refused(door, double.under(granted))


def test_what_was_signed_as_something_else_is_no_mandate(door, double):
    item = double.approve(door, double.order())
    passes(door, item)
    from_order = door.guard.authority.store.requests()[0]
    wanted = double.action_of(item, door.guard.account, "live")
    assert from_order.action == wanted
    assert "not a mandate" in refused(door, double.under(double.action_hash(wanted), "b2"))


# What ends it


def test_a_mandate_that_too_few_have_signed_allows_nothing(door, double):
    action = double.propose(door, double.mandate(), who=("ann",))
    assert "not enough people" in refused(door, double.under(double.action_hash(action)))


def test_a_signed_mandate_that_these_books_do_not_know_allows_nothing(door, double):
    action = double.propose(door, double.mandate())
    authority = door.guard.authority
    authority.store.consume(action, authority.policy, authority.trust(), consumer="elsewhere")
    assert "never opened in this ledger" in refused(door, double.under(double.action_hash(action)))


def test_a_kill_ends_it_for_good_and_its_release_does_not_bring_it_back(door, double, granted):
    running(door, double, granted)
    door.guard.switch.stop(by="ann", reason="drill")
    with pytest.raises(SpendingStopped):
        guarded(door.guard, double.under(granted, "bid-1", "bid"))
    door.guard.switch.release(lambda _: None)
    door.clock.advance(timedelta(minutes=1))
    assert "has ended" in refused(door, double.under(granted, "bid-2", "bid"))
    passes(door, double.under(double.grant(door, double.mandate(name="second")), "bid-3", "bid"))


@pytest.mark.parametrize("where", ["ledger", "log"])
def test_a_revocation_ends_it_at_once_wherever_it_was_written(door, double, granted, where):
    running(door, double, granted)
    if where == "ledger":
        close_mandate(door.ledger, granted)
    else:
        door.guard.authority.store.revoke(granted, by="ann", reason="over")
    for kind in ("bid", "enable", "budget"):
        assert "ended" in (why := refused(door, double.under(granted, f"{kind}-2", kind))) or "revoked" in why


def test_a_revocation_between_the_check_and_the_reservation_counts(door, double, granted):
    waiting = ["recorded"]

    def hook(step):
        if step in waiting:
            waiting.remove(step)
            close_mandate(door.ledger, granted)

    door.guard = replace(door.guard, at_step=hook)
    with pytest.raises(MandateClosed, match="has ended"):
        guarded(door.guard, double.under(granted))
    assert door.platform.calls == []


def test_a_revocation_between_the_reservation_and_the_call_counts(door, double, granted):
    def hook(step):
        if step == "before send":
            door.guard.authority.store.revoke(granted, by="ann", reason="over")

    door.guard = replace(door.guard, at_step=hook)
    assert "was revoked" in refused(door, double.under(granted))
    assert find_order(door.ledger, "b1").outcome == "rejected"


def test_the_revocation_of_a_key_that_signed_ends_it_when_too_few_are_left(door, double, granted):
    running(door, double, granted)
    door.clock.advance(timedelta(minutes=1))
    trust = double.trust().without("bob", door.clock.now())
    door.guard = replace(door.guard, authority=replace(door.guard.authority, trust=lambda: trust))
    why = refused(door, double.under(granted, "bid-1", "bid"))
    assert "only ann is trusted still; the policy asks for 1 more of 2 approvers" in why


def test_it_ends_with_its_last_day(door, double):
    granted = double.grant(door, double.mandate(last_day=DAY))
    passes(door, double.under(granted, until=DAY))
    door.clock.advance(timedelta(days=1))
    assert "ended with 2026-11-16" in refused(door, double.under(granted, "b2", until=DAY + timedelta(days=1)))


def test_another_model_is_refused_also_for_what_changes_no_money(door, double, granted):
    running(door, double, granted)
    assert "allowed is abab" in refused(door, double.under(granted, "bid-1", "bid", model=double.OTHER_MODEL))


def test_cost_beyond_the_total_closes_it(door, double):
    granted = double.grant(door, double.mandate(total_micros=30_000_000))
    running(door, double, granted)
    door.platform.charge("spring", DAY, 40_000_000)
    door.clock.advance(timedelta(days=5))
    reconcile(door.guard)
    assert mandate_use(door.ledger, granted).closed
    assert "ended" in refused(door, double.under(granted, "b2"))


@pytest.mark.parametrize("end", ["revoke", "key"])
def test_what_runs_on_a_mandate_that_has_ended_is_paused_by_the_next_reconcile(door, double, granted, end):
    running(door, double, granted)
    assert reconcile(door.guard).paused == ()
    if end == "revoke":
        door.guard.authority.store.revoke(granted, by="ann", reason="over")
    else:
        trust = double.trust().without("bob", door.clock.now())
        door.guard = replace(door.guard, authority=replace(door.guard.authority, trust=lambda: trust))
    door.clock.advance(timedelta(days=1))
    result = reconcile(door.guard)
    assert (result.paused, result.renewed) == (("spring",), ())


# Tampering


def test_a_ceiling_that_was_raised_by_hand_grants_nothing(door, double, granted):
    passes(door, double.under(granted))
    with closing(sqlite3.connect(door.folder / "ledger.db")) as books:
        books.execute("UPDATE ledger_cap SET limit_micros = 90000000 WHERE kind = 'mandate'")
        books.commit()
    with pytest.raises(Exception, match="instead of the signed 60000000"):
        guarded(door.guard, double.under(granted, "b2", campaign="summer"))


def test_a_bid_that_is_read_back_otherwise_pauses_the_campaign(door, double, granted):
    running(door, double, granted)
    real = door.platform.set_bids
    door.platform.set_bids = lambda campaign, bids, *, key: real(campaign, {**bids, "group-1": 900_000}, key=key)
    with pytest.raises(Refused, match="bids 900000 for group-1, expected was 200000 micros, so it was paused"):
        guarded(door.guard, double.under(granted, "bid-1", "bid"))
    assert door.platform.campaigns["spring"].status == "paused"


def test_a_mandate_that_a_stop_ended_grants_nothing_though_somebody_reopens_it_in_the_database(door, double, granted):
    door.guard.switch.stop(by="ann", reason="drill")
    double.release(door)
    with closing(sqlite3.connect(door.folder / "ledger.db")) as hands, hands:
        hands.execute("UPDATE ledger_cap SET breached = 0")
    assert not mandate_use(door.ledger, granted).closed
    assert "signed before the kill switch was released" in refused(door, double.under(granted))
