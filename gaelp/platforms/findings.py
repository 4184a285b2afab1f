"""Campaigns that must stand still: all are paused first, then it is put on record why, and then people are told."""

from collections.abc import Sequence
from dataclasses import dataclass

from gaelp.observability.alert import Severity
from gaelp.platforms.guard import Guard, record_violation, tell
from gaelp.platforms.pausing import pause_each
from gaelp.platforms.platform import CallResult, Done

__all__ = ["Paused", "ReconcileFinding", "pause_and_record", "pause_and_tell", "tell_paused"]

_PAUSE_FAILED = "pause-failed"


@dataclass(frozen=True, slots=True)
class ReconcileFinding:
    """Why a campaign must not go on.

    `violation` is how bad that is, nothing if it is none; `told_of` stands in the alert's key for the campaign where
    each case is to be told.
    """

    campaign: str
    rule: str
    why: str
    violation: Severity | None = "critical"
    told_of: str = ""


@dataclass(frozen=True, slots=True)
class Paused:
    """What became of a pause: whether the campaign stands still, and all of it in words."""

    finding: ReconcileFinding
    outcome: CallResult
    unrecorded: str = ""  # what went wrong with putting it on record

    @property
    def stands_still(self) -> bool:
        """Whether the platform has said so."""
        return isinstance(self.outcome, Done)

    @property
    def what(self) -> str:
        """Why it was to be paused, and whether it was."""
        if self.stands_still:
            return f"{self.finding.why}, so it was paused"
        failed = f"THE PAUSE DID NOT SUCCEED ({self.outcome}): pause it on the platform by hand, now"
        return f"{self.finding.why}; {failed}"


def pause_and_record(guard: Guard, findings: Sequence[ReconcileFinding]) -> list[Paused]:
    """Pause all of them side by side, then put on record why; nobody is told yet, for that may take its time."""
    outcomes = pause_each(guard.platform, tuple(dict.fromkeys(one.campaign for one in findings)))
    return [_recorded(guard, Paused(one, outcomes[one.campaign])) for one in findings]


def tell_paused(guard: Guard, paused: Paused) -> str:
    """Alert people about a pause; returns all of it in words, and what went wrong with alerting.

    One that fails at every look is one alert, repeated at growing intervals while nobody has answered.
    """
    found, still = paused.finding, paused.stands_still
    rule, scope = (found.rule, found.told_of or found.campaign) if still else (_PAUSE_FAILED, found.campaign)
    untold = tell(guard, "critical", scope=scope, rule=rule, what=paused.what, lasting=not still)
    return "; ".join(filter(None, [paused.what, paused.unrecorded, untold]))


def pause_and_tell(guard: Guard, finding: ReconcileFinding) -> str:
    """Pause one campaign, put it on record and tell it; the answer is all of it in words."""
    [paused] = pause_and_record(guard, [finding])
    return tell_paused(guard, paused)


def _recorded(guard: Guard, paused: Paused) -> Paused:
    found, still = paused.finding, paused.stands_still
    if found.violation is None:
        return paused
    # Once it stands still, what was wrong is on record in the same words however often it is seen.
    severity, what = (found.violation, found.why) if still else ("critical", paused.what)
    problem = record_violation(guard, severity, scope=found.campaign, rule=found.rule, what=what, once=True)
    return Paused(found, paused.outcome, problem or "")
