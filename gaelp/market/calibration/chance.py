"""How far held-out prices may lie from a fit by chance alone: the allowance in judging a small log."""

import numpy as np

from gaelp.arrays import Bools, Floats, Ints
from gaelp.config.base import Frozen
from gaelp.market.calibration.goodness import PriceComparison, compare
from gaelp.market.calibration.kaplan_meier import PriceCurve, kaplan_meier
from gaelp.market.calibration.knots import landscape_from_curve
from gaelp.market.calibration.landscapes import AT_RISK_MIN
from gaelp.market.calibration.log_frame import BidLog
from gaelp.market.calibration.price_levels import log_prices
from gaelp.market.calibration.price_signals import segment_levels

__all__ = ["KL_BAR", "KS_BAR", "PriceJudgement", "judge_price"]

KL_BAR = 0.05
KS_BAR = 0.03
DRAWS = 50
_DEVIATIONS = 4.0  # above the mean of the draws: both figures have a longer tail than a normal one
_ROWS_MAX = 20_000  # for a larger log, chance is estimated on a part of it


class PriceJudgement(Frozen):
    """Whether held-out prices are as the fit says; a limit is the bar for a large log plus what chance may add."""

    kl_by_chance: float  # mean over random splits of the log's auctions, plus four deviations
    ks_by_chance: float
    kl_by_drift: float = 0.0  # between parts of different time: what the fitted drift of prices explains
    ks_by_drift: float = 0.0
    kl_limit: float
    ks_limit: float
    fits: bool


def judge_price(
    comparison: PriceComparison,
    log: BidLog,
    fitted_rows: int,
    rng: np.random.Generator,
    *,
    drift: PriceComparison | None = None,
) -> PriceJudgement:
    """Judge a comparison of two parts of a log, with an allowance for the size of the log.

    The allowance comes from the log itself: its auctions, split one by one at random, differ by nothing but chance.
    Hours that differ from each other are not excused by it, except by `drift`: how far apart the prices of two parts
    are if their levels differ as the fitted drift makes them differ.
    """
    kl_by_chance, ks_by_chance = _by_chance(log, fitted_rows, rng)
    kl_by_drift, ks_by_drift = (0.0, 0.0) if drift is None else (drift.kl, drift.ks)
    kl_limit, ks_limit = KL_BAR + kl_by_chance + kl_by_drift, KS_BAR + ks_by_chance + ks_by_drift
    return PriceJudgement(
        kl_by_chance=kl_by_chance,
        ks_by_chance=ks_by_chance,
        kl_by_drift=kl_by_drift,
        ks_by_drift=ks_by_drift,
        kl_limit=kl_limit,
        ks_limit=ks_limit,
        fits=comparison.kl <= kl_limit and comparison.ks <= ks_limit,
    )


def _by_chance(log: BidLog, fitted_rows: int, rng: np.random.Generator) -> tuple[float, float]:
    value, price_known = log_prices(log)
    rows = min(log.rows, _ROWS_MAX)
    first = round(rows * fitted_rows / log.rows)
    comparisons = []
    for _ in range(DRAWS):
        chosen = rng.choice(log.rows, rows, replace=False)
        comparisons.append(_compare_rows(value, price_known, log.segment, (chosen[:first], chosen[first:])))
    kl, ks = (_highest([getattr(comparison, key) for comparison in comparisons]) for key in ("kl", "ks"))
    share = rows / log.rows
    return kl * share, ks * float(np.sqrt(share))  # a divergence falls with the rows, a distance with their root


def _highest(figures: list[float]) -> float:
    """What chance hardly ever exceeds; steadier than the largest of few draws."""
    return float(np.mean(figures) + _DEVIATIONS * np.std(figures))


def _compare_rows(value: Floats, price_known: Bools, segment: Ints, halves: tuple[Ints, Ints]) -> PriceComparison:
    """Fit on the first rows and compare on the second; `value` is the log price or lost bid, shape (n,)."""
    first = halves[0]
    level = segment_levels(value[first], price_known[first], segment[first], int(segment.max()) + 1).level

    def curve(rows: Ints) -> PriceCurve:
        return kaplan_meier(np.exp(value[rows] - level[segment[rows]]), price_known[rows], at_risk_min=AT_RISK_MIN)

    fit = landscape_from_curve(curve(first), "by chance")
    return compare(fit.landscape, curve(halves[1]), level=fit.mean_price)
