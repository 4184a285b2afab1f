"""The dynamic-programming bidders SS-MDP and RLB of Cai et al. (WSDM 2017): money is worth what the table says it wins.

D(t, b) is the most value to be had from t auctions with b price units left, an average impression being worth 1:

    D(t, b) = D(t-1, b) + sum over price <= a of chance(price) x (1 + D(t-1, b - price) - D(t-1, b))
    a       = the largest bid, up to b and the highest price, with 1 + D(t-1, b - a) - D(t-1, b) >= 0
    D(t, 0) = 0: as published, the table leaves out what can be had for nothing once the money is gone

RLB bids the same a with the impression's own value in place of 1; SS-MDP bids the average one's for all.

Where the chances of whole prices are given, as in replay, one auction of the table is one auction. In the hourly market
the table covers the whole flight: all forecast volume is 1,000 auctions, and the mean price is 70 units.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numba as nb
import numpy as np

from gaelp.arrays import Floats, Floats32, Ints
from gaelp.errors import DataError
from gaelp.market.baselines.objective_price import worth_within_objective
from gaelp.market.baselines.worth import AverageValue, PriorValues, ValueSource, bid_for, mean_price_micros
from gaelp.market.landscape import GRID
from gaelp.market.policy_state import KeptState
from gaelp.market.price_history import PriceHistory
from gaelp.market.view import Action, Brief, Observation
from gaelp.types import SegmentBelief

__all__ = ["HIGHEST_UNITS", "LEVEL_UNITS", "SCALED_AUCTIONS", "Rlb", "SsMdp", "UnitPrices", "solve", "unit_chances"]

LEVEL_UNITS = 70
HIGHEST_UNITS = 300
SCALED_AUCTIONS = 1000
_SCALED_ROWS_APART = 20
_RICHEST = 1.0  # beyond the money to win everything at the mean price, more money changes nothing
_SATURATED = 1e-9
_MOST_TABLE_BYTES = 2 * 1024**3
_WEEK_HOURS = 168

ValueTable = Floats32 | Floats  # (rows, budget + 1)


@dataclass(frozen=True, slots=True, eq=False)
class UnitPrices:
    """Chance of each whole price 0, 1, 2, ... in units of so many micros."""

    chances: Floats
    micros_per_unit: int

    @classmethod
    def of_history(cls, history: PriceHistory) -> "UnitPrices":
        """Smoothed chances of the prices seen in training, as published."""
        return cls(history.price_chances(), history.micros_per_unit)


def solve(
    chances: Floats, *, auctions: int, budget_units: int, rows_apart: int = 1, dtype: str = "float64"
) -> ValueTable:
    """Rows D(0, .), D(rows_apart, .), ... below D(auctions, .), each over budgets 0..budget_units."""
    rows = (auctions - 1) // rows_apart + 1
    table_bytes = rows * (budget_units + 1) * np.dtype(dtype).itemsize
    if table_bytes > _MOST_TABLE_BYTES:
        raise DataError(
            f"a table of {rows} auctions x {budget_units + 1} budgets takes {table_bytes / 1024**3:.1f} GiB, "
            f"{_MOST_TABLE_BYTES / 1024**3:.0f} allowed: use shorter episodes, a smaller budget or a coarser price unit"
        )
    table = np.zeros((rows, budget_units + 1), dtype=dtype)
    _fill(table, np.ascontiguousarray(chances, dtype=np.float64), rows_apart)
    return table


@nb.njit(cache=True, fastmath={"reassoc", "contract"})
def _dot(left: Floats, right: Floats) -> float:
    total = 0.0
    for i in range(left.shape[0]):
        total += left[i] * right[i]
    return total


@nb.njit(cache=True)
def _fill(table: ValueTable, chances: Floats, rows_apart: int) -> None:
    highest = len(chances) - 1
    share_below = np.cumsum(chances)
    chances_down = chances[::-1].copy()  # falls as the budget after the price rises: the sum runs forward in memory
    now = np.zeros(table.shape[1])
    then = np.zeros(table.shape[1])
    for auctions in range(1, (len(table) - 1) * rows_apart + 1):
        everything = auctions * share_below[highest]
        cheapest = 0  # least budget to keep such that the average impression is worth the difference
        for budget in range(1, len(now)):
            while 1.0 + (now[cheapest] - now[budget]) < 0.0:
                cheapest += 1
            bid = min(budget - cheapest, highest)
            after = _dot(chances_down[highest - bid :], now[budget - bid : budget + 1])
            then[budget] = now[budget] + share_below[bid] * (1.0 - now[budget]) + after
            if then[budget] > everything - _SATURATED:
                then[budget:] = everything
                break
        now, then = then, now
        if auctions % rows_apart == 0:
            table[auctions // rows_apart, :] = now


@nb.njit(cache=True)
def _largest_bids(table: ValueTable, cells: Ints, values: Floats, highest: int, fractions: bool) -> Floats:
    """For each value, (N, S), the largest bid that is worth its money at row and budget cells[n]."""
    bids = np.empty(values.shape)
    for n in range(values.shape[0]):
        worth, budget = table[cells[n, 0]], cells[n, 1]
        floor = max(budget - highest, 0)
        for s in range(values.shape[1]):
            low, high = floor, budget
            while low < high:
                middle = (low + high) // 2
                if values[n, s] + (worth[middle] - worth[budget]) >= 0.0:
                    high = middle
                else:
                    low = middle + 1
            bids[n, s] = budget - low
            if fractions and low > floor:
                slack = values[n, s] + (worth[low] - worth[budget])
                bids[n, s] += min(slack / (worth[low] - worth[low - 1]), 1.0)
    return bids


@dataclass(frozen=True, slots=True)
class _Standing:
    """The place of each campaign in the table."""

    cells: Ints  # (N, 2) row and budget
    micros_per_unit: Floats  # (N,)


class _Course(Protocol):
    """A solved table and the way from an observation into it."""

    table: ValueTable
    highest: int
    fractions: bool

    def standing(self, obs: Observation) -> _Standing: ...


class _ExactCourse:
    """One auction of the table is one auction of the episode."""

    fractions = False

    def __init__(self, brief: Brief, prices: UnitPrices) -> None:
        self.highest = len(prices.chances) - 1
        self._auctions = brief.hours
        longest = int(brief.hours.max())
        self._micros_per_unit = prices.micros_per_unit
        richest = int(brief.budget_micros.max()) // prices.micros_per_unit
        budget_units = min(richest, self.highest * longest)
        self.table = solve(prices.chances, auctions=longest, budget_units=budget_units)

    def standing(self, obs: Observation) -> _Standing:
        campaigns = len(obs.left_micros)
        rows = self._auctions - obs.hour - 1
        budgets = np.minimum(obs.left_micros // self._micros_per_unit, self.table.shape[1] - 1)
        return _Standing(np.stack([rows, budgets], axis=1), np.full(campaigns, float(self._micros_per_unit)))


class _ScaledCourse:
    """The whole flight's forecast volume is the table's auctions, its mean price to come so many units."""

    fractions = True
    highest = HIGHEST_UNITS

    def __init__(self, brief: Brief, auctions: int) -> None:
        landscapes = brief.landscapes
        # Best responses to first prices win and pay like truthful bids do where best_win is the prices' distribution.
        self.table = _scaled_table(unit_chances(landscapes.best_win[landscapes.pooled]).tobytes(), auctions)
        self._brief = brief
        self._auctions = auctions
        self._volume, self._weighted_volume = _still_to_come(brief)

    def standing(self, obs: Observation) -> _Standing:
        brief, now = self._brief, (obs.hour, np.arange(len(obs.hour)))
        profile_log = brief.price_profile_log[brief.hour_of_day(obs.hour)][:, None]
        price_now = mean_price_micros(brief, obs.price_level_log - profile_log)
        cost_micros = np.maximum(price_now * self._weighted_volume[now], 1e-9)  # of everything still to come
        auctions_left = self._auctions * self._volume[now] / self._volume[0]
        rows = np.rint((auctions_left - 1) / _SCALED_ROWS_APART).astype(np.int64).clip(1, len(self.table) - 1)
        budgets = obs.left_micros / cost_micros * (rows * _SCALED_ROWS_APART * LEVEL_UNITS)
        budgets = np.minimum(budgets, self.table.shape[1] - 1).astype(np.int64)
        micros_per_unit = cost_micros / np.maximum(self._volume[now], 1e-9) / LEVEL_UNITS
        return _Standing(np.stack([rows, budgets], axis=1), micros_per_unit)


def unit_chances(win: Floats32) -> Floats:
    """Chance of each whole price 0..HIGHEST_UNITS under a landscape's row, LEVEL_UNITS being its price level."""
    edges_log = np.log((np.arange(HIGHEST_UNITS + 1) + 0.5) / LEVEL_UNITS)
    share_below = np.interp(edges_log, GRID, win, left=0.0)
    return np.asarray(np.maximum(np.diff(share_below, prepend=0.0), 0.0), dtype=np.float64)


@lru_cache(maxsize=4)
def _scaled_table(chances: bytes, auctions: int) -> ValueTable:
    # Cached, for it takes a second and every bidder of every episode of a market needs the same one.
    return solve(
        np.frombuffer(chances),
        auctions=auctions,
        budget_units=round(_RICHEST * auctions * LEVEL_UNITS),
        rows_apart=_SCALED_ROWS_APART,
        dtype="float32",
    )


def _still_to_come(brief: Brief) -> tuple[Floats, Floats]:
    """Forecast opportunities from each hour on, plain and weighted by the hour's price, (T + 1, N)."""
    longest = int(brief.hours.max())
    volume = np.zeros((longest + 1, brief.campaigns))
    weighted = np.zeros_like(volume)
    price = np.array([math.exp(level_log) for level_log in brief.price_profile_log])
    for hour in reversed(range(longest)):
        hour_of_week = (brief.start_hour_of_week[:, None] + hour) % _WEEK_HOURS
        coming = (brief.volume_forecast * brief.activity[brief.persona, hour_of_week]).sum(axis=1)
        coming *= hour < brief.hours
        volume[hour] = volume[hour + 1] + coming
        weighted[hour] = weighted[hour + 1] + coming * price[brief.hour_of_day(hour)]
    return volume, weighted


class _Bidder:
    """What both bidders share: the table, and the bid for a value relative to the average one."""

    def __init__(self, prices: UnitPrices | None, aggression: float, auctions: int) -> None:
        if auctions <= _SCALED_ROWS_APART:
            raise DataError(f"auctions={auctions} seen, more than {_SCALED_ROWS_APART} allowed: use about 1000")
        self._prices = prices
        self._scale = math.exp(aggression)
        self._auctions = auctions
        self.is_exact = prices is not None

    def begin(self, brief: Brief) -> None:
        self._brief = brief
        self._course: _Course = (
            _ExactCourse(brief, self._prices) if self._prices else _ScaledCourse(brief, self._auctions)
        )

    def bid(self, obs: Observation, values: Floats, value_log: Floats32 | Floats | None = None) -> Action:
        course = self._course
        at = course.standing(obs)
        units = _largest_bids(course.table, at.cells, values, course.highest, course.fractions)
        worth = units * at.micros_per_unit[:, None] * self._scale
        if value_log is not None:
            worth = worth_within_objective(self._brief, obs, value_log, worth)
        return Action(bid_for(self._brief, obs, worth))


class SsMdp(KeptState):
    """Bids one price for every impression: what the average one is worth at this time with this money."""

    name = "ss-mdp"

    def __init__(
        self, *, prices: UnitPrices | None = None, aggression: float = 0.0, auctions: int = SCALED_AUCTIONS
    ) -> None:
        """`prices` makes the table exact, as replay needs it; `aggression` is a log factor on the bid."""
        self._bidder = _Bidder(prices, aggression, auctions)

    def begin(self, brief: Brief, _belief: SegmentBelief | None = None, /) -> None:
        """Solve the table."""
        self._bidder.begin(brief)
        self._values = np.ones((brief.campaigns, brief.segments))

    def act(self, obs: Observation, /) -> Action:
        """Bid for the coming hour."""
        return self._bidder.bid(obs, self._values)


class Rlb(KeptState):
    """Bids what each impression's own value is worth at this time with this money."""

    name = "rlb"
    _kept = ("source", "average")

    def __init__(
        self,
        *,
        prices: UnitPrices | None = None,
        values: ValueSource | None = None,
        aggression: float = 0.0,
        auctions: int = SCALED_AUCTIONS,
    ) -> None:
        """`prices` makes the table exact, as replay needs it; `aggression` is a log factor on the bid."""
        self._bidder = _Bidder(prices, aggression, auctions)
        self._source = values or PriorValues()

    def begin(self, brief: Brief, belief: SegmentBelief | None = None, /) -> None:
        """Solve the table."""
        self._bidder.begin(brief)
        self._source.begin(brief, belief)
        self._average = AverageValue(brief, learned=not self._bidder.is_exact)

    def act(self, obs: Observation, /) -> Action:
        """Bid for the coming hour."""
        value_log, _ = self._source.log_value(obs)
        return self._bidder.bid(obs, self._average.relative(value_log), value_log)
