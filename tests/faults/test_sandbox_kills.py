"""Killed at any moment and started again, a world continues with nothing lost and nothing served twice."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


def run(folder, kills, timeout):
    killer = Path(__file__).with_name("sandbox_killer.py")
    command = [sys.executable, str(killer), str(folder), str(kills)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def check(result, least):
    assert result["killed"] >= least
    assert result["resumed"] == result["straight"]
    assert result["straight"]["clicks"] == result["straight"]["different"] > 100


def test_a_few_kills_leave_the_same_world(tmp_path):
    check(run(tmp_path, 6, 250), 4)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_50_random_kills_leave_the_same_world(tmp_path):
    check(run(tmp_path, 50, 800), 50)
