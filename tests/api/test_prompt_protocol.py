"""Callers who never finish their request: they are cut off, and none of them keeps an emergency stop from arriving."""

import os
import resource
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, closing, suppress

import httpx
import pytest

from gaelp.api import prompt_protocol, serving
from gaelp.api.prompt_protocol import MAX_CONNECTIONS
from gaelp.budget.latch import LATCH_NAME, Latch
from gaelp.config import load_settings

HEAD = "POST /kill HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n"
HEALTH = "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
UNKNOWN = "POST /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\n"
FILES = 400


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


@pytest.fixture
def settings(tmp_path):
    return load_settings(None, overrides=[f"home={tmp_path}", f"api.port={free_port()}"], environ={}).settings


def seconds_until_closed(port, first, then=b""):
    """How long a connection lasts on which a caller sends something, and then a byte every now and again."""
    with socket.create_connection(("127.0.0.1", port), timeout=0.2) as caller:
        caller.sendall(first)
        begun = time.monotonic()
        while time.monotonic() - begun < 8:
            try:
                if caller.recv(65_536) == b"":
                    break
            except TimeoutError:
                pass
            except ConnectionError:
                break
            try:
                caller.sendall(then)
            except ConnectionError:
                break
        return time.monotonic() - begun


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (b"", b""),
        (b"GET /health HT", b""),
        (HEALTH[:-2].encode(), b"x"),
        (HEAD.encode() + b'{"rea', b""),
        (HEAD.encode(), b" "),
        (HEALTH.encode() + b"GET /hea", b"l"),
        (UNKNOWN.encode(), b" "),
    ],
    ids=[
        "silent",
        "half a line",
        "endless headers",
        "half a body",
        "slow body",
        "half a second request",
        "early answer",
    ],
)
def test_a_request_that_does_not_arrive_in_time_ends_the_connection(settings, monkeypatch, first, then):
    monkeypatch.setattr(prompt_protocol, "_REQUEST_SECONDS", 1.0)
    with serving(settings):
        assert 0.5 < seconds_until_closed(settings.api.port, first, then) < 6


def test_a_whole_request_is_answered_however_often_on_one_connection(settings, monkeypatch):
    monkeypatch.setattr(prompt_protocol, "_REQUEST_SECONDS", 0.5)
    with serving(settings) as address, httpx.Client(base_url=address) as client:
        for _ in range(4):
            assert client.get("/health").status_code == 200
            time.sleep(0.3)


def test_a_request_that_is_being_answered_is_not_cut_off(settings, monkeypatch):
    monkeypatch.setattr(prompt_protocol, "_REQUEST_SECONDS", 0.3)
    monkeypatch.setattr("gaelp.api.app.read_figures", lambda *_: time.sleep(1.5))
    with serving(settings) as address:
        assert httpx.get(f"{address}/metrics", timeout=10).status_code == 200


def test_the_oldest_caller_makes_room_for_a_new_one(settings, monkeypatch):
    monkeypatch.setattr(prompt_protocol, "_REQUEST_SECONDS", 60.0)
    monkeypatch.setattr(prompt_protocol, "MAX_CONNECTIONS", 5)
    with serving(settings) as address, ExitStack() as stack:
        callers = []
        for _ in range(8):
            place = ("127.0.0.1", settings.api.port)
            callers.append(stack.enter_context(closing(socket.create_connection(place, timeout=20))))
            callers[-1].sendall(HEAD.encode())
        for caller in callers[:3]:
            with suppress(ConnectionResetError):
                assert caller.recv(1) == b""
        assert httpx.get(f"{address}/health", timeout=20).status_code == 200
        callers[-1].setblocking(False)
        with pytest.raises(BlockingIOError):
            callers[-1].recv(1)


def test_more_silent_callers_than_the_process_has_file_handles_do_not_hold_up_a_stop(tmp_path):
    port = free_port()
    assert MAX_CONNECTIONS < FILES
    command = [sys.executable, "-m", "gaelp.cli", "api", "--set", f"api.port={port}"]
    server = subprocess.Popen(
        command,
        env=os.environ | {"GAELP_HOME": str(tmp_path)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES)),  # noqa: PLW1509 - one thread
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(port)
        with ExitStack() as callers:
            for _ in range(FILES + 100):
                caller = callers.enter_context(closing(socket.create_connection(("127.0.0.1", port), timeout=20)))
                caller.sendall(b"POST /kill HTTP/1.1\r\n")
            answer = httpx.post(f"http://127.0.0.1:{port}/kill", json={"reason": "a drill"}, timeout=20)
        assert answer.json()["stopped"]
        assert Latch(tmp_path / LATCH_NAME).is_set()
    finally:
        server.kill()
        server.wait()


def wait_for(port):
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            return httpx.get(f"http://127.0.0.1:{port}/health")
        except httpx.HTTPError:
            time.sleep(0.1)
    raise AssertionError("the server did not start")
