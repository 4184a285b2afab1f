"""From a market's action to bids for clicks: impression bid over click rate, whole cents, inside a known range."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field, PositiveInt

from gaelp.arrays import Bools, Floats, Ints, Ints8
from gaelp.config.base import Frozen
from gaelp.errors import BadInput
from gaelp.market.view import Action

__all__ = ["BidRules", "ClickBids", "click_bids", "impression_bid_log"]


class BidRules(Frozen):
    """How an action becomes bids for clicks."""

    reference_factor: float = Field(
        default=1.5, ge=1, le=100, description="a bid stays within this factor of the reference bid, up and down"
    )
    ceiling_micros: PositiveInt | None = Field(default=None, description="no bid exceeds it, whatever the reference")
    unit_micros: PositiveInt = Field(default=10_000, description="bids are whole multiples of it: a cent")
    pace: Literal["bid", "budget", "ignore"] = Field(
        default="bid",
        description="what a pacing rate below 1 lowers: the bids, the daily budget, or nothing",
    )


@dataclass(frozen=True, slots=True)
class ClickBids:
    """What to send to a platform for the coming hour."""

    bid_micros: Ints  # (N, S) a click
    budget_factor: Floats  # (N,) on the daily budget; 1 unless the rules pace by budget
    creative: Ints8 | None  # (N, S)
    clipped: Bools  # (N, S) where the range changed what the policy asked for


def click_bids(
    action: Action, click_rate: Floats, rules: BidRules, reference_bid_micros: Ints | Floats | None = None
) -> ClickBids:
    """Bids for clicks (N, S) with the rates at which impressions are expected to be clicked.

    A bid is rounded to the nearest unit. The ends of the range are rounded inwards, so that no bid leaves it; where no
    unit lies inside, the highest unit below its upper end is bid, at least one unit. A bid of 0, which stays out of
    auctions in the market, becomes the lowest bid of the range: only pausing a campaign stops it.
    """
    _check_rates(action, click_rate)
    pace = np.ones(len(click_rate)) if action.pace is None else np.clip(action.pace.astype(np.float64), 0, 1)
    asked = action.bid_micros / click_rate
    if rules.pace == "bid":
        asked = asked * pace[:, None]
    unit = float(rules.unit_micros)
    lowest, highest = _bounds(asked.shape, rules, reference_bid_micros)
    nearest = np.floor(asked / unit + 0.5)
    bids = np.maximum(np.minimum(np.maximum(nearest, np.ceil(lowest / unit)), np.floor(highest / unit)), 1.0)
    return ClickBids(
        bid_micros=(bids * unit).astype(np.int64),
        budget_factor=pace if rules.pace == "budget" else np.ones(len(pace)),
        creative=action.creative,
        clipped=(asked < lowest) | (asked > highest),
    )


def impression_bid_log(bid_micros: Ints | Floats, click_rate: Floats) -> Floats:
    """Log micros that a bid for clicks offers for an impression: what an observation shows as the last bid."""
    return np.asarray(np.log(np.maximum(bid_micros * click_rate, 1.0)), dtype=np.float64)


def _bounds(
    shape: tuple[int, ...], rules: BidRules, reference_bid_micros: Ints | Floats | None
) -> tuple[Floats, Floats]:
    ceiling = np.inf if rules.ceiling_micros is None else float(rules.ceiling_micros)
    if reference_bid_micros is None:
        lowest, highest = np.zeros(shape), np.full(shape, ceiling)
    else:
        reference = np.broadcast_to(np.asarray(reference_bid_micros, np.float64), shape)
        if not (reference > 0).all():
            raise BadInput(f"a reference bid of {reference.min():g} micros; allowed: above 0. Leave out such segments")
        lowest = np.minimum(reference / rules.reference_factor, ceiling)
        highest = np.minimum(reference * rules.reference_factor, ceiling)
    if ceiling < rules.unit_micros:
        raise BadInput(
            f"ceiling_micros={rules.ceiling_micros} is below one unit of {rules.unit_micros}: raise the ceiling"
        )
    return lowest, highest


def _check_rates(action: Action, click_rate: Floats) -> None:
    if click_rate.shape != action.bid_micros.shape:
        raise BadInput(f"click rates of shape {click_rate.shape} for bids of shape {action.bid_micros.shape}")
    if not ((click_rate > 0) & (click_rate <= 1)).all():
        raise BadInput(
            f"click rates from {click_rate.min():g} to {click_rate.max():g}; allowed: above 0, up to 1. Begin with an"
            " estimate and use predicted_click_rate"
        )
