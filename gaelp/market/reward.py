"""The one reward of the project: value won under the budget over the hindsight optimum for the same opportunities.

The optimum knows every volume, price level and expected value of the episode beforehand. It bids worth = value / price
of budget, with one price of budget for the whole flight and a higher one on days whose cap binds: the solution of the
linear programme under total budget and daily caps. Fatigue is left out, so with fatigue it is an upper bound.

The prices of budget are found to within a percent of the money; the value is read off the dual, which is never below
the optimum and off by less than the square of that error.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gaelp.market.compiled import compiled, inlined, summing
from gaelp.market.landscape import CELLS_PER_LOG, GRID_LOW, LAST_POSITION

__all__ = ["Case", "bought", "headroom_share", "hindsight_optimum"]

_SPAN = 12.0  # a price of budget this far (log) from the mean worth buys everything or nothing
_USUAL_SLOPE = -1.2  # of log cost by log price: where the search starts, as are the two below
_USUAL_OFFSET, _USUAL_ELASTICITY = -0.7, -0.75  # of log price of budget by log of budget over the cost of everything
_TOLERANCE = 0.01  # of the money
_NARROW = 1e-6
_MAX_EVALUATIONS = 80
_FLAT = 1e-3

Vector = npt.NDArray[np.float64]
Series = npt.NDArray[np.float32]  # segments x hours
Tables = npt.NDArray[np.float32]  # landscapes x grid


class Case(NamedTuple):
    """One campaign as the optimum sees it; arrays are segments x hours."""

    worth: npt.NDArray[np.float32]  # log of value over price level
    weight: npt.NDArray[np.float32]  # volume x price level
    gain: npt.NDArray[np.float32]  # volume x value
    kinds: npt.NDArray[np.int32]  # (S,) each segment's landscape
    day_hours: int


def headroom_share(agent: float, constant: float, optimum: float = 1.0) -> float:
    """How much of the way from a constant bid to the optimum an agent covers."""
    return (agent - constant) / (optimum - constant)


@summing
def bought(
    worth: Series, weight: Series, table: Tables, kinds: npt.NDArray[np.int32], price: float, first: int, last: int
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


@inlined
def _capped_cost(case: Case, table: Tables, price: float, first: int, last: int, cap: float) -> float:
    """Spend from hour `first` to before hour `last`, no day more than its cap."""
    worth, weight, kinds, day_hours = case.worth, case.weight, case.kinds, case.day_hours
    total = 0.0
    for start in range(first, last, day_hours):
        total += min(cap, bought(worth, weight, table, kinds, price, start, min(start + day_hours, last)))
    return total


@compiled
def _price_of_budget(
    case: Case, table: Tables, first: int, last: int, cap: float, budget: float, centre: float, guess: float
) -> float:
    """Log price of budget at which the capped cost from hour `first` to before `last` equals the budget.

    Log cost is nearly linear in the log price, so the secant through the last two points converges in a few steps; the
    bracket around the root keeps it honest. If the money never runs out the price ends at the low end.
    """
    low, high = centre - _SPAN, centre + _SPAN
    x, slope = min(max(guess, low), high), _USUAL_SLOPE
    last_x, last_f = x, 0.0
    for evaluation in range(_MAX_EVALUATIONS):
        cost = _capped_cost(case, table, x, first, last, cap)
        f = math.log(max(cost, 1e-9) / budget)
        if abs(f) <= _TOLERANCE:
            return x
        if f > 0.0:
            low = x
        else:
            high = x
        if evaluation > 0:
            slope = (f - last_f) / (x - last_x)
        last_x, last_f = x, f
        # Where every day is capped the cost is flat and the secant says nothing: halve the bracket instead.
        secant = x - f / slope if slope < -_FLAT else math.inf
        x = secant if low < secant < high and evaluation % 4 < 3 else 0.5 * (low + high)
        if high - low < _NARROW:
            break
    return high


@compiled
def hindsight_optimum(
    case: Case, best_win: Tables, best_cost: Tables, budget: float, cap: float, price_log: Vector
) -> tuple[float, float]:
    """Value and spend of the optimum for one campaign; `price_log` receives the log price of budget of each day."""
    hours = case.worth.shape[1]
    centre = float(case.worth.mean())
    everything = max(float(case.weight.sum()), 1e-9)
    guess = centre + _USUAL_OFFSET + _USUAL_ELASTICITY * math.log(max(budget / everything, 1e-9))
    shared = centre - _SPAN
    if len(price_log) * cap > budget:  # otherwise the caps alone hold the spend below the budget
        shared = _price_of_budget(case, best_cost, 0, hours, cap, budget, centre, guess)
    value = math.exp(shared) * budget
    spend = 0.0
    for day in range(len(price_log)):
        first, last = day * case.day_hours, min((day + 1) * case.day_hours, hours)
        price = shared
        if _capped_cost(case, best_cost, shared, first, last, math.inf) > cap:
            guess = max(shared, centre)
            found = _price_of_budget(case, best_cost, first, last, math.inf, cap, centre, guess)
            price = max(found, shared)
            value += (math.exp(price) - math.exp(shared)) * cap
        price_log[day] = price
        paid = bought(case.worth, case.weight, best_cost, case.kinds, price, first, last)
        won = bought(case.worth, case.gain, best_win, case.kinds, price, first, last)
        value += won - math.exp(price) * paid
        spend += paid
    return value, spend
