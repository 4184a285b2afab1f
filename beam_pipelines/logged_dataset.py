"""Job: raw logs -> a validated dataset for off-policy estimates, each row with the density of its action.

    python -m beam_pipelines.logged_dataset --decisions 'data/decisions/**.parquet' \\
        --hour_reports 'data/hour_reports/**.parquet' --output dataset

Two passes: OUTPUT/moments holds what densities are fitted from, by day; then OUTPUT/rows/dataset is written by day.
Densities that the log has are kept; the others are estimated and flagged in `density_kind`. Rows that cannot be used
are in OUTPUT/rows/dead_letters with the reason.
"""

import hashlib
import sys
from collections.abc import Mapping, Sequence
from functools import partial

import pyarrow as pa
from pydantic import Field

from beam_pipelines.options import JobOptions, parse_options
from beam_pipelines.running import JobReport, main, run_job
from beam_pipelines.sharded_job import JobInput, ShardedJob
from beam_pipelines.table_files import read_whole
from gaelp.errors import BadInput
from gaelp.jobs.logged_dataset import (
    BID_MOMENTS,
    DATASET_COLUMNS,
    bid_moments,
    clean_rows,
    merge_bid_moments,
    with_densities,
)
from gaelp.jobs.screening import DEAD_LETTERS, join_tables
from gaelp.storage.schema import TableName

__all__ = ["LoggedDatasetOptions", "dataset_job", "moments_job", "run"]


class LoggedDatasetOptions(JobOptions):
    """Options of `logged_dataset`; give one input or both."""

    decisions: str | None = Field(default=None, description="pattern of the Parquet files of the table `decisions`")
    hour_reports: str | None = Field(default=None, description="pattern of those of `hour_reports`")


def moments_job(options: LoggedDatasetOptions) -> ShardedJob:
    """The sums over bids that densities are fitted from, by day."""
    return _job("logged_dataset_moments", ("SelectRows", "SumBids"), options, _finish_moments, {})


def dataset_job(options: LoggedDatasetOptions, moments: pa.Table) -> ShardedJob:
    """The dataset, with densities fitted from these sums."""
    content = repr(moments.to_pydict()).encode()
    settings = {"moments": hashlib.sha256(content).hexdigest()}
    return _job(
        "logged_dataset", ("SelectRows", "AddDensities"), options, partial(_finish_rows, moments=moments), settings
    )


def run(argv: Sequence[str] | None = None) -> JobReport:
    """Run both passes with these command-line options; the report is that of the second."""
    options, for_beam = parse_options(LoggedDatasetOptions, argv, job="logged_dataset", about=__doc__ or "")
    if options.decisions is None and options.hour_reports is None:
        raise BadInput("no input: give --decisions, --hour_reports or both")
    folder = options.output.rstrip("/")
    fit_options = options.model_copy(update={"output": f"{folder}/moments"})
    run_job(moments_job(options), fit_options, for_beam)
    moments = merge_bid_moments([BID_MOMENTS.empty_table(), *read_whole(f"{folder}/moments/moments/*.parquet")])
    row_options = options.model_copy(update={"output": f"{folder}/rows"})
    return run_job(dataset_job(options, moments), row_options, for_beam)


def _job(
    name: str,
    steps: tuple[str, str],
    options: LoggedDatasetOptions,
    finish: object,
    settings: Mapping[str, object],
) -> ShardedJob:
    patterns = ((TableName.DECISIONS, options.decisions), (TableName.HOUR_REPORTS, options.hour_reports))
    return ShardedJob(
        name=name,
        version=1,
        steps=steps,
        inputs=tuple(JobInput(table, pattern) for table, pattern in patterns if pattern is not None),
        prepare=_prepare,
        finish=finish,  # type: ignore[arg-type]
        by_day=True,
        settings=settings,
    )


def _prepare(name: TableName, table: pa.Table) -> Mapping[str, pa.Table]:
    return {name.value: table}


def _cleaned(tables: Mapping[str, list[pa.Table]]) -> tuple[pa.Table, pa.Table]:
    screened = [clean_rows(TableName(name), of_table) for name, of_table in sorted(tables.items())]
    rows = join_tables([each.valid for each in screened], DATASET_COLUMNS)
    return rows, join_tables([each.dead for each in screened], DEAD_LETTERS)


def _finish_moments(tables: Mapping[str, list[pa.Table]]) -> Mapping[str, pa.Table]:
    return {"moments": bid_moments(_cleaned(tables)[0])}


def _finish_rows(tables: Mapping[str, list[pa.Table]], *, moments: pa.Table) -> Mapping[str, pa.Table]:
    rows, dead = _cleaned(tables)
    dataset = with_densities(rows, moments)
    return {"dataset": dataset.valid, "dead_letters": pa.concat_tables([dead, dataset.dead])}


if __name__ == "__main__":
    sys.exit(main("logged_dataset"))
