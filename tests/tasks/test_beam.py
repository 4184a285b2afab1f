"""The jobs as tasks: their progress moves a bar in Prefect, and their report is the result."""

from datetime import UTC, datetime

import pytest

import tasks.beam
import tasks.progress
from gaelp.jobs.budget_limits import BudgetLimits
from gaelp.jobs.run_jobs import BudgetSafetyReport, EpisodeMetricsReport
from tasks.beam import check_budget_safety, compute_episode_metrics


@pytest.fixture
def moved(monkeypatch):
    sent = []
    monkeypatch.setattr(tasks.progress, "create_progress_artifact", lambda **words: sent.append(words["key"]))
    monkeypatch.setattr(tasks.progress, "update_progress_artifact", lambda artifact_id, progress: sent.append(progress))
    return sent


def test_budget_safety_reports_breaches_and_moves_its_bar(moved, monkeypatch, tmp_path):
    def run(source, limits, output, *, as_of, on_progress):
        on_progress(0, 0)
        on_progress(4, 4)
        return BudgetSafetyReport(breaches=3)

    monkeypatch.setattr(tasks.beam, "run_budget_safety", run)
    report = check_budget_safety.fn(
        "pilot", "run.1", 2, (str(tmp_path), "out"), datetime(2026, 1, 1, tzinfo=UTC), limits=BudgetLimits(accounts={})
    )
    assert report["breaches"] == 3
    assert moved == ["budget-safety-pilot-run-1-2", 100.0, 100.0]


def test_episode_metrics_return_their_report(moved, monkeypatch, tmp_path):
    monkeypatch.setattr(tasks.beam, "run_episode_metrics", lambda *_, on_progress: EpisodeMetricsReport(rows=7))
    assert compute_episode_metrics.fn("pilot", "r", 1, (str(tmp_path), "out"))["rows"] == 7
