"""`gaelp sandbox`: its help teaches, errors name the way out, and it starts, moves, resets and stops a sandbox."""

import json
import socket
import sqlite3
from datetime import timedelta

import pytest

from gaelp.sandbox.process_record import running_record
from gaelp.sandbox.sandbox_process import StartOptions
from gaelp.sandbox.spec import load_sandbox_spec
from gaelp.sandbox.start_process import running_sandbox
from gaelp.sandbox.world import open_world
from gaelp.sandbox.world_schema import WORLD_NAME

SPEC = load_sandbox_spec()


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    """A sandbox without fronts in a home."""
    home = tmp_path_factory.mktemp("home")
    with running_sandbox(home / "sandbox", StartOptions(spec=SPEC, fronts=())) as handle:
        yield home, handle


@pytest.fixture
def sandbox(gaelp, started):
    """Run `gaelp sandbox` on the sandbox that runs, which is as new."""
    home, handle = started
    handle.reset(spec=SPEC)
    return lambda *words: gaelp("sandbox", *words, "--set", f"home={home}")


@pytest.fixture
def elsewhere(gaelp, here):
    """Run `gaelp sandbox` in a home where none runs."""
    return lambda *words: gaelp("sandbox", *words, "--set", f"home={here}")


@pytest.mark.parametrize("command", ["start", "stop", "status", "advance", "reset", "sales"])
def test_every_command_teaches_with_an_example(gaelp, command):
    result = gaelp("sandbox", command, "--help", COLUMNS="200")
    assert result.exit_code == 0
    assert f"gaelp sandbox {command}" in result.stdout


def test_status_shows_time_clock_and_accounts(sandbox, started):
    said = sandbox("status").stdout
    assert "Monday, 2026-09-07 00:00 in America/New_York" in said
    assert "is stopped" in said
    assert SPEC.customer_ids[0] in said
    assert str(started[1].certificate_path) in said
    shown = json.loads(sandbox("status", "--json").stdout)
    assert (shown["running"], shown["seed"], shown["ports"]) == (True, SPEC.seed, {})
    assert "token" not in said


def test_the_shops_sales_are_written_to_a_file(sandbox, started, here):
    assert started[1].sales(SPEC.start.date(), SPEC.start.date()) == ()
    result = sandbox("sales", "--out", here / "sales.csv")
    assert (result.exit_code, "0 sales, 0 of them sent back" in result.stdout) == (0, True), result.stderr
    assert (here / "sales.csv").read_text().startswith("id,sale,revision,campaign")
    again = sandbox("sales", "--out", here / "sales.csv")
    assert (again.exit_code, "exists already" in again.stderr) == (2, True)


def test_time_passes_for_a_duration_or_to_an_instant_of_the_account(sandbox, started):
    _, handle = started
    assert "2026-09-07 06:00" in sandbox("advance", "6h").stdout
    sandbox("advance", "90m")
    assert handle.now() == SPEC.start + timedelta(hours=7, minutes=30)
    sandbox("advance", "--to", "2026-09-08")
    assert handle.now() == SPEC.start + timedelta(days=1)
    sandbox("advance", "--to", "2026-09-08T05:00:00Z")
    assert json.loads(sandbox("advance", "0m", "--json").stdout)["now"] == "2026-09-08T05:00:00Z"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "say how far"),
        (("1h", "--to", "2026-09-08"), "say how far"),
        (("six hours",), "is no duration"),
        (("--to", "tomorrow"), "such as 2026-10-01"),
        (("--to", "2026-01-01"), "time does not run backwards"),
    ],
)
def test_a_wrong_instant_is_bad_input(sandbox, words, said):
    result = sandbox("advance", *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


def test_reset_needs_a_yes_and_takes_another_seed(sandbox, started):
    _, handle = started
    sandbox("advance", "1h")
    refused = sandbox("reset")
    assert refused.exit_code == 2
    assert "repeat it with --yes" in refused.stderr
    assert sandbox("reset", "--yes", "--seed", "5").exit_code == 0
    assert (handle.now(), handle.status().seed) == (SPEC.start, 5)


def test_without_a_sandbox_each_command_says_so(elsewhere):
    assert "There is no sandbox here yet" in elsewhere("status").stdout
    assert json.loads(elsewhere("status", "--json").stdout)["running"] is False
    assert "No sandbox runs here" in elsewhere("stop").stdout
    result = elsewhere("advance", "1h")
    assert result.exit_code == 1
    assert "gaelp sandbox start" in result.stderr


def test_reset_of_a_stopped_sandbox_keeps_its_configuration(elsewhere, here):
    mine = SPEC.model_copy(update={"seed": 77})
    world = open_world(here / "sandbox", mine)
    world.advance(SPEC.start + timedelta(hours=5))
    world.close()
    assert "continues the world" in elsewhere("status").stdout
    assert json.loads(elsewhere("status", "--json").stdout)["damage"] is None
    assert elsewhere("reset", "--yes").exit_code == 0
    world = open_world(here / "sandbox")
    assert (world.spec, world.now()) == (mine, SPEC.start)
    world.close()


@pytest.mark.parametrize("words", [(), ("--seed", "5")])
@pytest.mark.parametrize("damaged", [b"nothing" * 1000, b""])
def test_reset_replaces_a_damaged_file(elsewhere, here, damaged, words):
    open_world(here / "sandbox", SPEC).close()
    (here / "sandbox" / WORLD_NAME).write_bytes(damaged)
    result = elsewhere("start", "--front", "google", *words)
    assert result.exit_code == 1
    assert "gaelp sandbox reset" in result.stderr
    assert elsewhere("reset", "--yes", "--seed", "4").exit_code == 0
    world = open_world(here / "sandbox")
    assert world.spec.seed == 4
    world.close()


def _without_row(path):
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM world")
    connection.close()


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda path: path.write_bytes(b"nothing" * 1000), "damaged"),
        (lambda path: path.write_bytes(b""), "the file is empty"),
        (lambda path: path.unlink(), "the file is gone"),
        (_without_row, "its one row is gone"),
    ],
)
def test_status_names_a_world_that_start_would_refuse(elsewhere, here, damage, problem):
    open_world(here / "sandbox", SPEC).close()
    damage(here / "sandbox" / WORLD_NAME)
    for command in (("status",), ("start", "--front", "google")):
        result = elsewhere(*command)
        assert (result.exit_code, result.stdout) == (1, ""), result.stdout
        assert problem in result.stderr
        assert "gaelp sandbox reset" in result.stderr
    result = elsewhere("status", "--json")
    assert result.exit_code == 1
    shown = json.loads(result.stdout)
    assert (shown["running"], shown["has_world"], problem in shown["damage"]) == (False, True, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--speed", "0.5"), "1 to 100000"),
        (("--port", "google"), "such as google=8443"),
        (("--port", "bing=80"), "such as google=8443"),
        (("--port", "google=99999"), "such as google=8443"),
        (("--config", "nothing-of-this-name"), "not found"),
        (("--front", "bing"), "allowed: google, meta"),
    ],
)
def test_a_wrong_start_is_bad_input_and_makes_no_world(elsewhere, here, words, said):
    result = elsewhere("start", *words)
    assert (result.exit_code, result.stdout) == (2, ""), result.stderr
    assert said in result.stderr
    assert not (here / "sandbox" / WORLD_NAME).exists()


def test_it_starts_with_both_fronts_continues_after_a_stop_and_refuses_another_world(elsewhere, here):
    began = elsewhere("start", "--seed", "6", "--json")
    assert began.exit_code == 0, began.stderr
    shown = json.loads(began.stdout)
    assert (shown["seed"], set(shown["ports"])) == (6, {"google", "meta"})
    try:
        for port in shown["ports"].values():
            socket.create_connection(("127.0.0.1", port)).close()
        assert elsewhere("advance", "2h").exit_code == 0
        again = elsewhere("start")
        assert again.exit_code == 2
        assert "runs already" in again.stderr
    finally:
        assert f"Stopped process {shown['pid']}" in elsewhere("stop").stdout
    assert running_record(here / "sandbox") is None
    other = elsewhere("start", "--seed", "7")
    assert other.exit_code == 2
    assert "differ in seed" in other.stderr
    world = open_world(here / "sandbox")
    assert world.now() == SPEC.start + timedelta(hours=2)
    world.close()
