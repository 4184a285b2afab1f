"""The figures of a release that gate 4 judges."""

from gaelp.config.base import Frozen
from gaelp.gates.evidence import Figure
from gaelp.gates.lift_test import LiftPlan
from gaelp.release.pairs import ArmTotals, PairRules, ReleaseDays, compare_arms

__all__ = ["Improvement", "ReleaseMetrics", "measure_release"]


class Improvement(Frozen):
    """The lift in value per dollar over the control, with bounds that hold at every look."""

    value: Figure  # NaN where nothing was compared; a bound that excludes nothing is -1 or infinite
    lower_95: Figure
    upper_95: Figure
    pairs: int


class ReleaseMetrics(Frozen):
    """What a release showed, and the figures that gate 4 reads."""

    treatment: ArmTotals
    control: ArmTotals
    improvement: Improvement
    metrics: dict[str, Figure]


def measure_release(days: ReleaseDays, rules: PairRules, plan: LiftPlan, *, safety_violations: int) -> ReleaseMetrics:
    """Compare both sides after the last day."""
    compared = compare_arms(days, rules, plan)
    lift = compared.lift
    return ReleaseMetrics(
        treatment=compared.treatment,
        control=compared.control,
        improvement=Improvement(value=lift.lift, lower_95=lift.lower, upper_95=lift.upper, pairs=lift.pairs),
        metrics=lift.metrics("improvement") | {"safety_violations": float(safety_violations)},
    )
