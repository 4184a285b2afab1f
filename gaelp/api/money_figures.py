"""Read the money figures from the ledger: what Prometheus is shown, as of one reading."""

from contextlib import closing

from gaelp.bootstrap import kill_switch, open_books, should_have_books, violations
from gaelp.budget.ledger import CapKind, CapStatus, overview
from gaelp.budget.violations import STORE as VIOLATIONS
from gaelp.budget.violations import violations_place
from gaelp.clock import Clock
from gaelp.config.places import absolute
from gaelp.config.settings import Settings
from gaelp.database import has_store
from gaelp.errors import GaelpError
from gaelp.observability import get_logger
from gaelp.observability.alerts import Severity
from gaelp.observability.metrics import CapFigures, KillState, MoneyFigures

__all__ = ["read_figures"]

log = get_logger(__name__)


def read_figures(settings: Settings, clock: Clock) -> MoneyFigures | None:
    """The figures of these settings; nothing where the ledger cannot be read, which counts as stopped.

    Before there is a ledger there are no caps, and before the first violation there is no record of them. A ledger that
    has to be there and is not, or a home that is gone, is something else.
    """
    try:
        _check_home(settings)
        opened, resolved = _violations(settings)
        return MoneyFigures(
            caps=_caps(settings, clock),
            open_violations=opened,
            resolved_violations=resolved,
            kill_state=_kill_state(settings),
            read_at=clock.now(),
        )
    except (GaelpError, OSError, ValueError) as problem:
        log.warning("the money figures cannot be read", problem=f"{type(problem).__name__}: {problem}")
        return None


def _check_home(settings: Settings) -> None:
    home = absolute(settings.home)
    if not home.is_dir():
        raise GaelpError(f"there is no folder {home}: bring it back, or set GAELP_HOME to the one that is used")


def _caps(settings: Settings, clock: Clock) -> tuple[CapFigures, ...]:
    if not should_have_books(settings):
        return ()
    with closing(open_books(settings, clock)) as ledger:
        buckets = overview(ledger).caps
    # A cap that counts days has a bucket for each of them: the newest is the one that money goes out under now.
    # Episodes come and go by the thousand, and Prometheus keeps every name it has ever seen.
    lasting = (bucket for bucket in buckets if bucket.kind != CapKind.EPISODE)
    newest = {(cap.kind, cap.subject): cap for cap in sorted(lasting, key=lambda cap: cap.day)}
    return tuple(_shown(newest[name]) for name in sorted(newest))


def _shown(bucket: CapStatus) -> CapFigures:
    return CapFigures(
        kind=bucket.kind,
        scope=bucket.subject,
        limit_micros=bucket.limit_micros,
        reserved_micros=bucket.reserved_micros,
        posted_micros=bucket.posted_micros,
    )


def _violations(settings: Settings) -> tuple[dict[Severity, int], dict[Severity, int]]:
    """How many are open and how many resolved, by severity."""
    # Opening the record would make its file, and looking must not leave anything behind.
    there = has_store(violations_place(settings), VIOLATIONS)
    counted = violations(settings).counts() if there else {}
    opened = {severity: number for (severity, is_open), number in counted.items() if is_open}
    resolved = {severity: number for (severity, is_open), number in counted.items() if not is_open}
    return opened, resolved


def _kill_state(settings: Settings) -> KillState:
    try:
        return "stopped" if kill_switch(settings).state().is_stopped else "running"
    except Exception as problem:  # noqa: BLE001 - whatever keeps us from knowing, it is then not known
        log.warning("the kill switch cannot be read", problem=f"{type(problem).__name__}: {problem}")
        return "unreadable"
