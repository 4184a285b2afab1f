"""kill -9 of each part of the pipeline: after a retry the run completes, nothing finished is made again."""

import json
import os
import signal

import psutil
import pytest

from flows.commands.up import STOP_S

pytestmark = pytest.mark.slow

ROUNDS = 30
LONGER = [f"training.rounds={ROUNDS}"]  # there is time to be killed in


@pytest.fixture(scope="module")
def undisturbed(pipeline):
    """The hash of the parameters that training ends with when nobody disturbs it."""
    flow_run_id = pipeline.begin(overrides=LONGER, approval="auto")
    pipeline.wait_for(flow_run_id, "Completed", seconds=300)
    return pipeline.parameters(pipeline.run_id(flow_run_id))


def engines(flow_run_id):
    """Processes that carry out this flow run, children of the runner first."""
    processes = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("PREFECT__FLOW_RUN_ID") == flow_run_id:
                processes.append(process)
        except (psutil.AccessDenied, psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
    return processes


def kill(flow_run_id):
    for process in engines(flow_run_id):
        process.kill()


def run_when_training(pipeline, flow_run_id, rounds=3):
    def trained():
        try:
            return len(pipeline.rounds_trained(pipeline.run_id(flow_run_id))) >= rounds
        except (AssertionError, FileNotFoundError, json.JSONDecodeError):
            return False

    pipeline.until(trained, 180, "training to have begun")
    return pipeline.run_id(flow_run_id)


def made_twice(pipeline, run_id):
    """How many rounds were trained more than once."""
    rounds = pipeline.rounds_trained(run_id)
    return len(rounds) - len(set(rounds))


def assert_finished_as_undisturbed(pipeline, flow_run_id, run_id, undisturbed):
    pipeline.wait_for(flow_run_id, "Completed", seconds=300)
    assert pipeline.parameters(run_id) == undisturbed


def test_killed_in_training_it_resumes_from_its_checkpoint(pipeline, undisturbed):
    flow_run_id = pipeline.begin(overrides=LONGER, approval="auto")
    run_id = run_when_training(pipeline, flow_run_id)
    kill(flow_run_id)
    pipeline.wait_for(flow_run_id, "Crashed", seconds=150)
    before = len(pipeline.rounds_trained(run_id))
    assert before < ROUNDS
    pipeline.retry(run_id)
    assert_finished_as_undisturbed(pipeline, flow_run_id, run_id, undisturbed)
    assert made_twice(pipeline, run_id) <= 1, "at most the round in work"


def test_killed_right_after_training_it_does_not_train_again(pipeline, undisturbed):
    flow_run_id = pipeline.begin(overrides=LONGER, approval="auto")
    run_id = run_when_training(pipeline, flow_run_id)
    result = pipeline.home / "runs" / run_id / "simulation" / "1" / "simulation.json"
    pipeline.until(result.exists, 180, "the result")
    kill(flow_run_id)
    written = result.read_bytes()
    pipeline.until(lambda: pipeline.state(flow_run_id) in {"Crashed", "Completed"}, 150, "the crash to be seen")
    if pipeline.state(flow_run_id) == "Crashed":
        pipeline.retry(run_id)
    assert_finished_as_undisturbed(pipeline, flow_run_id, run_id, undisturbed)
    assert made_twice(pipeline, run_id) == 0
    assert result.read_bytes() == written


def test_killed_while_it_resumes_it_completes_on_the_decision_already_made(pipeline, undisturbed):
    flow_run_id = pipeline.begin(overrides=LONGER)
    pipeline.wait_for(flow_run_id, "Suspended", seconds=300)
    run_id = pipeline.run_id(flow_run_id)
    pipeline.until(lambda: not engines(flow_run_id), 60, "the process to be gone")
    code = pipeline.waiting(run_id)["code"]
    pipeline.gaelp("gate", "approve", run_id, "--verdict", code, "--why", "every rule holds", "--who", "Ada")
    pipeline.until(lambda: engines(flow_run_id), 60, "the process that resumes")
    kill(flow_run_id)
    pipeline.wait_for(flow_run_id, "Crashed", seconds=150)
    pipeline.retry(run_id)
    assert_finished_as_undisturbed(pipeline, flow_run_id, run_id, undisturbed)
    assert made_twice(pipeline, run_id) == 0


def test_server_killed_in_training_it_is_started_again_and_the_run_completes(pipeline, undisturbed):
    flow_run_id = pipeline.begin(overrides=LONGER, approval="auto")
    run_id = run_when_training(pipeline, flow_run_id)
    noted = json.loads((pipeline.home / "prefect" / "server.json").read_text(encoding="utf-8"))
    os.kill(noted["pid"], signal.SIGKILL)
    pipeline.until(lambda: "it is started again" in pipeline.log(), 60, "the server to be missed")
    pipeline.until(pipeline.served, 180, "the server")
    pipeline.until(lambda: pipeline.state(flow_run_id) in {"Crashed", "Failed", "Completed"}, 300, "an end")
    if pipeline.state(flow_run_id) != "Completed":
        pipeline.retry(run_id)
    assert_finished_as_undisturbed(pipeline, flow_run_id, run_id, undisturbed)
    assert made_twice(pipeline, run_id) <= 1


@pytest.mark.parametrize("when", ["in training", "while suspended"])
def test_the_runner_killed_another_one_takes_over(own_pipeline, undisturbed, when):
    mine = own_pipeline().start()
    flow_run_id = mine.begin(overrides=LONGER, approval="auto" if when == "in training" else "person")
    if when == "in training":
        run_id = run_when_training(mine, flow_run_id)
    else:
        mine.wait_for(flow_run_id, "Suspended", seconds=300)
        run_id = mine.run_id(flow_run_id)
    mine.up.kill()  # the runner alone: its server and the run's process stay behind
    mine.up.wait()
    kill(flow_run_id)
    mine.start()
    if when == "in training":
        # Nobody was left to tell the server: the missing heartbeat does.
        mine.wait_for(flow_run_id, "Crashed", seconds=240)
        mine.retry(run_id)
    else:
        mine.gaelp(
            "gate", "approve", run_id, "--verdict", mine.waiting(run_id)["code"], "--why", "good", "--who", "Ada"
        )
    assert_finished_as_undisturbed(mine, flow_run_id, run_id, undisturbed)
    assert made_twice(mine, run_id) <= 1
    mine.gaelp("down", "--config", "mine.yaml")
    assert mine.up.wait(STOP_S) is not None
    assert not (mine.home / "prefect" / "server.json").exists(), "the server that was left behind is stopped too"
