"""Bad agents to plant before the first gate: a good rule whose bids are multiplied by a factor."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from gaelp.arrays import Floats
from gaelp.market.baselines.bids import Bidder
from gaelp.market.view import Action, Brief, Observation

__all__ = ["Spoiled", "at_night", "everywhere", "without_segment"]

Factor = Callable[[Brief, Observation], Floats]  # (N, S), or what broadcasts to it

_HIGHEST_BID_MICROS = 10**12  # what the market accepts
_NIGHT_HOURS = 6


@dataclass
class Spoiled:
    """A rule with other bids, under another name."""

    name: str
    rule: Bidder
    factor: Factor
    _brief: Brief = field(init=False)

    def begin(self, brief: Brief, /) -> None:
        """Begin as the rule does."""
        self._brief = brief
        self.rule.begin(brief)

    def act(self, obs: Observation, /) -> Action:
        """The rule's action with its bids times the factor."""
        action = self.rule.act(obs)
        bids = np.minimum(action.bid_micros * self.factor(self._brief, obs), _HIGHEST_BID_MICROS)
        return Action(np.rint(bids).astype(np.int64), action.pace, action.creative)


def everywhere(factor: float) -> Factor:
    """Every bid times the same factor."""
    return lambda _brief, _obs: np.full((1, 1), factor)


def at_night(factor: float) -> Factor:
    """Bids from midnight to six times the factor."""

    def by_hour(brief: Brief, obs: Observation) -> Floats:
        hour_of_day = (brief.start_hour_of_week + obs.hour) % brief.hours_per_day
        return np.where(hour_of_day < _NIGHT_HOURS, factor, 1.0)[:, None]

    return by_hour


def without_segment(segment: int) -> Factor:
    """No bid for one segment of each campaign."""
    return lambda brief, _obs: np.where(np.arange(brief.segments) == segment, 0.0, 1.0)[None, :]
