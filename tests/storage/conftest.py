"""A BigQuery that runs here: its REST and Storage Write API, in a process of its own for the whole session."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

# The emulator loads two DuckDB extensions; importing them puts them where DuckDB looks, below HOME.
_START = """
import faulthandler
import sys

from bqemulator.cli import main
from duckdb_extensions import import_extension

faulthandler.enable()
import_extension("spatial")
import_extension("avro")
sys.argv = ["bqemulator", "start", *sys.argv[1:]]
main()
"""


@pytest.fixture(scope="session")
def bigquery_emulator(tmp_path_factory):
    """Its addresses for REST and gRPC; if it cannot start, the tests fail and show its log."""
    home = tmp_path_factory.mktemp("bigquery")
    rest, grpc = _free_port(), _free_port()
    options = ["--rest-port", str(rest), "--grpc-port", str(grpc), "--project", "gaelp", "--log-level", "error"]
    log = home / "emulator.log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            [sys.executable, "-c", _START, *options],
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=home,
            env={**os.environ, "HOME": str(home)},
        )
    try:
        _wait_for(server, rest, log)
        _wait_for(server, grpc, log)
        yield f"http://127.0.0.1:{rest}", f"127.0.0.1:{grpc}"
        if server.poll() is not None:
            pytest.fail(f"the BigQuery emulator died with {server.returncode}:\n{log.read_text()[-3000:]}")
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_for(server: subprocess.Popen, port: int, log: Path, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if server.poll() is not None:
            pytest.fail(f"the BigQuery emulator ended with {server.returncode}:\n{log.read_text()[-3000:]}")
        try:
            socket.create_connection(("127.0.0.1", port), 0.5).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    pytest.fail(f"the BigQuery emulator did not answer within {seconds:g} s:\n{log.read_text()[-3000:]}")
