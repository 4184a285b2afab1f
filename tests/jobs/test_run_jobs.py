"""What a gate learns from the jobs: counts and a sample of breaches; and nothing is started where there is no data."""

from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gaelp.jobs.run_jobs as module
from gaelp.jobs.budget_limits import BudgetLimits
from gaelp.jobs.budget_safety import BREACHES, BUDGET_VERDICTS
from gaelp.jobs.run_jobs import run_budget_safety, run_episode_metrics

NOW = datetime(2026, 1, 9, tzinfo=UTC)
LIMITS = BudgetLimits(accounts={})


@pytest.fixture
def started(monkeypatch):
    """The jobs that were started, instead of starting them."""
    calls = []
    monkeypatch.setattr(module, "run_pipeline", lambda job, words, on_progress: calls.append((job, words)))
    return calls


def write(path, rows, schema):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)


def test_without_data_nothing_is_started(tmp_path, started):
    safety = run_budget_safety(tmp_path, LIMITS, tmp_path / "out", as_of=NOW)
    assert (safety.breaches, safety.was_run) == (0, False)
    assert not run_episode_metrics(tmp_path, tmp_path / "out").was_run
    assert started == []


def test_breaches_of_campaigns_and_accounts_are_counted_with_a_sample(tmp_path, started):
    (tmp_path / "spend_events").mkdir()
    (tmp_path / "spend_events/a.parquet").touch()
    out = tmp_path / "out"
    write(out / "breaches/all-days-000.parquet", [{"kind": "pacing", "campaign": "c", "day": NOW.date()}], BREACHES)
    write(out / "account_breaches/accounts.parquet", [{"kind": "account-overspend"}], BREACHES)
    write(out / "verdicts/a.parquet", [{"decision": "hold"}, {"decision": "allow"}], BUDGET_VERDICTS)
    report = run_budget_safety(tmp_path, LIMITS, out, as_of=NOW)
    assert (report.breaches, report.campaigns_held, report.campaigns_killed, report.dead_letters) == (2, 1, 0, 0)
    assert report.sample[1]["day"] == "2026-01-09"
    ((job, words),) = started
    assert job == "budget_safety"
    assert words[:2] == ["--spend_events", f"{tmp_path}/spend_events/**.parquet"]
    assert words[words.index("--as_of") + 1] == NOW.isoformat()


def test_the_rows_of_the_metrics_are_counted(tmp_path, started):
    (tmp_path / "decisions").mkdir()
    (tmp_path / "decisions/a.parquet").touch()
    write(tmp_path / "out/metrics/a.parquet", [{"kind": "x"}] * 3, BREACHES)
    report = run_episode_metrics(tmp_path, tmp_path / "out")
    assert (report.rows, report.dead_letters, started[0][0]) == (3, 0, "episode_metrics")
