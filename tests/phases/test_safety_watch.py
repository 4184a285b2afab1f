"""The safety watch tells people of what is left alone, once, and of what it could not look at."""

import importlib.util
import json
import sqlite3
import sys
import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gaelp.approvals import ApprovalStore, Approver, SignedAction, Trust, approvals_place, load_policy, new_key, sign
from gaelp.approvals.trust import trust_place
from gaelp.clock import ManualClock
from gaelp.config import load_settings
from gaelp.config.write import write_models
from gaelp.errors import ComponentMissing
from gaelp.gates import Evidence, judge, load_gate
from gaelp.gates.decisions import GateDecision, GateQuestion
from gaelp.observability.alert_channels import CallableChannel
from gaelp.observability.alert_routes import open_dispatcher
from gaelp.observability.alerts import Alert
from gaelp.phases.gate_approval import gate_approvals
from gaelp.phases.safety_watch import left_alone, watch

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
REVIVE = SignedAction(kind="revive", run_id="kill-switch", requester="kill-switch", subject="stop-1")
BUDGET = SignedAction(
    kind="budget",
    run_id="r1",
    requester="pipeline",
    subject="limit account_day",
    account="acc",
    currency="USD",
    limits_micros={"daily": 5_000_000},
)


class Hook(ThreadingHTTPServer):
    """A webhook on loopback that keeps what it is sent."""

    def __init__(self):
        self.taken, self.status = [], 204
        super().__init__(("127.0.0.1", 0), HookHandler)

    def told(self):
        """Severity and title of each alert that arrived since the last call."""
        taken, self.taken = self.taken, []
        return [(alert["severity"], alert["title"]) for alert in taken]


class HookHandler(BaseHTTPRequestHandler):
    def do_POST(self):
        alert = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.server.status < 300:
            self.server.taken.append(alert)
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        """Quiet."""


@pytest.fixture
def hook():
    server = Hook()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@contextmanager
def no_guard():
    raise AssertionError("no platform is named, so no guard is to be opened")
    yield


class Site:
    """A home with a clock, whose alerts go to the webhook."""

    def __init__(self, home, hook):
        self.home, self.hook, self.clock = home, hook, ManualClock(NOW)
        self.keys = {name: new_key(name) for name in ("ann", "bob", "dee")}

    def settings(self, *overrides):
        given = [f"home={self.home}", "alerts.first.webhook={}", "approvals.policy=live", *overrides]
        environ = {"GAELP__ALERTS__FIRST__WEBHOOK__URL": f"http://127.0.0.1:{self.hook.server_address[1]}/"}
        return load_settings(overrides=given, environ=environ).settings

    def watch(self, *overrides, open_guard=no_guard, more=()):
        return watch(self.settings(*overrides), clock=self.clock, open_guard=open_guard, more_channels=more)

    def later(self, **duration):
        self.clock.advance(timedelta(**duration))
        return self

    def gates(self):
        return gate_approvals(self.settings())

    def ask(self, question):
        self.gates().decisions().ask(question)
        return question

    def store(self):
        return ApprovalStore(approvals_place(self.settings()), self.clock)

    def trust(self, **roles):
        approvers = [
            Approver(name=name, public_key=self.keys[name].public_key, roles=given, added_at=NOW - timedelta(days=1))
            for name, given in roles.items()
        ]
        write_models({trust_place(self.settings()): Trust(approvers=tuple(approvers))})

    def sign(self, action, name):
        signed = sign(
            action, self.keys[name], decision="approve", reason="seen", at=self.clock.now(), valid_for=timedelta(days=1)
        )
        self.store().submit(signed, load_policy("live"), self.gates().trust())


@pytest.fixture
def site(tmp_path, hook):
    return Site(tmp_path / "home", hook)


def question_at(at, run_id="r1"):
    gate = load_gate("simulation")
    metrics = {"episodes": 1000.0}
    for rule in gate.criteria:
        room = -0.01 if rule.bound == "at_most" else 0.01
        metrics |= {rule.metric: rule.threshold + room, rule.figure: rule.threshold + room}
    evidence = Evidence(run_id=run_id, agent="a", learned=True, config_hash="c", measured_at=NOW, metrics=metrics)
    return GateQuestion(
        run_id=run_id,
        gate="simulation",
        attempt=1,
        verdict=judge(gate, evidence, NOW),
        model_hash="0" * 64,
        opened_at=at,
        remind_at=at + timedelta(hours=24),
        expires_at=at + timedelta(hours=72),
    )


# Gates


def test_a_gate_that_was_just_opened_is_left_in_peace():
    assert left_alone([question_at(NOW)], NOW + timedelta(hours=23)) == []


def test_a_gate_left_alone_is_told_with_how_long_and_what_to_do():
    question = question_at(NOW)
    [(text, about)] = left_alone([question], NOW + timedelta(hours=30))
    assert about == question
    assert "has waited 30.0 hours" in text
    assert "gaelp gate show r1" in text


def test_an_expired_gate_is_told_with_how_to_ask_again():
    [(text, _)] = left_alone([question_at(NOW)], NOW + timedelta(hours=72))
    assert "expired" in text
    assert "gaelp resume r1" in text


def test_a_gate_is_told_once_when_it_is_overdue_and_once_when_it_has_expired(site, hook):
    site.ask(question_at(NOW))
    assert site.watch().gates == ()
    for _ in range(4):
        report = site.later(hours=12).watch()
    assert "has waited 48.0 hours" in report.gates[0]
    assert hook.told() == [("warning", "Gate simulation of run r1 is overdue")]
    for _ in range(4):
        site.later(hours=24).watch()
    assert hook.told() == [("warning", "Gate simulation of run r1 is expired")]


def test_a_gate_that_is_asked_again_is_told_again(site, hook):
    site.ask(question_at(NOW))
    site.later(hours=24).watch()
    site.later(hours=48)
    site.ask(question_at(site.clock.now()))
    site.later(hours=24).watch()
    assert hook.told() == [("warning", "Gate simulation of run r1 is overdue")] * 2


# Approvals


def test_a_request_that_waits_too_long_is_told_with_whom_to_tell_and_the_command(site, hook):
    site.trust(ann=("finance",), dee=("director",))
    site.store().request(REVIVE)
    assert site.later(minutes=239).watch().approvals == ()
    [text] = site.later(minutes=1).watch().approvals
    assert "revive 'stop-1'" in text
    assert "has waited 4.0 hours" in text
    assert "Notify: director (dee): `gaelp revive --key FILE --reason WHY`" in text
    assert hook.taken[0]["body"] == text
    site.later(minutes=10).watch()
    assert hook.told() == [("warning", "A request for a revive waits too long")]


def test_where_nobody_has_the_role_that_is_said(site):
    site.store().request(BUDGET)
    [text] = site.later(hours=4).watch().approvals
    assert "nobody who is trusted has this role" in text
    assert "`gaelp approvals show " in text


def test_what_can_move_money_is_held_against_the_live_policy_in_a_sandbox_too(site):
    site.store().request(REVIVE)
    [text] = site.later(hours=4).watch("approvals.policy=sandbox").approvals
    assert "for 2 to approve" in text


def test_a_request_that_ran_out_is_told_once_for_good(site, hook):
    site.store().request(BUDGET)
    for _ in range(3):
        assert site.later(hours=48).watch().approvals == ()
    assert hook.told() == [("info", "A request for a budget has expired")]


def test_what_was_approved_and_used_is_not_told_after_the_approvals_ran_out(site, hook):
    site.trust(ann=("finance",), bob=("marketing",))
    store = site.store()
    store.request(BUDGET)
    site.sign(BUDGET, "ann")
    site.sign(BUDGET, "bob")
    store.consume(BUDGET, load_policy("live"), site.gates().trust(), consumer="order 1")
    for _ in range(3):
        site.later(hours=25).watch()
    assert hook.told() == []


def test_a_signature_at_a_gate_that_was_decided_otherwise_waits_for_nobody(site):
    site.trust(ann=("finance",), bob=("marketing",))
    question = site.ask(question_at(NOW))
    site.gates().add_signature(question, site.keys["ann"], "approve", "every rule holds", site.clock)
    site.later(hours=4)
    assert "the gate 'gate simulation' of run r1" in site.watch().approvals[0]
    rejected = {"choice": "reject", "who": "bob", "why": "the market moved", "through": "command"}
    site.gates().decisions().decide(
        GateDecision(
            run_id="r1",
            gate="simulation",
            evidence_hash=question.evidence_hash,
            decided_at=site.clock.now(),
            **rejected,
        )
    )
    assert site.watch().approvals == ()


def test_a_home_without_books_stays_without(site):
    assert site.watch().failures == ()
    assert not Path(approvals_place(site.settings())).exists()


# Books and platform


@pytest.fixture
def door(tmp_path):
    """Everything between a wish and a platform that is a double."""
    if "platform_double" not in sys.modules:
        path = Path(__file__).resolve().parents[1] / "platforms" / "platform_double.py"
        spec = importlib.util.spec_from_file_location("platform_double", path)
        sys.modules["platform_double"] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    (tmp_path / "door").mkdir()
    made = sys.modules["platform_double"].build_door(tmp_path / "door")
    yield made
    made.ledger.close()


PLATFORM = ("platform.name=double", "platform.account=acc")


def test_where_a_platform_is_named_books_and_platform_are_brought_together(site, door):
    @contextmanager
    def opened():
        yield door.guard

    assert site.watch(*PLATFORM, open_guard=opened).reconciliation.failures == ()
    door.platform.down = True
    report = site.watch(*PLATFORM, open_guard=opened)
    assert report.reconciliation.failures
    assert set(report.reconciliation.failures) <= set(report.failures)
    assert {alert.severity for alert in door.heard.alerts} == {"critical"}


def test_what_the_money_rules_find_is_part_of_the_watch(site, door):
    opened = []

    @contextmanager
    def once():
        opened.append(True)
        yield door.guard

    state = sys.modules["platform_double"].CampaignState("spring", "enabled", 5_000_000, NOW.date())
    door.platform.campaigns["spring"] = state
    door.platform.pause_faults.extend(["lose call"] * 3)  # of reconciliation, which finds it first
    report = site.watch(*PLATFORM, open_guard=once)
    assert opened == [True]
    assert report.money_rules.paused == ("spring",)
    assert "was never given a budget" in report.money_rules.failures[0]
    assert set(report.money_rules.failures) <= set(report.failures)


def test_the_money_rules_are_judged_although_reconciliation_failed(site, door, monkeypatch):
    @contextmanager
    def opened():
        yield door.guard

    monkeypatch.setattr("gaelp.phases.safety_watch.reconcile", lambda _guard: 1 / 0)
    report = site.watch(*PLATFORM, open_guard=opened)
    assert (report.reconciliation, report.money_rules.failures) == (None, ())
    assert "'reconciliation' of the safety watch failed (ZeroDivisionError" in report.failures[0]


def test_a_guard_that_cannot_be_opened_is_a_critical_alert_and_the_rest_is_done(site, hook):
    def broken():
        raise ComponentMissing("the platform cannot be used")

    site.ask(question_at(NOW))
    report = site.later(hours=24).watch(*PLATFORM, open_guard=broken)
    assert len(report.gates) == 1
    assert "'reconciliation' of the safety watch failed (ComponentMissing: the platform" in report.failures[0]
    site.later(minutes=10).watch(*PLATFORM, open_guard=broken)
    assert hook.told() == [
        ("warning", "Gate simulation of run r1 is overdue"),
        ("critical", "The safety watch could not look at: reconciliation"),
    ]
    site.later(minutes=10).watch(*PLATFORM, open_guard=broken)
    assert hook.told() == [
        ("critical", "Unanswered for 20 minutes: The safety watch could not look at: reconciliation")
    ]


# Failures and escalation


def test_approvals_are_looked_at_without_the_gates(site):
    site.trust(ann=("finance",))
    site.gates().add_signature(question_at(NOW), site.keys["ann"], "approve", "every rule holds", site.clock)
    site.store().request(REVIVE)
    (site.home / "decisions.db").write_bytes(b"no database at all" * 100)
    report = site.later(hours=4).watch()
    assert (len(report.failures), len(report.approvals)) == (1, 2)


def test_each_part_is_done_though_all_before_it_failed(site, hook):
    site.store().request(BUDGET)
    home = Path(site.home)
    (home / "decisions.db").write_bytes(b"no database at all" * 100)
    with sqlite3.connect(home / "approvals.db") as tables:
        tables.execute("DROP TRIGGER requests_no_UPDATE")
        tables.execute("UPDATE requests SET body = replace(body, '5000000', '9000000')")
    tables.close()
    open_dispatcher(site.settings(), site.clock).send(
        Alert(severity="critical", source="kill", key="stop-1", title="Stopped", at=NOW)
    )
    report = site.later(minutes=15).watch()
    assert len(report.failures) == 2
    assert hook.told() == [
        ("critical", "Stopped"),
        ("critical", "The safety watch could not look at: gates"),
        ("critical", "The safety watch could not look at: approvals"),
        ("critical", "Unanswered for 15 minutes: Stopped"),
    ]


def test_a_channel_that_takes_no_alert_is_a_failure_and_gets_it_later(site, hook):
    site.ask(question_at(NOW))
    hook.status = 404
    report = site.later(hours=24).watch()
    [failure] = report.failures
    assert failure.startswith("the channel webhook took no alert: ComponentMissing")
    assert "status 404" in failure
    hook.status = 204
    assert site.later(minutes=10).watch().failures == ()
    assert hook.told() == [("warning", "Gate simulation of run r1 is overdue")]


def test_channels_of_the_caller_are_told_too(site):
    taken = []
    site.ask(question_at(NOW))
    site.later(hours=24).watch(more=[CallableChannel("event", taken.append)])
    assert [alert.source for alert in taken] == ["safety-watch"]
