"""The kill switch against busy spenders: no grant returns after the stop has returned, whatever the database does."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def stops(database_kind, databases, tmp_path):
    """Stop busy spenders that many times, in a separate process."""

    def run(rounds, database, spenders=16):
        killer = Path(__file__).with_name("ledger_killer.py")
        place = str(databases.fresh_place(database_kind))
        options = [f"rounds={rounds}", f"database={database}", f"spenders={spenders}"]
        command = [sys.executable, str(killer), "stops", place, str(tmp_path), *options]
        answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
        assert answer.returncode == 0, answer.stderr
        return json.loads(answer.stdout)

    return run


def check(result, rounds, spenders=16):
    assert result["rounds"] == rounds
    assert result["grants"] > spenders * rounds // 4  # they were at work
    assert result["last_grant_after_stop_s"] <= 0
    assert result["slowest_stop_s"] < 1


def test_no_grant_returns_after_a_stop_of_busy_spenders_returned(stops):
    check(stops(2, "reachable", spenders=8), 2, spenders=8)


@pytest.mark.parametrize("database", ["locked", "gone"])
def test_a_stop_needs_no_database(stops, database):
    result = stops(1, database, spenders=8)
    check(result, 1, spenders=8)
    assert result["fences"] == (["still trying"] if database == "locked" else ["failed"])


@pytest.mark.parametrize("database_kind", ["postgres"], indirect=True)  # SQLite and its latch are on one machine
def test_the_fence_alone_stops_spenders_on_another_machine(stops):
    check(stops(1, "fence only", spenders=8), 1, spenders=8)


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
