"""Killed at any moment, the ledger has done a step once or not at all; racing processes get what there is, no more."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def experiment(database_kind, databases, tmp_path):
    """Run an experiment of ledger_killer.py in its own process."""

    def run(name, *options, places=1, folder=None, timeout=600):
        places_there = [str(databases.fresh_place(database_kind, folder)) for _ in range(places)]
        killer = Path(__file__).with_name("ledger_killer.py")
        command = [sys.executable, str(killer), name, " ".join(places_there), str(tmp_path), *options]
        answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout)
        assert answer.returncode == 0, answer.stderr
        return json.loads(answer.stdout)

    return run


def test_killed_at_every_point_and_retried_blindly_each_step_happens_once(experiment, tmp_path):
    result = experiment("points", folder=tmp_path)  # on the disk, as in production
    assert result["killed"] == result["points"] > 40
    assert {"before begin", "begun", "key taken", "room taken", "journal written", "before commit", "committed"} <= set(
        result["kinds"]
    )
    assert {"marked in flight", "finished", "room settled", "adjustment stored"} <= set(result["kinds"])


def test_killed_after_sending_the_retry_knows_that_it_may_have_been_sent(experiment):
    result = experiment("unknown_outcome")
    assert result == {"again": [False, False], "state": "in_flight", "reserved": 1000}


def test_workers_killed_at_random_leave_books_that_balance(experiment):
    result = experiment("kills", "count=8")
    assert result["killed"] >= 8
    assert result["transfers"] >= 40


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_500_random_kills_leave_books_that_balance(experiment, tmp_path):
    result = experiment("kills", "count=500", folder=tmp_path, timeout=1800)
    assert result["killed"] >= 500


def test_eight_processes_racing_for_one_cap_get_exactly_what_it_holds(experiment):
    assert experiment("race", places=2) == {"granted": [1000 // 7] * 2}


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_eight_processes_racing_for_one_cap_get_exactly_what_it_holds_20_times(experiment, tmp_path):
    assert experiment("race", places=20, folder=tmp_path, timeout=1800) == {"granted": [1000 // 7] * 20}
