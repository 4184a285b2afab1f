"""The Beam jobs between the phases as tasks: each is done once for a flow run, with its progress as an artifact."""

from datetime import datetime
from pathlib import Path
from typing import Any

from prefect import task

from gaelp.jobs.budget_limits import BudgetLimits
from gaelp.jobs.pipeline_process import OnJobProgress
from gaelp.jobs.run_jobs import run_budget_safety, run_episode_metrics
from tasks.progress import Bar
from tasks.results import artifact_key, kept

__all__ = ["check_budget_safety", "compute_episode_metrics"]


@task(name="budget-safety", task_run_name="budget-safety-{phase}-{attempt}", **kept("limits"))
def check_budget_safety(
    phase: str, run_id: str, attempt: int, folders: tuple[str, str], as_of: datetime, *, limits: BudgetLimits
) -> dict[str, Any]:
    """Check what a phase spent, from the tables in the first folder, with results in the second; returns the report."""
    bar = Bar(artifact_key(f"budget-safety-{phase}", run_id, attempt), "shards checked against the limits")
    source, output = map(Path, folders)
    report = run_budget_safety(source, limits, output, as_of=as_of, on_progress=_moves(bar))
    return report.model_dump(mode="json")


@task(name="episode-metrics", task_run_name="episode-metrics-{phase}-{attempt}", **kept())
def compute_episode_metrics(phase: str, run_id: str, attempt: int, folders: tuple[str, str]) -> dict[str, Any]:
    """Compute the metrics of a phase's decisions, from the first folder into the second; returns the report."""
    bar = Bar(artifact_key(f"episode-metrics-{phase}", run_id, attempt), "shards of metrics computed")
    source, output = map(Path, folders)
    return run_episode_metrics(source, output, on_progress=_moves(bar)).model_dump(mode="json")


def _moves(bar: Bar) -> OnJobProgress:
    return lambda done, total: bar.move(done / total if total else 1.0)
