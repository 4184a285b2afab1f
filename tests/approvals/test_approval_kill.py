"""Killed (-9) while it uses approvals up or writes audit rows, a process never leaves half of either."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


def kill(folder, kills):
    command = [sys.executable, str(Path(__file__).with_name("approval_killer.py")), str(folder), str(kills)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def test_five_kills_leave_every_use_and_every_row_whole(tmp_path):
    report = kill(tmp_path, 5)
    assert report["kills"] == 5
    assert len(set(report["used_at_kill"])) > 1  # they did not all hit the same place


@pytest.mark.slow
def test_a_hundred_kills_leave_every_use_and_every_row_whole(tmp_path):
    report = kill(tmp_path, 100)
    assert report["kills"] == 100
    assert len(set(report["used_at_kill"])) > 3
