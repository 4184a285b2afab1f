"""`gaelp alerts` shows what waits for an answer, takes the answer, and tries the channels of the settings."""

import json
import threading
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from gaelp.clock import ManualClock
from gaelp.config import load_settings
from gaelp.observability.alert_routes import open_dispatcher
from gaelp.observability.alerts import Alert

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
FIRST = "GAELP__ALERTS__FIRST__WEBHOOK__URL"
SECOND = "GAELP__ALERTS__SECOND__WEBHOOK__URL"
BOTH = ("--set", "alerts.first.webhook={}", "--set", "alerts.second.webhook={}")


@contextmanager
def hook(status):
    """A server on loopback that answers with this status; gives its address and what it was sent."""
    taken = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            taken.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/hook?token=s3cr3t-t0ken", taken
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def told(here):
    """Two critical alerts and a warning, told by some other process."""
    dispatcher = open_dispatcher(load_settings(environ={}).settings, ManualClock(NOW))
    for severity, key in (("critical", "not-reconciled/acc"), ("critical", "runs-while-stopped/c1"), ("warning", "w")):
        dispatcher.send(Alert(severity=severity, source="guarded", key=key, title=f"about {key}", at=NOW))


def test_without_alerts_nothing_waits(gaelp, here):
    (here / ".gaelp").mkdir()
    assert "No critical alert waits" in gaelp("alerts", "list").stdout
    assert json.loads(gaelp("alerts", "list", "--json").stdout) == {"pending": []}


@pytest.mark.usefixtures("told")
def test_what_waits_is_listed_with_since_when_and_whether_it_went_further(gaelp):
    shown = gaelp("alerts", "list").stdout
    assert shown.splitlines()[:3] == [
        "guarded not-reconciled/acc",
        "  about not-reconciled/acc",
        "  since 2026-11-16 12:00 UTC, not repeated, not escalated",
    ]
    assert "about w" not in shown
    listed = json.loads(gaelp("alerts", "list", "--json").stdout)["pending"]
    assert [(one["alert"]["key"], one["escalated"]) for one in listed] == [
        ("not-reconciled/acc", False),
        ("runs-while-stopped/c1", False),
    ]


@pytest.mark.usefixtures("told")
def test_what_came_again_is_listed_with_how_often(gaelp):
    dispatcher = open_dispatcher(load_settings(environ={}).settings, ManualClock(NOW))
    for _ in range(3):
        dispatcher.send(Alert(severity="critical", source="guarded", key="not-reconciled/acc", title="again", at=NOW))
    facts = [line.split(", ")[1] for line in gaelp("alerts", "list").stdout.splitlines() if "since" in line]
    assert facts == ["repeated 3 times", "not repeated"]


@pytest.mark.usefixtures("told")
def test_an_answered_alert_waits_no_longer_and_cannot_be_answered_twice(gaelp):
    answered = gaelp("alerts", "ack", "guarded", "not-reconciled/acc")
    assert (answered.exit_code, answered.stdout) == (0, "Acknowledged: about not-reconciled/acc\n")
    again = gaelp("alerts", "ack", "guarded", "not-reconciled/acc")
    assert again.exit_code == 2
    assert "waiting: guarded/runs-while-stopped/c1" in again.stderr
    as_json = json.loads(gaelp("alerts", "ack", "guarded", "runs-while-stopped/c1", "--json").stdout)
    assert as_json["acknowledged"]["key"] == "runs-while-stopped/c1"


def test_a_record_that_cannot_be_read_is_not_taken_for_an_empty_one(gaelp, here):
    (here / ".gaelp").mkdir()
    (here / ".gaelp" / "alerts.json").write_text("{", encoding="utf-8")
    listed = gaelp("alerts", "list")
    assert (listed.exit_code, listed.stdout) == (1, "")
    assert "cannot be read" in listed.stderr


def test_the_channels_are_tried_as_often_as_somebody_asks(gaelp):
    with hook(204) as (first, taken_first), hook(204) as (second, taken_second):
        for _ in range(2):
            tried = gaelp("alerts", "test", *BOTH, **{FIRST: first, SECOND: second})
            assert tried.exit_code == 0, tried.stderr
    assert [alert["severity"] for alert in (*taken_first, *taken_second)] == ["info"] * 4
    assert all(name in tried.stdout for name in ("log", "webhook", "second-webhook"))


def test_a_channel_that_fails_is_named_with_its_reason_and_without_its_address(gaelp):
    with hook(204) as (first, _), hook(404) as (second, _):
        tried = gaelp("alerts", "test", "--json", *BOTH, **{FIRST: first, SECOND: second})
        shown = gaelp("alerts", "test", *BOTH, **{FIRST: first, SECOND: second})
    assert tried.exit_code == 1
    found = json.loads(tried.stdout)
    assert found["reached"] == ["log", "webhook"]
    assert "status 404" in found["failed"]["second-webhook"]
    assert "no alert arrives through second-webhook" in tried.stderr
    assert "FAILED" in shown.stdout
    assert "s3cr3t" not in tried.output + shown.output


def test_settings_without_a_channel_are_reported(gaelp):
    tried = gaelp("alerts", "test")
    assert tried.exit_code == 0
    assert "Alerts reach only the log" in tried.stderr
