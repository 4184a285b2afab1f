"""`gaelp history plan`: how much log would settle gate 2."""

from contextlib import closing

import numpy as np
import typer

from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import show_json, show_paragraph, show_table
from gaelp.cli.startup import prepare
from gaelp.errors import BadInput
from gaelp.history.log_power import LogPlan, plan_log
from gaelp.history.logged_campaigns import read_logged
from gaelp.history.sealed_window import alpha_of_look
from gaelp.phases.history_judging import ALPHA
from gaelp.phases.history_source import history_of
from gaelp.storage.backends import build_store
from gaelp.storage.store import RowFilter

__all__ = ["app", "plan"]

app = typer.Typer(no_args_is_help=True, help="Logged campaigns: what they can show.")


@app.callback()
def _group() -> None:
    """Keep `plan` a command of its own."""


@app.command()
def plan(config: ConfigOption = None, overrides: SetOption = None, as_json: JsonOption = False) -> None:
    """Say how many weeks of a log like yours gate 2 needs, by how much the bids vary at random, and what that costs.

    - `gaelp history plan --config quick-test`

    Rows of a sealed window are not read. Errors are measured on the rest of the log.
    """
    settings = prepare(config, overrides).settings
    rows = history_of(settings)
    with closing(build_store(settings)) as store:
        logged = read_logged(store, RowFilter(sources=rows.sources), zone=rows.zone)
    if len(logged) == 0:
        raise BadInput(
            f"the store has no decision of {', '.join(rows.sources) or 'phase history'}: import a log (`gaelp data"
            " import`) or make one (`gaelp data synthesize`)"
        )
    planned = plan_log(
        logged,
        np.random.default_rng(settings.evaluation.seed),
        reach=settings.history.reach,
        confidence=1 - alpha_of_look(ALPHA),
    )
    if as_json:
        show_json(planned.model_dump(mode="json"))
        return
    _show(planned)


def _show(planned: LogPlan) -> None:
    show_paragraph(
        f"Measured on {planned.days} days of {planned.campaigns} campaigns whose bids vary with a log deviation of"
        f" {planned.own_spread:.2f}. Weeks of such a log in the sealed window until a true lift is shown four times of"
        f" five, for a policy that bids up to a factor {planned.reach:g} away from the logged one:"
    )
    lifts = tuple(f"+{lift:.0%}" for lift in planned.lifts)
    show_table(
        ("log deviation of bids", *lifts, "costs of value per dollar"),
        [
            (f"{each.bid_log_sd:.1f}", *(_weeks(weeks) for weeks in each.weeks), f"{each.cost:.0%}")
            for each in planned.spreads
        ],
    )
    show_paragraph("With twice the campaigns half the weeks are enough.")


def _weeks(weeks: float) -> str:
    return "over 200" if weeks > 200 else f"{max(weeks, 1):.0f}"
