"""What the door to money is made of: the parts that are asked, in one value, and the words for what they refuse."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
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

__all__ = ["ALL_CAPS", "Authority", "CreativeJudge", "Guard", "on_record", "record_violation", "tell", "tell_violation"]

ALL_CAPS = (CapKind.CAMPAIGN_DAY, CapKind.CAMPAIGN, CapKind.ACCOUNT_DAY, CapKind.ACCOUNT, CapKind.TOTAL)
_SOURCE = "guarded"


def _pass(_step: str) -> None:
    """Nothing happens between two steps unless a test says so."""


class CreativeJudge(Protocol):
    """Whoever judges creatives, such as a ContentChecker."""

    def check(self, creative: Creative) -> ContentVerdict:
        """The verdict on one creative."""
        ...


@dataclass(frozen=True, slots=True)
class Authority:
    """Who may approve; the trusted keys are read anew for each order, so that a key revoked a moment ago counts."""

    store: ApprovalStore
    policy: ApprovalPolicy
    trust: Callable[[], Trust]


@dataclass(frozen=True, slots=True)
class Guard:
    """Everything between a wish and the platform, for one account.

    `day_cap_micros` is the account's cap for a day, as it is set in the ledger. A call that has left no trace
    `trace_within` after it was sent has had no effect; costs are booked as final `final_after` a day has ended,
    and revised for `cost_days`.
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
    at_step: Callable[[str], None] = _pass

    def __post_init__(self) -> None:
        if not self.caps:
            raise BadInput("a guard without caps guards nothing: name those that the ledger has limits for")
        if self.trace_within <= timedelta(0) or not timedelta(0) <= self.final_after < timedelta(days=self.cost_days):
            raise BadInput(
                f"trace_within={self.trace_within}, final_after={self.final_after}, cost_days={self.cost_days};"
                " allowed: a positive time for traces, and costs that are final before they are no longer looked at"
            )

    def today(self) -> date:
        """The account's day."""
        return account_day(self.ledger.clock.now(), self.account.time_zone)

    def caps_of(self, campaign: str) -> tuple[Cap, ...]:
        """Every cap that counts for a campaign."""
        subjects = {CapKind.TOTAL: self.total, CapKind.CAMPAIGN: campaign, CapKind.CAMPAIGN_DAY: campaign}
        return tuple(Cap(kind, subjects.get(kind, self.account.id)) for kind in self.caps)


def tell(guard: Guard, severity: Severity, *, scope: str, rule: str, what: str, lasting: bool = False) -> str | None:
    """Alert somebody; the answer is what went wrong with that, which must not hide what it was about.

    `lasting` is for a trouble that is seen at every look: it is repeated at growing intervals, and counted.
    """
    try:
        sent = guard.alerts.send(
            Alert(
                severity=severity,
                source=_SOURCE,
                key=f"{rule}/{scope}"[:200],
                title=f"{rule}: {scope}"[:200],
                body=what[:8000],
                at=guard.ledger.clock.now(),
            ),
            lasting=lasting,
        )
    except Exception as error:  # noqa: BLE001 - whatever it is, the caller is about to raise something that matters more
        return f"the alert about {rule} could not be sent ({in_words(error)})"
    return None if sent.outcome != "failed" else f"the alert about {rule} reached nobody ({sent.failed})"


def record_violation(
    guard: Guard, severity: Severity, *, scope: str, rule: str, what: str, once: bool = False
) -> str | None:
    """Put a violation on record; the answer is what went wrong with that.

    `once` is for what is looked at again and again: the very same words are not recorded anew while they stand open.
    """
    try:
        found = Violation(severity=severity, scope=scope, rule=rule, what=what[:4000], at=guard.ledger.clock.now())
        if not (once and on_record(guard, scope, rule, found.what, open_only=True)):
            guard.violations.add(found)
    except Exception as error:  # noqa: BLE001 - as above
        return f"the violation {rule} could not be recorded ({in_words(error)})"
    return None


def tell_violation(guard: Guard, severity: Severity, *, scope: str, rule: str, what: str) -> str | None:
    """Put a violation on record and alert somebody; the answer is what went wrong with either."""
    problems = (
        record_violation(guard, severity, scope=scope, rule=rule, what=what),
        tell(guard, severity, scope=scope, rule=rule, what=what),
    )
    return "; ".join(filter(None, problems)) or None


def on_record(guard: Guard, scope: str, rule: str, what: str, *, open_only: bool = False) -> bool:
    """Whether a violation with these words is on record, settled ones too unless `open_only`; not if unreadable."""
    try:
        recorded = guard.violations.list(scope=scope, open_only=open_only)
        return any((one.rule, one.what) == (rule, what[:4000]) for one in recorded)
    except GaelpError:
        return False
