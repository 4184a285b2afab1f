"""How much groups differ beyond the noise of their own estimates (Paule-Mandel, intervals from Cochran's Q)."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.stats import chi2, norm
from scipy.stats import t as student

from gaelp.arrays import Floats
from gaelp.market.calibration.fitted import CONFIDENCE

__all__ = ["Spread", "shrunk", "spread_net_of_noise"]

_VARIANCE_MAX = 1e4


@dataclass(frozen=True, slots=True)
class Spread:
    """Groups drawn around a mean with a standard deviation of their own, seen with known noise."""

    mean: float
    mean_half_width: (
        float  # of the mean's 95% interval; few groups say little about their own spread, hence Student's t
    )
    sd: float
    sd_low: float
    sd_high: float
    straightness: float  # correlation with normal quantiles: 1 when the groups are normally spread


def spread_net_of_noise(estimate: Floats, noise_variance: Floats) -> Spread:
    """Mean and spread of k >= 2 groups from their estimates and the variances of these."""
    degrees = len(estimate) - 1
    tail = (1 - CONFIDENCE) / 2
    variance = _variance_where(estimate, noise_variance, degrees)
    low = _variance_where(estimate, noise_variance, float(chi2.ppf(1 - tail, degrees)))
    high = _variance_where(estimate, noise_variance, float(chi2.ppf(tail, degrees)))
    weight = 1 / (noise_variance + variance)
    mean = float((weight * estimate).sum() / weight.sum())
    return Spread(
        mean=mean,
        mean_half_width=float(student.ppf(1 - tail, degrees)) / math.sqrt(float(weight.sum())),
        sd=math.sqrt(variance),
        sd_low=math.sqrt(low),
        sd_high=math.sqrt(high),
        straightness=_straightness((estimate - mean) * np.sqrt(weight)),
    )


def shrunk(estimate: Floats, noise_variance: Floats, *, centre: float) -> tuple[Floats, Floats, Floats]:
    """Each group pulled towards the centre as its noise demands, the variance that remains, and the weight it kept.

    A group with infinite noise was not seen: it becomes the centre, with weight 0.
    """
    known = np.isfinite(noise_variance)
    variance = _variance_where(estimate[known], noise_variance[known], known.sum() - 1) if known.sum() > 1 else 0.0
    weight = np.zeros(len(estimate))
    weight[known] = variance / np.maximum(variance + noise_variance[known], 1e-300)
    return centre + weight * np.where(known, estimate - centre, 0.0), variance * (1 - weight), weight


def _variance_where(estimate: Floats, noise_variance: Floats, target: float) -> float:
    """The spread at which Cochran's Q falls to the target; 0 where it starts below."""

    def excess(variance: float) -> float:
        weight = 1 / (noise_variance + variance)
        centre = (weight * estimate).sum() / weight.sum()
        return float((weight * (estimate - centre) ** 2).sum()) - target

    tiny = 1e-12
    if excess(tiny) <= 0:
        return 0.0
    return float(brentq(excess, tiny, _VARIANCE_MAX)) if excess(_VARIANCE_MAX) < 0 else _VARIANCE_MAX


def _straightness(standardised: Floats) -> float:
    quantile = norm.ppf((np.arange(len(standardised)) + 0.5) / len(standardised))
    ordered = np.sort(standardised)
    if len(ordered) < 3 or ordered.std() == 0:
        return 1.0
    return float(np.corrcoef(ordered, quantile)[0, 1])
