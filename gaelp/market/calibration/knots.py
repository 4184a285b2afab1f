"""Compress a price curve into the knots of a landscape, with the error this costs."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from gaelp.arrays import Floats
from gaelp.errors import DataError
from gaelp.market.calibration.kaplan_meier import PriceCurve
from gaelp.market.spec import LandscapeSpec

__all__ = ["KNOTS_MAX", "KnotFit", "landscape_from_curve", "share_at_or_below", "without_zero"]

KNOTS_MAX = 256
_TOLERANCE = 1e-6
_LOWEST_RATIO, _HIGHEST_RATIO = 1e-4, 1e3  # to the level, of the prices a market tabulates
_CELLS = 8192  # prices finer than this many cells of equal log width are merged before knots are chosen


@dataclass(frozen=True, slots=True)
class KnotFit:
    """A landscape in units of its mean price, and what was lost on the way."""

    landscape: LandscapeSpec
    mean_price: float  # of the prices the log can tell about
    max_error: float  # largest distance between the knots and the curve, as a share
    unknown_share: float  # mass beyond the last knot; the last knot's share is 1 minus this


def landscape_from_curve(curve: PriceCurve, name: str, *, limit: int = KNOTS_MAX) -> KnotFit:
    """Choose at most `limit` knots, each where the error is largest; linear in price between them.

    Prices are quoted in ticks, and the mass of one is spread over the tick below it, so the curve is exact at every
    knot. A price of 0 counts as half of the lowest positive price.
    """
    if not len(curve.price) or curve.highest <= 0:
        raise DataError(f"landscape {name!r}: no price was seen; allowed: at least one won auction. Use a longer log.")
    price, share = _thinned(without_zero(curve.price), curve.share)
    corner_price, corner_share = _corners(price, share, max(curve.highest, price[-1]))
    chosen = _greedy(corner_price, corner_share, limit)
    knot_price, knot_share = corner_price[chosen], corner_share[chosen]
    mean = _mean(knot_price, knot_share)
    ratio, level = _rounded(*_within_reach(knot_price / mean, knot_share))
    spec = LandscapeSpec(name=name, knots=tuple(zip(ratio.tolist(), level.tolist(), strict=True)))
    error = np.abs(share_at_or_below(spec, without_zero(curve.price) / mean) - curve.share)
    return KnotFit(spec, mean, float(error.max()), 1.0 - float(level[-1]))


def share_at_or_below(landscape: LandscapeSpec, ratio: Floats) -> Floats:
    """Share of prices at or below each ratio, read the way the market reads it: knots are linear in price."""
    if landscape.knots:
        at, share = np.array(landscape.knots).T
        return np.asarray(np.interp(ratio, np.concatenate([[0.0], at]), np.concatenate([[0.0], share])))
    log_ratio = np.log(np.maximum(ratio, 1e-300))
    total = sum(part.weight for part in landscape.mixture)
    parts = [part.weight / total * norm.cdf(log_ratio, part.log_mean, part.log_sd) for part in landscape.mixture]
    return np.asarray(np.sum(parts, axis=0))


def without_zero(price: Floats) -> Floats:
    """A price of 0 has no logarithm: take half of the lowest positive one."""
    lowest = float(price[price > 0].min(initial=np.inf))
    return np.where(price > 0, price, lowest / 2 if np.isfinite(lowest) else 0.5)


def _thinned(price: Floats, share: Floats) -> tuple[Floats, Floats]:
    if len(price) <= _CELLS:
        return price, share
    log_price = np.log(price)
    cell = np.floor((log_price - log_price[0]) / (log_price[-1] - log_price[0]) * _CELLS)
    last = np.append(np.diff(cell) > 0, True)
    return price[last], share[last]


def _corners(price: Floats, share: Floats, highest: float) -> tuple[Floats, Floats]:
    """The curve as a line: up over one tick to each price, flat in between, flat to the highest lost bid."""
    before = np.concatenate([[0.0], price[:-1]])
    tick = float(np.median(np.diff(price))) if len(price) > 1 else price[0] / 2
    foot = np.maximum(before, price - tick)
    line_price = np.append(np.stack([foot, price], axis=1).ravel(), highest)
    line_share = np.append(np.stack([np.concatenate([[0.0], share[:-1]]), share], axis=1).ravel(), share[-1])
    distinct = np.diff(line_price, prepend=0.0) > 0
    return line_price[distinct], line_share[distinct]


def _greedy(x: Floats, y: Floats, limit: int) -> list[int]:
    chosen = [0, len(x) - 1]
    error = np.abs(np.interp(x, x[chosen], y[chosen]) - y)
    while len(chosen) < limit and error.max() > _TOLERANCE:
        new = int(error.argmax())
        place = int(np.searchsorted(chosen, new))
        for a, b in ((chosen[place - 1], new), (new, chosen[place])):
            part = slice(a, b + 1)
            error[part] = np.abs(np.interp(x[part], x[[a, b]], y[[a, b]]) - y[part])
        chosen.insert(place, new)
    return chosen


def _mean(price: Floats, share: Floats) -> float:
    middle = 0.5 * (price + np.concatenate([[0.0], price[:-1]]))
    return float((np.diff(share, prepend=0.0) * middle).sum() / share[-1])


def _within_reach(ratio: Floats, share: Floats) -> tuple[Floats, Floats]:
    """Prices below or above all that a market tabulates are read at the end of its table."""
    if ratio[0] >= _LOWEST_RATIO and ratio[-1] <= _HIGHEST_RATIO:
        return ratio, share
    inner = ratio[(ratio > _LOWEST_RATIO) & (ratio < _HIGHEST_RATIO)]
    low, high = max(float(ratio[0]), _LOWEST_RATIO), min(float(ratio[-1]), _HIGHEST_RATIO)
    kept = np.unique(np.concatenate([[low], inner, [high]]))
    return kept, np.interp(kept, ratio, share)


def _rounded(ratio: Floats, share: Floats) -> tuple[Floats, Floats]:
    """Seven digits keep the file readable; knots that fall together are merged."""
    ratio = np.array([float(f"{value:.7g}") for value in ratio])
    distinct = np.append(np.diff(ratio) > 0, True)
    return ratio[distinct], np.clip(np.round(share[distinct], 7), 0.0, 1.0)
