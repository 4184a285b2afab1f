"""`gaelp bench ledger`: how many transfers the ledger takes on this machine."""

from typing import Annotated

import typer

from gaelp.bench.ledger_speed import LedgerFigures, measure_ledger
from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_table
from gaelp.cli.startup import prepare
from gaelp.config.places import absolute

__all__ = ["ledger"]


def ledger(
    config: ConfigOption = None,
    overrides: SetOption = None,
    transfers: Annotated[
        int, typer.Option("--transfers", min=8, max=1_000_000, help="How many on each database, for each figure.")
    ] = 2000,
    as_json: JsonOption = False,
) -> None:
    """Two-phase transfers per second under four caps each: SQLite and Postgres, one process and eight.

    SQLite is on the disk of the home folder and waits for it at every commit. Postgres is measured if the extra `dev`
    is installed, which brings one. The ledger of each run has to balance.

    - `gaelp bench ledger --json`

    - `gaelp bench ledger --transfers 200`
    """
    home = absolute(prepare(config, overrides).settings.home)
    say(f"Timing {transfers} transfers on each database below {home} ...")
    speed = measure_ledger(home, transfers=transfers, report=say)
    if as_json:
        show_json(speed.model_dump(mode="json"))
        return
    measured: dict[str, LedgerFigures] = {"SQLite, 1 process": speed, "SQLite, 8 processes": speed.eight_processes}
    if speed.postgres is not None:
        measured |= {"Postgres, 1 process": speed.postgres, "Postgres, 8 processes": speed.postgres.eight_processes}
    columns = ("two-phase transfers, 4 caps", "per second", "p50 ms", "p99 ms", "max ms")
    rows = [
        (
            name,
            f"{figures.transfers_per_s:,.0f}",
            f"{figures.p50_ms:.2f}",
            f"{figures.p99_ms:.2f}",
            f"{figures.max_ms:.1f}",
        )
        for name, figures in measured.items()
    ]
    show_table(columns, rows)
    say(f"The disk took {speed.disk_syncs_per_s:,.0f} synced writes per second; a transfer needs two of them.")
