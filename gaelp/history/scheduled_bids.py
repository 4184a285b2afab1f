"""Bids that were fixed beforehand, hour by hour, as a bidder: what a log holds, or a policy would have bid along it."""

import numpy as np

from gaelp.arrays import Floats
from gaelp.errors import DataError
from gaelp.market.calibration.segment_estimates import SegmentEstimates
from gaelp.market.policy_state import KeptState
from gaelp.market.view import Action, Brief, Observation
from gaelp.types import SegmentBelief

__all__ = ["ScheduledBids"]

_LEAST_BID_MICROS = 2  # for a click; less is no bid


class ScheduledBids(KeptState):
    """Bids for a click, (T, N, S), in every copy of a twin; hours after the last have no bid."""

    def __init__(self, name: str, click_bid_micros: Floats, estimates: SegmentEstimates) -> None:
        """`estimates` are those of the twin: they say what a bid for a click offers for an impression."""
        if click_bid_micros.shape[1:] != estimates.row.shape:
            raise DataError(
                f"bids of {click_bid_micros.shape[1:]} campaigns and segments; the estimates have"
                f" {estimates.row.shape}: lay them out by the grid of the same estimates"
            )
        self.name = name
        offered = np.where(click_bid_micros >= _LEAST_BID_MICROS, click_bid_micros, 0.0) * estimates.bid_scale
        self._offered_micros = np.rint(np.where(estimates.present, offered, 0.0)).astype(np.int64)
        self._copies = 1

    def begin(self, brief: Brief, _belief: SegmentBelief | None = None, /) -> None:
        """Take the number of copies from the brief."""
        self._copies = brief.campaigns // self._offered_micros.shape[1]

    def act(self, obs: Observation, /) -> Action:
        """The bids of the hour."""
        hour = int(obs.hour[0])
        bids = (
            self._offered_micros[hour] if hour < len(self._offered_micros) else np.zeros_like(self._offered_micros[0])
        )
        return Action(np.tile(bids, (self._copies, 1)))
