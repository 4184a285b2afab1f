"""`gaelp kill` stops all spending at once; `gaelp revive` lets it go on, with authority."""

import os
import pwd
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_table, show_text
from gaelp.cli.signing import (
    KeyOption,
    PassphraseFileOption,
    ReasonOption,
    Signature,
    TrustOption,
    require_signed,
    signature_from,
)
from gaelp.config import known_secrets, load_settings
from gaelp.config.home import usual_home
from gaelp.config.settings import Settings
from gaelp.errors import BadInput, GaelpError, Refused

if TYPE_CHECKING:
    from gaelp.budget.kill_switch import StopState

__all__ = ["kill", "revive"]

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
    try:
        settings = load_settings(config, overrides=overrides or ()).settings
    except BadInput as problem:
        _latch_alone(problem, reason)
    from gaelp.bootstrap import kill_switch  # noqa: PLC0415 - sqlalchemy takes its time

    switch = kill_switch(settings)
    report = switch.stop(by=_user(), reason=reason)
    if any(part.outcome == "still trying" for part in report.parts):
        say(f"Stopped. Waiting up to {_PATIENCE_SECONDS:.0f} s for the rest ...")
    parts = switch.wait(_PATIENCE_SECONDS)
    from gaelp.budget.stop_alerts import tell_stopped  # noqa: PLC0415 - after the stop, for it takes its time

    by = _user()
    _tell_problems(settings, lambda: tell_stopped(settings, report.stop_id, parts, by=by, reason=reason))
    if as_json:
        told = [part.model_dump() for part in parts]
        show_json({"stopped": True, "stop_id": report.stop_id, "seconds": report.seconds, "parts": told})
        return
    show_table(("", "outcome", ""), [(part.name, part.outcome, part.detail) for part in parts])
    show_text(f"Stopped ({report.stop_id}). Nothing is granted until the release of this stop is approved.")


def revive(
    key: KeyOption = None,
    reason: ReasonOption = "",
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
    from gaelp.bootstrap import kill_switch  # noqa: PLC0415 - sqlalchemy takes its time
    from gaelp.budget.stop_alerts import tell_released  # noqa: PLC0415 - as above

    settings = load_settings(config, overrides=overrides or ()).settings
    signature = signature_from(settings, key, reason, passphrase_file, trust_file)
    released = kill_switch(settings).release(lambda state: _require_approval(state, settings, signature))
    _tell_problems(settings, lambda: tell_released(settings, released.stop_ids, signature.reason))
    if as_json:
        show_json({"stopped": False, "released": list(released.stop_ids)})
    elif released.is_stopped:
        show_text(
            f"Released: {', '.join(released.stop_ids)}. Campaigns that were paused stay so until they are enabled."
        )
    else:
        show_text("Nothing is stopped.")


def _latch_alone(problem: BadInput, reason: str) -> NoReturn:
    """Settings that cannot be read must not keep anybody from stopping: the latch needs none but the folder."""
    from gaelp.budget.kill_switch import KillSwitch  # noqa: PLC0415 - sqlalchemy takes its time
    from gaelp.budget.latch import LATCH_NAME, Latch  # noqa: PLC0415 - as above

    home = usual_home()
    if not home.is_dir():
        raise GaelpError(
            f"NOT STOPPED: the settings cannot be read ({problem}) and there is no {home}: set GAELP_HOME to the folder"
            " that the spenders use, or pause the campaigns on the platform by hand, now"
        ) from problem
    report = KillSwitch(Latch(home / LATCH_NAME)).stop(by=_user(), reason=reason)
    raise GaelpError(
        f"stopped by the latch of {home} alone ({report.stop_id}), for the settings cannot be read: {problem}. Neither"
        " fence nor platform was reached: mend the settings and repeat, or pause on the platform by hand"
    ) from problem


def _require_approval(state: "StopState", settings: Settings, signature: Signature) -> None:
    """Raise unless the release of exactly these stops is approved; sign it first if there is a key to sign with."""
    from gaelp.approvals import Action, load_policy  # noqa: PLC0415 - cryptography takes its time

    # Always as if real money could move: the switch does not know what it has stopped. Nobody in person is the one who
    # asks, so that everyone may approve and all of them sign the same action.
    policy, stops = load_policy("live"), ", ".join(state.stop_ids)
    action = Action(kind="revive", run_id="kill-switch", requester="kill-switch", subject=stops)
    try:
        require_signed(
            settings, policy, lambda _: action, signature, lambda given: _what_is_needed(state, given, policy.quorum)
        )
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


def _tell_problems(settings: Settings, tell: Callable[[], tuple[str, ...]]) -> None:
    """Alert people, with the log set up for it; what goes wrong is said and changes nothing."""
    from gaelp.observability import configure  # noqa: PLC0415 - structlog takes its time

    configure(level=settings.logging.level, format=settings.logging.format, secrets=known_secrets())
    for problem in tell():
        say(f"{problem[0].upper()}{problem[1:]}.")


def _user() -> str:
    """Who is at the keyboard, as the machine knows it."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user {os.getuid()}"
