"""`gaelp kill` stops all spending at once; `gaelp revive` lets it go on, with authority."""

import os
import pwd
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gaelp.cli.keys import PassphraseFileOption, TrustOption, load_trusted, open_key
from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_table, show_text
from gaelp.clock import SystemClock
from gaelp.config import load_settings
from gaelp.config.places import absolute
from gaelp.errors import BadInput, Refused, WaitingForPerson

if TYPE_CHECKING:
    from gaelp.approvals import SigningKey, Trust
    from gaelp.budget.kill_switch import KillSwitch, StopState

__all__ = ["kill", "kill_switch_below", "release", "revive"]

_PATIENCE_SECONDS = 10.0
_APPROVAL_HOLDS = timedelta(hours=8)


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


def revive(
    key: Annotated[
        Path | None, typer.Option("--key", help="Approve the release with this private key.", show_default=False)
    ] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why it may go on; signed with the approval.")] = "",
    passphrase_file: PassphraseFileOption = None,
    trust_file: TrustOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let spending go on: everyone who approves runs this with their key, and the last one needed releases the stop.

    **Examples**

    - `gaelp revive` shows which stop is in force and what its release needs

    - `gaelp revive --key ~/.config/gaelp/keys/ann.key --reason "the bid was mended"`

    An approval is for the stop in force alone: a stop that is made meanwhile needs approvals of its own. What is paused
    on the platform stays paused.
    """
    home = absolute(load_settings(config, overrides=overrides or ()).settings.home)
    signing = None if key is None else (open_key(key, passphrase_file), reason)
    trusted = load_trusted(trust_file, home)
    released = release(home, lambda state: _require_approval(state, home, trusted, signing))
    if as_json:
        show_json({"stopped": False, "released": list(released.stop_ids)})
    elif released.is_stopped:
        show_text(
            f"Released: {', '.join(released.stop_ids)}. Campaigns that were paused stay so until they are enabled."
        )
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


def _require_approval(
    state: "StopState", home: Path, trusted: "Trust", signing: "tuple[SigningKey, str] | None"
) -> None:
    """Raise unless the release of exactly these stops is approved; sign it first if there is a key to sign with."""
    from gaelp.approvals import Action, ApprovalStore, database_path, load_policy, sign  # noqa: PLC0415 - takes its time

    clock, policy, stops = SystemClock(), load_policy("live"), ", ".join(state.stop_ids)
    store = ApprovalStore(database_path(home), clock)
    # Always as if real money could move: the switch does not know what it has stopped. Nobody in person is the one who
    # asks, so that everyone may approve and all of them sign the same action.
    action = Action(kind="revive", run_id="kill-switch", requester="kill-switch", subject=stops)
    store.request(action)
    if signing is not None:
        key, reason = signing
        if not reason.strip():
            raise BadInput("--reason is empty: say why it may go on, for that is what you sign")
        approval = sign(action, key, decision="approve", reason=reason, at=clock.now(), valid_for=_APPROVAL_HOLDS)
        store.submit(approval, policy, trusted)
    if store.state(action, policy, trusted) in ("waiting", "escalate"):
        raise WaitingForPerson(_what_is_needed(state, len(store.approvals(action)), policy.quorum))
    try:
        used = store.consume(action, policy, trusted, consumer=f"revive {stops}")
        used.check(action, clock.now())
    except Refused as refusal:
        refusal.add_note("To ask anew, pull the kill switch again: its new stop can be approved.")
        raise


def _what_is_needed(state: "StopState", given: int, quorum: int) -> str:
    stops = [record for record in (state.latch, state.fence) if record is not None]
    told = "; ".join(sorted({f"{one.id} by {one.by or 'unknown'} at {one.at}: {one.reason}" for one in stops}))
    return (
        f"stopped ({told}): releasing it needs a signed approval of exactly {', '.join(state.stop_ids)} by {quorum}"
        f" people, {given} have signed. Each runs `gaelp revive --key FILE --reason WHY`"
    )


def _user() -> str:
    """Who is at the keyboard, as the machine knows it."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user {os.getuid()}"
