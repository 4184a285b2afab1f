"""`gaelp kill` stops all spending at once; `gaelp revive` lets it go on, with authority."""

import os
import pwd
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from gaelp.budget.latch import LATCH_NAME, Latch, plain_reason
from gaelp.cli.interruption import only_noted
from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, say_error, show_json, show_table, show_text
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
from gaelp.config.home import probable_home
from gaelp.config.settings import Settings
from gaelp.errors import BadInput, GaelpError, Refused

if TYPE_CHECKING:
    from gaelp.budget.kill_switch import KillSwitch, StopReport, StopState

__all__ = ["kill", "revive"]

_PATIENCE_SECONDS = 30.0
_GLANCE_SECONDS = 0.1
_BY_HAND = "Until that is mended, pause the campaigns on the platform by hand, now"
_NO_LEDGER_HERE = "No ledger was found here: where the books are elsewhere, their fence still stands."
# What no stop needs: it must not be what keeps a stop from the database and the platform.
_NEEDLESS = ("alerts", "api")


def kill(
    words: Annotated[list[str] | None, typer.Argument(metavar="[WHY]...", help="Why; kept with the stop.")] = None,
    reason: Annotated[str, typer.Option("--reason", help="The same as an option.")] = "",
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Stop all spending, now: latch file, fence in the ledger's database, pause on the platform.

    None waits for the others, and the latch stops this machine within a second. It ends with 0 only if every part is
    done (the pause where a platform is named), else with 1 and what to do by hand. `gaelp revive` undoes it, with a
    signed approval.

    **Example**: `gaelp kill cost per click is ten times what it was`
    """
    # No check of the home, no logs, no tidy start: nothing that is not needed may stand between this and the latch.
    by, reason = _user(), plain_reason(" ".join([*(words or ()), reason])) or "pulled by hand"
    with only_noted() as pressed:
        try:
            settings, no_alerts = _settings_to_stop_with(config, overrides or ())
            from gaelp.bootstrap import kill_switch  # noqa: PLC0415 - sqlalchemy takes its time

            switch = kill_switch(settings)
        except Exception as problem:  # noqa: BLE001 - whatever it is, the latch can do without
            _latch_alone(problem, by, reason, lambda: probable_home(config, overrides or ()))
        report = switch.begin(by=by, reason=reason)
        if report.is_trying:
            report = _waited(switch, report, pressed)
        try:
            _show_stop(report, as_json=as_json)
        finally:  # people are told, also where nobody reads the output
            _alert(settings, report, by, reason, no_alerts)
        if not report.complete:
            raise typer.Exit(1)


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
    from gaelp.bootstrap import kill_switch, should_have_books  # noqa: PLC0415 - sqlalchemy takes its time
    from gaelp.budget.stop_alerts import tell_released  # noqa: PLC0415 - as above

    settings = load_settings(config, overrides=overrides or ()).settings
    signature = signature_from(settings, key, reason, passphrase_file, trust_file)
    released = kill_switch(settings).release(lambda state: _require_approval(state, settings, signature))
    elsewhere = "" if should_have_books(settings) else f" {_NO_LEDGER_HERE}"
    _tell_problems(settings, lambda: tell_released(settings, released.stop_ids, f"{signature.reason}{elsewhere}"))
    if as_json:
        show_json({"stopped": False, "released": list(released.stop_ids)})
    elif released.is_stopped:
        show_text(
            f"Released: {', '.join(released.stop_ids)}. Campaigns that were paused stay so until they are enabled."
            f"{elsewhere}"
        )
    else:
        show_text("Nothing is stopped.")


def _settings_to_stop_with(config: str | None, overrides: Sequence[str]) -> tuple[Settings, str]:
    """The settings; where they cannot be used, those without what no stop needs, and the problem."""
    try:
        return load_settings(config, overrides=overrides).settings, ""
    except BadInput as problem:
        try:
            settings = load_settings(config, overrides=overrides, as_shipped=_NEEDLESS).settings
        except BadInput:
            raise problem from None
        return settings, str(problem)


def _waited(switch: "KillSwitch", first: "StopReport", pressed: Event) -> "StopReport":
    """How the stop ends; Ctrl-C ends the waiting for it, not the stop."""
    known = f"This machine is stopped ({first.stop_id})" if first.stopped else "NOT STOPPED yet"
    trying = " and ".join(part.name for part in first.parts if part.outcome == "still trying")
    say(f"{known}. Waiting up to {_PATIENCE_SECONDS:.0f} s for {trying} ...")
    report, until = first, time.monotonic() + _PATIENCE_SECONDS
    while report.is_trying and not pressed.is_set() and time.monotonic() < until:
        report = switch.wait(_GLANCE_SECONDS)
    return report


def _show_stop(report: "StopReport", *, as_json: bool) -> None:
    """What became of each part, and what is left to do; before the alerts, which may take their time."""
    from gaelp.budget.stop_words import shortfall  # noqa: PLC0415 - as it is loaded by now
    from gaelp.observability import mask, mask_text, register_secrets  # noqa: PLC0415 - structlog takes its time

    register_secrets(known_secrets())
    if as_json:
        show_json(mask(report.model_dump(mode="json")))
    else:
        show_table(("", "outcome", ""), [(part.name, part.outcome, mask_text(part.detail)) for part in report.parts])
    if not report.complete:
        say_error(mask_text(shortfall(report)))
    elif not as_json:
        show_text(f"Stopped ({report.stop_id}). Nothing is granted until the release of this stop is approved.")


def _alert(settings: Settings, report: "StopReport", by: str, reason: str, no_alerts: str) -> None:
    """Tell people, unless the settings say nothing of whom that can be used."""
    if no_alerts:
        say(f"Nobody is alerted, for the settings cannot be used as they are ({no_alerts}): tell people yourself.")
        return
    from gaelp.budget.stop_alerts import tell_stopped  # noqa: PLC0415 - after the stop, for it takes its time

    _tell_problems(settings, lambda: tell_stopped(settings, report, by=by, reason=reason))


def _latch_alone(problem: Exception, by: str, reason: str, find_home: Callable[[], Path]) -> NoReturn:
    """Settings that cannot be read must not keep anybody from stopping: the latch needs none but the folder."""
    from gaelp.budget.kill_switch import KillSwitch  # noqa: PLC0415 - sqlalchemy takes its time

    why = (str(problem) if isinstance(problem, GaelpError) else f"{type(problem).__name__}: {problem}").rstrip(".")
    try:
        home = find_home()
    except BadInput as no_home:
        raise GaelpError(f"NOT STOPPED: the settings cannot be read ({why}), and {no_home}. {_BY_HAND}") from problem
    report = KillSwitch(Latch(home / LATCH_NAME)).begin(by=by, reason=reason)
    if not report.stopped:
        trouble = report.parts[0].detail or report.parts[0].outcome
        raise GaelpError(f"NOT STOPPED: the settings cannot be read ({why}), and {trouble}. {_BY_HAND}") from problem
    raise GaelpError(
        f"only the latch of {home} is set ({report.stop_id}), for the settings cannot be read: {why}. Neither fence nor"
        " platform was reached, nor spenders that use another folder: mend the settings and repeat, or pause on the"
        " platform by hand"
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
