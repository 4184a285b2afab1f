"""`gaelp run` in a terminal of 80 columns, from its start to a decision at the gate; and with its output piped."""

import json
import re
import sys

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

GAELP = [sys.executable, "-m", "gaelp.cli"]


@pytest.fixture
def folder(own_pipeline):
    """A folder with a configuration whose training takes seconds; nothing is up."""
    return own_pipeline(named=False)


def test_the_gate_is_asked_left_with_ctrl_c_and_passed_by_a_decision_from_elsewhere(folder, terminal):
    where = {"cwd": folder.folder, "GAELP_HOME": str(folder.home)}
    screen = terminal([*GAELP, "run", "--config", "mine.yaml"], 80, **where)
    for stage in (
        "starting Prefect",
        "training: round 0 of 2",
        "evaluating: ",
        "judging gate",
        "approve, reject or rerun? ",
    ):
        screen.expect(stage, seconds=240)
    assert max(map(len, screen.lines())) <= 80
    screen.press("\x03")
    assert screen.ended() == 4
    [run] = json.loads(folder.gaelp("runs", "--json"))
    assert run["state"] == "waiting at gate simulation"
    assert f"gaelp resume {run['run_id']}" in screen.text()
    assert "error" not in screen.text()
    code = folder.waiting(run["run_id"])["code"]
    assert folder.gaelp("status", run["run_id"]).splitlines()[-2:] == [
        f"gaelp gate show {run['run_id']}",
        f"gaelp gate approve {run['run_id']} --verdict {code} --why 'WHY'",
    ]
    again = terminal([*GAELP, "resume", run["run_id"]], 80, **where)
    again.expect("approve, reject or rerun? ", seconds=240)
    folder.gaelp("gate", "approve", run["run_id"], "--verdict", code, "--why", "every rule holds", "--who", "Ada")
    again.expect("Ada decided by `gaelp gate`: approve (every rule holds)", seconds=20)
    assert again.ended() == 0
    [run] = json.loads(folder.gaelp("runs", "--json"))
    assert run["state"] == "Completed"


def test_stopped_while_it_trains_it_resumes_where_it_was(folder, terminal):
    folder.add_long_recipe()
    where = {"cwd": folder.folder, "GAELP_HOME": str(folder.home)}
    longer = ["--set", "training.rounds=500", "--set", "training.agent=long.yaml"]
    screen = terminal([*GAELP, "run", "--config", "mine.yaml", *longer], 80, **where)
    screen.expect("of 500, ETA", seconds=240)
    [run] = json.loads(folder.gaelp("runs", "--json"))
    assert run["state"].startswith("at work in process ")
    assert "asked process" in folder.gaelp("stop", run["run_id"])
    assert screen.ended() == 130
    [run] = json.loads(folder.gaelp("runs", "--json"))
    assert run["state"] == f"Stopped: `gaelp resume {run['run_id']}` resumes it"
    again = terminal([*GAELP, "resume", run["run_id"]], 80, **where)
    again.expect("resumed after round", seconds=240)
    again.press("\x03")
    assert again.ended() == 130
    assert f"`gaelp resume {run['run_id']}` resumes the run" in again.text()


def test_piped_it_says_each_stage_and_every_round_that_takes_long(folder):
    said = folder.gaelp("run", "--config", "mine.yaml", "--approve", "prompt", code=4)
    for stage in ("starting Prefect", "training: round 0 of 2", "evaluating: 0 of ", "judging gate simulation"):
        assert re.search(f"^{stage}", said, re.MULTILINE), said
    assert "nobody can be asked here, so run " in said
    assert "error" not in said
