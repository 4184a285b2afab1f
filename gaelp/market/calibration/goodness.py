"""How well a fit on one part of a log describes another: prices, volumes, click rates."""

import math

import numpy as np
import numpy.typing as npt
from pydantic import NonNegativeInt

from gaelp.config.base import Frozen
from gaelp.config.market import LandscapeSpec
from gaelp.errors import DataError
from gaelp.market.calibration.fitted import TooLittle
from gaelp.market.calibration.kaplan_meier import PriceCurve, kaplan_meier
from gaelp.market.calibration.knots import landscape_from_curve, share_at_or_below, without_zero
from gaelp.market.calibration.landscapes import fit_landscapes, ratio_curve
from gaelp.market.calibration.log_frame import BidLog, keep_hours
from gaelp.market.calibration.price_signals import fit_segment_prices
from gaelp.market.calibration.responses import fit_click_rates
from gaelp.market.calibration.volume import fit_volume, hour_counts

__all__ = [
    "ClickComparison",
    "HalfSplitReport",
    "PriceComparison",
    "VolumeComparison",
    "compare",
    "compare_histogram_halves",
    "half_split_report",
    "split_half",
]

BINS = 64
_SPREAD_EVENLY = 1e-4  # share of the fitted mass put on all bins alike: a price never seen in fitting is not impossible

Floats = npt.NDArray[np.float64]


class PriceComparison(Frozen):
    """A landscape against prices it was not fitted on, where both the fit and the held-out bids reach."""

    ks: float  # largest distance of the two shares at or below a price
    mean_log_likelihood: float  # nats an auction, of the price's bin
    kl: float  # divergence of the held-out bins from the fitted ones, nats
    bins: NonNegativeInt
    observations: NonNegativeInt


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
    """Fitted on one half of a log's hours, compared on the other; a part is missing where the reason says why."""

    source: str
    fitted_auctions: NonNegativeInt
    held_out_auctions: NonNegativeInt
    price: PriceComparison | None
    volume: VolumeComparison
    clicks: ClickComparison | None
    missing: dict[str, str]


def compare(
    landscape: LandscapeSpec, held_out: PriceCurve, *, level: float, edges: Floats | None = None
) -> PriceComparison:
    """Compare a landscape with the Kaplan-Meier curve of held-out prices; `level` is the price of ratio 1.

    `edges` are upper ends of price bins, in held-out units; by default 64 of equal width in log price.
    """
    highest = held_out.highest
    if landscape.knots and landscape.knots[-1][1] < 1:
        highest = min(highest, landscape.knots[-1][0] * level)
    inside = held_out.price <= highest
    if not inside.any():
        raise DataError(
            f"landscape {landscape.name!r} ends at {highest:.6g}, below every held-out price; allowed: prices both"
            " cover. Use a longer log or higher bids."
        )
    price, share, mass = held_out.price[inside], held_out.share[inside], held_out.mass[inside]
    fitted = share_at_or_below(landscape, price / level)
    ends = _log_edges(price) if edges is None else edges
    actual = np.bincount(np.minimum(np.searchsorted(ends, price), len(ends) - 1), mass, len(ends)) / mass.sum()
    expected = np.diff(share_at_or_below(landscape, np.append(ends[:-1], max(highest, ends[-1])) / level), prepend=0.0)
    expected = (1 - _SPREAD_EVENLY) * expected / expected.sum() + _SPREAD_EVENLY / len(ends)
    some = actual > 0
    likelihood = float((actual[some] * np.log(expected[some])).sum())
    return PriceComparison(
        ks=float(np.abs(fitted - share).max()),
        mean_log_likelihood=likelihood,
        kl=float((actual[some] * np.log(actual[some])).sum()) - likelihood,
        bins=len(ends),
        observations=int(held_out.seen),
    )


def _log_edges(price: Floats) -> Floats:
    low, high = float(price[0]), float(price[-1])
    return np.exp(np.linspace(math.log(low), math.log(high), BINS)) if high > low else np.array([high])


def compare_histogram_halves(price: Floats, count: npt.NDArray[np.int64], rng: np.random.Generator) -> PriceComparison:
    """Split a price histogram at random into halves, fit a landscape on one, compare bin by bin with the other."""
    half = rng.binomial(count, 0.5)
    if half.sum() == 0 or half.sum() == count.sum():
        raise DataError(
            f"a histogram of {int(count.sum())} prices cannot be split; allowed: at least 2. Use more data."
        )
    price = without_zero(price)
    curves = [kaplan_meier(price, np.ones(len(price), bool), part.astype(float)) for part in (half, count - half)]
    fit = landscape_from_curve(curves[0], "half")
    return compare(fit.landscape, curves[1], level=fit.mean_price, edges=price)


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
    price = _compare_prices(fitted, held_out)
    clicks = _compare_clicks(fitted, held_out)
    return HalfSplitReport(
        source=log.source,
        fitted_auctions=fitted.rows,
        held_out_auctions=held_out.rows,
        price=None if isinstance(price, TooLittle) else price,
        volume=_compare_volume(fitted, held_out),
        clicks=None if isinstance(clicks, TooLittle) else clicks,
        missing={
            name: part.reason for name, part in (("price", price), ("clicks", clicks)) if isinstance(part, TooLittle)
        },
    )


def _compare_prices(fitted: BidLog, held_out: BidLog) -> PriceComparison | TooLittle:
    """All segments together, each price over its segment's typical price in the fitted half."""
    level = fit_segment_prices(fitted).level
    found = fit_landscapes(fitted, level)
    if isinstance(found, TooLittle):
        return found
    return compare(found.pooled.landscape, ratio_curve(held_out, level), level=found.pooled.mean_price)


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
