"""`gaelp data retention` and `gaelp data hold`: what is deleted by age, and what must stay."""

from contextlib import closing
from typing import Annotated

import typer

from gaelp.bootstrap import open_store
from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_table, show_text
from gaelp.cli.startup import prepare_reading
from gaelp.clock import SystemClock
from gaelp.errors import BadInput
from gaelp.storage.retention import apply_retention, plan_retention
from gaelp.types import Phase

__all__ = ["hold", "retention"]


def retention(
    apply: Annotated[bool, typer.Option("--apply", help="Delete; without it, only show what would be.")] = False,
    phase: Annotated[
        list[Phase] | None, typer.Option("--phase", help="Of which phases; repeatable.", show_default="simulation")
    ] = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete raw trajectories that are older than `storage.raw_retention_days`; what is on legal hold stays.

    - `gaelp data retention`: show what would be deleted

    - `gaelp data retention --apply`

    Only decisions and auctions are deleted; figures of episodes, clicks, conversions, spend and reports stay.
    """
    settings = prepare_reading(config, overrides).settings
    days = settings.storage.raw_retention_days
    with closing(open_store(settings)) as store:
        plan = plan_retention(store, SystemClock().now(), days, phase or (Phase.SIMULATION,))
        deleted = apply_retention(store, plan) if apply else 0
    if as_json:
        show_json({**plan.model_dump(mode="json"), "days": days, "applied": apply, "deleted": deleted})
        return
    what = f"{', '.join(plan.tables)} of phase {', '.join(plan.phases)} from before {plan.before}"
    held = f"; {plan.held_rows:,} more stay on legal hold" if plan.held_rows else ""
    if apply:
        show_text(f"Deleted {deleted:,} rows: {what}{held}.")
    else:
        show_text(f"{plan.rows:,} rows ({plan.bytes / 1e6:,.1f} MB) would be deleted: {what}{held}.")
        say("Nothing was deleted; --apply deletes.")


def hold(
    source: Annotated[str | None, typer.Argument(help="The run or import.", show_default="list the holds")] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Why it must be kept, such as a case number.")] = None,
    release: Annotated[bool, typer.Option("--release", help="End the hold.")] = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Keep everything that a run or import stored, whatever its age, until the hold is released.

    - `gaelp data hold 20261116-020641-7f3a9c --reason "case 2026-17"`

    - `gaelp data hold 20261116-020641-7f3a9c --release`

    - `gaelp data hold`: list the holds
    """
    if source is None and (reason or release):
        raise BadInput("--reason and --release need the name of a run or import: put it first")
    if source is not None and release == (reason is not None):
        raise BadInput("a hold needs either --reason TEXT, or --release to end it")
    settings = prepare_reading(config, overrides).settings
    with closing(open_store(settings)) as store:
        if source is not None and release:
            store.release_hold(source)
        elif source is not None and reason is not None:
            store.hold(source, reason)
        holds = dict(sorted(store.holds().items()))
    if as_json:
        show_json({"holds": holds})
    else:
        show_table(("source on hold", "reason"), list(holds.items()))
