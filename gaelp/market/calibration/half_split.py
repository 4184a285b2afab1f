"""Fit on one half of a log's hours and compare on the other: prices, volumes, click rates."""

import math
from dataclasses import dataclass

import numpy as np
from pydantic import NonNegativeInt

from gaelp.arrays import Floats
from gaelp.config.base import Frozen
from gaelp.errors import DataError
from gaelp.market.calibration.chance import PriceJudgement, judge_price
from gaelp.market.calibration.fitted import TooLittle
from gaelp.market.calibration.goodness import PriceComparison, compare
from gaelp.market.calibration.knots import KnotFit
from gaelp.market.calibration.landscapes import PRICES_MIN, fit_landscapes, ratio_curve
from gaelp.market.calibration.log_frame import BidLog, keep_hours
from gaelp.market.calibration.price_signals import fit_segment_prices
from gaelp.market.calibration.responses import fit_click_rates
from gaelp.market.calibration.volume import fit_volume, hour_counts

__all__ = [
    "ClickComparison",
    "HalfSplitReport",
    "PriceFit",
    "VolumeComparison",
    "compare_prices",
    "fit_prices",
    "half_split_report",
    "split_half",
]


class VolumeComparison(Frozen):
    """Predicted against actual auctions in held-out hours."""

    mean_absolute_percentage_error: float  # each hour counts alike; nearly empty hours weigh heavily
    absolute_error_share: float  # sum of errors over sum of auctions
    flat_error_share: float  # the same for a prediction without hour of week
    hours: NonNegativeInt


class ClickComparison(Frozen):
    """Predicted against actual clicks on held-out impressions."""

    relative_error: float  # predicted / actual - 1
    standard_errors: float  # the same difference in units of its Poisson noise
    clicks: NonNegativeInt


class HalfSplitReport(Frozen):
    """Fitted on one half of a log's hours, compared on the other; `missing` says which parts lack data."""

    source: str
    fitted_auctions: NonNegativeInt
    held_out_auctions: NonNegativeInt
    price: PriceComparison | None
    price_judgement: PriceJudgement | None
    volume: VolumeComparison
    clicks: ClickComparison | None
    missing: dict[str, str]


def split_half(log: BidLog, rng: np.random.Generator) -> tuple[BidLog, BidLog]:
    """Two logs with half of the hours each, drawn at random: whole hours, so that a wild hour is in one half only."""
    hours = len(log.covered_hours)
    if hours < 2:
        raise DataError(f"{log.source} covers {hours} hour; allowed: at least 2 to split. Use a longer log.")
    first = np.zeros(hours, bool)
    first[rng.permutation(hours)[: hours // 2]] = True
    return keep_hours(log, first), keep_hours(log, ~first)


def half_split_report(log: BidLog, rng: np.random.Generator) -> HalfSplitReport:
    """Fit on one half of the hours and compare on the other."""
    fitted, held_out = split_half(log, rng)
    prices = fit_prices(fitted)
    price = prices if isinstance(prices, TooLittle) else compare_prices(prices, held_out)
    judgement = None if isinstance(price, TooLittle) else judge_price(price, log, fitted.rows, rng)
    clicks = _compare_clicks(fitted, held_out)
    return HalfSplitReport(
        source=log.source,
        fitted_auctions=fitted.rows,
        held_out_auctions=held_out.rows,
        price=None if isinstance(price, TooLittle) else price,
        price_judgement=judgement,
        volume=_compare_volume(fitted, held_out),
        clicks=None if isinstance(clicks, TooLittle) else clicks,
        missing={
            name: part.reason for name, part in (("price", price), ("clicks", clicks)) if isinstance(part, TooLittle)
        },
    )


@dataclass(frozen=True, slots=True)
class PriceFit:
    """Prices of one part of a log."""

    level: Floats  # (S,) log micros of each segment
    landscape: KnotFit  # of all segments together, each price over its segment's typical price


def fit_prices(log: BidLog) -> PriceFit | TooLittle:
    """Fit the part of a log that others are compared with."""
    level = fit_segment_prices(log).level
    landscapes = fit_landscapes(log, level)
    return landscapes if isinstance(landscapes, TooLittle) else PriceFit(level, landscapes.pooled)


def compare_prices(fit: PriceFit, held_out: BidLog) -> PriceComparison | TooLittle:
    """All segments together, each price over its segment's typical price in the fitted part."""
    prices_seen = int(held_out.price_known.sum())
    if prices_seen < PRICES_MIN:
        return TooLittle(
            observations=prices_seen, reason=f"{prices_seen} prices seen in the held-out half, {PRICES_MIN} needed"
        )
    return compare(fit.landscape.landscape, ratio_curve(held_out, fit.level), level=fit.landscape.mean_price)


def _compare_volume(fitted: BidLog, held_out: BidLog) -> VolumeComparison:
    volume = fit_volume(fitted)
    factor = np.ones(168) if isinstance(volume.factors, TooLittle) else volume.factors.factor
    predicted = volume.segment_per_hour.sum() * held_out.covered_share * factor[held_out.hour_of_week]
    flat = fitted.rows / fitted.covered_share.sum() * held_out.covered_share
    actual = hour_counts(held_out).sum(axis=0)
    error = np.abs(predicted - actual)
    return VolumeComparison(
        mean_absolute_percentage_error=float((error / np.maximum(actual, 1.0)).mean()),
        absolute_error_share=float(error.sum() / actual.sum()),
        flat_error_share=float(np.abs(flat - actual).sum() / actual.sum()),
        hours=len(actual),
    )


def _compare_clicks(fitted: BidLog, held_out: BidLog) -> ClickComparison | TooLittle:
    rates = fit_click_rates(fitted)
    if isinstance(rates, TooLittle) or held_out.click is None:
        return rates if isinstance(rates, TooLittle) else TooLittle(observations=0, reason="no column click")
    actual = int(held_out.click.sum())
    if actual == 0:
        return TooLittle(observations=0, reason="no click in the held-out half")
    predicted = float((held_out.won * rates.segment_rate[held_out.segment]).sum())
    return ClickComparison(
        relative_error=predicted / actual - 1,
        standard_errors=(predicted - actual) / math.sqrt(max(predicted, 1.0)),
        clicks=actual,
    )
