"""From what an impression is worth to whole micros: the first price of budget, shading, rounding."""

import math

import numpy as np
from pydantic import Field

from gaelp.arrays import Floats, Ints
from gaelp.config.base import Frozen
from gaelp.market.baselines.worth import prior_value_log
from gaelp.market.view import Action, Brief, Observation
from gaelp.types import Policy

__all__ = ["Bidder", "LaunchParameters", "bids_for_worth", "launch_bid_log", "launch_price_log", "whole_micros"]

Bidder = Policy[Brief, Observation, Action]

_HIGHEST_BID_LOG = math.log(1e12)


class LaunchParameters(Frozen):
    """The bid for an average impression before anything was seen: forecast price x exp(c) x budget share ^ exponent."""

    bid_log: float = Field(default=0.6, ge=-1.5, le=3, description="c: log bid over the forecast price")
    share_exponent: float = Field(default=0.5, ge=0, le=1.5, description="how the bid grows with the budget's share")


def launch_bid_log(brief: Brief, given: LaunchParameters) -> Floats:
    """Log bid for an average impression, (N,)."""
    price_log = brief.price_forecast_log.mean(axis=1, dtype=np.float64)
    return np.asarray(price_log + given.bid_log + given.share_exponent * np.log(brief.budget_share), dtype=np.float64)


def launch_price_log(brief: Brief, given: LaunchParameters) -> Floats:
    """Log price of budget, (N,), at which an average impression is worth the launch bid."""
    return prior_value_log(brief)[:, 0] - launch_bid_log(brief, given)


def bids_for_worth(brief: Brief, obs: Observation, worth_log: Floats, shade_offset: float) -> Ints:
    """Whole micros to bid for impressions of this worth, (N, S): the worth itself with second prices, less with first.

    `shade_offset` corrects the shading, which knows only the average landscape.
    """
    if brief.first_price:
        shaded = brief.landscapes.shaded_bid_log(worth_log.astype(np.float32), obs.price_level_log)
        worth_log = np.minimum(shaded + shade_offset, worth_log)
    return whole_micros(worth_log)


def whole_micros(bid_log: Floats) -> Ints:
    """Log micros as whole micros."""
    return np.rint(np.exp(np.minimum(bid_log, _HIGHEST_BID_LOG))).astype(np.int64)
