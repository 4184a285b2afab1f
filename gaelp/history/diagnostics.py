"""Check whether a log can carry an estimate: effective sample, weights, support, agreement, negative control."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from pydantic import Field

from gaelp.arrays import Floats
from gaelp.config.base import Frozen
from gaelp.errors import DataError
from gaelp.history.array_checks import checked_weights
from gaelp.history.intervals import ValueInterval, student_interval
from gaelp.history.policy_value import PolicyValue, mean_value

__all__ = [
    "EstimatorAgreement",
    "SupportLimits",
    "WeightDiagnostics",
    "agreement_of",
    "diagnose_weights",
    "doubts_about_support",
    "effective_sample_size",
    "negative_control",
]

_EXACT = 1e-9  # relative: what rounding may leave of a lift of 0


class WeightDiagnostics(Frozen):
    """Figures about the importance weights of one target policy."""

    decisions: int
    clusters: int
    effective_decisions: float
    effective_share: float
    largest_weight: float
    largest_weight_share: float  # of the sum of all weights
    mean_weight: float
    mean_weight_lower_95: float
    mean_weight_upper_95: float
    inside_support_share: float | None = None


class SupportLimits(Frozen):
    """What a log must have before a figure is printed; below, the result is inconclusive."""

    effective_decisions_min: float = Field(default=200.0, gt=0)
    clusters_min: int = Field(default=20, ge=2)
    largest_weight_share_max: float = Field(default=0.05, gt=0, le=1)
    inside_support_share_min: float = Field(default=0.9, ge=0, le=1)
    mean_weight_half_widths_max: float = Field(
        default=2.0, gt=0, description="from 1, in half widths of its 95% interval: 1 would doubt a good log in 5%"
    )


class EstimatorAgreement(Frozen):
    """How far apart estimators of the same quantity are, in units of the widest interval's half width."""

    lowest: str
    highest: str
    gap: float
    gap_in_half_widths: float
    all_overlap: bool


def effective_sample_size(weight: npt.ArrayLike) -> float:
    """(sum of w)^2 / sum of w^2 (Kish 1965, "Survey sampling"): n for equal weights, 1 if one weight has everything."""
    weights = checked_weights(weight)
    scaled = weights / weights.max()
    return float(scaled.sum() ** 2 / np.sum(scaled**2))


def diagnose_weights(
    weight: npt.ArrayLike, clusters: npt.ArrayLike | None, *, inside_support: npt.ArrayLike | None = None
) -> WeightDiagnostics:
    """All figures at once. The mean weight should be 1: far outside its interval, the densities are wrong.

    `inside_support`, shape (n,), says which decisions the target would have made inside the log's support without
    being clipped to it.
    """
    weights = checked_weights(weight)
    interval = student_interval(mean_value("mean weight", weights), clusters)
    effective = effective_sample_size(weights)
    inside = None if inside_support is None else float(np.mean(_like(inside_support, weights)))
    return WeightDiagnostics(
        decisions=weights.size,
        clusters=interval.clusters,
        effective_decisions=effective,
        effective_share=effective / weights.size,
        largest_weight=float(weights.max()),
        largest_weight_share=float(weights.max() / weights.sum()),
        mean_weight=interval.value,
        mean_weight_lower_95=interval.lower,
        mean_weight_upper_95=interval.upper,
        inside_support_share=inside,
    )


def doubts_about_support(diagnostics: WeightDiagnostics, limits: SupportLimits) -> tuple[str, ...]:
    """Why the log cannot carry an estimate of this policy: figure, limit and remedy of each reason; empty if it can."""
    doubts = []
    if diagnostics.clusters < limits.clusters_min:
        doubts.append(f"{diagnostics.clusters} clusters of at least {limits.clusters_min}: log more campaigns or days")
    if diagnostics.effective_decisions < limits.effective_decisions_min:
        doubts.append(
            f"{diagnostics.effective_decisions:.1f} effective decisions of {diagnostics.decisions}, at least"
            f" {limits.effective_decisions_min:g}: log longer, vary bids more, or keep the agent nearer to logged bids"
        )
    if diagnostics.largest_weight_share > limits.largest_weight_share_max:
        doubts.append(
            f"one decision has {diagnostics.largest_weight_share:.1%} of the weight, at most"
            f" {limits.largest_weight_share_max:.1%}: keep the agent nearer to logged bids"
        )
    half_width = (diagnostics.mean_weight_upper_95 - diagnostics.mean_weight_lower_95) / 2
    if abs(diagnostics.mean_weight - 1) > limits.mean_weight_half_widths_max * half_width:
        doubts.append(
            f"the mean weight is {diagnostics.mean_weight:.3f} ({diagnostics.mean_weight_lower_95:.3f} to"
            f" {diagnostics.mean_weight_upper_95:.3f}) instead of 1: logged densities do not match the logged actions"
        )
    inside = diagnostics.inside_support_share
    if inside is not None and inside < limits.inside_support_share_min:
        doubts.append(
            f"{inside:.1%} of decisions lie inside the log's support, at least {limits.inside_support_share_min:.1%}:"
            " the clipped agent that is judged here is not the one that was trained"
        )
    return tuple(doubts)


def agreement_of(intervals: Sequence[ValueInterval]) -> EstimatorAgreement:
    """Compare estimates of one quantity. If intervals do not overlap, an assumption of one of them is wrong."""
    if len(intervals) < 2:
        raise DataError(f"{len(intervals)} estimate: agreement needs at least two")
    lowest, highest = min(intervals, key=lambda each: each.value), max(intervals, key=lambda each: each.value)
    gap = highest.value - lowest.value
    widest = max((each.upper - each.lower) / 2 for each in intervals)
    return EstimatorAgreement(
        lowest=lowest.name,
        highest=highest.name,
        gap=gap,
        gap_in_half_widths=gap / widest if widest > 0 else 0.0,
        all_overlap=max(each.lower for each in intervals) <= min(each.upper for each in intervals),
    )


def negative_control(estimate: PolicyValue, expected: float) -> None:
    """Refuse an estimate of the logging policy itself that is not its logged value (for a lift: 0)."""
    gap = abs(estimate.value - expected)
    if gap > _EXACT * max(1.0, abs(expected)):
        raise DataError(
            f"{estimate.name} gives {estimate.value:.9g} for the logging policy itself, which had {expected:.9g}:"
            " densities, rewards and decisions are not of the same rows"
        )


def _like(flags: npt.ArrayLike, weights: Floats) -> Floats:
    inside = np.asarray(flags, dtype=np.float64)
    if inside.shape != weights.shape:
        raise DataError(f"inside_support has shape {inside.shape}, weights {weights.shape}: one flag for each decision")
    return inside
