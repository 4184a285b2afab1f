"""`gaelp kill`: stop all spending at once."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from gaelp.budget.latch import LATCH_NAME, Latch, plain_reason
from gaelp.cli.interruption import only_noted
from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say
from gaelp.config import load_settings
from gaelp.config.machine_user import machine_user
from gaelp.config.probable import probable_home
from gaelp.config.settings import Settings
from gaelp.errors import BadInput, GaelpError

if TYPE_CHECKING:
    from gaelp.budget.kill_switch import KillSwitch, StopReport

__all__ = ["kill"]

_PATIENCE_SECONDS = 30.0
_GLANCE_SECONDS = 0.1
_BY_HAND = "Until that is fixed, pause the campaigns on the platform by hand, now"
# Settings that no stop needs: an error in them must not keep a stop from the database and the platform.
_NEEDLESS = ("alerts", "api")


def kill(
    words: Annotated[list[str] | None, typer.Argument(metavar="[WHY]...", help="Why; kept with the stop.")] = None,
    reason: Annotated[str, typer.Option("--reason", help="The same as an option.")] = "",
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Stop all spending, now: latch file, fence in the ledger's database, pause on the platform.

    None waits for the others, and the latch stops this machine within a second. Exits 0 only if every part is done
    (the pause, if a platform is named), otherwise 1, with what to do by hand. `gaelp revive` releases the stop, with
    signed approvals.

    **Example**: `gaelp kill cost per click is ten times what it was`
    """
    # No check of the home, no logs, no startup: nothing unneeded may delay the latch.
    by, reason = machine_user(), plain_reason(" ".join([*(words or ()), reason])) or "pulled by hand"
    with only_noted() as pressed:
        try:
            settings, no_alerts = _settings_to_stop_with(config, overrides or ())
            from gaelp.bootstrap import kill_switch  # noqa: PLC0415 - importing sqlalchemy takes long

            switch = kill_switch(settings)
        except Exception as problem:  # noqa: BLE001 - on any error, the latch still works
            _latch_alone(problem, by, reason, lambda: probable_home(config, overrides or ()))
        report = switch.begin(by=by, reason=reason)
        if report.is_trying:
            report = _waited(switch, report, pressed)
        from gaelp.cli.stop_report import report_stop  # noqa: PLC0415 - after the stop, because the import takes long

        report_stop(settings, report, by=by, reason=reason, no_alerts=no_alerts, as_json=as_json)
        if not report.complete:
            raise typer.Exit(1)


def _settings_to_stop_with(config: str | None, overrides: Sequence[str]) -> tuple[Settings, str]:
    """The settings; if they are invalid, those without the parts that no stop needs, and the problem."""
    try:
        return load_settings(config, overrides=overrides).settings, ""
    except BadInput as problem:
        try:
            settings = load_settings(config, overrides=overrides, as_shipped=_NEEDLESS).settings
        except BadInput:
            raise problem from None
        return settings, str(problem)


def _waited(switch: "KillSwitch", first: "StopReport", pressed: Event) -> "StopReport":
    """Wait for the stop to finish; Ctrl-C ends the waiting, not the stop."""
    known = f"This machine is stopped ({first.stop_id})" if first.stopped else "NOT STOPPED yet"
    trying = " and ".join(part.name for part in first.parts if part.outcome == "still trying")
    say(f"{known}. Waiting up to {_PATIENCE_SECONDS:.0f} s for {trying} ...")
    report, until = first, time.monotonic() + _PATIENCE_SECONDS
    while report.is_trying and not pressed.is_set() and time.monotonic() < until:
        report = switch.wait(_GLANCE_SECONDS)
    return report


def _latch_alone(problem: Exception, by: str, reason: str, find_home: Callable[[], Path]) -> NoReturn:
    """Stop without readable settings: the latch needs only the home folder."""
    from gaelp.budget.kill_switch import KillSwitch  # noqa: PLC0415 - importing sqlalchemy takes long

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
        f"only the latch of {home} is set ({report.stop_id}), because the settings cannot be read: {why}. Neither"
        " fence nor platform was reached, nor spenders that use another folder: fix the settings and repeat, or pause"
        " on the platform by hand"
    ) from problem
