"""The jobs on the rows that a phase stored, which run before its gate: data quality, budget safety, episode metrics."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gaelp.budget.platform_budget import load_platform_terms
from gaelp.config.write import write_texts
from gaelp.history.sealed_window import opened_store
from gaelp.jobs.budget_limits import BudgetLimits
from gaelp.jobs.logged_spend import ACCOUNT_COLUMNS, BUDGET_COLUMNS, logged_limits
from gaelp.jobs.run_jobs import BudgetSafetyReport, run_budget_safety, run_episode_metrics
from gaelp.jobs.simulated_spend import DECISION_COLUMNS, episode_limits, simulated_spend
from gaelp.jobs.stored_input import export_tables
from gaelp.phases.data_job import DataJob, JobName
from gaelp.phases.history_source import history_of
from gaelp.phases.planned_pilot import PLAN_FILE, PlannedPilot
from gaelp.phases.scale_planning import RELEASE_PLAN_FILE
from gaelp.phases.simulation_episodes import source_of
from gaelp.pilot.local_account import LOCAL_PLATFORM
from gaelp.pilot.pilot_budgets import plan_limits
from gaelp.pilot.pilot_plan import PilotPlan
from gaelp.quality.suite import load_suite
from gaelp.quality.window_check import check_window
from gaelp.release.release_plan import ReleasePlan
from gaelp.storage.backends import build_store
from gaelp.storage.schema import TABLES, TableName
from gaelp.storage.store import EpisodeStore, RowFilter
from gaelp.types import Phase

__all__ = ["JOBS"]

_ALL_IS_FINAL = timedelta(days=30)
_CHECKED = (TableName.EPISODES, TableName.DECISIONS)
_CHECKED_ACCOUNT = (*_CHECKED, TableName.HOUR_REPORTS, TableName.CONVERSIONS, TableName.SPEND_EVENTS)
_ON_ACCOUNTS = (
    Phase.HISTORY,
    Phase.PILOT,
    Phase.SCALE,
)  # phases whose rows are of an ad account, with reports and spend events
_LOG_PLATFORM = "google-ads"  # whose terms logged budgets are held against: the most generous of those known


def _check_quality(job: DataJob) -> dict[str, Any]:
    """Check each table against its suite; the pages are kept with the attempt."""
    results = []
    checked = _CHECKED_ACCOUNT if job.folder.phase in _ON_ACCOUNTS else _CHECKED
    with _store(job) as store:
        for number, table in enumerate(checked):
            job.on_progress(number, len(checked))
            result, page = check_window(store, load_suite(table), _rows(job), now=job.as_of)
            results.append(result.model_dump(mode="json"))
            if page:
                write_texts({_place(job, "data-quality") / f"{table}.html": page})
    job.on_progress(len(checked), len(checked))
    return {"results": results}


def _check_budget(job: DataJob) -> dict[str, Any]:
    """Run the Beam job `budget_safety` on what the episodes spent."""
    if job.folder.phase in _ON_ACCOUNTS:
        return _check_logged_budget(job)
    with _store(job) as store:
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


def _check_logged_budget(job: DataJob) -> dict[str, Any]:
    """The same on what campaigns of an ad account spent, against their own budgets."""
    source = _place(job, "budget-safety/input")
    with _store(job) as store:
        export_tables(store, source, [TableName.SPEND_EVENTS, TableName.HOUR_REPORTS], _rows(job))
        reports = _joined(store, TableName.HOUR_REPORTS, _rows(job), ACCOUNT_COLUMNS)
        decisions = _joined(store, TableName.DECISIONS, _rows(job), BUDGET_COLUMNS)
    limits = _account_limits(job, reports, decisions)
    if limits is None or not reports.num_rows:
        return BudgetSafetyReport(breaches=0, was_run=False).model_dump(mode="json")
    known = pc.max(reports["reported_at"]).as_py()  # what was not reported by then is no difference yet
    report = run_budget_safety(source, limits, _place(job, "budget-safety"), as_of=known, on_progress=job.on_progress)
    return report.model_dump(mode="json")


def _account_limits(job: DataJob, reports: pa.Table, decisions: pa.Table) -> BudgetLimits | None:
    """Of a pilot or release those of its plan, of logged campaigns those of their own budgets."""
    if job.folder.phase is Phase.HISTORY:
        terms = load_platform_terms().of(_LOG_PLATFORM)
        return logged_limits(reports, decisions, terms, history_of(job.settings).zone)
    return plan_limits(_plan(job), load_platform_terms().of(job.settings.platform.name or LOCAL_PLATFORM))


def _plan(job: DataJob) -> PilotPlan:
    """What the attempt was allowed to spend."""
    if job.folder.phase is Phase.PILOT:
        return PlannedPilot.model_validate_json((job.folder.path / PLAN_FILE).read_bytes()).plan
    return ReleasePlan.model_validate_json((job.folder.path / RELEASE_PLAN_FILE).read_bytes()).campaigns


def _joined(store: EpisodeStore, table: TableName, rows: RowFilter, columns: tuple[str, ...]) -> pa.Table:
    schema = pa.schema([TABLES[table].columns.field(name) for name in columns])
    return pa.concat_tables([schema.empty_table(), *(part.cast(schema) for part in store.scan(table, rows, columns))])


def _compute_metrics(job: DataJob) -> dict[str, Any]:
    """Run the Beam job `episode_metrics` on the decisions."""
    source = _place(job, "episode-metrics/input")
    with _store(job) as store:
        export_tables(store, source, [TableName.DECISIONS], _rows(job))
    return run_episode_metrics(source, _place(job, "episode-metrics"), on_progress=job.on_progress).model_dump(
        mode="json"
    )


def _rows(job: DataJob) -> RowFilter:
    """The rows that the attempt stored, or those of the sources it names."""
    return RowFilter(sources=job.sources or (source_of(job.folder),), phases=(job.folder.phase,))


@contextmanager
def _store(job: DataJob) -> Iterator[EpisodeStore]:
    """The store; once a look was taken, rows of the sealed window are checked like all others."""
    if job.ticket is not None:
        with opened_store(job.settings, job.ticket) as opened:
            yield opened
        return
    with closing(build_store(job.settings)) as store:
        yield store


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
