import os
import subprocess
import sys

import pytest

from flows.environment import DEFAULT_API_URL, for_server, for_terminal, settle
from flows.standing_up import api_url_of, standing, who_is_up

URL = "http://127.0.0.1:4999/api"


@pytest.fixture
def home(tmp_path):
    settle({}, for_server(tmp_path, URL))  # makes the folder
    return tmp_path


def test_who_is_up_is_known_while_it_is_and_not_after(home):
    assert who_is_up(home) is None
    with standing(home, URL, URL) as here:
        assert here.pid == os.getpid()
        code = (
            f"from pathlib import Path; from flows.standing_up import *; h = Path({str(home)!r});"
            "print(who_is_up(h).pid); print(standing(h, 'x', 'x').__enter__())"
        )
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert other.stdout.split() == [str(os.getpid()), "None"]
    assert who_is_up(home) is None


def test_what_a_killed_process_left_behind_does_not_count(home):
    code = (
        f"import os; from pathlib import Path; from flows.standing_up import *; h = Path({str(home)!r});"
        "standing(h, 'x', 'x').__enter__(); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    assert who_is_up(home) is None
    with standing(home, URL, URL) as here:
        assert here is not None


def test_runs_talk_to_the_server_that_was_named_then_to_the_one_that_is_up_then_to_the_usual_one(home):
    assert api_url_of(home, {}) == DEFAULT_API_URL
    with standing(home, URL, URL):
        assert api_url_of(home, {"PREFECT_API_URL": "http://team/api"}) == "http://team/api"


def test_a_flow_in_a_terminal_does_not_use_the_server_of_others(tmp_path):
    environ = {"PREFECT_API_URL": "http://team/api", "PREFECT_LOGGING_LEVEL": "DEBUG"}
    settle(environ, for_terminal(tmp_path))
    assert "PREFECT_API_URL" not in environ
    assert environ["PREFECT_LOGGING_LEVEL"] == "DEBUG", "what the user set stays"
    assert environ["PREFECT_RESULTS_DEFAULT_SERIALIZER"] == "json"
    assert environ["GAELP_HOME"] == str(tmp_path)
