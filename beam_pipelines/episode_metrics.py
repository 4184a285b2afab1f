"""Job: metrics per policy, campaign and day with intervals, from the stored table `decisions`.

    python -m beam_pipelines.episode_metrics --decisions 'data/decisions/**.parquet' --output metrics

Results: OUTPUT/metrics (reward, ROI, CTR, CVR, CPA, pacing error, each with its 95% interval) and OUTPUT/dead_letters.
"""

import sys
from collections.abc import Mapping, Sequence

import pyarrow as pa
from pydantic import Field

from beam_pipelines.options import JobOptions, parse_options
from beam_pipelines.running import JobReport, main, run_job
from beam_pipelines.sharded_job import JobInput, ShardedJob
from gaelp.jobs.episode_metrics import (
    METRIC_INPUTS,
    PARTIAL_METRICS,
    finish_metrics,
    merge_partial_metrics,
    partial_metrics,
)
from gaelp.jobs.screening import DEAD_LETTERS, join_tables
from gaelp.storage.schema import TableName

__all__ = ["EpisodeMetricsOptions", "episode_metrics_job", "run"]


class EpisodeMetricsOptions(JobOptions):
    """Options of `episode_metrics`."""

    decisions: str = Field(min_length=1, description="pattern of the Parquet files of the table `decisions`")


def episode_metrics_job(options: EpisodeMetricsOptions) -> ShardedJob:
    """Sum by hour, then finish each day."""
    return ShardedJob(
        name="episode_metrics",
        version=1,
        steps=("SumByHour", "FinishMetrics"),
        inputs=(JobInput(TableName.DECISIONS, options.decisions, METRIC_INPUTS),),
        prepare=_prepare,
        finish=_finish,
        by_day=True,
        settings={},
    )


def run(argv: Sequence[str] | None = None) -> JobReport:
    """Run the job with these command-line options."""
    options, for_beam = parse_options(EpisodeMetricsOptions, argv, job="episode_metrics", about=__doc__ or "")
    return run_job(episode_metrics_job(options), options, for_beam)


def _prepare(_: TableName, table: pa.Table) -> Mapping[str, pa.Table]:
    sums = partial_metrics(table)
    return {"sums": sums.valid, "dead_letters": sums.dead}


def _finish(tables: Mapping[str, list[pa.Table]]) -> Mapping[str, pa.Table]:
    merged = merge_partial_metrics(tables.get("sums", [PARTIAL_METRICS.empty_table()]))
    return {
        "metrics": finish_metrics(merged),
        "dead_letters": join_tables(tables.get("dead_letters", []), DEAD_LETTERS),
    }


if __name__ == "__main__":
    sys.exit(main("episode_metrics"))
