"""The jobs on stored rows in the flow: each is a task before the gate, and a planted bad batch stops the run there."""

from datetime import UTC, datetime

import pytest
import yaml

from gaelp.config.places import repository_root
from gaelp.storage.conformance_rows import rows_of
from gaelp.storage.duckdb_store import DuckDbStore
from gaelp.storage.schema import TableName

pytestmark = pytest.mark.slow

JOBS = {"data-quality-simulation-1", "budget-safety-simulation-1", "episode-metrics-simulation-1"}


@pytest.fixture
def checked(pipeline):
    """Begins a run whose gate asks for the jobs on stored rows too."""
    shipped = yaml.safe_load((repository_root() / "configs/gates/simulation.yaml").read_text(encoding="utf-8"))
    gate = yaml.safe_load((pipeline.folder / "gate.yaml").read_text(encoding="utf-8"))
    gate["criteria"] += [rule for rule in shipped["criteria"] if rule["sample_metric"] == "checked_rows"]
    (pipeline.folder / "checked.yaml").write_text(yaml.safe_dump(gate), encoding="utf-8")

    def begin(run_id):
        return pipeline.begin(run_id=run_id, overrides=["gate.files.simulation=checked.yaml"])

    return begin


def test_the_jobs_are_tasks_of_the_flow_and_the_run_reaches_its_gate(pipeline, checked):
    flow_run_id = checked("checked")
    pipeline.wait_for(flow_run_id, "Suspended", seconds=280)
    states = pipeline.task_states(flow_run_id)
    assert {name for name, state in states if state == "Completed"} >= JOBS
    shown = pipeline.gaelp("gate", "show", "checked")
    assert "0 expectations failed, 0 breaches of the budget" in " ".join(shown.split())


def test_a_planted_bad_batch_stops_the_run_at_its_gate_which_names_the_row(pipeline, checked):
    now = datetime.now(UTC)
    bad = {
        "id": "planted-row",
        "at": now,
        "source": "planted",
        "episode": "planted/x",
        "policy": "mpc@1",
        "reward": 7.0,
    }
    ended = {"state": "finished", "started_at": now, "ended_at": now, "budget_micros": 1_000_000}
    DuckDbStore(pipeline.home / "episodes").append({TableName.EPISODES: rows_of(TableName.EPISODES, bad | ended)})
    flow_run_id = checked("planted")
    pipeline.wait_for(flow_run_id, "Refused", seconds=280)
    shown = " ".join(pipeline.gaelp("gate", "show", "planted").split())
    assert "planted-row" in shown
    assert "failed_expectations" in shown
