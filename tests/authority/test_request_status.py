"""A request shows its true state: what can no longer be done does not wait for anybody."""

from datetime import date

import pytest

from gaelp.approvals import ApprovalStore, RequestFacts, SignedAction, Trust, action_hash, approvals_place
from gaelp.authority.request_status import request_statuses
from gaelp.budget.kill_switch import StopState
from gaelp.budget.latch import Latch, StopRecord
from gaelp.budget.ledger import AdAccount, Cap, CapKind, create_ledger, open_account, set_limit
from gaelp.clock import SystemClock
from gaelp.config import load_settings
from gaelp.money import Money

NOTHING_STOPPED = StopState(None, None)


@pytest.fixture
def settings(tmp_path):
    return load_settings(None, environ={}, overrides=[f"home={tmp_path / 'home'}"]).settings


@pytest.fixture
def store(settings):
    return ApprovalStore(approvals_place(settings), SystemClock())


@pytest.fixture
def ledger(settings, store):
    made = create_ledger(settings.home / "ledger.db", Latch(settings.home / "STOPPED"))
    open_account(made, AdAccount("acc", "USD", "UTC"))
    yield made
    made.close()


def states(settings, **now):
    return [status.state for status in request_statuses(settings, Trust(), **now)]


def stop(stop_ids):
    return SignedAction(kind="revive", run_id="kill-switch", requester="kill-switch", subject=stop_ids)


def budget(subject, run_id="ledger"):
    return SignedAction(
        kind="budget",
        run_id=run_id,
        requester="ledger",
        subject=subject,
        account="acc",
        currency="USD",
        limits_micros={"limit": 1},
    )


def test_where_nobody_has_requested_anything_there_is_nothing_to_decide(settings):
    assert request_statuses(settings, Trust()) == []


def test_a_release_of_a_stop_that_was_replaced_or_released_waits_for_nobody(settings, store):
    store.request(stop("a"))
    in_force = StopRecord("a", "2026-11-17T12:00:00+00:00", "ann", "drill")
    later = StopRecord("b", "2026-11-17T12:00:00+00:00", "ann", "drill")
    assert states(settings, stop=StopState(in_force, in_force)) == ["waiting"]
    assert states(settings, stop=StopState(later, later)) == ["superseded"]
    assert states(settings, stop=NOTHING_STOPPED) == ["ended"]
    assert states(settings) == ["waiting"]  # it is not known


def test_a_change_of_a_limit_that_has_another_value_now_waits_for_nobody(settings, store, ledger):
    for before, micros in (("none", None), ("$20.00", 20_000_000)):
        facts = RequestFacts(change="limit", cap="account_day:acc", before_micros=micros)
        store.request(budget(f"limit account_day acc: {before} -> $50.00"), facts)
    assert states(settings, ledger=ledger) == ["waiting", "superseded"]
    set_limit(ledger, Cap(CapKind.ACCOUNT_DAY, "acc"), Money(20_000_000, "USD"), account_id="acc")
    assert states(settings, ledger=ledger) == ["superseded", "waiting"]


def test_a_cap_that_is_open_again_needs_no_signatures(settings, store, ledger):
    facts = RequestFacts(change="reopen", cap="account_day:acc:2026-11-16")
    store.request(budget("reopen account_day:acc:2026-11-16"), facts)
    assert states(settings, ledger=ledger) == ["superseded"]


def test_an_order_for_days_that_are_over_waits_for_nobody(settings, store, ledger):
    for key, last_day in (("key-1", date(2026, 1, 31)), ("key-2", date(2099, 1, 31))):
        facts = RequestFacts(change="order", last_day=last_day)
        store.request(budget(f"budget spring until {last_day} as {key}", run_id="run-1"), facts)
    assert states(settings, ledger=ledger) == ["ended", "waiting"]


def test_a_request_is_judged_by_its_facts_and_never_by_its_sentence(settings, store, ledger):
    misleading = budget("limit account_day acc: $99.00 -> $50.00")
    store.request(misleading, RequestFacts(change="limit", cap="account_day:acc"))
    store.request(budget("limit account_day acc: $98.00 -> $50.00"))  # of a version without facts
    assert states(settings, ledger=ledger) == ["waiting", "waiting"]


def test_facts_are_stored_with_the_request_and_leave_the_signed_hash_as_it_was(store):
    action, facts = budget("reopen a:b"), RequestFacts(change="reopen", cap="a:b")
    assert store.request(action, facts).facts == facts
    [stored] = store.requests()
    assert (stored.facts, action_hash(stored.action)) == (facts, action_hash(action))


def test_each_request_is_known_by_its_hash(settings, store):
    store.request(stop("a"))
    [status] = request_statuses(settings, Trust())
    assert (status.action_hash, status.signed_by) == (action_hash(stop("a")), ())
