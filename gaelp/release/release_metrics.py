"""The figures of a release that gate 4 judges, and those that people see beside them.

A figure that was not measured is none here and missing among the metrics, so that its rule fails.
"""

import math

from pydantic import NonNegativeInt

from gaelp.config.base import Frozen
from gaelp.gates.lift_test import LiftInterval, LiftPlan
from gaelp.release.campaign_flights import FlightRules, SuccessRate, cut_flights, success_rate
from gaelp.release.exposure_checks import Feedback
from gaelp.release.pairs import ArmTotals, PairRules, ReleaseDays, compare_arms

__all__ = ["Improvement", "ReleaseMetrics", "ServiceCounts", "measure_release"]


class Improvement(Frozen):
    """The lift in value per dollar over the control; bounds hold at every look. None: unknown, or nothing limits it."""

    value: float | None
    lower_95: float | None
    upper_95: float | None
    pairs: int


class ServiceCounts(Frozen):
    """What was counted while the release ran."""

    safety_violations: NonNegativeInt
    decisions: NonNegativeInt = 0
    errors: NonNegativeInt = 0  # decisions that failed or were missed
    feedback: Feedback | None = None  # none: the platform counts no complaints

    @property
    def error_rate(self) -> float | None:
        """The share of decisions that failed; none without decisions."""
        return self.errors / self.decisions if self.decisions else None

    @property
    def feedback_ratio(self) -> float | None:
        """Complaints for each impression over those of the baseline; none where either is unknown."""
        counted = self.feedback
        if counted is None or not (
            counted.impressions and counted.baseline_impressions and counted.baseline_complaints
        ):
            return None
        usual = counted.baseline_complaints / counted.baseline_impressions
        return counted.complaints / counted.impressions / usual


class ReleaseMetrics(Frozen):
    """What a release showed, and the figures that gate 4 reads."""

    treatment: ArmTotals
    control: ArmTotals
    improvement: Improvement
    success: SuccessRate
    loss_micros: int  # of all treated days: spend less value; negative where they earned
    safety_violations: int
    error_rate: float | None = None
    feedback_ratio: float | None = None
    metrics: dict[str, float]


def measure_release(
    days: ReleaseDays, rules: PairRules, plan: LiftPlan, *, flights: FlightRules, counts: ServiceCounts
) -> ReleaseMetrics:
    """Compare both sides after the last day."""
    compared = compare_arms(days, rules, plan)
    improvement = _improvement(compared.lift)
    success = success_rate(cut_flights(days, compared.pairs, flights))
    treated = days.treated
    return ReleaseMetrics(
        treatment=compared.treatment,
        control=compared.control,
        improvement=improvement,
        success=success,
        loss_micros=int(days.spend_micros[treated].sum()) - round(float(days.final_value()[treated].sum())),
        safety_violations=counts.safety_violations,
        error_rate=counts.error_rate,
        feedback_ratio=counts.feedback_ratio,
        metrics={
            **_known("improvement", improvement.value, improvement.lower_95, improvement.upper_95),
            **_known("improvement_estimate", improvement.value),
            "paired_observations": float(improvement.pairs),
            **_known("campaign_success_rate", success.value, success.lower_95, success.upper_95),
            "campaign_flights": float(success.flights),
            "campaigns": float((treated & (days.spend_micros > 0)).any(axis=0).sum()),
            "safety_violations": float(counts.safety_violations),
        },
    )


def _improvement(lift: LiftInterval) -> Improvement:
    value, lower, upper = (each if math.isfinite(each) else None for each in lift[:3])
    return Improvement(value=value, lower_95=lower, upper_95=upper, pairs=lift.pairs)


def _known(name: str, value: float | None, lower: float | None = None, upper: float | None = None) -> dict[str, float]:
    figures = {name: value, f"{name}_lower_95": lower, f"{name}_upper_95": upper}
    return {key: figure for key, figure in figures.items() if figure is not None}
