"""The jobs on stored rows run as tasks: the right one for each name, with a bar in Prefect that it moves."""

from datetime import UTC, datetime

import pytest

import tasks.data_jobs
import tasks.progress
from gaelp.config import load_settings
from gaelp.phases.data_job import DataJob
from gaelp.phases.run_folder import RunFolder
from gaelp.types import Phase, RunId
from tasks.data_jobs import run_as_task


@pytest.fixture
def job(tmp_path):
    folder = RunFolder(tmp_path, RunId("r")).phase(Phase.SIMULATION, 2)
    return DataJob(load_settings(environ={}).settings, folder, datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture
def moved(monkeypatch):
    sent = []
    monkeypatch.setattr(tasks.progress, "create_progress_artifact", lambda **words: sent.append(words["key"]))
    monkeypatch.setattr(tasks.progress, "update_progress_artifact", lambda artifact_id, progress: sent.append(progress))
    return sent


@pytest.mark.parametrize("name", ["data-quality", "budget-safety", "episode-metrics"])
def test_each_job_is_a_task_of_its_name_and_moves_its_bar(name, job, moved, monkeypatch):
    task, stage = tasks.data_jobs._TASKS[name]
    assert task.name == name

    def work(phase, run_id, attempt, *, job):
        job.on_progress(0, 4)
        job.on_progress(4, 4)
        return {"ran": (phase, run_id, attempt)}

    monkeypatch.setitem(tasks.data_jobs._TASKS, name, (work, stage))
    assert run_as_task(name, job) == {"ran": ("simulation", "r", 2)}
    assert moved == [f"{name}-simulation-r-2", 100.0]
