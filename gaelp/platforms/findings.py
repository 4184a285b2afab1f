"""Pause campaigns that must not run: first all are paused, then the reasons are recorded, then people are alerted."""

from collections.abc import Sequence
from dataclasses import dataclass

from gaelp.observability.alert import Severity
from gaelp.platforms.guard import Guard, record_violation, send_alert
from gaelp.platforms.pausing import pause_each
from gaelp.platforms.platform import CallResult, Done

__all__ = ["Paused", "ReconcileFinding", "alert_paused", "pause_and_alert", "pause_and_record"]

_PAUSE_FAILED = "pause-failed"


@dataclass(frozen=True, slots=True)
class ReconcileFinding:
    """Why a campaign must not run.

    `violation` is its severity, None if it is no violation. `alert_scope` replaces the campaign in the alert's key if
    each case needs its own alert.
    """

    campaign: str
    rule: str
    why: str
    violation: Severity | None = "critical"
    alert_scope: str = ""


@dataclass(frozen=True, slots=True)
class Paused:
    """The result of a pause."""

    finding: ReconcileFinding
    outcome: CallResult
    unrecorded: str = ""  # what went wrong with recording it

    @property
    def is_paused(self) -> bool:
        """Whether the platform has confirmed it."""
        return isinstance(self.outcome, Done)

    @property
    def what(self) -> str:
        """Why it had to be paused, and whether it was."""
        if self.is_paused:
            return f"{self.finding.why}, so it was paused"
        failed = f"THE PAUSE DID NOT SUCCEED ({self.outcome}): pause it on the platform by hand, now"
        return f"{self.finding.why}; {failed}"


def pause_and_record(guard: Guard, findings: Sequence[ReconcileFinding]) -> list[Paused]:
    """Pause all of them in parallel, then record why; alerts come later, because they may take long."""
    outcomes = pause_each(guard.platform, tuple(dict.fromkeys(finding.campaign for finding in findings)))
    return [_recorded(guard, Paused(finding, outcomes[finding.campaign])) for finding in findings]


def alert_paused(guard: Guard, paused: Paused) -> str:
    """Alert people about a pause; return its description, and what went wrong with the alert.

    A pause that keeps failing is one alert, repeated at growing intervals until somebody acknowledges it.
    """
    finding, is_paused = paused.finding, paused.is_paused
    rule, scope = finding.rule, finding.alert_scope or finding.campaign
    if not is_paused:
        rule, scope = _PAUSE_FAILED, finding.campaign
    unsent = send_alert(guard, "critical", scope=scope, rule=rule, what=paused.what, lasting=not is_paused)
    return "; ".join(filter(None, [paused.what, paused.unrecorded, unsent]))


def pause_and_alert(guard: Guard, finding: ReconcileFinding) -> str:
    """Pause a campaign, record why and alert people; return the description."""
    [paused] = pause_and_record(guard, [finding])
    return alert_paused(guard, paused)


def _recorded(guard: Guard, paused: Paused) -> Paused:
    finding = paused.finding
    if finding.violation is None:
        return paused
    # Once it is paused, every pass uses the same text, so that the violation is recorded once.
    severity, what = (finding.violation, finding.why) if paused.is_paused else ("critical", paused.what)
    problem = record_violation(guard, severity, scope=finding.campaign, rule=finding.rule, what=what, once=True)
    return Paused(finding, paused.outcome, problem or "")
