"""Run the jobs between two phases on a folder of stored tables, and return what a gate needs to know."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import Field

from gaelp.clock import SystemClock
from gaelp.config.base import Frozen
from gaelp.jobs.budget_limits import BudgetLimits
from gaelp.jobs.budget_safety import BREACHES, BUDGET_VERDICTS
from gaelp.jobs.pipeline_process import OnJobProgress, run_pipeline
from gaelp.jobs.stored_input import table_pattern
from gaelp.storage.schema import TableName

__all__ = [
    "BudgetSafetyReport",
    "EpisodeMetricsReport",
    "run_budget_safety",
    "run_episode_metrics",
]

_SAMPLE_ROWS = 20
_LIMITS_NAME = "limits.yaml"


class BudgetSafetyReport(Frozen):
    """What the job `budget_safety` reported; `sample` has the first breaches as rows."""

    breaches: int
    campaigns_held: int = 0
    campaigns_killed: int = 0
    dead_letters: int = 0
    sample: tuple[dict[str, str | float | None], ...] = ()
    was_run: bool = Field(default=True, description="false where nothing was spent, so that there was nothing to check")


class EpisodeMetricsReport(Frozen):
    """What the job `episode_metrics` wrote."""

    rows: int = Field(description="of the metrics: one for each policy, campaign and day")
    dead_letters: int = 0
    was_run: bool = Field(default=True, description="false where there were no decisions")


def run_budget_safety(
    input_folder: Path,
    limits: BudgetLimits,
    output_folder: Path,
    *,
    as_of: datetime | None = None,
    on_progress: OnJobProgress = lambda _done, _total: None,
) -> BudgetSafetyReport:
    """Check the spend events and hour reports of a folder against the limits, as known at `as_of` (default: now)."""
    tables = (TableName.SPEND_EVENTS, TableName.HOUR_REPORTS)
    patterns = {table: pattern for table in tables if (pattern := table_pattern(input_folder, table))}
    if not patterns:
        return BudgetSafetyReport(breaches=0, was_run=False)
    output_folder.mkdir(parents=True, exist_ok=True)
    limits_file = output_folder / _LIMITS_NAME
    limits_file.write_text(limits.model_dump_json(indent=1), encoding="utf-8")  # YAML reads JSON
    words = [word for table, pattern in patterns.items() for word in (f"--{table.value}", pattern)]
    words += ["--limits", str(limits_file), "--as_of", (as_of or SystemClock().now()).isoformat()]
    run_pipeline("budget_safety", [*words, "--output", str(output_folder)], on_progress)
    breaches = pa.concat_tables([_read(output_folder, kind, BREACHES) for kind in ("account_breaches", "breaches")])
    verdicts = _read(output_folder, "verdicts", BUDGET_VERDICTS).column("decision")
    return BudgetSafetyReport(
        breaches=breaches.num_rows,
        campaigns_held=pc.sum(pc.equal(verdicts, "hold")).as_py() or 0,
        campaigns_killed=pc.sum(pc.equal(verdicts, "kill")).as_py() or 0,
        dead_letters=_count(output_folder / "dead_letters"),
        sample=tuple(_plain(row) for row in breaches.slice(0, _SAMPLE_ROWS).to_pylist()),
    )


def run_episode_metrics(
    input_folder: Path, output_folder: Path, *, on_progress: OnJobProgress = lambda _done, _total: None
) -> EpisodeMetricsReport:
    """Compute the metrics of the decisions of a folder; results are in OUTPUT/metrics."""
    pattern = table_pattern(input_folder, TableName.DECISIONS)
    if pattern is None:
        return EpisodeMetricsReport(rows=0, was_run=False)
    run_pipeline("episode_metrics", ["--decisions", pattern, "--output", str(output_folder)], on_progress)
    return EpisodeMetricsReport(
        rows=_count(output_folder / "metrics"), dead_letters=_count(output_folder / "dead_letters")
    )


def _files(folder: Path) -> Sequence[Path]:
    return sorted(folder.glob("*.parquet"))


def _count(folder: Path) -> int:
    return sum(pq.read_metadata(path).num_rows for path in _files(folder))


def _read(output: Path, kind: str, schema: pa.Schema) -> pa.Table:
    tables = [pq.read_table(path, partitioning=None).cast(schema) for path in _files(output / kind)]
    return pa.concat_tables([schema.empty_table(), *tables])


def _plain(row: dict[str, Any]) -> dict[str, str | float | None]:
    """A row as JSON keeps it."""
    return {name: value if isinstance(value, str | float | None) else str(value) for name, value in row.items()}
