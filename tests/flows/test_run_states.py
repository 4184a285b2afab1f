"""The state of a run as its files show it, without a server."""

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from flows.run_states import RunStates
from gaelp.clock import ManualClock
from gaelp.config import load_settings
from gaelp.gates.decisions import GateDecision, GateQuestion
from gaelp.phases.gate_approval import gate_approvals
from gaelp.phases.phase_result import PhaseResult, write_result
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.runs import RunRecord, note_end, note_run, read_record

AT = datetime(2026, 11, 16, 12, tzinfo=UTC)


class Home:
    def __init__(self, folder):
        self.settings = load_settings(overrides=[f"home={folder}"], environ={}).settings
        self.store = gate_approvals(self.settings).decisions()

    def run(self, driver, run_id="r"):
        folder = RunFolder(self.settings.home, run_id)
        record = {"begun_at": AT, "config": "quick-test", "overrides": (), "driver": driver, "driver_id": run_id}
        note_run(folder, RunRecord(run_id=run_id, **record))
        return folder

    def state(self):
        [(_, state)] = RunStates(self.settings).all()
        return state

    def prove(self, verdict):
        write_result(
            self.settings.home,
            PhaseResult(
                phase="simulation",
                run_id="r",
                attempt=1,
                agent="agent",
                learned=True,
                model_hash="0" * 64,
                model="m",
                verdict=verdict,
                seconds=1,
                judged_on="x",
            ),
        )

    def ask(self, verdict):
        now = datetime.now(UTC)
        times = {"opened_at": now, "remind_at": now + timedelta(hours=1), "expires_at": now + timedelta(hours=2)}
        question = GateQuestion(run_id="r", gate="simulation", attempt=1, verdict=verdict, model_hash="0" * 64, **times)
        return self.store.ask(question)

    def decide(self, question, choice):
        about = {"run_id": "r", "gate": "simulation", "evidence_hash": question.evidence_hash, "through": "command"}
        now = datetime.now(UTC)
        self.store.decide(GateDecision(**about, choice=choice, who="Ada", why="looked", decided_at=now))


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    return Home(tmp_path)


@pytest.mark.parametrize("driver", ["deployment", "terminal"])
@pytest.mark.parametrize(
    ("state", "reason", "shown"),
    [
        ("Completed", "", "Completed"),
        ("Refused", "gate simulation: fails", "Refused: gate simulation: fails"),
        ("Rejected", "rejected by Ada at gate pilot: no", "Rejected by Ada at gate pilot: no"),
        ("Failed", "the disk was full", "Failed: the disk was full"),
    ],
)
def test_a_recorded_end_is_shown_without_a_server(home, driver, state, reason, shown):
    note_end(home.run(driver), state, reason, ManualClock(AT))
    assert home.state() == shown


def test_a_suspended_run_whose_server_is_down_waits_and_an_unfinished_one_is_unknown(home, passing_verdict):
    home.run("deployment")
    assert home.state().startswith("unknown while its server is down: `gaelp up`")
    home.ask(passing_verdict())
    assert home.state() == "waiting at gate simulation; its server is down: `gaelp up`"


@pytest.mark.parametrize(
    ("choice", "shown"), [("approve", "approved"), ("reject", "rejected"), ("rerun", "to be repeated")]
)
def test_a_run_decided_while_its_server_is_down_says_so_and_what_resumes_it(home, passing_verdict, choice, shown):
    home.run("deployment")
    home.decide(home.ask(passing_verdict()), choice)
    assert home.state() == f"{shown} at gate simulation, resumes when `gaelp up` runs"


@pytest.mark.parametrize(
    ("on_server", "shown"),
    [
        ("Suspended", "waiting at gate simulation (Suspended in the UI)"),
        ("Running", "at work (Running in the UI)"),
        ("Submitting", "starting (Submitting in the UI)"),
        ("Crashed: no heartbeat", "Crashed: no heartbeat"),
    ],
)
def test_a_run_on_a_server_is_called_what_a_run_in_a_terminal_is_with_the_name_in_the_ui(
    home, passing_verdict, monkeypatch, on_server, shown
):
    monkeypatch.setattr("flows.run_states.connect", lambda *_: None)
    monkeypatch.setattr("flows.flow_runs.queued_runs", lambda _: [])
    monkeypatch.setattr("flows.flow_runs.state_name", lambda _: on_server)
    home.run("deployment")
    home.ask(passing_verdict())
    assert home.state() == shown


def test_a_terminal_run_is_interrupted_waits_and_is_approved(home, passing_verdict):
    home.run("terminal")
    assert home.state() == "interrupted: `gaelp resume r`"
    question = home.ask(passing_verdict())
    assert home.state() == "waiting at gate simulation"
    home.decide(question, "approve")
    assert home.state() == "approved at gate simulation: `gaelp resume r` resumes it"


def test_a_terminal_run_that_was_rejected_from_elsewhere_is_rejected(home, passing_verdict):
    home.run("terminal")
    home.decide(home.ask(passing_verdict()), "reject")
    assert home.state() == "Rejected by Ada at gate simulation: looked"


def test_a_run_that_its_gate_refused_is_not_called_interrupted_although_its_end_was_not_recorded(home, failing_verdict):
    home.run("terminal")
    home.prove(failing_verdict())
    assert home.state().startswith("Refused: ")


def test_a_run_of_gaelp_train_says_what_the_gate_makes_of_it(home, failing_verdict):
    home.run("train")
    assert home.state() == "interrupted: `gaelp resume r`"
    home.prove(failing_verdict())
    assert home.state() == "trained, gate simulation says fail"


def test_a_process_that_holds_the_run_is_named(home, passing_verdict):
    folder = home.run("terminal")
    with folder.held():
        assert home.state() == f"at work in process {os.getpid()}"
        home.ask(passing_verdict())
        assert home.state() == f"waiting at gate simulation, asked in process {os.getpid()}"


def test_a_process_that_starts_or_judges_works_on_its_run_and_one_that_took_its_id_does_not(home):
    folder = home.run("terminal")
    record = read_record(folder).model_copy(update={"process": os.getpid()})
    note_run(folder, record)
    assert home.state() == f"at work in process {os.getpid()}"
    os.utime(folder.record, (0, 0))  # the record is older than this process
    assert home.state() == "interrupted: `gaelp resume r`"
    note_run(folder, record.model_copy(update={"process": 2**22 + 1}))
    assert home.state() == "interrupted: `gaelp resume r`"


def test_stop_interrupts_the_process_that_works_on_a_run(home, tmp_path):
    home.run("terminal")
    code = (
        "import sys, time; from pathlib import Path; from gaelp.phases.run_folder import RunFolder\n"
        "with RunFolder(Path(sys.argv[1]), 'r').held():\n    print('held', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as working:
        assert working.stdout.readline() == "held\n"
        words = [sys.executable, "-m", "gaelp.cli", "stop", "r"]
        environ = os.environ | {"GAELP_HOME": str(tmp_path)}
        done = subprocess.run(words, env=environ, capture_output=True, text=True, check=True)
        assert done.stdout == f"asked process {working.pid} to stop; `gaelp resume r` resumes the run\n"
        assert working.wait(30) in {-signal.SIGINT, 1, 130}
        again = subprocess.run(words, env=environ, capture_output=True, text=True, check=True)
        assert again.stdout == "no process works on run r: nothing to stop\n"
