"""How well a landscape describes prices it was not fitted on."""

import math

import numpy as np
from pydantic import NonNegativeInt

from gaelp.arrays import Floats
from gaelp.config.base import Frozen
from gaelp.errors import DataError
from gaelp.market.calibration.kaplan_meier import PriceCurve
from gaelp.market.calibration.knots import share_at_or_below
from gaelp.market.spec import LandscapeSpec

__all__ = ["PriceComparison", "compare"]

BINS = 64
_SPREAD_EVENLY = 1e-4  # share of the fitted mass put on all bins alike: a price never seen in fitting is not impossible


class PriceComparison(Frozen):
    """A landscape against prices it was not fitted on, where both the fit and the held-out bids reach."""

    ks: float  # largest distance of the two shares at or below a price
    mean_log_likelihood: float  # nats an auction, of the price's bin
    kl: float  # divergence of the held-out bins from the fitted ones, nats
    bins: NonNegativeInt
    observations: NonNegativeInt


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
        observations=int(held_out.prices_seen),
    )


def _log_edges(price: Floats) -> Floats:
    low, high = float(price[0]), float(price[-1])
    return np.exp(np.linspace(math.log(low), math.log(high), BINS)) if high > low else np.array([high])
