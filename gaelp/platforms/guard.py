"""The parts of the door to money in one value, and how it alerts people and records violations."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Protocol

from gaelp.approvals import ApprovalPolicy, ApprovalStore, Trust
from gaelp.budget.kill_switch import KillSwitch
from gaelp.budget.ledger import AdAccount, Cap, CapKind, Ledger
from gaelp.budget.platform_budget import Overdelivery
from gaelp.budget.violations import Violation, ViolationStore
from gaelp.checks.raised import in_words
from gaelp.clock import account_day
from gaelp.content import ContentVerdict, Creative, ReviewQueue
from gaelp.errors import BadInput, GaelpError
from gaelp.money import Micros
from gaelp.observability.alerts import Alert, Dispatcher, Severity
from gaelp.platforms.platform import AdPlatform

__all__ = [
    "ALL_CAPS",
    "Authority",
    "CreativeJudge",
    "Guard",
    "on_record",
    "record_violation",
    "report_violation",
    "send_alert",
]

ALL_CAPS = (CapKind.CAMPAIGN_DAY, CapKind.CAMPAIGN, CapKind.ACCOUNT_DAY, CapKind.ACCOUNT, CapKind.TOTAL)
_SOURCE = "guarded"


def _pass(_step: str) -> None:
    """Do nothing; tests inject crashes here."""


class CreativeJudge(Protocol):
    """Judges creatives, such as a ContentChecker."""

    def check(self, creative: Creative) -> ContentVerdict:
        """The verdict on a creative."""
        ...


@dataclass(frozen=True, slots=True)
class Authority:
    """Who may approve; trusted keys are read again for each order, so that a revocation counts at once."""

    store: ApprovalStore
    policy: ApprovalPolicy
    trust: Callable[[], Trust]


@dataclass(frozen=True, slots=True)
class Guard:
    """Everything between an order and the platform, for one account.

    `day_cap_micros` is the account's cap for a day, as set in the ledger. A call without a trace `trace_within` after
    it was sent had no effect. Costs are final `final_after` the end of their day, and revised for `cost_days`. A bid
    under a mandate changes by at most `bid_change_percent` within an hour.

    The ledger's clock follows the platform's time: days, leases, hours and money rules. People's time, by which they
    sign, stop and are alerted, is that of the approvals.
    """

    platform: AdPlatform
    account: AdAccount
    terms: Overdelivery
    day_cap_micros: Micros
    ledger: Ledger
    switch: KillSwitch
    authority: Authority
    judge: CreativeJudge
    reviews: ReviewQueue
    violations: ViolationStore
    alerts: Dispatcher
    caps: tuple[CapKind, ...] = ALL_CAPS
    total: str = "all"
    trace_within: timedelta = timedelta(hours=1)
    final_after: timedelta = timedelta(days=3)
    cost_days: int = 30
    bid_change_percent: int = 50
    at_step: Callable[[str], None] = _pass

    def __post_init__(self) -> None:
        if not self.caps:
            raise BadInput("a guard without caps guards nothing: name the caps that have limits in the ledger")
        if self.trace_within <= timedelta(0) or not timedelta(0) <= self.final_after < timedelta(days=self.cost_days):
            raise BadInput(
                f"trace_within={self.trace_within}, final_after={self.final_after}, cost_days={self.cost_days};"
                " allowed: trace_within above 0, and final_after below cost_days"
            )
        if self.bid_change_percent <= 0:
            raise BadInput(f"bid_change_percent={self.bid_change_percent} lets no bid change: give 1 or more")

    def today(self) -> date:
        """The account's current day."""
        return account_day(self.ledger.clock.now(), self.account.time_zone)

    def wall_now(self) -> datetime:
        """People's time: signatures, alerts and violations have it."""
        return self.authority.store.clock.now()

    def caps_of(self, campaign: str) -> tuple[Cap, ...]:
        """Every cap that applies to a campaign."""
        subjects = {CapKind.TOTAL: self.total, CapKind.CAMPAIGN: campaign, CapKind.CAMPAIGN_DAY: campaign}
        return tuple(Cap(kind, subjects.get(kind, self.account.id)) for kind in self.caps)


def send_alert(
    guard: Guard, severity: Severity, *, scope: str, rule: str, what: str, lasting: bool = False
) -> str | None:
    """Alert people; return what went wrong with that instead of raising, so that it cannot hide the cause.

    `lasting` is for a problem that every pass finds again: it is repeated at growing intervals, and counted.
    """
    try:
        sent = guard.alerts.send(
            Alert(
                severity=severity,
                source=_SOURCE,
                key=f"{rule}/{scope}"[:200],
                title=f"{rule}: {scope}"[:200],
                body=what[:8000],
                at=guard.wall_now(),
            ),
            lasting=lasting,
        )
    except Exception as error:  # noqa: BLE001 - the caller is about to raise something more important
        return f"the alert about {rule} could not be sent ({in_words(error)})"
    return None if sent.outcome != "failed" else f"the alert about {rule} reached nobody ({sent.failed})"


def record_violation(
    guard: Guard, severity: Severity, *, scope: str, rule: str, what: str, once: bool = False
) -> str | None:
    """Record a violation; return what went wrong with that.

    `once` is for what every pass finds again: it is not recorded again while the same text is open.
    """
    try:
        violation = Violation(severity=severity, scope=scope, rule=rule, what=what[:4000], at=guard.wall_now())
        if not (once and on_record(guard, scope, rule, violation.what, open_only=True)):
            guard.violations.add(violation)
    except Exception as error:  # noqa: BLE001 - as above
        return f"the violation {rule} could not be recorded ({in_words(error)})"
    return None


def report_violation(guard: Guard, severity: Severity, *, scope: str, rule: str, what: str) -> str | None:
    """Record a violation and alert people; return what went wrong with either."""
    problems = (
        record_violation(guard, severity, scope=scope, rule=rule, what=what),
        send_alert(guard, severity, scope=scope, rule=rule, what=what),
    )
    return "; ".join(filter(None, problems)) or None


def on_record(guard: Guard, scope: str, rule: str, what: str, *, open_only: bool = False) -> bool:
    """Whether a violation with this text is recorded (resolved ones too unless `open_only`); False if unreadable."""
    try:
        recorded = guard.violations.list(scope=scope, open_only=open_only)
        return any((violation.rule, violation.what) == (rule, what[:4000]) for violation in recorded)
    except GaelpError:
        return False
