"""Killed at any step, an attempt has used one look or none; racing processes get the looks there are, no more."""

import json
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path

from gaelp.clock import ManualClock
from gaelp.config import load_settings
from gaelp.config.split_settings import SplitSettings
from gaelp.history.splits import HistoryRows, fix_splits
from gaelp.storage.backends import build_store


def experiment(name, place):
    killer = Path(__file__).with_name("look_killer.py")
    command = [sys.executable, str(killer), name, str(place)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def test_processes_racing_for_the_last_two_looks_get_two_in_all(place):
    assert experiment("race", place) == {"granted": 2, "refused": 4, "looks": [1, 2, 3]}


def test_an_attempt_killed_at_each_step_uses_one_look_and_reads_the_same_data_when_it_returns(tmp_path, log_rows):
    settings = load_settings(None, environ={}, overrides=[f"home={tmp_path}"]).settings
    with closing(build_store(settings)) as store:
        store.append(log_rows.history(days=21, campaigns=("a",), segments=("s",)))
    clock = ManualClock(log_rows.START + timedelta(days=30))
    fix_splits(settings, SplitSettings(gap_days=0, validation_days_min=2), clock, HistoryRows())
    result = experiment("kills", tmp_path)
    assert result == {
        "killed": True,
        "left": {
            "before the look": 3,
            "look written, not committed": 3,
            "look committed, nothing read": 2,
            "read, not recorded": 2,
        },
        "left after the retry": 2,
        "same data": True,
    }
