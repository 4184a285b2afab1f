"""The lift of a target policy in value per dollar with its bounds, or the reasons why the log cannot say."""

import numpy as np
import numpy.typing as npt
from scipy import stats

from gaelp.config.base import Frozen
from gaelp.history.array_checks import checked_share
from gaelp.history.diagnostics import SupportLimits, WeightDiagnostics, diagnose_weights, doubts_about_support
from gaelp.history.intervals import bootstrap_intervals, student_interval
from gaelp.history.value_per_dollar import DollarColumns, lift_of, value_per_dollar

__all__ = ["LiftReport", "report_lift"]


class LiftReport(Frozen):
    """What gate 2 reads. Where `inconclusive` has a reason every figure is None except the diagnostics."""

    method: str
    reference: str
    confidence: float
    inconclusive: tuple[str, ...]
    diagnostics: WeightDiagnostics
    value_per_dollar: float | None = None
    reference_value_per_dollar: float | None = None
    lift: float | None = None
    lift_lower: float | None = None  # Student t over clusters, in logs
    lift_upper: float | None = None
    bootstrap_lower: float | None = None
    bootstrap_upper: float | None = None
    chance_above_zero: float | None = None  # one minus the one-sided p-value of "no better than the reference"


def report_lift(
    target: DollarColumns,
    reference: DollarColumns,
    weight: npt.ArrayLike,
    clusters: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    limits: SupportLimits | None = None,
    inside_support: npt.ArrayLike | None = None,
    confidence: float = 0.95,
    replicates: int = 1000,
) -> LiftReport:
    """Lift with two intervals of `confidence`; a log without support gives reasons instead of figures.

    The lower end of a two-sided 95% interval is wrong in 2.5%. For the n-th of three looks at a sealed window, take
    `confidence` = 1 - 0.05 / 3.
    """
    checked_share(confidence, "confidence")
    diagnostics = diagnose_weights(weight, clusters, inside_support=inside_support)
    doubts = doubts_about_support(diagnostics, limits or SupportLimits())
    estimate = lift_of(target, reference)
    if estimate.value <= -1:
        doubts = (*doubts, f"the target's value came out as {target.value.sum():.4g}, below 0: noise exceeds the value")
    head = LiftReport(
        method=target.name,
        reference=reference.name,
        confidence=confidence,
        inconclusive=doubts,
        diagnostics=diagnostics,
    )
    if doubts:
        return head
    student = student_interval(estimate, clusters, confidence=confidence, log_offset=1.0)
    (resampled,) = bootstrap_intervals(
        (estimate,), clusters, rng, replicates=replicates, confidence=confidence, log_offset=1.0
    )
    figures = {
        "value_per_dollar": value_per_dollar(target).value,
        "reference_value_per_dollar": value_per_dollar(reference).value,
        "lift": estimate.value,
        "lift_lower": student.lower,
        "lift_upper": student.upper,
        "bootstrap_lower": resampled.lower,
        "bootstrap_upper": resampled.upper,
        "chance_above_zero": _chance_above_zero(student.lower, student.value, confidence, student.clusters),
    }
    return head.model_copy(update=figures)


def _chance_above_zero(lower: float, value: float, confidence: float, clusters: int) -> float:
    """From the t interval in logs: the share of its distribution above a lift of 0; 0.5 without any spread at 0."""
    reach = np.log1p(value) - np.log1p(lower)
    if reach <= 0:
        return 0.5 if value == 0 else float(value > 0)
    error = reach / stats.t.ppf(0.5 + confidence / 2, clusters - 1)
    return float(stats.t.cdf(np.log1p(value) / error, clusters - 1))
