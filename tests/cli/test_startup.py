"""What a command does before its work."""

import json
from pathlib import Path

import pytest


@pytest.mark.parametrize("command", ["train", "run", "up"])
def test_what_starts_a_run_refuses_a_name_that_does_not_exist_before_it_does_anything(gaelp, here, command):
    result = gaelp(command, "--set", "approvals.policy=nowhere")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: --set: approvals.policy: 'nowhere' not found; searched: ")
    assert list(here.iterdir()) == []


@pytest.fixture
def open_home(here):
    home = here / "home"
    home.mkdir()
    home.chmod(0o755)
    return home


def mode_of(path):
    return path.stat().st_mode & 0o777


def test_a_home_that_others_could_enter_is_made_private_and_that_is_said_once(gaelp, open_home):
    said = [gaelp("violations", "list", GAELP_HOME=str(open_home)).stderr for _ in range(2)]
    assert mode_of(open_home) == 0o700
    assert ["now it is private (mode 700)" in text for text in said] == [True, False]


def test_a_home_whose_rights_cannot_be_changed_is_used_and_reported(gaelp, open_home, monkeypatch):
    monkeypatch.setattr(Path, "chmod", lambda *_: (_ for _ in ()).throw(PermissionError(1, "not permitted")))
    result = gaelp("violations", "list", GAELP_HOME=str(open_home))
    assert result.exit_code == 0
    assert "cannot be made private" in result.stderr


def test_a_stop_does_not_touch_the_rights_of_the_home(gaelp, open_home, monkeypatch):
    monkeypatch.setattr(Path, "chmod", lambda *_: (_ for _ in ()).throw(PermissionError(1, "not permitted")))
    gaelp("kill", "because", GAELP_HOME=str(open_home))
    assert (open_home / "STOPPED").exists()
    assert mode_of(open_home) == 0o755


READS = [
    *(
        "alerts list",
        "alerts ack guarded key",
        "approvals list",
        "approvals show 12345678",
        "audit show",
        "audit verify",
    ),
    *("content queue", "down", "gate list", "gate show some-run", "keys list", "ledger show", "ledger verify"),
    *("ledger backup copy", "mandate list", "runs", "status some-run", "stop some-run", "violations list"),
]


@pytest.mark.parametrize("command", READS)
def test_what_reads_reports_a_home_that_does_not_exist_and_makes_none(gaelp, here, command):
    result = gaelp(*command.split(), GAELP_HOME="hmoe")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: there is no home at {here}/hmoe, which GAELP_HOME names: ")
    assert list(here.iterdir()) == []


def test_what_reads_shows_an_empty_home_that_exists(gaelp, here):
    (here / "home").mkdir()
    assert gaelp("runs", GAELP_HOME="home").exit_code == 0
    assert gaelp("violations", "list", GAELP_HOME="home").stdout == "No open violations.\n"


def test_what_writes_makes_the_home(gaelp, here):
    assert gaelp("ledger", "create", "acc-1", "--currency=USD", "--time-zone=UTC", GAELP_HOME="home").exit_code == 0
    assert (here / "home" / "ledger.db").exists()


# A warning is logged in each of these: the home was open to others.
def output_of(gaelp_process, open_home, *args, **env):
    return gaelp_process("-m", "gaelp.cli", *args, GAELP_HOME=str(open_home), **env)


def test_logs_in_a_pipe_are_lines_for_people(gaelp_process, open_home):
    done = output_of(gaelp_process, open_home, "violations", "list")
    assert done.stdout == "No open violations.\n"
    assert "now it is private (mode 700)" in done.stderr
    assert "{" not in done.stderr


def test_where_the_log_is_json_messages_to_a_person_stay_text(gaelp_process, open_home):
    done = output_of(
        gaelp_process, open_home, "violations", "resolve", "7", "--who=a", "--how=b", GAELP__LOGGING__FORMAT="json"
    )
    record, message = done.stderr.splitlines()
    assert (done.returncode, json.loads(record)["logger"]) == (2, "gaelp.cli.startup")
    assert message.startswith("error: ")
