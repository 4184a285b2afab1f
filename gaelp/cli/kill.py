"""`gaelp kill` stops all spending at once; `gaelp revive` lets it go on, with authority."""

import os
import pwd
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_table, show_text
from gaelp.config import load_settings
from gaelp.config.places import absolute
from gaelp.errors import WaitingForPerson

if TYPE_CHECKING:
    from gaelp.budget.kill_switch import KillSwitch, StopState

__all__ = ["kill", "kill_switch_below", "release", "revive"]

_PATIENCE_SECONDS = 10.0


def kill(
    reason: Annotated[str, typer.Option("--reason", help="Why; kept with the stop.")] = "pulled by hand",
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Stop all spending, now: latch file, fence in the ledger's database, pause on the platform.

    Any one of them is enough, and none waits for the others. It takes effect within a second. `gaelp revive` undoes it,
    with a signed approval.

    **Example**: `gaelp kill --reason "cost per click is ten times what it was"`
    """
    # No check of the home, no logs, no tidy start: nothing that is not needed may stand between this and the latch.
    switch = kill_switch_below(absolute(load_settings(config, overrides=overrides or ()).settings.home))
    report = switch.stop(by=_user(), reason=reason)
    if any(part.outcome == "still trying" for part in report.parts):
        say(f"Stopped. Waiting up to {_PATIENCE_SECONDS:.0f} s for the rest ...")
    parts = switch.wait(_PATIENCE_SECONDS)
    if as_json:
        told = [part.model_dump() for part in parts]
        show_json({"stopped": True, "stop_id": report.stop_id, "seconds": report.seconds, "parts": told})
        return
    show_table(("", "outcome", ""), [(part.name, part.outcome, part.detail) for part in parts])
    show_text(f"Stopped ({report.stop_id}). Nothing is granted until the release of this stop is approved.")


def revive(config: ConfigOption = None, overrides: SetOption = None, as_json: JsonOption = False) -> None:
    """Show which stop is in force and what its release needs.

    **Example**: `gaelp revive`
    """
    home = absolute(load_settings(config, overrides=overrides or ()).settings.home)
    released = release(home, _needs_approval)
    if as_json:
        show_json({"stopped": False, "released": list(released.stop_ids)})
    else:
        show_text("Nothing is stopped.")


def release(home: Path, authorise: "Callable[[StopState], None]") -> "StopState":
    """Release the stop in force if `authorise`, which is given it, does not raise."""
    return kill_switch_below(home).release(authorise)


def kill_switch_below(home: Path) -> "KillSwitch":
    """The kill switch of this home folder; the ledger is opened only when its turn comes."""
    from gaelp.budget.kill_switch import KillSwitch, fence_at  # noqa: PLC0415 - sqlalchemy takes its time
    from gaelp.budget.latch import LATCH_NAME, Latch  # noqa: PLC0415 - as above
    from gaelp.budget.ledger import LEDGER_NAME, open_ledger  # noqa: PLC0415 - as above

    latch, place = Latch(home / LATCH_NAME), home / LEDGER_NAME
    return KillSwitch(latch, fence=fence_at(lambda: open_ledger(place, latch)) if place.exists() else None)


def _needs_approval(state: "StopState") -> None:
    stops = [record for record in (state.latch, state.fence) if record is not None]
    told = "; ".join(sorted({f"{one.id} by {one.by or 'unknown'} at {one.at}: {one.reason}" for one in stops}))
    raise WaitingForPerson(
        f"stopped ({told}): releasing it needs a signed approval of exactly {', '.join(state.stop_ids)}"
    )


def _user() -> str:
    """Who is at the keyboard, as the machine knows it."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user {os.getuid()}"
