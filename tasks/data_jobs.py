"""Run the jobs on stored rows as tasks of the flow, each with a progress bar."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gaelp.phases.data_job import DataJob, JobName
from tasks.beam import check_budget_safety, compute_episode_metrics
from tasks.data_quality import check_data_quality
from tasks.progress import Bar, announce
from tasks.results import artifact_key

__all__ = ["run_as_task"]

_TASKS = {
    "data-quality": (check_data_quality, "checking the quality of the stored rows"),
    "budget-safety": (check_budget_safety, "comparing the stored spend with its limits"),
    "episode-metrics": (compute_episode_metrics, "computing metrics of the stored episodes"),
}


def run_as_task(name: JobName, job: DataJob) -> Mapping[str, Any]:
    """Run a job as a task, with its progress in Prefect and in the terminal."""
    task, stage = _TASKS[name]
    phase, run_id, attempt = job.folder.phase.value, job.folder.run_id, job.folder.attempt
    bar = Bar(artifact_key(f"{name}-{phase}", run_id, attempt), stage)
    announce(stage)
    return task(
        phase,
        run_id,
        attempt,
        job=replace(job, on_progress=lambda done, total: bar.move(done / total if total else 1.0)),
    )
