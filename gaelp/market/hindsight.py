"""The hindsight optimum: the most of the objective that a budget could have bought, knowing everything beforehand.

In the market it knows every volume, price level and expected value of the episode. It bids worth = value / price of
money, with one price for the whole flight and a higher one on days whose cap binds: the solution of the linear
programme under total budget and daily caps. Fatigue is left out, so with fatigue it is an upper bound.

The objective sets a least price of money, whatever the budget: 1 for profit, and for a target return the price at
which value = target x cost (a dearer price always returns more). Money beyond that stays unspent.

The prices of budget are found to within half a percent of the money; the value is read off the dual, which is never
below the optimum and off by less than the square of that error.

In a replay, where each auction is known, it is a fractional knapsack.
"""

import math
from typing import NamedTuple

import numpy as np

from gaelp.arrays import Floats, Floats32, Ints, Ints32
from gaelp.market.compiled import compiled, summing
from gaelp.market.landscape import CELLS_PER_LOG, GRID_LOW, LAST_POSITION

__all__ = ["NO_RETURN_DEMAND", "Case", "ReturnDemand", "empty_case", "hindsight_optimum", "knapsack_optimum"]

_SPAN = 12.0  # a price of budget this far (log) from the mean return buys everything worth having, or nothing
# Where the search starts: log price over mean return, by the log of the budget over the cost of everything.
_USUAL_OFFSET, _USUAL_ELASTICITY = -1.05, -0.65
_TOLERANCE = 0.005  # of the money
_NARROW = 1e-6
_MAX_EVALUATIONS = 80
_RETURN_TOLERANCE = 1e-4  # of the target return
_MOST_WEIGHT = 50.0  # of the target's constraint in the dual: beyond this everything bought returns the target itself
_FLAT = 1e-3  # a log cost that falls by less than this with the log price says nothing about its root

FlatTable = Floats32  # landscapes x grid, flat


class Case(NamedTuple):
    """One campaign as the optimum sees it: rows of opportunities, those of one day together; and room to work in."""

    worth: Floats32  # log of value over price level
    weight: Floats32  # volume x price level
    gain: Floats32  # volume x value
    start: Ints32  # where the row of each one's landscape starts in the tables
    day_places: int  # opportunities in a day
    cost: Floats  # (days,) at the price last tried
    slope: Floats  # (days,) of that cost by log price


class ReturnDemand(NamedTuple):
    """The return that the objective demands of one campaign; see objective.py."""

    least_price: float  # of money: 0 where only the budget limits spend, 1 for profit
    target_return: float  # value over cost of the whole flight; 0 for none


NO_RETURN_DEMAND = ReturnDemand(0.0, 0.0)


def empty_case(days: int, day_places: int) -> Case:
    """A case to fill with one campaign after another."""
    worth, weight, gain = (np.empty(days * day_places, np.float32) for _ in range(3))
    start = np.empty(days * day_places, np.int32)
    return Case(worth, weight, gain, start, day_places, np.empty(days), np.empty(days))


@summing
def _spent(case: Case, table: FlatTable, price: float, first: int, last: int) -> tuple[float, float]:
    """Cost at a price of budget from place `first` to before `last`, and how it changes with the log price."""
    # Slices, because an index that might be negative keeps the compiler from loading neighbours at once. Without
    # `start`: a loop in which all were slices would add up in another order, and change the last bits of every optimum.
    worth, weight, start = case.worth[first:last], case.weight[first:last], case.start
    offset = np.float32((price + GRID_LOW) * CELLS_PER_LOG)
    scale, end = np.float32(CELLS_PER_LOG), np.float32(LAST_POSITION)
    cost, rise = np.float32(0.0), np.float32(0.0)
    for i in range(last - first):
        position = min(max(worth[i] * scale - offset, np.float32(0.0)), end)
        cell = np.int32(position)
        low = table[np.uint32(start[first + i] + cell)]
        step = weight[i] * (table[np.uint32(start[first + i] + cell + 1)] - low)
        cost += weight[i] * low + (position - np.float32(cell)) * step
        rise += step
    return float(cost), -CELLS_PER_LOG * float(rise)


@summing
def _won(case: Case, table: FlatTable, price: float, first: int, last: int) -> float:
    """Value won at a price of budget from place `first` to before `last`."""
    worth, gain, start = case.worth[first:last], case.gain[first:last], case.start
    offset = np.float32((price + GRID_LOW) * CELLS_PER_LOG)
    scale, end = np.float32(CELLS_PER_LOG), np.float32(LAST_POSITION)
    total = np.float32(0.0)
    for i in range(last - first):
        position = min(max(worth[i] * scale - offset, np.float32(0.0)), end)
        cell = np.int32(position)
        low = table[np.uint32(start[first + i] + cell)]
        total += gain[i] * (low + (position - np.float32(cell)) * (table[np.uint32(start[first + i] + cell + 1)] - low))
    return float(total)


@summing
def _means(case: Case) -> tuple[float, float]:
    """Cost of everything at the price level, and the log of what all of it is worth over that cost."""
    weight, gain = case.weight, case.gain
    cost, worth = np.float32(1e-9), np.float32(1e-9)
    for i in range(len(weight)):
        cost += weight[i]
        worth += gain[i]
    return float(cost), math.log(float(worth) / float(cost))


@compiled
def _try_price(case: Case, table: FlatTable, price: float, first: int, last: int) -> None:
    """Cost and slope of each day from `first` to before `last` at a price of budget."""
    for day in range(first, last):
        start = day * case.day_places
        end = min(start + case.day_places, len(case.worth))
        case.cost[day], case.slope[day] = _spent(case, table, price, start, end)


@compiled
def _price_of_budget(
    case: Case,
    table: FlatTable,
    days: tuple[int, int],
    money: tuple[float, float],
    bracket: tuple[float, float],
    x: float,
) -> float:
    """Log price at which the days, none above its cap, cost the budget; `case` then holds their costs at that price.

    `money` is the budget and the cap. Newton's method on the log of the cost, which is nearly linear in the log price;
    the bracket around the root keeps it honest. If the money never runs out the price ends at the low end.
    """
    (first, last), (budget, cap), (low, high) = days, money, bracket
    for evaluation in range(_MAX_EVALUATIONS):
        _try_price(case, table, x, first, last)
        cost, slope, whole_cost, whole_slope = 1e-9, 0.0, 1e-9, 0.0
        for day in range(first, last):
            cost += min(case.cost[day], cap)
            slope += case.slope[day] if case.cost[day] < cap else 0.0
            whole_cost += case.cost[day]
            whole_slope += case.slope[day]
        f = math.log(cost / budget)
        if abs(f) <= _TOLERANCE or high - low < _NARROW:
            break
        if f < 0.0 and x == low:  # the money lasts even if everything is bought
            break
        if f > 0.0:
            low = x
        else:
            high = x
        if slope > -_FLAT * cost:  # every day is capped: without caps the search would continue from here
            cost, slope = whole_cost, whole_slope
        tangent = x - math.log(cost / budget) * cost / slope if slope < -_FLAT * cost else math.inf
        if low < tangent < high and evaluation % 8 < 7:
            x = tangent
        else:
            x = low if f < 0.0 and slope >= -_FLAT * cost else 0.5 * (low + high)
    return x


@compiled
def _price_at_least(
    case: Case,
    table: FlatTable,
    days: tuple[int, int],
    money: tuple[float, float],
    bracket: tuple[float, float],
    x: float,
) -> float:
    """The price of budget, or the low end of the bracket if the money lasts there: a floor that often binds."""
    (first, last), (budget, cap), (low, high) = days, money, bracket
    _try_price(case, table, low, first, last)
    cost = 0.0
    for day in range(first, last):
        cost += min(case.cost[day], cap)
    if cost <= budget:
        return low
    return _price_of_budget(case, table, days, money, (low, high), max(x, low))


@compiled
def _price_of_return(
    case: Case,
    tables: tuple[FlatTable, FlatTable],
    target: float,
    bracket: tuple[float, float],
    price_log: Floats,
) -> float:
    """Least log price above the bracket's low end at which value is `target` x cost.

    No day is cheaper than the price that `price_log` holds for it where its cap binds. Newton's method on the log of
    the return, which rises with the price; its derivative follows from d value = price x d cost.
    """
    best_win, best_cost = tables
    low, high = bracket
    shared, x = low, min(low + 0.5, 0.5 * (low + high))
    for evaluation in range(_MAX_EVALUATIONS):
        value, cost, slope = 0.0, 0.0, 0.0
        for day in range(len(price_log)):
            start = day * case.day_places
            end = min(start + case.day_places, len(case.worth))
            price = max(x, price_log[day]) if price_log[day] > shared else x
            day_cost, day_slope = _spent(case, best_cost, price, start, end)
            value += _won(case, best_win, price, start, end)
            cost += day_cost
            slope += day_slope if price == x else 0.0
        excess = math.log(value / (target * cost)) if cost > 0.0 and value > 0.0 else math.inf
        if abs(excess) <= _RETURN_TOLERANCE or high - low < _NARROW:
            break
        if excess < 0.0:
            low = x
        else:
            high = x
        rise = slope * (math.exp(x) / value - 1.0 / cost) if excess < math.inf else 0.0
        tangent = x - excess / rise if rise > _FLAT else math.inf
        x = tangent if low < tangent < high and evaluation % 8 < 7 else 0.5 * (low + high)
    return x


@compiled
def hindsight_optimum(
    case: Case,
    best_win: FlatTable,
    best_cost: FlatTable,
    budget: float,
    cap: float,
    price_log: Floats,
    demand: ReturnDemand = NO_RETURN_DEMAND,
) -> tuple[float, float, float]:
    """What the optimum of one campaign is worth, what it spends, and the log price that the objective alone asks for.

    `price_log` receives the log price of money of each day. The third figure is -inf where only the budget limits
    spend.
    """
    days = len(price_log)
    everything, return_log = _means(case)
    low, high = return_log - _SPAN, return_log + _SPAN
    floored = demand.least_price > 0.0
    if floored:
        low = max(low, math.log(demand.least_price))
        high = max(high, low)
    to_spend = min(budget, days * cap)
    guess = return_log + _USUAL_OFFSET + _USUAL_ELASTICITY * math.log(max(to_spend / everything, 1e-9))
    guess = min(max(guess, low), high)
    caps_alone = days * cap <= budget and not floored  # they hold the spend below the budget: only days have a price
    if floored:
        shared = _price_at_least(case, best_cost, (0, days), (budget, cap), (low, high), guess)
    else:
        shared = low if caps_alone else _price_of_budget(case, best_cost, (0, days), (budget, cap), (low, high), guess)
    worth = (math.exp(shared) - demand.least_price) * budget
    value, spend = 0.0, 0.0
    for day in range(days):
        price = shared
        if caps_alone or case.cost[day] > cap:
            if not caps_alone:
                cost, slope = case.cost[day], min(case.slope[day], -_FLAT * case.cost[day])
                guess = min(shared - math.log(cost / cap) * cost / slope, high)
            price = _price_of_budget(case, best_cost, (day, day + 1), (cap, math.inf), (shared, high), guess)
            worth += (math.exp(price) - math.exp(shared)) * cap
        price_log[day] = price
        start = day * case.day_places
        won = _won(case, best_win, price, start, min(start + case.day_places, len(case.worth)))
        worth += won - math.exp(price) * case.cost[day]
        value += won
        spend += case.cost[day]
    if demand.target_return > 0.0 and value < demand.target_return * spend:
        return _optimum_at_target(case, (best_win, best_cost), (cap, demand.target_return), (shared, high), price_log)
    if floored:
        return max(worth, 0.0), spend, math.log(demand.least_price)
    return worth, spend, -math.inf


@compiled
def _optimum_at_target(
    case: Case,
    tables: tuple[FlatTable, FlatTable],
    money: tuple[float, float],
    bracket: tuple[float, float],
    price_log: Floats,
) -> tuple[float, float, float]:
    """The optimum where the target return limits spend, not the budget: as `hindsight_optimum`.

    With price p the constraint value >= target x cost weighs p / (target - p) in the dual, and a day's cap
    what its price is above p, times one plus that weight.
    """
    best_win, best_cost = tables
    (cap, target), shared = money, bracket[0]
    target_log = math.log(target)
    floor = target_log
    if shared < target_log:
        floor = _price_of_return(case, tables, target, (shared, target_log), price_log)
    p = math.exp(floor)
    weight = min(p / max(target - p, 1e-9 * target), _MOST_WEIGHT)
    value, spend, worth = 0.0, 0.0, 0.0
    for day in range(len(price_log)):
        is_capped = price_log[day] > max(shared, floor)
        price_log[day] = price_log[day] if is_capped else floor
        start = day * case.day_places
        end = min(start + case.day_places, len(case.worth))
        cost, _ = _spent(case, best_cost, price_log[day], start, end)
        value += _won(case, best_win, price_log[day], start, end)
        spend += cost
        if is_capped:
            worth += (math.exp(price_log[day]) - p) * (1.0 + weight) * (cap - cost)
    return max(value + weight * (value - target * spend) + worth, 0.0), spend, floor


def knapsack_optimum(value: Floats, cost: Ints, budget: Ints, demand: ReturnDemand = NO_RETURN_DEMAND) -> Floats:
    """Most of the objective that each budget buys, the last item in part; items are (T, N), budgets and result (N,).

    Items are bought by value per cost until the money runs out, an item returns less than the least price of money, or
    all items together return less than the target. Buying whole items only wins less, by less than the one item that
    is bought in part.
    """
    density = np.divide(value, cost, out=np.where(value > 0, np.inf, 0.0), where=cost > 0)
    order = np.argsort(-density, axis=0, kind="stable")
    cost = np.take_along_axis(cost, order, axis=0)
    before = np.cumsum(cost, axis=0) - cost
    share = np.divide(budget - before, cost, out=np.ones(cost.shape), where=cost > 0).clip(0.0, 1.0)
    if demand == NO_RETURN_DEMAND:
        return np.asarray((np.take_along_axis(value, order, axis=0) * share).sum(axis=0), dtype=np.float64)
    value = np.take_along_axis(value, order, axis=0)
    missing = demand.target_return * cost - value  # what an item falls short of the target, below 0 if it exceeds it
    slack = missing - np.cumsum(missing, axis=0)  # what the items before it leave
    affordable = np.divide(slack, missing, out=np.ones(cost.shape), where=missing > 0).clip(0.0, 1.0)
    share = np.minimum(share, affordable) if demand.target_return > 0 else share
    gain = value - demand.least_price * cost
    return np.asarray((np.maximum(gain, 0.0) * share).sum(axis=0), dtype=np.float64)
