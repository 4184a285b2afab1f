"""The flow `gaelp` on a real server, from its deployment through the first gate."""

import json
import os

import psutil


def suspended(pipeline, **parameters):
    flow_run_id = pipeline.begin(**parameters)
    pipeline.wait_for(flow_run_id, "Suspended")
    pipeline.until(lambda: pipeline.forms(flow_run_id), 60, "the form, which follows the state")
    run_id = pipeline.run_id(flow_run_id)
    return flow_run_id, run_id, pipeline.waiting(run_id)


def test_a_run_is_suspended_at_the_gate_with_its_process_gone_and_resumes_when_approved_on_the_command_line(pipeline):
    flow_run_id, run_id, question = suspended(pipeline)
    assert pipeline.flow_run(flow_run_id)["name"] == run_id
    pipeline.until(lambda: not _engines(flow_run_id), 30, "the process to be gone")
    [listed] = [asked for asked in json.loads(pipeline.gaelp("gate", "list", "--json")) if asked["run_id"] == run_id]
    assert listed["code"] == question["code"]
    shown = pipeline.gaelp("gate", "show", run_id)
    assert question["code"] in shown
    assert "lead_over_best_rule" in shown
    pipeline.gaelp(
        "gate", "approve", run_id, "--verdict", question["code"], "--why", "every rule holds", "--who", "Ada"
    )
    pipeline.wait_for(flow_run_id, "Completed")
    assert pipeline.rounds_trained(run_id) == [1, 2], "the phase was finished before the gate, and is not made again"
    assert ("simulation-1", "Cached") in pipeline.task_states(flow_run_id)
    status = pipeline.gaelp("status", run_id)
    assert "approve by Ada: every rule holds" in status
    assert "Completed" in status
    assert_verdict_is_on_the_screen(pipeline, flow_run_id)


def assert_verdict_is_on_the_screen(pipeline, flow_run_id):
    artifacts = pipeline.post("/artifacts/filter", {"flow_runs": {"id": {"any_": [flow_run_id]}}})
    by_kind = {artifact["type"]: artifact for artifact in artifacts}
    assert by_kind.keys() >= {"markdown", "progress"}  # results of tasks are artifacts without a type
    assert "data:image/png;base64," in by_kind["markdown"]["data"], "a plot"
    assert by_kind["progress"]["data"] == 100


def test_an_approval_over_http_has_to_be_whole_and_of_this_verdict(pipeline):
    flow_run_id, run_id, question = suspended(pipeline)
    said = {"who": "Ada", "why": "every rule holds"}
    for incomplete in ({}, {"decision": "approve"}, {"decision": "approve", **said}, {"verdict": question["code"]}):
        assert pipeline.resume(flow_run_id, **incomplete)["status"] == "REJECT", incomplete
    assert pipeline.state(flow_run_id) == "Suspended"
    other = {"decision": "approve", "verdict": "0" * 8, **said}
    refused = pipeline.resume(flow_run_id, **other)
    assert refused["status"] == "REJECT"
    assert "this is not the code of the verdict" in refused["details"]["reason"], "what the form shows"
    assert question["code"] not in refused["details"]["reason"]
    beginning = {"decision": "approve", "verdict": question["code"] + "0" * 8, **said}
    assert pipeline.resume(flow_run_id, **beginning)["status"] == "ACCEPT", "the server checks the beginning only"
    pipeline.until(lambda: "does not count" in pipeline.log(), 90, "the gate to say so")
    pipeline.until(lambda: pipeline.forms(flow_run_id) == 2, 120, "the second form")
    form = {"decision": "approve", "verdict": question["code"], **said}
    assert pipeline.resume(flow_run_id, **form)["status"] == "ACCEPT"
    pipeline.wait_for(flow_run_id, "Completed")
    assert pipeline.rounds_trained(run_id) == [1, 2]


def test_a_rejection_ends_the_run_as_rejected_with_the_reason(pipeline):
    flow_run_id, run_id, question = suspended(pipeline)
    before = len(pipeline.log())
    pipeline.gaelp("gate", "reject", run_id, "--verdict", question["code"], "--why", "the market moved", "--who", "Ada")
    ended = pipeline.wait_for(flow_run_id, "Rejected", "Completed")
    assert ended["state"]["type"] == "FAILED"
    assert "rejected by Ada at gate simulation: the market moved" in ended["state"]["message"]
    calm = f"run {run_id} was rejected by Ada at gate simulation: the market moved"
    pipeline.until(lambda: calm in pipeline.log(), 30, "the log to say so")
    assert "Traceback" not in pipeline.log()[before:]
    assert "Nothing is left to resume" in _said(pipeline, "resume", run_id)
    assert "was decided by Ada" in _said(
        pipeline, "gate", "approve", run_id, "--verdict", question["code"], "--why", "second thoughts"
    )


def test_a_suspended_run_is_not_taken_for_crashed_and_can_be_stopped(pipeline):
    flow_run_id, run_id, question = suspended(pipeline)
    assert (
        pipeline.python(
            "from datetime import UTC, datetime, timedelta; from flows.crash_watch import mark_crashed;"
            "print(mark_crashed(datetime.now(UTC) + timedelta(hours=1)))"
        )
        == "[]\n"
    )
    assert pipeline.state(flow_run_id) == "Suspended"
    pipeline.gaelp("stop", run_id)
    pipeline.wait_for(flow_run_id, "Cancelled")
    assert "Cancelled" in pipeline.gaelp("runs")
    refused = pipeline.gaelp("gate", "approve", run_id, "--verdict", question["code"], "--why", "too late", code=3)
    assert "expired" in refused


def test_the_weekly_schedule_makes_a_run_appear(pipeline):
    deployed = pipeline.deployment("gaelp", "full-pipeline")
    assert [entry["schedule"]["cron"] for entry in deployed["schedules"]] == ["0 6 * * 1"]
    body = {
        "deployments": {"id": {"any_": [deployed["id"]]}},
        "flow_runs": {"state": {"name": {"any_": ["Scheduled"]}}},
    }

    def appeared():
        return any(run["auto_scheduled"] for run in pipeline.post("/flow_runs/filter", body))

    pipeline.until(appeared, 90, "a scheduled run")


def test_a_second_up_changes_nothing_and_says_where_the_first_one_is(pipeline):
    shown = pipeline.gaelp("up", "--config", "mine.yaml")
    assert f"is up already (process {pipeline.up.pid})" in shown
    assert f"http://127.0.0.1:{pipeline.port}" in shown


def test_parameters_of_a_run_are_checked_and_a_secret_is_not_repeated(pipeline):
    flow_run_id = pipeline.begin(overrides=["personas.llm.api_key=planted-secret"])
    ended = pipeline.wait_for(flow_run_id, "Failed")
    assert "planted-secret" not in ended["state"]["message"]
    assert "planted-secret" not in pipeline.log()


def _engines(flow_run_id):
    """Processes that carry out this flow run."""
    engines = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get("PREFECT__FLOW_RUN_ID") == flow_run_id:
                engines.append(process)
        except (psutil.AccessDenied, psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
    return engines


def _said(pipeline, *words):
    return pipeline.gaelp(*words, code=3)
