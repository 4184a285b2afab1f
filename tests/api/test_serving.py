"""A real server: a stop takes effect at once, whatever holds the database and whoever else is waiting."""

import logging
import socket
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import httpx
import pytest

from gaelp.api import serving
from gaelp.bootstrap import kill_switch
from gaelp.budget.latch import LATCH_NAME, Latch
from gaelp.budget.ledger import LEDGER_NAME, AdAccount, create_ledger, read_fence
from gaelp.budget.ledger.connection import STORE
from gaelp.config import load_settings
from gaelp.database.engine import take_lock
from gaelp.errors import BadInput, GaelpError
from gaelp.guard_bootstrap import create_books
from gaelp.observability.alert_memory import FileMemory

TOKEN = "a-token-of-the-tests"
DRILL = {"reason": "a drill"}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


@pytest.fixture
def home(tmp_path):
    return tmp_path


@pytest.fixture
def settings(home):
    return load_settings(None, overrides=[f"home={home}", f"api.port={free_port()}"], environ={}).settings


@pytest.fixture
def latch(home):
    return Latch(home / LATCH_NAME)


@pytest.fixture
def books(settings):
    create_books(settings, AdAccount("acc", "USD", "UTC")).close()


@contextmanager
def held(home, *first):
    """The ledger's database in the hands of another connection, until the block ends or the value is called."""
    with closing(sqlite3.connect(home / LEDGER_NAME, isolation_level=None, check_same_thread=False)) as holder:
        for statement in (*first, "BEGIN EXCLUSIVE"):
            holder.execute(statement)
        yield holder.rollback


def timed(ask):
    began = time.monotonic()
    answer = ask()
    return answer, time.monotonic() - began


@pytest.mark.usefixtures("books")
def test_a_stop_over_the_wire_sets_the_latch(settings, latch):
    with serving(settings) as address:
        assert address == f"http://127.0.0.1:{settings.api.port}"
        answer, seconds = timed(lambda: httpx.post(f"{address}/kill", json=DRILL))
        assert (answer.status_code, seconds < 1) == (200, True)
        assert latch.read().id == answer.json()["stop_id"]


@pytest.mark.usefixtures("books")
def test_a_stop_does_not_wait_for_a_locked_database(settings, home, latch):
    with serving(settings) as address, held(home):
        answer, seconds = timed(lambda: httpx.post(f"{address}/kill", json=DRILL))
        assert seconds < 1.5
        assert latch.is_set()
        assert [part["outcome"] for part in answer.json()["parts"]] == ["done", "still trying", "none"]


@pytest.mark.usefixtures("books")
def test_a_server_that_has_to_end_sees_through_what_a_stop_is_still_trying(settings, home):
    with held(home) as let_go:
        with serving(settings) as address:
            stop_id = httpx.post(f"{address}/kill", json=DRILL).json()["stop_id"]
            later = threading.Timer(1.0, let_go)
            later.start()
        assert kill_switch(settings).state().fence.id == stop_id
        later.join()


@pytest.mark.usefixtures("books")
def test_figures_that_wait_for_the_database_hold_up_no_stop(settings, home, latch):
    reading_waits = held(home, "PRAGMA locking_mode = EXCLUSIVE")
    with serving(settings) as address, ThreadPoolExecutor(16) as pool, reading_waits:
        scrapes = [pool.submit(httpx.get, f"{address}/metrics", timeout=20) for _ in range(16)]
        time.sleep(0.5)
        assert not any(scrape.done() for scrape in scrapes)
        answer, seconds = timed(lambda: httpx.post(f"{address}/kill", json=DRILL))
        assert (answer.json()["stopped"], seconds < 1.5) == (True, True)
        assert latch.is_set()
        standing = httpx.get(f"{address}/kill").json()
        assert (standing["stopped"], standing["readable"]) == (True, False)
        assert standing["stops"][0]["id"] == answer.json()["stop_id"]
        pages = [scrape.result() for scrape in scrapes]
    assert all(page.status_code == 200 and "\ngaelp_spending_stopped 1.0\n" in page.text for page in pages)


def test_a_home_that_is_gone_counts_as_stopped_but_a_stop_into_it_is_none(settings, home):
    home.rmdir()
    with serving(settings) as address:
        standing = httpx.get(f"{address}/kill").json()
        assert (standing["stopped"], standing["readable"]) == (True, False)
        assert f"there is no folder {home}" in standing["detail"]
        answer = httpx.post(f"{address}/kill", json=DRILL)
        assert (answer.status_code, answer.json()["stopped"], answer.json()["complete"]) == (500, False, False)
        assert "set GAELP_HOME to the folder that the spenders use" in answer.json()["detail"]
        assert "\ngaelp_spending_stopped 1.0\n" in httpx.get(f"{address}/metrics").text
        time.sleep(0.5)  # for the alert
    assert not home.exists()


# How a stop ends after it was answered


def soon(look):
    """What a look gives as soon as it gives something."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come")


def alerts_of(home, stop_id):
    """The alerts about a stop that wait for an answer, as key and title."""
    memory = FileMemory(home / "alerts.json").look()
    return {key: one.alert.title for (_, key), one in memory.pending.items() if key.startswith(stop_id)}


@pytest.mark.usefixtures("books")
def test_a_part_that_comes_after_the_answer_is_told_in_the_log_and_to_who_asks(settings, home, caplog):
    caplog.set_level(logging.INFO)
    with serving(settings) as address, held(home) as let_go:
        assert httpx.get(f"{address}/kill").json()["newest"] is None
        stop_id = httpx.post(f"{address}/kill", json=DRILL).json()["stop_id"]
        newest = httpx.get(f"{address}/kill").json()["newest"]
        assert (newest["stop_id"], newest["complete"]) == (stop_id, False)
        assert [part["outcome"] for part in newest["parts"]] == ["done", "still trying", "none"]
        let_go()
        assert soon(lambda: httpx.get(f"{address}/kill").json()["newest"]["complete"])
        soon(lambda: f"{stop_id}/end" in caplog.text)
    assert "all parts of the stop are done" in caplog.text
    assert alerts_of(home, stop_id) == {stop_id: "Spending is stopped in part: fence not done yet"}
    ends = [r.msg for r in caplog.records if isinstance(r.msg, dict) and r.msg.get("alert_key") == f"{stop_id}/end"]
    assert [(one["event"], one["level"]) for one in ends] == [("Spending is stopped", "warning")]


@pytest.mark.usefixtures("installed_double")
def test_a_pause_that_fails_after_the_answer_is_told_in_the_log_and_with_an_alert(home, monkeypatch, caplog):
    failing = threading.Event()

    def fails_in_the_end(_settings):
        failing.wait(20)
        raise GaelpError("the platform is down")

    monkeypatch.setattr("gaelp.bootstrap._pause_everything", fails_in_the_end)
    named = ["platform.name=double", "platform.account=acc", f"api.port={free_port()}", f"home={home}"]
    settings = load_settings(None, overrides=named, environ={}).settings
    create_books(settings, AdAccount("acc", "USD", "UTC")).close()
    with serving(settings) as address:
        answer = httpx.post(f"{address}/kill", json=DRILL).json()
        assert answer["complete"] is False
        failing.set()
        told = soon(lambda: alerts_of(home, answer["stop_id"] + "/"))
        assert list(told.values()) == ["Spending is stopped in part: pause failed"]
        [pause] = [one for one in httpx.get(f"{address}/kill").json()["newest"]["parts"] if one["name"] == "pause"]
    assert (pause["outcome"], pause["detail"]) == ("failed", "the platform is down")
    assert "not all parts of the stop are done" in caplog.text


@pytest.mark.usefixtures("books")
def test_a_server_that_has_to_end_before_a_part_has_come_tells_people(settings, home, monkeypatch):
    monkeypatch.setattr("gaelp.api.stop_followup._LEAVING_SECONDS", 0.3)
    with held(home):
        with serving(settings) as address:
            stop_id = httpx.post(f"{address}/kill", json=DRILL).json()["stop_id"]
        assert f"{stop_id}/end" in alerts_of(home, stop_id)


def test_a_stop_that_only_comes_after_the_answer_is_told_as_not_stopped_and_then_as_stopped(home, databases):
    place = databases.fresh_place("postgres")
    options = [f"home={home / 'typo'}", f"api.port={free_port()}"]
    settings = load_settings(None, overrides=options, environ={"GAELP__BUDGET__DATABASE_URL": place}).settings
    with closing(create_ledger(place, Latch(home / LATCH_NAME))) as ledger, serving(settings) as address:
        spender = ledger.database.engine.connect()
        take_lock(spender, STORE.lock_key, "shared")
        answer = httpx.post(f"{address}/kill", json=DRILL)
        assert (answer.status_code, answer.json()["stopped"]) == (500, False)
        spender.close()
        assert soon(lambda: httpx.get(f"{address}/kill").json()["newest"]["stopped"])
        assert read_fence(ledger).id == answer.json()["stop_id"]


def test_a_caller_that_hangs_up_in_its_body_leaves_one_line(settings, latch, caplog):
    with serving(settings) as address:
        with socket.create_connection(("127.0.0.1", settings.api.port)) as caller:
            head = (
                "POST /kill HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n"
            )
            caller.sendall(f'{head}{{"rea'.encode())
            time.sleep(0.2)
        soon(lambda: "a caller hung up" in caplog.text)
        assert httpx.get(f"{address}/health").status_code == 200
    assert "Traceback" not in caplog.text
    assert not latch.is_set()


def test_a_token_that_is_soon_guessed_is_refused_where_others_can_try(home):
    options = [f"home={home}", "api.host=0.0.0.0", f"api.port={free_port()}"]
    short = load_settings(None, overrides=options, environ={"GAELP__API__TOKEN": "fifteen-letters"}).settings
    with pytest.raises(BadInput, match=r"15 characters.*16 or more") as told, serving(short):
        pass
    assert "fifteen-letters" not in str(told.value)
    here_only = load_settings(
        None, overrides=[*options, "api.host=127.0.0.1"], environ={"GAELP__API__TOKEN": "short"}
    ).settings
    with serving(here_only) as address:
        assert httpx.get(f"{address}/health").status_code == 200


def test_after_the_end_nobody_listens_and_the_port_can_be_had_again(settings):
    for _ in range(2):
        with serving(settings) as address:
            assert httpx.get(f"{address}/health").json() == {"status": "ok"}
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{address}/health")


def test_a_port_that_is_taken_is_told_with_the_way_out(settings):
    with serving(settings), pytest.raises(BadInput) as told, serving(settings):
        pass
    assert f"127.0.0.1:{settings.api.port}" in str(told.value)
    assert f"--set api.port={settings.api.port + 1}" in str(told.value)


def test_a_host_that_nobody_knows_is_told(home):
    found = load_settings(
        None, overrides=[f"home={home}", "api.host=256.0.0.1"], environ={"GAELP__API__TOKEN": TOKEN}
    ).settings
    with pytest.raises(BadInput, match=r"256\.0\.0\.1:4280 cannot be listened on"), serving(found):
        pass


def test_logs_say_who_stopped_and_hold_no_token_and_no_line_per_request(home, caplog):
    caplog.set_level(logging.INFO)
    found = load_settings(
        None, overrides=[f"home={home}", f"api.port={free_port()}"], environ={"GAELP__API__TOKEN": TOKEN}
    ).settings
    with serving(found) as address:
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        httpx.get(f"{address}/metrics", params={"token": TOKEN}, headers=bearer)
        assert httpx.post(f"{address}/kill", json=DRILL, headers=bearer).status_code == 200
    ours = "\n".join(record.getMessage() for record in caplog.records if not record.name.startswith("httpx"))
    assert "stopped over HTTP" in ours
    assert "GET /metrics" not in ours
    assert TOKEN not in ours
