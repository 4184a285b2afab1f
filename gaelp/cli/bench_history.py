"""`gaelp bench history`: the speed and memory of the off-policy estimators, beside plain Python."""

from typing import Annotated

import typer

from gaelp.bench.history_speed import measure_history
from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_table
from gaelp.cli.startup import prepare

__all__ = ["history"]


def history(
    config: ConfigOption = None,
    overrides: SetOption = None,
    rows: Annotated[
        int, typer.Option("--rows", min=20_000, max=20_000_000, help="Logged decisions for all estimators.")
    ] = 1_000_000,
    rowwise_rows: Annotated[
        int,
        typer.Option("--rowwise-rows", min=2_000, max=1_000_000, help="Decisions that are timed row by row, too."),
    ] = 20_000,
    replicates: Annotated[
        int, typer.Option("--replicates", min=10, max=100_000, help="Bootstrap replicates of every estimate.")
    ] = 1000,
    as_json: JsonOption = False,
) -> None:
    """CPU seconds and memory of all off-policy estimators and their bootstrap, with plain Python in the same run.

    The row-by-row version is timed on a part of the log and scaled. Both have to give the same estimates.

    - `gaelp bench history --json`

    - `gaelp bench history --rows 100000`
    """
    prepare(config, overrides)
    say(f"Timing {rows:,} decisions with {replicates:,} replicates ...")
    speed = measure_history(rows=rows, rowwise_rows=min(rows, rowwise_rows), replicates=replicates, report=say)
    if as_json:
        show_json(speed.model_dump(mode="json"))
        return
    show_table(
        ("decisions", "CPU seconds", "decisions per second"),
        [(f"{size.rows:,}", f"{size.seconds:.2f}", f"{size.rows_per_s:,.0f}") for size in speed.growth],
    )
    say(
        f"{speed.speedup_over_rowwise:,.0f} times as fast as row by row with the bootstrap,"
        f" {speed.speedup_of_estimates:,.1f} times without; at most {speed.peak_mb:,.0f} MB."
    )
