"""From settings to channels: who counts as reached, and that no secret of the settings is ever told."""

import io
import json
import socket
import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from gaelp.clock import ManualClock
from gaelp.config import load_settings
from gaelp.observability import logs
from gaelp.observability.alert_channels import CallableChannel
from gaelp.observability.alert_routes import open_dispatcher
from gaelp.observability.alerts import Alert

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
CRITICAL = Alert(severity="critical", source="guarded", key="pause-failed/spring", title="It runs on", at=NOW)


@contextmanager
def hook():
    """A webhook on loopback: its address, and what it took."""
    taken = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            taken.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/hook/live-and-secret", taken
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def dead():
    """The address of a webhook where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/hook/dead-and-secret"


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """Open a dispatcher with these webhooks, and events beside the log."""
    monkeypatch.chdir(tmp_path)
    logs.configure(format="json", stream=io.StringIO())

    def open_it(**urls):
        environ = {f"GAELP__ALERTS__{circle.upper()}__WEBHOOK__URL": url for circle, url in urls.items()}
        overrides = [f"alerts.{circle}.webhook.attempts=1" for circle in urls]
        settings = load_settings(None, overrides=overrides, environ=environ).settings
        return open_dispatcher(settings, ManualClock(NOW), more=[CallableChannel("event", lambda _: None)])

    return open_it


def test_a_critical_alert_goes_to_the_second_webhook_at_once_if_the_first_is_dead(opened, dead):
    with hook() as (live, taken):
        delivery = opened(first=dead, second=live).send(CRITICAL)
    assert (delivery.outcome, delivery.reached) == ("sent", ("log", "event", "second-webhook"))
    assert [alert["key"] for alert in taken] == ["pause-failed/spring", "channel-webhook"]


def test_where_the_first_webhook_works_the_second_waits(opened):
    with hook() as (first, taken_first), hook() as (second, taken_second):
        assert opened(first=first, second=second).send(CRITICAL).outcome == "sent"
    assert (len(taken_first), taken_second) == (1, [])


def test_where_only_the_log_is_told_at_once_the_second_webhook_waits_its_time(opened):
    with hook() as (second, taken):
        dispatcher = opened(second=second)
        assert dispatcher.send(CRITICAL).reached == ("log", "event")
        assert taken == []


def test_an_alert_that_only_records_took_has_reached_nobody(opened, dead):
    dispatcher = opened(first=dead)
    assert [dispatcher.send(CRITICAL).outcome for _ in range(2)] == ["failed", "failed"]
    assert [waiting.since for waiting in dispatcher.pending] == [NOW]


def test_no_alert_holds_the_address_of_a_webhook_whoever_opened_the_dispatcher(opened, dead, tmp_path):
    stream = io.StringIO()
    with hook() as (live, taken):
        dispatcher = opened(first=dead, second=live)
        logs.configure(format="json", stream=stream)
        what = f"the platform said: cannot reach {dead} nor {live}"
        dispatcher.send(
            Alert(severity="critical", source="guarded", key="k", title="t", body=what, at=NOW + timedelta(minutes=1))
        )
    told = json.dumps(taken) + stream.getvalue() + (tmp_path / ".gaelp" / "alerts.json").read_text(encoding="utf-8")
    assert "cannot reach" in told
    assert "and-secret" not in told
