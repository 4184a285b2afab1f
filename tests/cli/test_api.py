"""`gaelp api` serves until it is told to end, and its help teaches how to stop."""

import os
import signal
import socket
import subprocess
import sys

import httpx
import pytest

from gaelp.budget.latch import LATCH_NAME, Latch
from gaelp.config.places import repository_root


@pytest.fixture
def server(here):
    """`gaelp api` on a free port, in a process of its own, and the address it tells."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    path = os.pathsep.join([str(repository_root()), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-m", "gaelp.cli", "api", "--set", f"home={here}", "--set", f"api.port={port}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"},
    )
    with process:
        yield process, process.stdout.readline().removeprefix("Listening on ").strip()
        process.kill()


@pytest.mark.parametrize(("sent", "code", "last"), [(signal.SIGTERM, 0, ""), (signal.SIGINT, 130, "server has ended")])
def test_it_prints_its_address_stops_on_request_and_ends_on_a_signal(server, here, sent, code, last):
    process, address = server
    stopped = httpx.post(f"{address}/kill", json={"reason": "a drill"}).json()
    assert Latch(here / LATCH_NAME).read().id == stopped["stop_id"]
    process.send_signal(sent)
    _, said = process.communicate(timeout=20)
    assert process.returncode == code, said
    assert "Traceback" not in said
    assert "interrupted" not in said
    assert said.strip().endswith(last)


def test_a_taken_port_is_bad_input(gaelp):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = gaelp("api", "--set", f"api.port={port}")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"127.0.0.1:{port}" in result.stderr
    assert "--set api.port=" in result.stderr


def test_other_machines_are_not_let_in_without_a_token(gaelp):
    result = gaelp("api", "--set", "api.host=0.0.0.0")
    assert result.exit_code == 2
    assert "GAELP__API__TOKEN" in result.stderr


def test_the_help_teaches_how_to_stop(gaelp):
    shown = gaelp("api", "--help").stdout
    for word in ("curl", "/kill", "Content-Type: application/json", "/metrics", "Bearer", "gaelp revive"):
        assert word in shown
