"""Long campaigns as consecutive flights, each as long as those that a policy was trained on."""

from dataclasses import replace

import numpy as np

from gaelp.arrays import Ints
from gaelp.market.baselines.values import ValueParameters, shrunken_rate
from gaelp.market.view import Brief, Observation
from gaelp.types import SegmentBelief

__all__ = ["belief_from", "flight_brief", "flight_hours"]

_WEEK_HOURS = 168


def flight_hours(total_hours: int, hours: int) -> list[range]:
    """The hours of each flight, counted from the start of the first; the last may be shorter."""
    return [range(first, min(first + hours, total_hours)) for first in range(0, total_hours, hours)]


def flight_brief(brief: Brief, first_hour: Ints | int, hours: Ints | int) -> Brief:
    """The brief of a later flight of the same campaigns, from an hour on; its budget is in proportion to its length."""
    lengths = np.broadcast_to(np.asarray(hours, brief.hours.dtype), brief.hours.shape).copy()
    return replace(
        brief,
        hours=lengths,
        budget_micros=brief.budget_micros * lengths // brief.hours,
        start_hour_of_week=((brief.start_hour_of_week + first_hour) % _WEEK_HOURS).astype(np.int32),
    )


def belief_from(brief: Brief, obs: Observation) -> SegmentBelief:
    """What a flight has shown about the value of impressions, for the next one."""
    weights = ValueParameters()
    clicks, bought = obs.total_clicks.astype(np.float64), obs.total_conversions.astype(np.float64)
    click_rate = shrunken_rate(
        clicks,
        obs.total_impressions.astype(np.float64),
        market_rate=brief.click_rate,
        weights=(weights.campaign_prior, weights.click_prior),
    )
    conversion_rate = shrunken_rate(
        bought,
        np.maximum(clicks - obs.maturing_clicks, 0.0),
        market_rate=brief.conversion_rate,
        weights=(weights.campaign_prior, weights.conversion_prior),
    )
    worth_log = np.log(brief.conversion_value_micros.astype(np.float64))[:, None]
    sd = np.sqrt(1 / (clicks + weights.click_prior) + 1 / (bought + weights.conversion_prior))
    return SegmentBelief(np.log(click_rate * conversion_rate) + worth_log, sd)
