"""The jobs on the rows that a phase stored, which run before its gate: data quality, budget safety, episode metrics."""

from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gaelp.config.write import write_texts
from gaelp.jobs.run_jobs import BudgetSafetyReport, run_budget_safety, run_episode_metrics
from gaelp.jobs.simulated_spend import DECISION_COLUMNS, episode_limits, simulated_spend
from gaelp.jobs.stored_input import export_tables
from gaelp.phases.data_job import DataJob, JobName
from gaelp.phases.simulation_episodes import source_of
from gaelp.quality.suite import load_suite
from gaelp.quality.window_check import check_window
from gaelp.storage.backends import build_store
from gaelp.storage.schema import TableName
from gaelp.storage.store import RowFilter

__all__ = ["JOBS"]

_ALL_IS_FINAL = timedelta(days=30)
_CHECKED = (TableName.EPISODES, TableName.DECISIONS)


def _check_quality(job: DataJob) -> dict[str, Any]:
    """Check each table against its suite; the pages are kept with the attempt."""
    results = []
    with closing(build_store(job.settings)) as store:
        for number, table in enumerate(_CHECKED):
            job.on_progress(number, len(_CHECKED))
            result, page = check_window(store, load_suite(table), _rows(job), now=job.as_of)
            results.append(result.model_dump(mode="json"))
            if page:
                write_texts({_place(job, "data-quality") / f"{table}.html": page})
    job.on_progress(len(_CHECKED), len(_CHECKED))
    return {"results": results}


def _check_budget(job: DataJob) -> dict[str, Any]:
    """Run the Beam job `budget_safety` on what the episodes spent."""
    with closing(build_store(job.settings)) as store:
        spend = simulated_spend(store.scan(TableName.DECISIONS, _rows(job), DECISION_COLUMNS))
        budgets = list(store.scan(TableName.EPISODES, _rows(job), ("episode", "budget_micros")))
    last_hour = pc.max(spend[TableName.HOUR_REPORTS]["at"]).as_py()
    if not budgets or last_hour is None:
        return BudgetSafetyReport(breaches=0, was_run=False).model_dump(mode="json")
    source = _place(job, "budget-safety/input")
    for name, table in spend.items():
        (source / name).mkdir(exist_ok=True)
        pq.write_table(table, source / name / "hours.parquet", compression="zstd")
    report = run_budget_safety(
        source,
        episode_limits(pa.concat_tables(budgets)),
        _place(job, "budget-safety"),
        as_of=last_hour + _ALL_IS_FINAL,  # by the market's clock: simulated costs do not change afterwards
        on_progress=job.on_progress,
    )
    return report.model_dump(mode="json")


def _compute_metrics(job: DataJob) -> dict[str, Any]:
    """Run the Beam job `episode_metrics` on the decisions."""
    source = _place(job, "episode-metrics/input")
    with closing(build_store(job.settings)) as store:
        export_tables(store, source, [TableName.DECISIONS], _rows(job))
    return run_episode_metrics(source, _place(job, "episode-metrics"), on_progress=job.on_progress).model_dump(
        mode="json"
    )


def _rows(job: DataJob) -> RowFilter:
    """The rows that the attempt stored."""
    return RowFilter(sources=(source_of(job.folder),), phases=(job.folder.phase,))


def _place(job: DataJob, name: str) -> Path:
    """A folder of the attempt for a job's files."""
    path = job.folder.path / name
    path.mkdir(parents=True, exist_ok=True)
    return path


JOBS: Mapping[JobName, Callable[[DataJob], dict[str, Any]]] = {
    "data-quality": _check_quality,
    "budget-safety": _check_budget,
    "episode-metrics": _compute_metrics,
}
