"""Data quality of a phase's stored rows as a task: done once for each attempt, its result stored."""

from typing import Any

from prefect import task

from gaelp.phases.data_job import DataJob, run_directly
from tasks.results import kept

__all__ = ["check_data_quality"]


@task(name="data-quality", task_run_name="data-quality-{phase}-{attempt}", **kept("job"))
def check_data_quality(phase: str, run_id: str, attempt: int, *, job: DataJob) -> dict[str, Any]:  # noqa: ARG001
    """Check an attempt's rows against the suites of configs/expectations; returns the results."""
    return dict(run_directly("data-quality", job))
