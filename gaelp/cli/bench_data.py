"""`gaelp bench data`: the speed and memory of the Beam jobs, beside pandas."""

from typing import Annotated

import typer

from gaelp.bench.data_speed import measure_data
from gaelp.bench.streaming_cost import streaming_cost
from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_table
from gaelp.cli.startup import prepare
from gaelp.config.places import absolute

__all__ = ["data"]


def data(
    config: ConfigOption = None,
    overrides: SetOption = None,
    rows: Annotated[
        int, typer.Option("--rows", min=10_000, max=100_000_000, help="Steps through both jobs and through pandas.")
    ] = 1_000_000,
    largest: Annotated[
        int, typer.Option("--largest", min=10_000, max=100_000_000, help="Steps of the largest run without pandas.")
    ] = 10_000_000,
    pairs: Annotated[int, typer.Option("--pairs", min=1, max=20, help="Alternate timings of Beam and pandas.")] = 3,
    trainings: Annotated[
        int,
        typer.Option("--trainings", min=0, max=20, help="Pairs of trainings, with and without storing; 0: skip this."),
    ] = 2,
    as_json: JsonOption = False,
) -> None:
    """Rows per second and memory of the Beam jobs `redact` and `episode_metrics`, with pandas in the same run.

    Both have to give identical results. Memory is measured from a tenth of `--rows` to `--largest`. Then the share of
    its time that `gaelp train --config quick-test` spends on storing episodes: run this on an idle machine.

    - `gaelp bench data --json`

    - `gaelp bench data --rows 100000 --largest 1000000`
    """
    home = absolute(prepare(config, overrides).settings.home)
    say(f"Timing {rows:,} rows through Beam and pandas below {home}, then up to {largest:,} ...")
    speed = measure_data(home, rows=rows, largest=max(rows, largest), pairs=pairs, report=say)
    if trainings:
        say(f"Training {trainings} times with and without storing episodes ...")
        speed = speed.model_copy(update={"streaming_cost": streaming_cost(repeats=trainings)["wall_share"]})
    if as_json:
        show_json(speed.model_dump(mode="json"))
        return
    show_table(
        ("rows", "seconds", "rows per second", "peak MB"),
        [
            (f"{size.rows:,}", f"{size.seconds:.1f}", f"{size.rows_per_s:,.0f}", f"{size.peak_mb:,.0f}")
            for size in speed.growth
        ],
    )
    same = "identical" if speed.identical else "NOT IDENTICAL"
    say(f"Beam takes {speed.beam_over_pandas:.2f} times as long as pandas; their results are {same}.")
    if speed.streaming_cost is not None:
        say(f"Storing its episodes adds {100 * speed.streaming_cost:.1f}% to the time of a training.")
