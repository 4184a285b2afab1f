"""What training saw, as a range of every feature; and how much of what a running policy sees lies outside of it."""

from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Floats, Floats32
from gaelp.config.objective import Objective, is_value
from gaelp.market.baselines.bids import Bidder
from gaelp.market.features import FeatureMaker
from gaelp.market.market import Market, seeds_from
from gaelp.market.spaces import GLOBAL_FEATURES, OBJECTIVE_FEATURES, SEGMENT_FEATURES
from gaelp.market.view import Brief, Observation
from gaelp.pilot.controller import Decision

__all__ = ["ObservationRanges", "measure_ranges"]

_CAMPAIGNS = 256
_TAIL = 0.001  # of the market's own observations on either side
_MARGIN = 0.1  # of a feature's range, beyond its ends


@dataclass(frozen=True, slots=True)
class ObservationRanges:
    """The usual range of each feature (F,): the campaign's, then the segment's."""

    names: tuple[str, ...]
    lowest: Floats
    highest: Floats

    def outside(self, decision: Decision) -> float:
        """Share of the features of a decision that training hardly ever saw."""
        return float(self.shares(decision).mean()) if len(decision.rows) else 0.0

    def shares(self, decision: Decision) -> Floats:
        """The same by feature, (F,): which ones are unusual."""
        rows = _features(decision.brief, decision.observation)
        return np.asarray(((rows < self.lowest) | (rows > self.highest)).mean(axis=0), np.float64)

    def most_unusual(self, decision: Decision, count: int = 5) -> dict[str, float]:
        """The features that lie outside most often, with their share."""
        shares = self.shares(decision)
        order = np.argsort(-shares, kind="stable")[:count]
        return {self.names[place]: round(float(shares[place]), 3) for place in order if shares[place] > 0}


def measure_ranges(policy: Bidder, market: Market, *, seed: int, campaigns: int = _CAMPAIGNS) -> ObservationRanges:
    """Play the policy in the market that it was trained in, and take quantiles of everything that it sees."""
    obs = market.reset(seeds_from(seed, campaigns))
    policy.begin(market.brief)
    maker, parts = FeatureMaker(market.brief), []
    while not market.done:
        parts.append(_rows(maker, obs))
        obs, _ = market.step(policy.act(obs))
    features = np.concatenate(parts)
    lowest, highest = np.quantile(features, [_TAIL, 1 - _TAIL], axis=0)
    margin = _MARGIN * (highest - lowest) + 1e-6
    return ObservationRanges(_names(market.objective), lowest - margin, highest + margin)


def _features(brief: Brief, obs: Observation) -> Floats32:
    return _rows(FeatureMaker(brief), obs)


def _rows(maker: FeatureMaker, obs: Observation) -> Floats32:
    """One row a segment, (N * S, F)."""
    rows = maker.by_segment(obs, np.zeros((0, *obs.clicks.shape), np.float32))
    return rows.reshape(-1, rows.shape[-1])


def _names(objective: Objective) -> tuple[str, ...]:
    own = () if is_value(objective) else OBJECTIVE_FEATURES
    return tuple(name for name, _ in (*GLOBAL_FEATURES, *own, *SEGMENT_FEATURES))
