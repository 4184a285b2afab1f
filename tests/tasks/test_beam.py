"""The jobs before a gate as tasks: their progress moves a bar in Prefect, and their report is the result."""

from datetime import UTC, datetime

import pytest

import tasks.beam
import tasks.data_quality
from gaelp.config import load_settings
from gaelp.phases.data_job import DataJob
from gaelp.phases.run_folder import RunFolder
from gaelp.types import Phase, RunId
from tasks.beam import check_budget_safety, compute_episode_metrics
from tasks.data_quality import check_data_quality


@pytest.fixture
def job(tmp_path):
    folder = RunFolder(tmp_path, RunId("r")).phase(Phase.SIMULATION)
    return DataJob(load_settings(environ={}).settings, folder, datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("module", "task", "name"),
    [
        (tasks.beam, check_budget_safety, "budget-safety"),
        (tasks.beam, compute_episode_metrics, "episode-metrics"),
        (tasks.data_quality, check_data_quality, "data-quality"),
    ],
)
def test_a_task_runs_its_own_job_and_returns_the_report(module, task, name, job, monkeypatch):
    monkeypatch.setattr(module, "run_directly", lambda asked, given: {"job": asked, "as_of": given.as_of})
    assert task.fn("simulation", "r", 1, job=job) == {"job": name, "as_of": job.as_of}
