"""`gaelp approvals` shows what waits for signatures and takes decisions on exactly that."""

import json
from datetime import date

import pytest

from gaelp.approvals import ApprovalStore, SignedAction, approvals_place, policy_for, trusted_approvers
from gaelp.budget.ledger import AdAccount
from gaelp.clock import SystemClock
from gaelp.config import load_settings
from gaelp.platforms import Order, action_of

ORDER = Order(
    key="b1",
    kind="budget",
    campaign="spring",
    daily_micros=5_000_000,
    until=date(2026, 11, 30),
    run_id="r1",
    requester="cyd",
)


@pytest.fixture
def store(here):
    settings = load_settings(None, overrides=[f"home={here / '.gaelp'}"]).settings
    return ApprovalStore(approvals_place(settings), SystemClock())


@pytest.fixture
def requested(store):
    return store.request(action_of(ORDER, AdAccount("acc", "USD", "UTC"), "live"))


def waiting(gaelp, *more):
    return json.loads(gaelp("approvals", "list", "--json", *more).stdout)["requests"]


def decided(gaelp, keys, verb, name, action, reason="seen"):
    return gaelp("approvals", verb, action, "--key", keys / f"{name}.key", "--reason", reason)


@pytest.mark.usefixtures("requested")
def test_what_waits_is_listed_with_what_would_be_signed(gaelp):
    [row] = waiting(gaelp)
    assert row["subject"] == "budget spring until 2026-11-30 as b1"
    assert (row["state"], row["signed_by"]) == ("waiting", "nobody")
    assert row["action"] in gaelp("approvals", "list").stdout
    shown = json.loads(gaelp("approvals", "show", row["action"], "--json").stdout)
    assert shown["action"]["limits_micros"] == {"daily": 5_000_000}


@pytest.mark.usefixtures("requested")
def test_what_would_be_signed_is_shown_in_words_with_who_decided_and_what_is_missing(gaelp, keys):
    [row] = waiting(gaelp)
    decided(gaelp, keys, "approve", "ann", row["action"])
    shown = gaelp("approvals", "show", row["action"], "--set", "run.seed=7")
    assert "budget spring until 2026-11-30 as b1." in shown.stdout
    assert "Daily: $5.00." in shown.stdout
    assert "World: live: real money can move." in shown.stdout
    assert "ann approves" in shown.stdout
    assert "State: waiting, until" in shown.stdout
    assert "Still needed: 1 more of 2 approvers (bob can sign)" in shown.stdout
    assert f"`gaelp approvals approve {row['action']} --key FILE --reason WHY --set run.seed=7`" in shown.stderr
    assert "{" not in shown.stdout


@pytest.mark.usefixtures("requested")
def test_two_people_approve_and_then_nothing_waits(gaelp, keys):
    [row] = waiting(gaelp)
    first = decided(gaelp, keys, "approve", "ann", row["action"]).stdout
    assert first.startswith("Recorded: ann approves")
    assert "Still needed: 1 more of 2 approvers (bob can sign)" in first
    assert waiting(gaelp)[0]["signed_by"] == "ann"
    assert "has every signature it needs" in decided(gaelp, keys, "approve", "bob", row["action"]).stdout
    assert waiting(gaelp) == []
    assert waiting(gaelp, "--all")[0]["state"] == "approved"


@pytest.mark.usefixtures("requested")
def test_one_rejection_ends_it(gaelp, keys):
    [row] = waiting(gaelp)
    decided(gaelp, keys, "approve", "ann", row["action"])
    assert "bob rejects" in (said := decided(gaelp, keys, "reject", "bob", row["action"]).stdout)
    assert "One rejection ends the request" in said
    assert decided(gaelp, keys, "approve", "ann", row["action"]).exit_code == 3


@pytest.mark.usefixtures("requested")
def test_a_stranger_decides_nothing_and_a_decision_needs_a_reason(gaelp, keys):
    [row] = waiting(gaelp)
    assert decided(gaelp, keys, "approve", "eve", row["action"]).exit_code == 3
    assert decided(gaelp, keys, "approve", "ann", row["action"], reason=" ").exit_code == 2
    assert decided(gaelp, keys, "approve", "ann", "").exit_code == 2
    assert decided(gaelp, keys, "approve", "ann", "ffffffff").exit_code == 2
    assert waiting(gaelp)[0]["signed_by"] == "nobody"


@pytest.mark.usefixtures("requested")
def test_a_slip_of_the_finger_signs_nothing(gaelp, keys):
    [row] = waiting(gaelp)
    refused = decided(gaelp, keys, "approve", "ann", row["action"][:7])
    assert (refused.exit_code, "give 8 or more" in refused.stderr) == (2, True)
    assert waiting(gaelp)[0]["signed_by"] == "nobody"
    assert decided(gaelp, keys, "approve", "ann", row["action"][:8]).exit_code == 0


def test_what_has_a_command_of_its_own_is_decided_there(gaelp, keys, store):
    store.request(SignedAction(kind="revive", run_id="kill-switch", requester="kill-switch", subject="stop 1"))
    [row] = waiting(gaelp, "--all")
    result = decided(gaelp, keys, "approve", "ann", row["action"])
    assert (result.exit_code, "gaelp revive" in result.stderr) == (2, True)


def test_nothing_waits_in_an_empty_home(gaelp, here):
    (here / ".gaelp").mkdir()
    assert gaelp("approvals", "list").stdout.strip() == "Nothing waits for signatures."


@pytest.mark.usefixtures("requested")
def test_a_decision_as_json_names_what_is_still_missing(gaelp, keys):
    [row] = waiting(gaelp)
    result = gaelp("approvals", "approve", row["action"], "--key", keys / "bob.key", "--reason", "seen", "--json")
    assert json.loads(result.stdout)["missing"] == ["1 more of 2 approvers", "1 more with the role finance"]


def test_whoever_signs_too_late_reads_who_signed_and_what_can_still_be_done(gaelp, keys, store, requested):
    [row] = waiting(gaelp)
    for name in ("ann", "bob"):
        decided(gaelp, keys, "approve", name, row["action"])
    settings = load_settings("production").settings
    store.consume(requested.action, policy_for(settings, "live"), trusted_approvers(settings), consumer="b1")
    gaelp("keys", "trust", keys / "eve.pub.json", "--role", "finance")
    late = decided(gaelp, keys, "reject", "eve", row["action"])
    assert late.exit_code == 3
    assert "approved by ann and bob" in late.stderr
    assert f"`gaelp approvals show {row['action']}`" in late.stderr
    assert "`gaelp kill`" in late.stderr


@pytest.mark.usefixtures("requested")
def test_whoever_approves_twice_reads_that_it_counts_once(gaelp, keys):
    [row] = waiting(gaelp)
    decided(gaelp, keys, "approve", "ann", row["action"])
    again = decided(gaelp, keys, "approve", "ann", row["action"]).stdout
    assert again.startswith("Nothing new is recorded: ann has already approved")
    assert "Still needed: 1 more of 2 approvers (bob can sign)" in again
    assert waiting(gaelp)[0]["signed_by"] == "ann"


def test_a_release_that_another_stop_has_replaced_does_not_wait(gaelp, keys):
    gaelp("ledger", "create", "acc", "--currency", "USD", "--time-zone", "UTC")
    gaelp("kill")
    gaelp("revive", "--key", keys / "ann.key", "--reason", "fixed")
    assert [row["kind"] for row in waiting(gaelp)] == ["revive"]
    gaelp("kill")
    assert waiting(gaelp) == []
    assert [row["state"] for row in waiting(gaelp, "--all")] == ["superseded"]
