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
from gaelp.bootstrap import create_books, kill_switch
from gaelp.budget.latch import LATCH_NAME, Latch
from gaelp.budget.ledger import LEDGER_NAME, AdAccount
from gaelp.config import load_settings
from gaelp.errors import BadInput

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


def test_a_stop_needs_neither_home_nor_database(settings, home, latch):
    home.rmdir()
    with serving(settings) as address:
        assert httpx.get(f"{address}/kill").json()["stopped"] is True  # it cannot be told, so it counts as stopped
        assert httpx.post(f"{address}/kill", json=DRILL).json()["stopped"] is True
    assert latch.read().reason == "a drill"


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
