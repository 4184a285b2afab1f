"""`gaelp kill` stops whatever else is broken, and ends with 0 only if every part that is connected is done."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from gaelp.budget.latch import LATCH_NAME, Latch
from gaelp.budget.ledger import LEDGER_NAME, create_ledger, read_fence
from gaelp.budget.ledger.connection import STORE
from gaelp.config.places import repository_root
from gaelp.database.engine import take_lock

PLATFORM = ("--set", "platform.name=double", "--set", "platform.account=acc")
NOBODY = "postgresql://gaelp:a-password-of-the-tests@127.0.0.1:1/gaelp"  # nobody listens there
OTHERS_GO_ON = "This machine is stopped; others that use the same ledger are NOT until the fence is raised"
BY_HAND = "ampaigns may still run: pause them on the platform by hand, now"


@pytest.fixture
def home(here):
    folder = here / ".gaelp"
    folder.mkdir()
    return folder


@pytest.fixture
def books(home):
    made = create_ledger(home / LEDGER_NAME, Latch(home / LATCH_NAME))
    yield made
    made.close()


@contextmanager
def held(home):
    """The ledger's database in the hands of another connection."""
    with closing(sqlite3.connect(home / LEDGER_NAME, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        yield


def outcomes(result):
    return {part["name"]: part["outcome"] for part in json.loads(result.stdout)["parts"]}


def test_where_all_is_done_it_ends_with_0_and_says_so(gaelp, home, books):
    result = gaelp("kill", "--json", "--reason", "a drill")
    outcome = json.loads(result.stdout)
    assert (result.exit_code, outcome["stopped"], outcome["complete"]) == (0, True, True)
    assert outcomes(result) == {"latch": "done", "fence": "done", "pause": "none"}
    assert read_fence(books).id == Latch(home / LATCH_NAME).read().id == outcome["stop_id"]


def test_where_no_ledger_is_found_the_stop_is_not_complete(gaelp, home):
    """Its books may be in a database whose address only other shells know, or in another folder."""
    result = gaelp("kill", "--json")
    outcome = json.loads(result.stdout)
    assert (result.exit_code, outcome["stopped"], outcome["complete"]) == (1, True, False)
    assert f"no ledger in {home}" in result.stderr
    assert "set GAELP__BUDGET__DATABASE_URL" in result.stderr


def test_words_without_an_option_are_the_reason(gaelp, home):
    gaelp("kill", "cost", "is", "up")
    assert Latch(home / LATCH_NAME).read().reason == "cost is up"


# A home that is not the one of the spenders


def test_a_home_that_is_not_there_is_reported_as_not_stopped_and_not_made(gaelp, here):
    result = gaelp("kill", "--json", GAELP_HOME=str(here / "typo"))
    outcome = json.loads(result.stdout)
    assert (result.exit_code, outcome["stopped"], outcome["complete"]) == (1, False, False)
    assert "NOT STOPPED" in result.stderr
    assert "set GAELP_HOME to the folder that the spenders use" in result.stderr
    assert list(here.iterdir()) == []  # the alerts have not made it either: without a latch in it, it would mean go


def test_a_home_that_is_a_file_is_reported_as_not_stopped(gaelp, here):
    (here / ".gaelp").touch()
    result = gaelp("kill")
    assert (result.exit_code, "NOT STOPPED" in result.stderr) == (1, True)


@pytest.mark.usefixtures("installed_double")
def test_a_ledger_that_is_missing_where_an_account_is_named_is_reported(gaelp, home):
    """A disk that is not mounted leaves an empty folder; the latch in it will be gone when the disk is back."""
    result = gaelp("kill", "--set", f"home={home}", *PLATFORM)
    assert result.exit_code == 1
    assert f"there is no ledger at {home / LEDGER_NAME}" in result.stderr


def test_a_deleted_current_folder_does_not_matter_to_a_home_from_the_root_on(gaelp, home, books):
    gone = home.parent / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    result = gaelp("kill", "--json", GAELP_HOME=str(home))
    assert (result.exit_code, outcomes(result)["fence"]) == (0, "done")
    lost = gaelp("kill")
    assert (lost.exit_code, "NOT STOPPED" in lost.stderr) == (1, True)


# Settings


def test_settings_that_cannot_be_read_do_not_keep_anybody_from_stopping(gaelp, home):
    result = gaelp("kill", "--set", "no.such.key=1")
    assert (result.exit_code, "Neither fence nor platform was reached" in result.stderr) == (1, True)
    assert Latch(home / LATCH_NAME).is_set()


def test_without_settings_and_home_it_says_that_nothing_is_stopped(gaelp, here):
    result = gaelp("kill", "--config", "no-such-config")
    assert (result.exit_code, "NOT STOPPED" in result.stderr) == (1, True)


def test_the_home_of_the_environment_is_stopped_too(gaelp, home, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    assert gaelp("kill", "--set", "no.such.key=1", GAELP_HOME=str(elsewhere)).exit_code == 1
    assert Latch(elsewhere / LATCH_NAME).is_set()


@pytest.mark.parametrize("by", ["--set", "variable", "config"])
def test_a_home_that_is_named_is_stopped_although_other_settings_are_wrong(gaelp, here, tmp_path_factory, by):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (here / "mine.yaml").write_text(f"home: {elsewhere}\nno_such_section: 1\n")
    wrong = ("--set", "no.such.key=1")
    if by == "--set":
        gaelp("kill", *wrong, "--set", f"home={elsewhere}")
    elif by == "variable":
        gaelp("kill", *wrong, GAELP__HOME=str(elsewhere))
    else:
        gaelp("kill", "--config", "./mine.yaml")
    assert Latch(elsewhere / LATCH_NAME).is_there()


@pytest.mark.parametrize(
    "text",
    ["api: {port: x}", "api: {hots: x}", "api: 7", "alerts: {first: {emial: 1}}", "alerts: {third: 3}", "alerts: []"],
)
def test_sections_that_no_stop_needs_may_hold_anything(gaelp, here, home, books, text):
    (here / "odd.yaml").write_text(f"{text}\n")
    assert gaelp("kill", "--config", "./odd.yaml").exit_code == 0
    assert read_fence(books) is not None


def test_whatever_goes_wrong_with_the_settings_the_latch_is_set(gaelp, home, monkeypatch):
    def fail(*_args, **_words):
        raise MemoryError("out of it")

    monkeypatch.setattr("gaelp.cli.kill.load_settings", fail)
    result = gaelp("kill")
    assert (result.exit_code, "Neither fence nor platform was reached" in result.stderr) == (1, True)
    assert Latch(home / LATCH_NAME).is_there()


@pytest.mark.parametrize("missing", ["mail password", "file of the token"])
def test_a_secret_that_no_stop_needs_does_not_keep_it_from_the_fence(gaelp, here, home, books, missing):
    mail = "{host: mail.example, port: 25, sender: a@b.example, recipients: [a@b.example], user: ann}"
    (here / "mail.yaml").write_text(f"alerts: {{first: {{email: {mail}}}}}\n")
    if missing == "mail password":
        result = gaelp("kill", "--config", "./mail.yaml")
    else:
        result = gaelp("kill", GAELP__API__TOKEN_FILE="no/such/file")
    assert (result.exit_code, "Nobody is alerted" in result.stderr) == (0, True)
    assert read_fence(books) is not None


def test_a_reason_of_any_length_leaves_a_record_that_can_be_read(gaelp, home):
    gaelp("kill", "--reason", "x" * 120_000)
    assert Latch(home / LATCH_NAME).read().reason == "x" * 2000


# Parts that do not come


def test_what_runs_on_the_platform_is_paused(gaelp, home, books, installed_double):
    result = gaelp("kill", "--json", "--set", f"home={home}", *PLATFORM)
    assert (result.exit_code, outcomes(result)) == (0, {"latch": "done", "fence": "done", "pause": "done"})


@pytest.mark.usefixtures("books", "installed_double")
@pytest.mark.parametrize(("name", "why"), [("broken", "no credentials"), ("duoble", "there is no platform 'duoble'")])
def test_a_platform_that_cannot_be_reached_is_reported_with_what_to_do_and_spending_is_still_stopped(
    gaelp, home, name, why
):
    result = gaelp("kill", "--set", f"home={home}", *PLATFORM, "--set", f"platform.name={name}")
    assert result.exit_code == 1
    assert why in result.stdout
    assert BY_HAND in result.stderr
    assert "Nothing is granted" not in result.stdout
    assert Latch(home / LATCH_NAME).is_set()


def test_a_database_that_is_away_is_reported_with_who_is_not_stopped(gaelp, home):
    result = gaelp("kill", "--json", GAELP__BUDGET__DATABASE_URL=NOBODY)
    outcome = json.loads(result.stdout)
    assert (result.exit_code, outcome["stopped"], outcome["complete"]) == (1, True, False)
    assert OTHERS_GO_ON in result.stderr
    assert "no money is granted" not in result.output
    assert "a-password-of-the-tests" not in result.output


@pytest.mark.usefixtures("books")
def test_a_fence_that_is_still_trying_in_the_end_is_not_reported_as_done(gaelp, home, monkeypatch):
    monkeypatch.setattr("gaelp.cli.kill._PATIENCE_SECONDS", 0.5)
    with held(home):
        result = gaelp("kill", "--json")
    assert (result.exit_code, outcomes(result)["fence"]) == (1, "still trying")
    assert result.stderr.index("This machine is stopped") < result.stderr.index("STOPPED IN PART")
    assert OTHERS_GO_ON in result.stderr


def test_a_slow_fence_is_waited_for_where_the_latch_fails(gaelp, here, databases):
    place = databases.fresh_place("postgres")
    with closing(create_ledger(place, Latch(here / LATCH_NAME))) as ledger:
        spender = ledger.database.engine.connect()
        take_lock(spender, STORE.lock_key, "shared")  # a spender that takes its time
        later = threading.Timer(2.0, spender.close)
        later.start()
        result = gaelp("kill", "--json", GAELP_HOME=str(here / "typo"), GAELP__BUDGET__DATABASE_URL=place)
        later.join()
        assert "NOT STOPPED yet. Waiting" in result.stderr
        assert (outcomes(result)["latch"], outcomes(result)["fence"]) == ("failed", "done")
        assert (result.exit_code, json.loads(result.stdout)["stopped"]) == (1, True)
        assert "The fence stops all who use this ledger" in result.stderr
        assert read_fence(ledger) is not None


@pytest.mark.usefixtures("books")
def test_ctrl_c_ends_the_waiting_and_what_is_not_done_is_reported(home):
    path = os.pathsep.join([str(repository_root()), os.environ.get("PYTHONPATH", "")])
    with (
        held(home),
        subprocess.Popen(
            [sys.executable, "-m", "gaelp.cli", "kill"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        ) as process,
    ):
        assert "This machine is stopped" in process.stderr.readline()
        for _ in range(4):  # pressing it repeatedly changes nothing
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        _, said = process.communicate(timeout=20)
    assert (process.returncode, OTHERS_GO_ON in said) == (1, True)
    assert "Spending is stopped in part" in said


# Telling people


@pytest.mark.usefixtures("books")
def test_an_alert_that_cannot_be_sent_does_not_undo_the_stop(gaelp, home):
    url = "http://127.0.0.1:9/hook"  # nobody listens on the discard port
    message = ("--set", "alerts.first.webhook.attempts=1")
    result = gaelp("kill", *message, GAELP__ALERTS__FIRST__WEBHOOK__URL=url)
    assert result.exit_code == 0
    assert "The alert did not reach webhook" in result.stderr
    assert result.output.index("Stopped (") < result.output.index("The alert did not reach")  # who stops sees it first
    assert url not in result.stderr + result.stdout
    assert Latch(home / LATCH_NAME).is_set()


def test_people_are_alerted_although_nobody_can_read_the_output(home):
    path = os.pathsep.join([str(repository_root()), os.environ.get("PYTHONPATH", "")])
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gaelp.cli", "kill", "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "PYTHONPATH": path},
        )
    assert (done.returncode, "standard output cannot be written" in done.stderr) == (1, True)
    assert "Spending is stopped" in done.stderr
    assert Latch(home / LATCH_NAME).is_there()


def test_the_stop_does_not_wait_for_what_is_heavy(gaelp_process):
    heavy = {"gaelp.platforms", "gaelp.content", "mlflow"}
    code = f"import sys; import gaelp.bootstrap; print(sorted({heavy} & set(sys.modules)))"
    assert gaelp_process("-c", code).stdout.strip() == "[]"
