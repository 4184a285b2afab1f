"""The share of its gain that an agent keeps on other products, with an interval over products and campaigns.

Gain is the way from the control to the best that was possible in hindsight, in shares of that way: products differ in
how much there is to gain, and an agent is not to blame for a product on which a constant bid is nearly perfect. Gains
are pooled before they are divided, so that one product with little to gain cannot decide.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats

from gaelp.arrays import Floats
from gaelp.errors import BadInput
from gaelp.history.cluster_bootstrap import cluster_weights, percentile_interval
from gaelp.market.baselines.compare import Estimate

__all__ = ["CampaignGains", "ShareEstimate", "gain_share"]

_REPLICATES = 2000
_PRODUCTS_MIN = 2  # one product has no spread
_SHOWN_SHARE = 0.5  # of the source's gain that its own lower bound must reach; below, a ratio means nothing
_NOTHING_KNOWN = Estimate(value=0.0, lower_95=-100.0, upper_95=100.0)


@dataclass(frozen=True, slots=True)
class CampaignGains:
    """What each campaign of a product brought beyond the control, and the most that it could have, (N,) each.

    Both are shares of the product's optimum in hindsight.
    """

    gain: Floats
    possible: Floats

    def __post_init__(self) -> None:
        if self.gain.shape != self.possible.shape or self.gain.ndim != 1 or len(self.gain) < 2:
            raise BadInput(
                f"gains have shape {self.gain.shape}, possible gains {self.possible.shape}: give one of each for two"
                " campaigns or more"
            )

    @property
    def share(self) -> float:
        """The gain as a share of what was possible; NaN where nothing was."""
        possible = float(self.possible.mean())
        return float(self.gain.mean()) / possible if possible > 0 else math.nan


class ShareEstimate(NamedTuple):
    """The share of the source's gain that is kept; `problem` says why nothing is known of it, if that is so."""

    share: Estimate
    source_gain: Estimate
    product_gain: Estimate
    problem: str = ""


def gain_share(source: CampaignGains, products: list[CampaignGains], *, seed: int) -> ShareEstimate:
    """Return the gain on the products over the gain at the source.

    Products are drawn with replacement, and campaigns within each and within the source. A percentile interval over few
    products is too narrow; it is taken further out, as far as Student's t for their number lies beyond the normal
    (Hesterberg, The American Statistician 69, 2015, "expanded percentile interval").
    """
    if len(products) < _PRODUCTS_MIN:
        raise BadInput(f"{len(products)} products seen; allowed: {_PRODUCTS_MIN} or more, for one has no spread")
    rng = np.random.default_rng(seed)
    at_source = _resampled(source, _REPLICATES, rng)
    elsewhere = _resampled_products(products, rng)
    pooled = _ratio(
        float(np.mean([p.gain.mean() for p in products])), float(np.mean([p.possible.mean() for p in products]))
    )
    wider = _expanded_share(len(products))
    source_gain = _estimate(at_source, source.share, 0.95)
    product_gain = _estimate(elsewhere, pooled, wider)
    if problem := _not_shown(source_gain):
        return ShareEstimate(_NOTHING_KNOWN, source_gain, product_gain, problem)
    return ShareEstimate(_estimate(elsewhere / at_source, pooled / source_gain.value, wider), source_gain, product_gain)


def _not_shown(gain: Estimate) -> str:
    """Return why a gain is too small or too uncertain to divide by; empty if it is not."""
    if math.isfinite(gain.value) and gain.value > 0 and gain.lower_95 >= _SHOWN_SHARE * gain.value:
        return ""
    return (
        f"the gain at the source is {gain.value:.1%} ({gain.lower_95:.1%} .. {gain.upper_95:.1%}) of what is possible:"
        f" too little to divide by, its lower bound must be above 0 and reach {_SHOWN_SHARE:.0%} of it. Play more"
        " campaigns, or an agent that gains something"
    )


def _resampled(gains: CampaignGains, replicates: int, rng: np.random.Generator) -> Floats:
    """Return the share gained in each replicate, (replicates,)."""
    weights = cluster_weights(len(gains.gain), replicates, rng)
    return _ratios(weights @ gains.gain, weights @ gains.possible)


def _resampled_products(products: list[CampaignGains], rng: np.random.Generator) -> Floats:
    """Return the pooled share gained in each replicate; a product that is drawn twice has other campaigns each time."""
    drawn = rng.integers(len(products), size=(_REPLICATES, len(products)))
    gain, possible = np.zeros(drawn.shape), np.zeros(drawn.shape)
    for number, product in enumerate(products):
        chosen = drawn == number
        weights = cluster_weights(len(product.gain), int(chosen.sum()), rng) / len(product.gain)
        gain[chosen], possible[chosen] = weights @ product.gain, weights @ product.possible
    return _ratios(gain.sum(axis=1), possible.sum(axis=1))


def _estimate(drawn: Floats, value: float, share: float) -> Estimate:
    if not np.isfinite(drawn).all() or not math.isfinite(value):
        return _NOTHING_KNOWN
    low, high = percentile_interval(lambda number: float(drawn[number]), len(drawn), value, share=share)
    return Estimate(value=value, lower_95=low, upper_95=high)


def _expanded_share(clusters: int) -> float:
    """Return the central share of replicates that holds the truth in 95% of cases, for so many clusters."""
    reach = math.sqrt(clusters / (clusters - 1)) * float(stats.t.ppf(0.975, clusters - 1))
    return float(2 * stats.norm.cdf(reach) - 1)


def _ratio(gain: float, possible: float) -> float:
    return gain / possible if possible > 0 else math.nan


def _ratios(gain: Floats, possible: Floats) -> Floats:
    nothing = np.full(len(gain), math.nan)
    return np.asarray(np.divide(gain, possible, out=nothing, where=possible > 0))
