"""What is served: the stop, what is in force, the figures, and to whom."""

import asyncio
import json
import threading
import time

import httpx
import pytest

from gaelp.api import app as app_module
from gaelp.api import create_app
from gaelp.api.emergency_stop import EmergencyStop
from gaelp.bootstrap import kill_switch
from gaelp.budget.latch import LATCH_NAME, Latch, StopRecord
from gaelp.budget.ledger import LEDGER_NAME, AdAccount
from gaelp.config import load_settings
from gaelp.errors import GaelpError
from gaelp.guard_bootstrap import create_books

TOKEN = "a-token-of-the-tests"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
DRILL = {"reason": "a drill"}


@pytest.fixture
def settings(tmp_path):
    return load_settings(None, overrides=[f"home={tmp_path}"], environ={}).settings


@pytest.fixture
def latch(tmp_path):
    return Latch(tmp_path / LATCH_NAME)


@pytest.fixture
def books(settings):
    made = create_books(settings, AdAccount("acc", "USD", "UTC"))
    yield made
    made.close()


@pytest.fixture
def call(settings):
    """Send one request to the application of these settings, which is the same for all of a test."""
    return caller(settings)


@pytest.fixture
def call_with_token(tmp_path):
    found = load_settings(
        None, overrides=[f"home={tmp_path}", "api.host=0.0.0.0"], environ={"GAELP__API__TOKEN": TOKEN}
    )
    return caller(found.settings)


def caller(settings):
    app = create_app(settings)

    def send(method, path, *, host="127.0.0.1:4280", **more):
        async def ask():
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url=f"http://{host}") as client:
                return await client.request(method, path, **more)

        return asyncio.run(ask())

    return send


def test_health_is_told_to_everyone(call, call_with_token):
    for one in (call, call_with_token):
        assert one("GET", "/health", host="elsewhere.example").json() == {"status": "ok"}


@pytest.mark.usefixtures("books")
def test_a_stop_sets_latch_and_fence_and_tells_what_became_of_each_part(call, settings, latch):
    answer = call("POST", "/kill", json=DRILL)
    found = answer.json()
    assert (answer.status_code, found["stopped"]) == (200, True)
    assert found["seconds"] < 1
    assert {part["name"]: part["outcome"] for part in found["parts"]} == {
        "latch": "done",
        "fence": "done",
        "pause": "none",
    }
    state = kill_switch(settings).state()
    assert state.stop_ids == (found["stop_id"],)
    assert (latch.read().by, latch.read().reason) == ("api 127.0.0.1", "a drill")


def test_two_stops_are_two(call, latch):
    first, second = (call("POST", "/kill", json={"reason": why}).json()["stop_id"] for why in ("one", "two"))
    assert first != second
    assert latch.read().id == second


def test_what_is_in_force_is_told_with_who_and_why(call, books):
    nothing = {"stopped": False, "readable": True, "stops": [], "detail": "", "newest": None}
    assert call("GET", "/kill").json() == nothing
    stop_id = call("POST", "/kill", json=DRILL).json()["stop_id"]
    found = call("GET", "/kill").json()
    [stop] = found["stops"]
    assert (found["stopped"], found["readable"]) == (True, True)
    assert (stop["id"], stop["by"], stop["reason"]) == (stop_id, "api 127.0.0.1", "a drill")
    assert stop["stands_in"] == ["latch", "fence"]
    assert (found["newest"]["stop_id"], found["newest"]["complete"]) == (stop_id, True)


def test_a_ledger_that_is_gone_while_an_account_is_named_counts_as_stopped(tmp_path):
    named = ["platform.name=double", "platform.account=acc"]
    call = caller(load_settings(None, overrides=[f"home={tmp_path}", *named], environ={}).settings)
    found = call("GET", "/kill").json()
    assert (found["stopped"], found["readable"], "there is no ledger" in found["detail"]) == (True, False, True)
    assert "\ngaelp_spending_stopped 1.0\n" in call("GET", "/metrics").text


def test_a_database_that_cannot_be_read_counts_as_stopped_and_what_the_latch_knows_is_told(call, books, tmp_path):
    books.close()
    (tmp_path / LEDGER_NAME).write_bytes(b"not a database, but long enough to be taken for one" * 100)
    found = call("GET", "/kill").json()
    assert (found["stopped"], found["readable"], found["stops"]) == (True, False, [])
    assert "counts as stopped" in found["detail"]
    stopped = call("POST", "/kill", json=DRILL).json()
    assert [part["outcome"] for part in stopped["parts"]] == ["done", "failed", "none"]
    assert [stop["id"] for stop in call("GET", "/kill").json()["stops"]] == [stopped["stop_id"]]


def test_a_stop_needs_no_database_server_and_its_password_is_not_told(tmp_path, latch):
    url = "postgresql://gaelp:a-password-of-the-tests@127.0.0.1:1/gaelp"  # nobody listens there
    environ = {"GAELP__BUDGET__DATABASE_URL": url}
    call = caller(load_settings(None, overrides=[f"home={tmp_path}"], environ=environ).settings)
    answers = [call("POST", "/kill", json=DRILL), call("GET", "/kill"), call("GET", "/metrics")]
    assert latch.read().id == answers[0].json()["stop_id"]
    assert [part["name"] for part in answers[0].json()["parts"] if part["outcome"] == "done"] == ["latch"]
    assert (answers[1].json()["readable"], answers[1].json()["stops"][0]["reason"]) == (False, "a drill")
    assert "gaelp_spending_stopped 1.0" in answers[2].text
    assert not [answer for answer in answers if "a-password-of-the-tests" in answer.text]


def test_readings_that_hang_are_bounded_and_hold_up_no_stop(settings, monkeypatch):
    hanging, started = threading.Event(), []
    real = kill_switch(settings)

    class Hanging:
        def state(self):
            started.append(1)
            hanging.wait(30)

        def begin(self, **words):
            return real.begin(**words)

        def report(self):
            return real.report()

    monkeypatch.setattr("gaelp.api.emergency_stop.kill_switch", lambda _settings: Hanging())
    monkeypatch.setattr("gaelp.api.emergency_stop._READ_SECONDS", 0.3)
    emergency = EmergencyStop(settings)

    async def many_and_a_stop():
        readings = [asyncio.ensure_future(emergency.standing()) for _ in range(30)]
        await asyncio.sleep(0)
        began = time.monotonic()
        report = await emergency.stop(by="ann", reason="a drill")
        return report, time.monotonic() - began, await asyncio.gather(*readings)

    report, seconds, standings = asyncio.run(many_and_a_stop())
    hanging.set()
    assert (report.outcome("latch"), seconds < 1) == ("done", True)
    assert len(started) <= 4
    assert all(standing.stopped and not standing.readable for standing in standings)


def test_a_stop_that_fails_is_told_as_not_stopped(call, monkeypatch):
    def fail(*_args, **_words):
        raise GaelpError("NOT STOPPED (latch: failed)")

    monkeypatch.setattr("gaelp.budget.kill_switch.KillSwitch.begin", fail)
    answer = call("POST", "/kill", json=DRILL)
    assert (answer.status_code, answer.json()["stopped"]) == (500, False)
    assert "NOT STOPPED" in answer.json()["detail"]
    assert "gaelp kill" in answer.json()["detail"]


def test_without_threads_a_stop_is_still_made(call, latch, monkeypatch):
    def no_more(_self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", no_more)
    assert call("POST", "/kill", json=DRILL).json()["stopped"] is True
    assert latch.is_set()


# What may be sent


@pytest.mark.parametrize(
    "body", [b"", b"reason", b"[]", b"{}", b'{"reason": 7}', b'{"reason": " "}', b"\xff\xfe", b"[" * 60_000]
)
def test_a_stop_needs_no_reason_and_is_not_refused_over_one(call, latch, body):
    answer = call("POST", "/kill", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["stopped"]) == (200, True)
    assert latch.read().reason


@pytest.mark.parametrize("body", [b" " * 70_000, b'{"reason": "' + b"clicks " * 20_000 + b'"}'])
def test_a_body_that_is_too_large_stops_all_the_same(call, latch, body):
    answer = call("POST", "/kill", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["stopped"]) == (200, True)
    assert 0 < len(latch.read().reason) <= 2000


def test_a_stop_is_not_refused_over_a_detail(call, latch):
    wordy = {"reason": "x" * 60_000, "priority": "high"}
    assert call("POST", "/kill", json=wordy).status_code == 200
    assert latch.read().reason == "x" * 2000


def test_of_a_reason_that_utf_8_cannot_hold_people_are_alerted_all_the_same(call, latch, caplog):
    body = b'{"reason": "a\\u0000b \\ud800 in half"}'
    assert call("POST", "/kill", content=body, headers={"Content-Type": "application/json"}).status_code == 200
    assert latch.read().reason == "a\ufffdb \ufffd in half"
    assert call("GET", "/kill").json()["stops"][0]["reason"] == "a\ufffdb \ufffd in half"
    until = time.monotonic() + 10
    while "Spending is stopped" not in caplog.text and time.monotonic() < until:
        time.sleep(0.05)
    assert "Spending is stopped" in caplog.text
    assert "could not be sent" not in caplog.text


def test_a_slash_at_the_end_stops_all_the_same(call, latch):
    assert call("GET", "/kill/").json()["stopped"] is False
    assert call("POST", "/kill/", json=DRILL).json()["stopped"] is True
    assert latch.is_set()


def test_who_only_wants_to_know_whether_it_answers_may_ask_for_the_head(call):
    assert [call("HEAD", path).status_code for path in ("/health", "/metrics")] == [200, 200]


@pytest.mark.parametrize(("method", "path"), [("DELETE", "/kill"), ("PUT", "/kill"), ("POST", "/revive")])
def test_there_is_no_release_over_http(call, latch, method, path):
    latch.set(StopRecord("an-id", "2026-11-16T12:00:00+00:00", "ann", "a drill"))
    assert call(method, path, json={"reason": "go on"}).status_code in (404, 405)
    assert latch.read().id == "an-id"


# Who may call


@pytest.mark.parametrize(
    "word", [None, "Bearer", "Bearer ", "Bearer wrong", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer \xff"]
)
def test_with_a_token_nothing_is_told_or_done_without_it(call_with_token, latch, word):
    given = {} if word is None else {"Authorization": word.encode("latin-1")}
    for method, path in (
        ("POST", "/kill"),
        ("POST", "/kill/"),
        ("GET", "/kill"),
        ("GET", "/metrics"),
        ("HEAD", "/metrics"),
        ("GET", "/openapi.json"),
    ):
        answer = call_with_token(method, path, headers=given, json=DRILL)
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert TOKEN not in answer.text
    assert not latch.is_set()


def test_with_the_token_any_host_and_content_type_will_do(call_with_token, latch):
    plain = {**BEARER, "Content-Type": "text/plain"}
    host = "gaelp.example"
    assert call_with_token("POST", "/kill", host=host, headers=plain, content=json.dumps(DRILL)).status_code == 200
    assert latch.is_set()
    assert call_with_token("GET", "/kill", host=host, headers=BEARER).json()["stopped"] is True
    lower = {"authorization": f"bearer {TOKEN}"}
    assert call_with_token("GET", "/metrics", host=host, headers=lower).status_code == 200


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/json", ""]
)
def test_what_a_web_page_can_send_unasked_does_not_stop(call, latch, content_type):
    headers = {"Content-Type": content_type} if content_type else {}
    answer = call("POST", "/kill", content=json.dumps(DRILL), headers=headers)
    assert (answer.status_code, "application/json" in answer.json()["detail"]) == (415, True)
    assert not latch.is_set()


def test_a_browser_that_asks_whether_a_page_may_send_json_gets_no_leave(call):
    asking = {
        "Origin": "https://elsewhere.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    for answer in (call("OPTIONS", "/kill", headers=asking), call("GET", "/kill", headers=asking)):
        assert not [name for name in answer.headers if name.lower().startswith("access-control")]
    assert call("OPTIONS", "/kill", headers=asking).status_code == 405


@pytest.mark.parametrize(
    "host", ["elsewhere.example:4280", "127.0.0.1.elsewhere.example", "localhost.example", "10.0.0.1", "128.0.0.1"]
)
def test_under_a_name_from_elsewhere_nothing_is_told_or_done(call, latch, host):
    for method, path in (("POST", "/kill"), ("GET", "/kill"), ("GET", "/metrics")):
        assert call(method, path, host=host, json=DRILL).status_code == 421
    assert not latch.is_set()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2:4280", "localhost:4280", "LOCALHOST", "[::1]:4280"])
@pytest.mark.parametrize("content_type", ["application/json", "Application/JSON; charset=utf-8"])
def test_a_program_on_this_machine_needs_no_token(call, host, content_type):
    answer = call("POST", "/kill", host=host, content=json.dumps(DRILL), headers={"Content-Type": content_type})
    assert answer.status_code == 200


def test_no_page_loads_scripts_from_elsewhere(call):
    assert [call("GET", path).status_code for path in ("/docs", "/redoc")] == [404, 404]
    described = call("GET", "/openapi.json").json()["paths"]["/kill"]["post"]
    assert described["requestBody"]["content"]["application/json"]["schema"]["required"] == ["reason"]


# The figures


def test_the_figures_are_in_the_format_of_prometheus(call, books):
    answer = call("GET", "/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert "\ngaelp_spending_stopped 0.0\n" in answer.text
    assert 'gaelp_violations{severity="critical",state="open"} 0.0' in answer.text


@pytest.mark.parametrize("problem", [RuntimeError("a defect"), MemoryError(), None])
def test_figures_that_cannot_be_had_show_that_spending_is_stopped(settings, monkeypatch, problem):
    def read(*_):
        if problem is not None:
            raise problem

    monkeypatch.setattr(app_module, "read_figures", read)
    answer = caller(settings)("GET", "/metrics")
    assert answer.status_code == 200
    assert "\ngaelp_spending_stopped 1.0\n" in answer.text
    assert 'gaelp_kill_state{state="unreadable"} 1.0' in answer.text
