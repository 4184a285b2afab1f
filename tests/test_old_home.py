"""A home that was written before the database layer keeps everything: runs, money, approvals, decisions, reviews."""

import json
import shutil
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gaelp.approvals import ApprovalStore, approvals_place
from gaelp.bootstrap import open_books
from gaelp.budget.ledger import Reservation, overview, reserve, verify
from gaelp.cli.main import app
from gaelp.clock import SystemClock
from gaelp.config import load_settings
from gaelp.guard_bootstrap import opened_guard
from gaelp.money import Money
from gaelp.phases.gate_approval import gate_approvals
from gaelp.phases.runs import all_runs, phases_done
from gaelp.platforms import Order
from gaelp.platforms.hour_book import find_hours
from gaelp.platforms.order_book import record_order

FIXTURE = Path(__file__).parent / "fixtures" / "home-before-database"
NAMED = ("platform.name=double", "platform.account=acc", "approvals.policy=live")


@pytest.fixture
def home(installed_double, monkeypatch):
    """A copy, for opening it may bring it up to date."""
    copy = installed_double / "old"
    shutil.copytree(FIXTURE / "home", copy)
    monkeypatch.setenv("GAELP_HOME", str(copy))
    return copy


@pytest.fixture
def gaelp(home):
    def run(*words):
        given = [word for value in NAMED for word in ("--set", value)]
        return CliRunner().invoke(app, [*words, *given])

    return run


@pytest.fixture
def settings(home):
    return load_settings(None, overrides=NAMED).settings


def test_the_books_of_an_old_home_balance_and_hold_the_same_money(gaelp, settings):
    for _ in range(2):  # the second time it is up to date
        result = gaelp("ledger", "verify", "--json")
        assert (result.exit_code, json.loads(result.stdout)["findings"]) == (0, []), result.output
    with closing(open_books(settings)) as ledger:
        now = overview(ledger)
        states = {total.state: (total.transfers, total.cost_micros) for total in now.states}
        assert find_hours(ledger, "acc", "spring").observed.running_since is not None
    assert states == {
        "expired": (1, 0),
        "in_flight": (3, 0),
        "posted": (2, 2_600_001),
        "reserved": (1, 0),
        "voided": (2, 0),
    }


def test_an_old_home_takes_orders_that_need_no_more_room(gaelp, settings):
    with opened_guard(settings) as guard:
        caps = guard.caps_of("spring")
        assert reserve(guard.ledger, Reservation("zero", "acc", Money(0, "USD"), caps)).is_new
        order = Order(
            key="zero", kind="enable", campaign="spring", daily_micros=1, until=guard.today(), run_id="r", requester="r"
        )
        row = record_order(guard.ledger, order, account_id="acc", day=guard.today().isoformat(), amount_micros=0)
        assert row.amount_micros == 0
        assert verify(guard.ledger).balances


def test_approvals_and_audit_log_of_an_old_home_agree_with_their_heads(gaelp, settings):
    result = gaelp("audit", "verify", "--heads", str(FIXTURE / "heads.jsonl"))
    assert result.exit_code == 0, result.output
    assert "51 rows, 1 head agrees" in result.output
    store = ApprovalStore(approvals_place(settings), SystemClock(), create=False)
    asked = store.requests()
    assert (len(asked), len(store.used_actions())) == (11, 9)
    assert [len(store.approvals(one.action)) for one in asked if not store.is_used(one.action)] == [1, 1]


def test_decisions_of_an_old_home_stay_valid(settings):
    store = gate_approvals(settings).decisions()
    decided = {}
    for run in ("20261101-000001-aaaaaa", "20261101-000002-bbbbbb", "20261101-000003-cccccc"):
        [(question, _)] = store.history(run)
        answer = store.decision(question)
        decided[run[-6:]] = answer and answer.choice
    assert decided == {"aaaaaa": "approve", "bbbbbb": "reject", "cccccc": None}
    sandbox = load_settings(None, overrides=[]).settings
    [(question, _)] = gate_approvals(sandbox).decisions().history("20261117-170908-f75552")
    assert gate_approvals(sandbox).decisions().decision(question).choice == "approve"


def test_violations_and_reviews_of_an_old_home_can_be_read(gaelp):
    violations = json.loads(gaelp("violations", "list", "--all", "--json").stdout)["violations"]
    assert [(one["id"], one["resolution"] is None) for one in violations] == [(1, False), (2, True), (3, True)]
    cases = json.loads(gaelp("content", "queue", "--all", "--json").stdout)["cases"]
    assert sorted(str((one["decision"] or {}).get("choice")) for one in cases) == ["None", "approve", "reject"]


def test_alerts_of_an_old_home_still_wait_for_an_answer(gaelp):
    pending = json.loads(gaelp("alerts", "list", "--json").stdout)
    assert [one["alert"]["key"] for one in pending["pending"]] == ["cap"]


def test_a_finished_run_of_an_old_home_is_listed_with_its_result(home):
    [record] = all_runs(home)
    assert record.run_id == "20261117-170908-f75552"
    [done] = phases_done(home, record.run_id)
    assert (done.phase, done.attempt) == ("simulation", 1)
