"""What one more unit of money is worth for the rest of a flight, hour by hour, with everything to come known.

The price of budget of the hindsight optimum holds for a flight that is played perfectly. Once a bidder has spent more
or less than that, what is left has another price: the one at which the best use of the rest spends it. Only training
may know it; to the reward of the project it adds nothing.
"""

import math

import numpy as np

from gaelp.arrays import Floats, Floats32, Ints, Ints32
from gaelp.market.compiled import compiled, summing
from gaelp.market.landscape import CELLS_PER_LOG, GRID_LOW, LAST_POSITION, Landscapes
from gaelp.market.price_search import next_price, search_from
from gaelp.market.world import DAY_HOURS, World

__all__ = ["RemainingPrices"]


_TOLERANCE = 0.02  # of the money: the price is then right to about as much
_MAX_EVALUATIONS = 24
_SPAN = 3.0  # log: how far the price may move from the flight's
_FLAT = 1e-2


class RemainingPrices:
    """For one batch of flights; ask once an hour, in order: the last hour's price is where the search begins."""

    def __init__(self, world: World, landscapes: Landscapes) -> None:
        worth = np.log(np.maximum(world.value_micros, 1e-12)) - world.level_log
        self._worth = np.ascontiguousarray(worth.transpose(1, 2, 0), np.float32)  # (N, S, T)
        weight = world.volume * world.level_micros
        self._weight = np.ascontiguousarray(weight.transpose(1, 2, 0), np.float32)
        self._landscape, self._best_cost = world.landscape, landscapes.best_cost
        self._cap = world.daily_cap_micros.astype(np.float64)
        self._optimum_log = world.budget_price_log
        self._flight_log = world.budget_price_log.min(axis=1)
        self._today_log = world.budget_price_log[:, 0].copy()

    def __call__(self, hour: int, left_micros: Ints, day_left_micros: Ints) -> Floats:
        """Log value of a micro more for the coming hour, (N,); where no money is left, the last price it had."""
        money = (left_micros.astype(np.float64), day_left_micros.astype(np.float64), self._cap)
        tables = (self._worth, self._weight, self._landscape, self._best_cost)
        usual_log = self._optimum_log[:, hour // DAY_HOURS]
        _solve(hour, tables, money, usual_log, self._flight_log, self._today_log)
        return self._today_log


@compiled
def _solve(
    hour: int,
    tables: tuple[Floats32, Floats32, Ints32, Floats32],
    money: tuple[Floats, Floats, Floats],
    usual_log: Floats,
    flight_log: Floats,
    today_log: Floats,
) -> None:
    """Move the prices of the rest of the flight and of today, (N,) each, from the last hour's to this hour's."""
    worth, weight, landscape, best_cost = tables
    left, day_left, cap = money
    hours = worth.shape[2]
    today_end = min((hour // DAY_HOURS + 1) * DAY_HOURS, hours)
    for n in range(len(left)):
        if left[n] <= 0.0 or day_left[n] <= 0.0:
            continue
        campaign = (worth[n], weight[n], best_cost, landscape[n])
        span, caps = (hour, today_end, hours), (day_left[n], cap[n])
        to_spend = min(left[n], day_left[n] + cap[n] * math.ceil((hours - today_end) / DAY_HOURS))
        flight_log[n] = _price_log(campaign, span, caps, to_spend, usual_log[n], flight_log[n])
        today_log[n] = flight_log[n]
        today, no_cap = (hour, today_end, today_end), (math.inf, 0.0)
        if _planned(campaign, flight_log[n], today, no_cap) > day_left[n] * (1.0 + _TOLERANCE):
            price_log = _price_log(campaign, today, no_cap, day_left[n], usual_log[n], flight_log[n])
            today_log[n] = max(price_log, flight_log[n])


@compiled
def _price_log(
    campaign: tuple[Floats32, Floats32, Floats32, Ints32],
    span: tuple[int, int, int],
    caps: tuple[float, float],
    money: float,
    usual: float,
    guess: float,
) -> float:
    """The price at which the rest of the flight, or of the day, spends the money; an end of the span if none does."""
    search = search_from(guess, usual - _SPAN, usual + _SPAN)
    for evaluation in range(_MAX_EVALUATIONS):
        excess = math.log(max(_planned(campaign, search.price, span, caps), 1e-9) / money)
        if abs(excess) <= _TOLERANCE or search.high - search.low < _TOLERANCE:
            break
        search = next_price(search, excess, evaluation, _FLAT)
    return search.price


@compiled
def _planned(
    campaign: tuple[Floats32, Floats32, Floats32, Ints32],
    price_log: float,
    span: tuple[int, int, int],
    caps: tuple[float, float],
) -> float:
    """Spend of the rest of the flight at a price of budget, no day more than its cap."""
    worth, weight, best_cost, kinds = campaign
    hour, today_end, hours = span
    day_left, cap = caps
    total = min(day_left, _bought(worth, weight, best_cost, kinds, price_log, hour, today_end))
    for start in range(today_end, hours, DAY_HOURS):
        end = min(start + DAY_HOURS, hours)
        total += min(cap, _bought(worth, weight, best_cost, kinds, price_log, start, end))
    return total


@summing
def _bought(
    worth: Floats32, weight: Floats32, table: Floats32, kinds: Ints32, price: float, first: int, last: int
) -> float:
    """Sum over segments and the hours from `first` to before `last`: weight x the table at worth less log price."""
    offset = np.float32((price + GRID_LOW) * CELLS_PER_LOG)
    scale, end = np.float32(CELLS_PER_LOG), np.float32(LAST_POSITION)
    total = 0.0
    for s in range(len(kinds)):
        kind = kinds[s]
        part = np.float32(0.0)
        for t in range(first, last):
            position = min(max(worth[s, t] * scale - offset, np.float32(0.0)), end)
            index = np.int32(position)
            low = table[kind, index]
            part += weight[s, t] * (low + (position - np.float32(index)) * (table[kind, index + 1] - low))
        total += float(part)
    return total
