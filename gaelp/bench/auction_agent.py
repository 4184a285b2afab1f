"""A bidder for single auctions under a budget: a rule that makes the money last, and a small network that corrects it.

The rule bids an impression's click rate over a price of money, at which the budget left would just last the auctions
left if prices were those of training and click rates spread as in the auctions so far (log normal). The network adds a
residual to the logarithm of that bid. It sees time and money left, the click rate against those so far, their spread,
and what was spent against what the prices of training would have cost. With weights of 0 it is the rule.

`auction_training` trains it on auctions drawn from the training histogram; no test auction is needed for either.
"""

from dataclasses import dataclass

import numba as nb
import numpy as np

from gaelp.arrays import Floats
from gaelp.errors import DataError
from gaelp.market.policy_state import KeptState
from gaelp.market.price_history import PriceHistory
from gaelp.market.view import Action, Brief, Observation
from gaelp.types import SegmentBelief

__all__ = ["WEIGHTS", "AuctionAgent", "PriceTable", "bid_units", "price_table"]

FEATURES, HIDDEN = 6, 6
WEIGHTS = HIDDEN * (FEATURES + 2) + 1
RESIDUAL_MOST = 1.0  # of the log bid, up and down
PRIOR_AUCTIONS = 50.0  # that the spread of training markets counts for
PRIOR_SPREAD = 0.5
_SPREADS = np.linspace(0.0, 2.0, 21)
_CENTRES = np.linspace(-4.0, 7.0, 221)  # log price units bid on an impression of the usual click rate
_NORMAL = np.linspace(-3.9, 3.9, 79)
_HIGHEST_BID = 1e6


@dataclass(frozen=True, slots=True)
class PriceTable:
    """What bids cost at the prices of training, in price units for an auction entered."""

    cost: Floats  # (highest + 2,) of a bid of 0, 1, 2, ... units
    spend: Floats  # (spreads, centres) of bids that are log normal around exp(centre)
    mean_price: float
    click_rate: float


def price_table(history: PriceHistory) -> PriceTable:
    """Costs of bids from the histogram of training prices."""
    chances = history.counts / history.auctions
    cost = np.append(np.cumsum(chances * np.arange(len(chances))), history.mean_price_units)
    weight = np.exp(-(_NORMAL**2) / 2)
    bids = np.exp(_CENTRES[None, :, None] + _SPREADS[:, None, None] * _NORMAL)
    places = np.minimum(bids, len(chances) - 1).astype(np.int64)
    spend = (cost[places] * weight).sum(axis=2) / weight.sum()
    return PriceTable(cost, np.maximum.accumulate(spend, axis=1), history.mean_price_units, history.click_rate)


@nb.njit(cache=True)
def bid_units(
    table: tuple[Floats, Floats, float], weights: Floats, state: Floats, left: Floats, rate_log: float
) -> float:
    """The bid, in price units, on an impression whose log click rate over the usual one is `rate_log`.

    `table` is cost, spend and mean price of a PriceTable. `state` (6,): auctions seen, sum and sum of squares of their
    `rate_log`, spent so far, what the bids so far would have cost in training, their count; it is updated by the
    impression and the bid, the caller adds what was paid. `left` (3,): money in units, auctions with this one, of how
    many.
    """
    cost, spend, mean_price = table
    auctions_seen = state[0]
    mean = state[1] / (auctions_seen + PRIOR_AUCTIONS)
    square = (state[2] + PRIOR_AUCTIONS * PRIOR_SPREAD**2) / (auctions_seen + PRIOR_AUCTIONS)
    spread = min(np.sqrt(max(square - mean**2, 1e-4)), 2.0)
    centre = _centre(spend, spread, left[0] / left[1])
    paid = np.log((state[3] + mean_price) / (state[4] + mean_price))
    own = (rate_log - mean) / spread
    residual = _network(
        weights,
        (
            np.log(max(left[0], 0.5) / left[1] / mean_price) / 2.0 + 1.0,
            2.0 * left[1] / left[2] - 1.0,
            min(max(own, -3.0), 3.0) / 2.0,
            2.0 * (spread - PRIOR_SPREAD),
            2.0 * paid,
            np.sqrt(left[1] / left[2]) - 0.5,
        ),
    )
    bid = np.exp(centre + rate_log - mean + RESIDUAL_MOST * residual)
    state[0] += 1.0
    state[1] += rate_log
    state[2] += rate_log**2
    state[4] += cost[min(int(bid), len(cost) - 1)]
    return float(bid)


@nb.njit(cache=True)
def _network(weights: Floats, features: tuple[float, ...]) -> float:
    total, place = weights[-1], 0
    for _unit in range(HIDDEN):
        inside = weights[place + FEATURES]
        for feature in range(FEATURES):
            inside += weights[place + feature] * features[feature]
        total += weights[place + FEATURES + 1] * np.tanh(inside)
        place += FEATURES + 2
    return float(np.tanh(total))


@nb.njit(cache=True)
def _centre(spend: Floats, spread: float, wanted: float) -> float:
    """The log bid on a usual impression at which an auction costs `wanted` on average, by interpolation."""
    row = min(spread / 2.0 * (spend.shape[0] - 1), spend.shape[0] - 1.001)
    low_row = int(row)
    part = row - low_row
    low, high = 0, spend.shape[1] - 1
    while high - low > 1:
        middle = (low + high) // 2
        if (1 - part) * spend[low_row, middle] + part * spend[low_row + 1, middle] <= wanted:
            low = middle
        else:
            high = middle
    below = (1 - part) * spend[low_row, low] + part * spend[low_row + 1, low]
    above = (1 - part) * spend[low_row, high] + part * spend[low_row + 1, high]
    share = min(max((wanted - below) / max(above - below, 1e-12), 0.0), 1.0)
    return float(-4.0 + 0.05 * (low + share))


@nb.njit(cache=True)
def _bid_all(
    table: tuple[Floats, Floats, float], weights: Floats, states: Floats, left: Floats, rate_log: Floats
) -> Floats:
    """Bids of N campaigns, (N,); states (N, 6) are updated, left is (N, 3)."""
    bids = np.empty(len(left))
    for n in range(len(left)):
        bids[n] = bid_units(table, weights, states[n], left[n], rate_log[n])
    return bids


class AuctionAgent(KeptState):
    """Rule and network as a bidder of a replay, where one step is one auction and values are known."""

    _kept = ("states", "before")

    def __init__(self, name: str, history: PriceHistory, weights: Floats) -> None:
        """Weights of 0 make it the rule alone."""
        if weights.shape != (WEIGHTS,) or not np.isfinite(weights).all():
            raise DataError(f"weights of shape {weights.shape}; allowed: ({WEIGHTS},), finite. Train them again")
        self.name = name
        table = price_table(history)
        self._table, self._weights = (table.cost, table.spend, table.mean_price), weights
        self._micros_per_unit = history.micros_per_unit
        self._states, self._before = np.zeros((0, 6)), np.zeros(0)

    def begin(self, brief: Brief, _belief: SegmentBelief | None = None, /) -> None:
        """Forget all auctions."""
        self._brief = brief
        self._states = np.zeros((brief.campaigns, 6))
        self._before = brief.budget_micros / self._micros_per_unit
        self._usual_log = np.log(brief.conversion_value_micros * brief.click_rate)

    def act(self, obs: Observation, /) -> Action:
        """Bid for one auction in each campaign."""
        if obs.known_value_log is None:
            raise DataError(f"{self.name} bids on impressions whose value is known: play it in a replay of auctions")
        money = obs.left_micros / self._micros_per_unit
        states = self._states.copy()
        states[:, 3] += self._before - money
        left = np.stack([money, self._brief.hours - obs.hour, self._brief.hours], axis=1).astype(np.float64)
        rate_log = np.asarray(obs.known_value_log[:, 0] - self._usual_log, np.float64)
        bids = np.floor(_bid_all(self._table, self._weights, states, left, rate_log))
        self._states, self._before = states, money
        return Action((np.clip(bids, 0, _HIGHEST_BID) * self._micros_per_unit).astype(np.int64)[:, None])
