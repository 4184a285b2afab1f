"""What ends a release: money and safety guards, which need no statistics, and checks of service, feedback and value."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from pydantic import Field, PositiveFloat, PositiveInt
from scipy.stats import fisher_exact, poisson

from gaelp.config.base import Frozen
from gaelp.config.field_types import Share
from gaelp.gates.lift_test import LiftInterval

__all__ = [
    "CheckLimits",
    "Feedback",
    "Finding",
    "ReleaseEvidence",
    "ServedDays",
    "abort_findings",
    "errors_in_a_row",
    "lift_figures",
    "lift_text",
    "rollback_findings",
]

_Alpha = Field(default=0.001, gt=0, lt=0.05)


class CheckLimits(Frozen):
    """Limits of a running release."""

    loss_cap_micros: PositiveInt = Field(description="of the treatment, spend less value since the release began")
    cost_spike_factor: PositiveFloat = Field(default=2.0, description="a day's spend over what is planned for it")
    error_rate_max: Share = Field(default=0.05, description="share of the decisions of one check that failed")
    error_checks: PositiveInt = Field(default=3, description="so many checks in a row above it roll back")
    sample_ratio_alpha: float = _Alpha
    feedback_factor: PositiveFloat = Field(default=2.0, description="complaints for each impression over the baseline")
    feedback_alpha: float = _Alpha


@dataclass(frozen=True, slots=True)
class ServedDays:
    """Campaign-days assigned to each arm, and on how many of them that arm's bids were really in force."""

    treatment_assigned: int = 0
    treatment_served: int = 0
    control_assigned: int = 0
    control_served: int = 0


@dataclass(frozen=True, slots=True)
class Feedback:
    """Complaints (hidden, reported or blocked adverts) and impressions, under treatment and before or beside it."""

    complaints: int
    impressions: int
    baseline_complaints: int
    baseline_impressions: int


@dataclass(frozen=True, slots=True)
class ReleaseEvidence:
    """What one check sees; counts without a stated period are since the release began."""

    day: int  # of the release, from 0
    lift: LiftInterval
    loss_micros: int  # of the treatment: spend less value, what is pending counted with caution
    day_spend_micros: int  # of the treated campaigns today
    day_planned_micros: int  # what the plan lets them spend today
    decisions: int = 0  # since the last check
    errors: int = 0  # likewise
    served: ServedDays = field(default_factory=ServedDays)
    feedback: Feedback | None = None  # none: the platform counts no complaints
    violations: tuple[str, ...] = ()
    stopped: str = ""  # who stopped the release or all spending, and why


class Finding(Frozen):
    """Why a decision was made; `figures` are what was seen beside the limits, none where nothing is known."""

    check: str
    text: str
    figures: dict[str, float | int | str | None] = Field(default_factory=dict)


def abort_findings(limits: CheckLimits, evidence: ReleaseEvidence) -> Iterator[Finding]:
    """Reasons to end the release at once; none of them waits for a sample."""
    if evidence.stopped:
        yield Finding(check="stopped", text=evidence.stopped)
    if evidence.violations:
        yield Finding(
            check="violations", text="; ".join(evidence.violations), figures={"violations": len(evidence.violations)}
        )
    if evidence.loss_micros > limits.loss_cap_micros:
        yield Finding(
            check="loss",
            text=f"the treatment lost {_money(evidence.loss_micros)}; allowed: {_money(limits.loss_cap_micros)}",
            figures={"loss_micros": evidence.loss_micros, "cap_micros": limits.loss_cap_micros},
        )
    if evidence.day_spend_micros > limits.cost_spike_factor * evidence.day_planned_micros:
        yield Finding(
            check="cost-spike",
            text=f"treated campaigns spent {_money(evidence.day_spend_micros)} today, planned are"
            f" {_money(evidence.day_planned_micros)}; allowed: {limits.cost_spike_factor:g} times as much",
            figures={
                "spend_micros": evidence.day_spend_micros,
                "planned_micros": evidence.day_planned_micros,
                "factor": limits.cost_spike_factor,
            },
        )


def rollback_findings(limits: CheckLimits, evidence: ReleaseEvidence, error_streak: int) -> Iterator[Finding]:
    """Reasons to return to the last good version; `error_streak` includes this check."""
    yield from _sample_ratio(limits, evidence.served)
    if error_streak >= limits.error_checks:
        yield Finding(
            check="errors",
            text=f"{evidence.errors} of {evidence.decisions} decisions failed, and more than"
            f" {limits.error_rate_max:.0%} in each of the last {error_streak} checks; allowed:"
            f" {limits.error_checks - 1} such checks in a row",
            figures={"errors": evidence.errors, "decisions": evidence.decisions, "checks_in_a_row": error_streak},
        )
    if evidence.feedback is not None:
        yield from _feedback(limits, evidence.feedback)
    if evidence.lift.upper < 0:
        yield Finding(
            check="worse",
            text=f"value per dollar is shown to be below the control's: {lift_text(evidence.lift)}",
            figures=lift_figures(evidence.lift),
        )


def errors_in_a_row(limits: CheckLimits, evidence: ReleaseEvidence, before: int) -> int:
    """How many checks in a row had too many errors; a check without decisions changes nothing."""
    if evidence.decisions <= 0:
        return before
    return before + 1 if evidence.errors / evidence.decisions > limits.error_rate_max else 0


def lift_figures(lift: LiftInterval) -> dict[str, float | int | str | None]:
    """The lift as plain numbers; a bound that excludes nothing is none."""
    return {
        "lift": _finite(lift.lift),
        "lift_lower_95": _finite(lift.lower),
        "lift_upper_95": _finite(lift.upper),
        "pairs": lift.pairs,
    }


def lift_text(lift: LiftInterval) -> str:
    """The lift in words."""
    if not lift.pairs:
        return "nothing was compared yet"
    return (
        f"value per dollar {lift.lift:+.1%} against the control, from {lift.lower:+.1%} to {lift.upper:+.1%} by bounds"
        f" that hold at every look, over {lift.pairs} pairs"
    )


def _sample_ratio(limits: CheckLimits, days: ServedDays) -> Iterator[Finding]:
    """Whether one arm lost more of its campaign-days than the other (Fisher's exact test: counts can be small).

    How many days each arm was assigned is known, so the days that were not served are compared, not the totals.
    """
    lost = (days.treatment_assigned - days.treatment_served, days.control_assigned - days.control_served)
    chance = float(fisher_exact([[days.treatment_served, lost[0]], [days.control_served, lost[1]]]).pvalue)
    if chance < limits.sample_ratio_alpha:
        yield Finding(
            check="sample-ratio",
            text=f"{days.treatment_served} of {days.treatment_assigned} treatment days and {days.control_served} of"
            f" {days.control_assigned} control days were served as assigned (chance {chance:.1g}, allowed"
            f" {limits.sample_ratio_alpha:g}): what is left of them cannot be compared",
            figures={"chance": chance, "treatment_lost": lost[0], "control_lost": lost[1]},
        )


def _feedback(limits: CheckLimits, feedback: Feedback) -> Iterator[Finding]:
    """A rate above the factor counts only where the baseline's own rate can hardly give so many complaints."""
    if not feedback.impressions or not feedback.baseline_impressions:
        return
    usual = (
        max(feedback.baseline_complaints, 1) / feedback.baseline_impressions
    )  # none seen: one, so that 0 is no baseline
    ratio = feedback.complaints / feedback.impressions / usual
    chance = float(poisson.sf(feedback.complaints - 1, usual * feedback.impressions))
    if ratio > limits.feedback_factor and chance < limits.feedback_alpha:
        yield Finding(
            check="negative-feedback",
            text=f"{feedback.complaints} complaints in {feedback.impressions} impressions, {ratio:.1f} times the"
            f" baseline (chance {chance:.1g}); allowed: {limits.feedback_factor:g} times",
            figures={"ratio": ratio, "chance": chance, "complaints": feedback.complaints},
        )


def _money(micros: int) -> str:
    return f"{micros / 1e6:,.2f}"


def _finite(figure: float) -> float | None:
    return figure if math.isfinite(figure) else None
