"""The Beam jobs before a gate as tasks: done once for each attempt, with their progress as an artifact."""

from typing import Any

from prefect import task

from gaelp.phases.data_job import DataJob, run_directly
from tasks.results import kept

__all__ = ["check_budget_safety", "compute_episode_metrics"]


@task(name="budget-safety", task_run_name="budget-safety-{phase}-{attempt}", **kept("job"))
def check_budget_safety(phase: str, run_id: str, attempt: int, *, job: DataJob) -> dict[str, Any]:  # noqa: ARG001
    """Compare what an attempt spent with its limits; returns the report."""
    return dict(run_directly("budget-safety", job))


@task(name="episode-metrics", task_run_name="episode-metrics-{phase}-{attempt}", **kept("job"))
def compute_episode_metrics(phase: str, run_id: str, attempt: int, *, job: DataJob) -> dict[str, Any]:  # noqa: ARG001
    """Compute the metrics of an attempt's decisions; returns the report."""
    return dict(run_directly("episode-metrics", job))
