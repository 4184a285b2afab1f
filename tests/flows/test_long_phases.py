"""A phase that takes weeks is a flow run of its own: killed at each step, nothing begins twice and no end is lost."""

import pytest
import yaml

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

STEPS = {  # where a process dies: the file, and the line before which it does
    "before-the-start": ("flows/long_phases.py", "started = _started("),
    "before-the-suspension": ("flows/long_phases.py", "suspend_flow_run(key="),
    "in-the-phase": None,  # the toy phase knows this step itself
    "after-the-result": ("flows/long_phases.py", "_wake_when_suspended(waker)\n    return"),
    "after-the-waking": ("flows/long_phases.py", 'return {"run_id": run_id, "result": done}'),
}


ANSWER_STEPS = {
    "before-the-answer-is-read": ("flows/gate.py", "for answer in answers_to("),
    "before-the-answer-is-recorded": ("flows/gate.py", "return run.decisions.decide(\n                GateDecision("),
    "after-the-answer-is-recorded": ("flows/gate.py", "decision = find_decision(run.decisions, computed) or _asked"),
}


@pytest.fixture(scope="module")
def source(own_source, tmp_path_factory):
    """The phases `history`, at once, and `pilot`, long-running."""
    made = own_source.copy_source(tmp_path_factory.mktemp("source"))
    own_source.add_phase(made, "history", alone=True)
    own_source.add_phase(made, "pilot", long_running=True)
    for step, place in STEPS.items():
        if place is not None:
            own_source.die_at(made, *place, step)
    for step, place in ANSWER_STEPS.items():
        own_source.die_at(made, *place, step)
    return made


@pytest.fixture(scope="module")
def toys(source, pipeline_class, tmp_path_factory):
    """A `gaelp up` that serves those two phases."""
    here = pipeline_class(tmp_path_factory.mktemp("toys"))
    here.variables = {"PYTHONPATH": str(source)}
    here.start()
    yield here
    here.clear()


def ask_to_die(toys, step):
    (toys.home / f"kill-{step}").touch()


def phase_runs(toys, run_id):
    runs = toys.post("/flow_runs/filter", {"flows": {"name": {"any_": ["long-phase"]}}})
    return [run for run in runs if run["parameters"]["run_id"] == run_id]


def approve(toys, flow_run_id):
    """Approve the gate that a run waits at."""
    run_id = toys.run_id(flow_run_id)
    waiting = toys.waiting(run_id)
    toys.gaelp("gate", "approve", run_id, "--verdict", waiting["code"], "--why", "good", "--who", "Ada")


def begun(toys, run_id):
    """How often the work of the long phase was begun."""
    path = toys.home / "runs" / run_id / "pilot" / "1" / "begun"
    return len(path.read_text(encoding="ascii").splitlines()) if path.exists() else 0


def at_gate(toys, flow_run_id, gate):
    """Wait until the run is suspended at a gate, with its form known: cheaper than asking `gaelp gate list`."""
    forms = ("history", "pilot").index(gate) + 1
    toys.until(lambda: toys.state(flow_run_id) == "Suspended" and toys.forms(flow_run_id) == forms, 240, f"gate {gate}")


def through_the_first_gate(toys):
    flow_run_id = toys.begin()
    at_gate(toys, flow_run_id, "history")
    approve(toys, flow_run_id)
    return flow_run_id, toys.run_id(flow_run_id)


def test_the_pipeline_is_suspended_while_the_phase_works_and_a_changed_config_changes_nothing(toys):
    (toys.home / "wait").touch()
    flow_run_id, run_id = through_the_first_gate(toys)
    toys.until(lambda: begun(toys, run_id) == 1, 240, "the phase")
    toys.wait_for(flow_run_id, "Suspended")
    [phase_run] = phase_runs(toys, run_id)
    assert phase_run["state"]["name"] == "Running"
    mine = toys.folder / "mine.yaml"
    before = mine.read_text(encoding="utf-8")
    changed = yaml.safe_load(before)
    changed["training"]["rounds"] = 77
    mine.write_text(yaml.safe_dump(changed), encoding="utf-8")
    (toys.home / "wait").unlink()
    at_gate(toys, flow_run_id, "pilot")
    mine.write_text(before, encoding="utf-8")
    assert toys.waiting(run_id)["verdict"]["evidence"]["metrics"]["rounds"] == 0
    assert "training.rounds is 77 now; the run keeps None" in toys.log()
    assert "mine.yaml" in toys.log()
    approve(toys, flow_run_id)
    toys.wait_for(flow_run_id, "Completed")
    assert begun(toys, run_id) == 1


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_any_step_the_phase_is_begun_once_and_its_end_is_not_lost(toys, step):
    ask_to_die(toys, step)
    flow_run_id, run_id = through_the_first_gate(toys)
    toys.until(lambda: not (toys.home / f"kill-{step}").exists(), 240, f"the kill at {step}")
    if step in {"before-the-start", "before-the-suspension"}:
        toys.wait_for(flow_run_id, "Crashed")
        toys.retry(run_id)
    elif step == "in-the-phase":
        toys.wait_for(flow_run_id, "Failed", seconds=300)  # the watch woke it, and it says how the phase ended
        assert "ended as Crashed without a result" in toys.flow_run(flow_run_id)["state"]["message"]
        toys.retry(run_id)
    at_gate(toys, flow_run_id, "pilot")
    assert len(phase_runs(toys, run_id)) == 1
    assert begun(toys, run_id) == (2 if step == "in-the-phase" else 1), "resumed once where it was interrupted"
    approve(toys, flow_run_id)
    toys.wait_for(flow_run_id, "Completed")


@pytest.mark.parametrize("step", ANSWER_STEPS)
def test_a_rejection_sent_by_form_is_recorded_wherever_the_run_is_killed(toys, step):
    flow_run_id = toys.begin()
    at_gate(toys, flow_run_id, "history")
    run_id = toys.run_id(flow_run_id)
    question = toys.waiting(run_id)
    toys.until(lambda: toys.forms(flow_run_id), 60, "the form")
    ask_to_die(toys, step)
    sent = {"decision": "reject", "verdict": question["code"], "who": "Ada", "why": "no"}
    assert toys.resume(flow_run_id, **sent)["status"] == "ACCEPT"
    toys.until(lambda: not (toys.home / f"kill-{step}").exists(), 240, f"the kill at {step}")
    toys.wait_for(flow_run_id, "Crashed")
    toys.retry(run_id)
    toys.wait_for(flow_run_id, "Rejected", "Suspended", "Completed")
    assert toys.state(flow_run_id) == "Rejected"
    assert "reject by Ada: no" in toys.gaelp("status", run_id)
    assert toys.forms(flow_run_id) == 1, "it was asked once"


def test_a_long_phase_started_by_hand_before_its_gate_was_approved_does_not_begin(toys):
    flow_run_id = toys.begin()
    at_gate(toys, flow_run_id, "history")
    run_id = toys.run_id(flow_run_id)
    proven = toys.home / "runs" / run_id / "history" / "1" / "result.json"
    deployed = toys.deployment("long-phase", "alone")
    asked = {"run_id": run_id, "phase": "pilot", "attempt": 1, "waker": flow_run_id, "previous": str(proven)}
    body = {"parameters": asked, "state": {"type": "SCHEDULED"}}
    by_hand = toys.post(f"/deployments/{deployed['id']}/create_flow_run", body)["id"]
    ended = toys.wait_for(by_hand, "Failed", "Completed")
    assert "has not passed gate history" in ended["state"]["message"]
    assert begun(toys, run_id) == 0
    toys.gaelp("stop", run_id)


def test_a_run_that_is_stopped_stops_its_long_phase(toys):
    (toys.home / "wait").touch()
    flow_run_id, run_id = through_the_first_gate(toys)
    toys.until(lambda: begun(toys, run_id) == 1, 240, "the phase")
    toys.wait_for(flow_run_id, "Suspended")
    toys.gaelp("stop", run_id)
    toys.wait_for(flow_run_id, "Cancelled")
    toys.until(
        lambda: phase_runs(toys, run_id)[0]["state"]["name"] in {"Cancelled", "Crashed"}, 120, "the phase to stop"
    )
    (toys.home / "wait").unlink()
