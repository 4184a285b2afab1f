"""Job: clicks joined with the conversions that they brought, late ones and revised ones included.

    python -m beam_pipelines.attribution --clicks 'data/clicks/**.parquet' \\
        --conversions 'data/conversions/**.parquet' --as_of 2026-04-30T00:00:00Z --output attributed

Results: OUTPUT/clicks, a row a click, and OUTPUT/dead_letters: conversions without a click, outside the window of event
time or later than the allowed lateness. Run it again with a later --as_of: revised reports correct earlier rows.
"""

import sys
from collections.abc import Mapping, Sequence
from functools import partial

import pyarrow as pa
from pydantic import AwareDatetime, Field

from beam_pipelines.options import JobOptions, parse_options
from beam_pipelines.running import JobReport, main, run_job
from beam_pipelines.sharded_job import JobInput, ShardedJob
from gaelp.jobs.attribution import AttributionSettings, attribute
from gaelp.storage.schema import TableName

__all__ = ["AttributionOptions", "attribution_job", "run"]


class AttributionOptions(JobOptions):
    """Options of `attribution`."""

    clicks: str = Field(min_length=1, description="pattern of the Parquet files of the table `clicks`")
    conversions: str = Field(min_length=1, description="pattern of those of `conversions`")
    as_of: AwareDatetime = Field(description="use what was known at this time, such as 2026-04-30T00:00:00Z")
    window_days: int = Field(default=30, ge=1, le=365, description="a conversion counts so many days after its click")
    lateness_days: int = Field(default=7, ge=0, le=365, description="its report counts so many days after the window")


def attribution_job(options: AttributionOptions) -> ShardedJob:
    """Gather clicks and conversions by campaign, then join them."""
    settings = AttributionSettings(
        window_days=options.window_days, lateness_days=options.lateness_days, as_of=options.as_of
    )
    return ShardedJob(
        name="attribution",
        version=1,
        steps=("SelectRows", "JoinConversions"),
        inputs=(
            JobInput(TableName.CLICKS, options.clicks),
            JobInput(TableName.CONVERSIONS, options.conversions),
        ),
        prepare=_prepare,
        finish=partial(_finish, settings=settings),
        by_day=False,
        settings=settings.model_dump(mode="json"),
    )


def run(argv: Sequence[str] | None = None) -> JobReport:
    """Run the job with these command-line options."""
    options, for_beam = parse_options(AttributionOptions, argv, job="attribution", about=__doc__ or "")
    return run_job(attribution_job(options), options, for_beam)


def _prepare(name: TableName, table: pa.Table) -> Mapping[str, pa.Table]:
    return {name.value: table}


def _finish(tables: Mapping[str, list[pa.Table]], *, settings: AttributionSettings) -> Mapping[str, pa.Table]:
    joined = attribute(tables.get("clicks", []), tables.get("conversions", []), settings)
    return {"clicks": joined.valid, "dead_letters": joined.dead}


if __name__ == "__main__":
    sys.exit(main("attribution"))
