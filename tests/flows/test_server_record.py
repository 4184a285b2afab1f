import os
import subprocess
import sys

import pytest

from flows.environment import prefect_home
from flows.server_record import ServerProcess, claimed, known_api_url, record_server, running, server

URL = "http://127.0.0.1:4999/api"


@pytest.fixture
def home(tmp_path):
    prefect_home(tmp_path).mkdir()
    return tmp_path


def test_a_running_up_is_known_while_it_runs_and_not_after(home):
    assert running(home) is None
    with claimed(home, URL, URL) as here:
        assert here.pid == os.getpid()
        code = (
            f"from pathlib import Path; from flows.server_record import *; h = Path({str(home)!r});"
            "print(running(h).pid); print(claimed(h, 'x', 'x').__enter__())"
        )
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert other.stdout.split() == [str(os.getpid()), "None"]
    assert running(home) is None


def test_what_a_killed_process_left_behind_does_not_count(home):
    code = (
        f"import os; from pathlib import Path; from flows.server_record import *; h = Path({str(home)!r});"
        "claimed(h, 'x', 'x').__enter__(); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    assert running(home) is None
    with claimed(home, URL, URL) as here:
        assert here is not None


def test_a_home_knows_the_address_of_its_own_server_only(home):
    assert known_api_url(home) is None, "whatever listens on the usual port may be another home's"
    with claimed(home, URL, URL):
        assert known_api_url(home) == URL
    record_server(home, ServerProcess.of(os.getpid(), URL))
    assert known_api_url(home) == URL


def test_a_record_of_a_dead_process_or_without_an_address_is_no_server(home):
    record_server(home, ServerProcess(pid=os.getpid(), created=1.0, api_url=URL))
    assert server(home) is None
    (prefect_home(home) / "server.json").write_text('{"pid": 1, "created": 1.0}', encoding="utf-8")
    assert server(home) is None
