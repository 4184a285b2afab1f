"""Runs of a deployment as `gaelp runs`, `stop` and `down` show and end them: at work, queued, stopped, completed."""

import json

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

LONG = ["training.rounds=2000", "training.agent=long.yaml"]
STRICT = """name: simulation
follows: simulation
criteria:
  - {metric: lead_over_best_rule, bound: at_least, threshold: 5, compare: value, sample_metric: episodes,
     minimum_sample: 5, why: nobody is five times as good}
"""


@pytest.fixture(scope="module")
def deployed(pipeline_class, tmp_path_factory):
    """A `gaelp up` that these tests may stop."""
    here = pipeline_class(tmp_path_factory.mktemp("deployed"))
    here.add_long_recipe()
    here.start()
    yield here
    here.clear()


def states(deployed):
    return {run["driver_id"]: run["state"] for run in json.loads(deployed.gaelp("runs", "--json"))}


def training(deployed):
    """A run that is at work, and its flow run."""
    flow_run_id = deployed.begin(overrides=LONG)
    deployed.until(lambda: begun(deployed, flow_run_id), 180, "training")
    return flow_run_id, deployed.run_id(flow_run_id)


def begun(deployed, flow_run_id):
    try:
        return deployed.rounds_trained(deployed.run_id(flow_run_id))
    except (AssertionError, FileNotFoundError, json.JSONDecodeError):
        return False


def test_a_run_at_work_is_stopped_and_the_queued_one_behind_it_begins_and_resumes(deployed):
    first, first_id = training(deployed)
    second = deployed.begin(overrides=LONG)
    deployed.until(lambda: states(deployed).get(second) == "queued", 60, "the second run in the list")
    [queued] = [run for run in json.loads(deployed.gaelp("runs", "--json")) if run["driver_id"] == second]
    assert "queued" in deployed.gaelp("status", queued["run_id"])
    third = deployed.begin(overrides=LONG)
    deployed.until(lambda: third in states(deployed), 60, "the third run in the list")
    [last] = [run["run_id"] for run in json.loads(deployed.gaelp("runs", "--json")) if run["driver_id"] == third]
    assert "Cancelled" in deployed.gaelp("stop", last)
    deployed.until(lambda: f"'{second}' is queued" in deployed.log(), 90, "the log to say so")
    assert states(deployed)[first] == "at work (Running in the UI)"
    assert "Cancelling" in deployed.gaelp("stop", first_id)
    deployed.wait_for(first, "Cancelled", seconds=90)
    assert states(deployed)[first].startswith("Cancelled")
    deployed.until(lambda: begun(deployed, second), 180, "the queued run to begin")
    assert deployed.run_id(second) == queued["run_id"], "it has the id under which it was queued"
    assert "Aborted submission" not in deployed.log()
    assert deployed.log().count(f"'{second}' is queued") == 1
    deployed.gaelp("stop", queued["run_id"])
    deployed.wait_for(second, "Cancelled", seconds=90)
    trained = len(deployed.rounds_trained(first_id))
    deployed.retry(first_id)
    deployed.until(lambda: len(deployed.rounds_trained(first_id)) > trained, 180, "the first run to be resumed")
    deployed.gaelp("stop", first_id)
    deployed.wait_for(first, "Cancelled", seconds=90)


def test_down_stops_runs_cleanly_and_completed_and_refused_ones_stay_so_without_a_server(deployed):
    completed = deployed.begin(approval="auto")
    deployed.wait_for(completed, "Completed")
    (deployed.folder / "strict.yaml").write_text(STRICT, encoding="utf-8")
    refused = deployed.begin(overrides=["gate.files.simulation=strict.yaml"])
    deployed.wait_for(refused, "Refused")
    stopped, stopped_id = training(deployed)
    before = len(deployed.log())
    assert "Stopped process" in deployed.gaelp("down", "--config", "mine.yaml")
    assert deployed.up.wait(120) == 0
    assert "never awaited" not in deployed.log()
    assert "Traceback" not in deployed.log()[before:]
    without_server = states(deployed)
    assert without_server[completed] == "Completed"
    assert without_server[refused].startswith("Refused: ")
    assert without_server[stopped] == f"Stopped: `gaelp resume {stopped_id}` resumes it"
    assert "Cancelled: gaelp stop" in without_server.values(), "the runs of the test before"
    deployed.start()
    deployed.retry(stopped_id)
    deployed.wait_for(stopped, "Running", seconds=90)


def test_a_decision_made_while_the_server_is_down_resumes_the_run_at_the_next_up(deployed):
    flow_run_id = deployed.begin()
    deployed.wait_for(flow_run_id, "Suspended")
    run_id = deployed.run_id(flow_run_id)
    assert states(deployed)[flow_run_id] == "waiting at gate simulation (Suspended in the UI)"
    deployed.stop()
    code = deployed.waiting(run_id)["code"]
    deployed.gaelp("gate", "approve", run_id, "--verdict", code, "--why", "every rule holds", "--who", "Ada")
    assert states(deployed)[flow_run_id] == "approved at gate simulation, resumes when `gaelp up` runs"
    deployed.start()
    deployed.wait_for(flow_run_id, "Completed")
    assert "nothing is left to resume" in deployed.gaelp("resume", run_id)
