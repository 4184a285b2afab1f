"""Fit a log-normal mixture to weighted prices by expectation-maximisation."""

import math

import numpy as np
from scipy.special import logsumexp

from gaelp.arrays import Floats
from gaelp.errors import DataError
from gaelp.market.spec import LandscapeSpec, PriceComponent

__all__ = ["fit_mixture"]

_ITERATIONS = 1000
_CONVERGED = 1e-7  # gain in mean log-likelihood
_LOG_SD_FLOOR = 0.1  # narrower parts chase single ticks


def fit_mixture(
    price: Floats, weight: Floats, *, name: str, components: tuple[int, ...] = (2, 3, 4), decimals: int = 3
) -> LandscapeSpec:
    """Best mixture among the numbers of components by BIC, scaled to a mean price of 1 and rounded.

    `price` (n,) is positive, `weight` (n,) counts how often it was seen.
    """
    if not (price > 0).all() or weight.sum() <= 0:
        raise DataError(f"mixture {name!r}: saw prices of 0 or no weight; allowed: positive prices with counts.")
    log_price = np.log(price)
    fits = [_expectation_maximisation(log_price, weight / weight.sum(), parts) for parts in components]
    penalty = math.log(weight.sum()) / weight.sum()
    best = min(fits, key=lambda fit: -2 * fit[1] + (3 * fit[0].shape[1] - 1) * penalty)[0]
    share, mean, sd = best[:, np.argsort(best[1])]
    mean = mean - math.log(float((share * np.exp(mean + sd**2 / 2)).sum()))
    parts = np.round([share, mean, sd], decimals)
    parts[0, parts[0].argmax()] += 1 - parts[0].sum()
    parts = np.round(parts[:, parts[0] > 0], decimals)
    mixture = tuple(PriceComponent(weight=w, log_mean=m, log_sd=s) for w, m, s in parts.T.tolist())
    return LandscapeSpec(name=name, mixture=mixture)


def _expectation_maximisation(x: Floats, weight: Floats, parts: int) -> tuple[Floats, float]:
    """Rows share, mean, sd (3, parts) and the mean log-likelihood."""
    order = np.argsort(x)
    at = np.interp((np.arange(parts) + 0.5) / parts, np.cumsum(weight[order]), x[order])
    spread = math.sqrt(float(weight @ (x - weight @ x) ** 2))
    fit = np.array([np.full(parts, 1 / parts), at, np.full(parts, max(spread / parts, _LOG_SD_FLOOR))])
    reached = -math.inf
    for _ in range(_ITERATIONS):
        joint = np.log(fit[0]) - np.log(fit[2]) - 0.5 * ((x[:, None] - fit[1]) / fit[2]) ** 2
        total = logsumexp(joint, axis=1, keepdims=True)
        likelihood = float(weight @ total[:, 0]) - 0.5 * math.log(2 * math.pi)
        if likelihood - reached < _CONVERGED:
            break
        reached = likelihood
        belongs = np.exp(joint - total) * weight[:, None]
        share = np.maximum(belongs.sum(axis=0), 1e-9)
        mean = (belongs * x[:, None]).sum(axis=0) / share
        variance = (belongs * (x[:, None] - mean) ** 2).sum(axis=0) / share
        fit = np.array([share / share.sum(), mean, np.sqrt(np.maximum(variance, _LOG_SD_FLOOR**2))])
    return fit, reached
