"""The first harmonic over a day: its amplitude without the part that noise alone would show, and when it peaks."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.stats import ncx2

from gaelp.arrays import Floats
from gaelp.market.calibration.fitted import CONFIDENCE, Fitted, TooLittle

__all__ = ["Wave", "amplitude_net_of_noise", "day_wave", "fit_click_daypart"]

CLICKS_MIN = 100
HOURS_OF_DAY_MIN = 18


@dataclass(frozen=True, slots=True)
class Wave:
    """Cosine and sine weights of a daily wave and their common noise variance."""

    cosine: float
    sine: float
    variance: float

    @property
    def peak_hour(self) -> float:
        """Hour of day at which the wave is highest."""
        return math.atan2(self.sine, self.cosine) * 24 / (2 * math.pi) % 24


def day_wave(hour: Floats) -> Floats:
    """Columns 1, cosine and sine of the hour of day, shape (n, 3)."""
    angle = 2 * np.pi * hour / 24
    return np.stack([np.ones_like(angle), np.cos(angle), np.sin(angle)], axis=1)


def amplitude_net_of_noise(wave: Wave) -> tuple[float, float, float]:
    """Amplitude and its interval: the squared length of two noisy weights is noncentral chi-square."""
    length = (wave.cosine**2 + wave.sine**2) / wave.variance
    scale = math.sqrt(wave.variance)
    tail = (1 - CONFIDENCE) / 2
    value = math.sqrt(max(length - 2, 0.0))
    low = _noncentrality(lambda centre: float(ncx2.sf(length, 2, centre)) - tail, length)
    high = _noncentrality(lambda centre: float(ncx2.sf(length, 2, centre)) - 1 + tail, length)
    return value * scale, math.sqrt(low) * scale, math.sqrt(high) * scale


def _noncentrality(gap: Callable[[float], float], length: float) -> float:
    """Where a rising gap crosses 0; 0 where it starts above."""
    highest = (math.sqrt(length) + 6) ** 2
    return 0.0 if gap(1e-9) >= 0 else float(brentq(gap, 1e-9, highest))


def fit_click_daypart(clicks: Floats, expected: Floats) -> tuple[Fitted, Wave] | TooLittle:
    """Log swing of the click rate over a day; both arrays are (24,), `expected` ignores the hour."""
    total = int(clicks.sum())
    used = expected > 0
    if total < CLICKS_MIN or used.sum() < HOURS_OF_DAY_MIN:
        reason = f"{total} clicks in {int(used.sum())} hours of day, {CLICKS_MIN} in {HOURS_OF_DAY_MIN} needed"
        return TooLittle(observations=total, reason=reason)
    design = day_wave(np.arange(24.0))[used]
    weights, covariance, dispersion = _poisson_regression(design, clicks[used], expected[used])
    wave = Wave(float(weights[1]), float(weights[2]), float(covariance[1, 1] + covariance[2, 2]) / 2)
    value, low, high = amplitude_net_of_noise(wave)
    fitted = Fitted(
        value=value,
        interval_low=low,
        interval_high=high,
        observations=total,
        goodness=dispersion,
        method="Poisson regression of clicks on the first daily harmonic, noise removed; goodness: Pearson chi-square"
        " per degree of freedom, near 1 is best",
    )
    return fitted, wave


def _poisson_regression(design: Floats, count: Floats, expected: Floats) -> tuple[Floats, Floats, float]:
    """Weights, covariance and dispersion of log(count / expected) on the design, by Newton's method."""
    weights = np.zeros(design.shape[1])
    weights[0] = math.log(count.sum() / expected.sum())
    for _ in range(50):
        mean = expected * np.exp(design @ weights)
        information = design.T @ (design * mean[:, None])
        step = np.linalg.solve(information, design.T @ (count - mean))
        weights = weights + np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < 1e-10:
            break
    mean = expected * np.exp(design @ weights)
    dispersion = float(((count - mean) ** 2 / mean).sum()) / max(len(count) - design.shape[1], 1)
    return weights, np.linalg.inv(information) * max(dispersion, 1.0), dispersion
