"""The kill switch against busy spenders: no grant comes back after the stop came back, whatever the database does."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def stops(database_kind, databases, tmp_path):
    """Stop 16 busy spenders that many times, in a process of its own."""

    def run(rounds, database, spenders=16):
        killer = Path(__file__).with_name("ledger_killer.py")
        place = str(databases.fresh_place(database_kind))
        options = [f"rounds={rounds}", f"database={database}", f"spenders={spenders}"]
        command = [sys.executable, str(killer), "stops", place, str(tmp_path), *options]
        answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
        assert answer.returncode == 0, answer.stderr
        return json.loads(answer.stdout)

    return run


def check(seen, rounds):
    assert seen["rounds"] == rounds
    assert seen["grants"] > 16 * rounds // 4  # they were at work
    assert seen["last_grant_after_stop_s"] <= 0
    assert seen["slowest_stop_s"] < 1


def test_no_grant_returns_after_a_stop_of_busy_spenders_returned(stops):
    check(stops(3, "reachable"), 3)


@pytest.mark.parametrize("database", ["locked", "gone"])
def test_a_stop_needs_no_database(stops, database):
    seen = stops(1, database)
    check(seen, 1)
    assert seen["fences"] == (["still trying"] if database == "locked" else ["failed"])


@pytest.mark.parametrize("database_kind", ["postgres"], indirect=True)  # SQLite and its latch are on one machine
def test_the_fence_alone_stops_spenders_on_another_machine(stops):
    check(stops(2, "fence only"), 2)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("database", ["reachable", "locked", "gone"])
def test_no_grant_returns_after_any_of_50_stops_returned(stops, database):
    check(stops(50, database), 50)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("database_kind", ["postgres"], indirect=True)
def test_no_grant_returns_after_any_of_50_fences_of_another_machine_returned(stops):
    check(stops(50, "fence only"), 50)
