"""Which creative to serve: per segment, the one whose click rate may be the highest, for any rule that only bids."""

from dataclasses import replace

import numpy as np

from gaelp.arrays import Floats, Ints8
from gaelp.market.baselines.bids import Bidder
from gaelp.market.view import Action, Brief, Observation
from gaelp.types import PolicyState, SegmentBelief

__all__ = ["WithCreatives", "best_creatives"]


_PRIOR_CLICKS = 2.5  # clicks' worth of belief that a segment likes all creatives alike
_OPTIMISM = 1.0  # standard deviations above the estimate: what is little known gets tried


class WithCreatives:
    """A bidder whose creatives are chosen for it; one creative leaves nothing to choose."""

    def __init__(self, bidder: Bidder) -> None:
        self._bidder = bidder

    @property
    def name(self) -> str:
        """The bidder's own."""
        return self._bidder.name

    def begin(self, brief: Brief, belief: SegmentBelief | None = None, /) -> None:
        """Start afresh with these campaigns."""
        self._brief = brief
        self._bidder.begin(brief, belief)

    def state(self) -> PolicyState:
        """The bidder's own: the choice of creatives depends on the observation alone."""
        return self._bidder.state()

    def load_state(self, brief: Brief, state: PolicyState, /) -> None:
        """Resume these campaigns."""
        self._brief = brief
        self._bidder.load_state(brief, state)

    def act(self, obs: Observation, /) -> Action:
        """The bidder's bids, with a creative for every segment."""
        action = self._bidder.act(obs)
        if self._brief.creatives == 1:
            return action
        return replace(action, creative=best_creatives(self._brief, obs))


def best_creatives(brief: Brief, obs: Observation) -> Ints8:
    """Index of the creative with the highest upper estimate of its click rate, (N, S).

    A creative's rate is drawn towards its segment's, and that towards the campaign's (gamma-Poisson). What other
    segments think of a creative does not count: personas disagree about them.
    """
    clicks = obs.creative_clicks.astype(np.float64)
    shown = obs.creative_impressions.astype(np.float64)
    campaign_rate = (clicks.sum(axis=(1, 2)) + 1.0) / (shown.sum(axis=(1, 2)) + 1.0 / brief.click_rate)
    segment_rate = _drawn_to(campaign_rate[:, None], clicks.sum(axis=2), shown.sum(axis=2))
    rate = _drawn_to(segment_rate[:, :, None], clicks, shown)
    upper_log = np.log(rate) + _OPTIMISM / np.sqrt(clicks + _PRIOR_CLICKS)
    return np.asarray(upper_log.argmax(axis=2), dtype=np.int8)


def _drawn_to(rate: Floats, clicks: Floats, shown: Floats) -> Floats:
    return np.asarray((clicks + _PRIOR_CLICKS) / (shown + _PRIOR_CLICKS / rate), dtype=np.float64)
