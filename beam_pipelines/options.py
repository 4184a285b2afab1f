"""Options of the jobs: pydantic models that become command-line options; everything else is passed on to Beam."""

import argparse
from collections.abc import Sequence
from datetime import date
from typing import TypeVar

from pydantic import Field, PositiveInt, ValidationError

from gaelp.config.base import Frozen
from gaelp.errors import BadInput

__all__ = ["JobOptions", "parse_options"]

_RUNNER = "FnApiRunner"  # pinned: DirectRunner tries to download another runner first

_AFTER_HELP = """Every other option is passed on to Beam. Without --runner the job runs in this process (FnApiRunner).
On a cluster: --runner=PortableRunner --job_endpoint=HOST:PORT, or see docs/beam.md for Flink and Dataflow.
A finished shard is not computed again while its input files and options are the same: see OUTPUT/_done."""


class JobOptions(Frozen):
    """What every job takes. Folders and patterns may be local paths or anything that Beam's file systems know."""

    output: str = Field(min_length=1, description="folder for the results, one Parquet file for each shard")
    campaign_shards: PositiveInt = Field(
        default=1, le=999, description="split each day, or the whole input, by a hash of the campaign"
    )
    rows_per_table: PositiveInt = Field(default=250_000, description="rows of one Arrow table; small ones are slow")
    rows_per_run: PositiveInt = Field(
        default=500_000, description="rows that one pipeline reads; more shards follow in further ones. Bounds memory"
    )
    first_day: date | None = Field(default=None, description="leave out earlier days")
    last_day: date | None = Field(default=None, description="leave out later days")
    json_lines: bool = Field(default=False, description="print progress and the report as JSON, a line each")


Options = TypeVar("Options", bound=JobOptions)


def parse_options(
    model: type[Options], argv: Sequence[str] | None, *, job: str, about: str
) -> tuple[Options, list[str]]:
    """Read the options of a job, and return those for Beam beside them; BadInput names what is wrong."""
    parser = argparse.ArgumentParser(
        prog=f"python -m beam_pipelines.{job}",
        description=about,
        epilog=_AFTER_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    for name, field in model.model_fields.items():
        if field.annotation is bool:
            parser.add_argument(f"--{name}", action="store_true", help=field.description)
            continue
        note = "" if field.is_required() or field.default is None else f" (default: {field.default})"
        parser.add_argument(
            f"--{name}", required=field.is_required(), help=f"{field.description}{note}", metavar="VALUE"
        )
    given, for_beam = parser.parse_known_args(argv)
    values = {name: value for name, value in vars(given).items() if value is not None}
    try:
        options = model.model_validate(values)
    except ValidationError as error:
        problems = "; ".join(f"--{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise BadInput(f"{problems}. `python -m beam_pipelines.{job} --help` lists the options.") from error
    if not any(word.split("=")[0] == "--runner" for word in for_beam):
        for_beam.append(f"--runner={_RUNNER}")
    return options, for_beam
