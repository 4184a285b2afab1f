"""`gaelp kill` while the loop of a pilot runs and half of all API calls fail: everything is paused within a minute."""

import random
import shutil
import subprocess
import sys
import time
from contextlib import closing

import pytest

from gaelp.pilot.decision_book import DecisionBook, book_place
from gaelp.platforms.catalog import connect_platform
from gaelp.sandbox.start_process import running_sandbox
from tests.faults.pilot_faults import ROOT, failing_half, log_of, own_environment, prepare, start
from tests.pilot.pilot_account import sandbox_options

ROUNDS, CAMPAIGNS, CALLS = 20, 10, 3000
ALLOWED_SECONDS = 60.0
PATIENCE_SECONDS = 120.0


def kill_by_command(settings):
    """`gaelp kill` as a person starts it; returns its exit code and what it said."""
    program = "from gaelp.cli.main import run; run()"
    command = [sys.executable, "-c", program, "kill", "--config", str(settings.home / "pilot.yaml"), "a test"]
    done = subprocess.run(command, cwd=ROOT, env=own_environment(), capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def wait_for_hour(book, process, hour, folder):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (book.last_interval() or -1) < hour:
        assert process.poll() is None, log_of(folder)
        assert time.monotonic() < deadline, log_of(folder)
        time.sleep(0.02)


def running_campaigns(settings):
    return {state.campaign for state in connect_platform(settings).read_campaigns() if state.status != "paused"}


def killed_round(folder, handle, rng, *, campaigns):
    """Seconds from the kill until it and the loop have ended, with every campaign paused."""
    plan, settings = prepare(folder, handle, campaigns=campaigns)
    process = start(folder)
    try:
        with closing(DecisionBook(book_place(settings), plan.name)) as book:
            wait_for_hour(book, process, rng.randrange(1, 5), folder)
            assert running_campaigns(settings) == {campaign.name for campaign in plan.campaigns}
            time.sleep(rng.random())  # somewhere within an hour
            handle.set_faults(failing_half(rng, CALLS))
            began = time.monotonic()
            code, said = kill_by_command(settings)
            killed_after = time.monotonic() - began
            assert code == 0, said
            process.wait(ALLOWED_SECONDS)
            seconds = time.monotonic() - began
            left = len(handle.faults().faults)
            handle.set_faults()
            assert left > 0  # calls failed until the end
            assert running_campaigns(settings) == set()
            assert process.returncode != 0 or book.stop_event is not None, log_of(folder)
    finally:
        process.kill()
        process.wait()
    print(f"killed after {killed_after:.1f} s, the loop ended after {seconds:.1f} s: {log_of(folder)[-300:]}")  # noqa: T201
    return seconds


def kill_rounds(tmp_path, rounds, campaigns):
    rng, seconds = random.Random(31), []  # noqa: S311 - one seed reproduces a failure
    with running_sandbox(tmp_path / "sandbox", sandbox_options()) as handle:
        for number in range(rounds):
            handle.reset(seed=number + 1)
            seconds.append(killed_round(tmp_path, handle, rng, campaigns=campaigns))
            shutil.rmtree(tmp_path / "home")  # a stopped home needs signatures to spend again
    print(f"{rounds} rounds of {campaigns} campaigns: slowest {max(seconds):.1f} s")  # noqa: T201 - the figure
    assert max(seconds) < ALLOWED_SECONDS


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_twenty_kills_by_command_while_the_loop_runs_and_half_of_all_calls_fail(tmp_path):
    kill_rounds(tmp_path, ROUNDS, CAMPAIGNS)
