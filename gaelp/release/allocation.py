"""Split one total of daily budgets by marginal value: a separable concave problem, solved by its dual.

Each campaign has a concave value of its daily budget, with the marginal value

    slope * (budget / kink) ** (elasticity - 1),

where `slope` is `slope_above` for money beyond the kink and `slope_below` for money below it. Money that no campaign
is worth may stay unspent at the value `idle_slope`. With one price of money every campaign takes what is worth more
than the price, so the dual has one variable and is solved by bisection. Any price bounds the optimum from above
(weak duality), so the gap reported holds for the budgets in whole platform steps, rounding included.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from gaelp.arrays import Floats, Ints
from gaelp.errors import BadInput
from gaelp.money import Micros

__all__ = ["Allocation", "AllocationBounds", "ValueCurves", "allocate", "value_micros"]

_CHEAPEST = 1e-9  # a price of money that is as good as none
_BISECTIONS = 64  # of their logarithms: beyond, doubles end


@dataclass(frozen=True, slots=True)
class ValueCurves:
    """What N campaigns return of a day's budget; slopes are micros of value for each micro."""

    kink_micros: Ints  # (N,) above 0: the budget that is used now
    slope_below: Floats  # (N,) of the last micro that is used now
    slope_above: Floats  # (N,) of the next one, at most `slope_below`
    elasticity: float  # of value by budget, above 0 and below 1

    def __post_init__(self) -> None:
        if not 0 < self.elasticity < 1:
            raise BadInput(f"the elasticity of value by budget is {self.elasticity}; allowed: above 0 and below 1")
        shapes = {self.kink_micros.shape, self.slope_below.shape, self.slope_above.shape}
        if len(shapes) > 1 or self.kink_micros.ndim != 1:
            raise BadInput(f"the curves have shapes {sorted(shapes)}; allowed: one number for each campaign")
        fine = np.isfinite(self.slope_below) & (self.slope_above >= 0) & (self.slope_above <= self.slope_below)
        if not (fine & (self.kink_micros > 0)).all():
            row = int(np.argmin(fine & (self.kink_micros > 0)))
            raise BadInput(
                f"campaign {row} has slopes {self.slope_below[row]} and {self.slope_above[row]} around"
                f" {self.kink_micros[row]} micros; allowed: 0 <= above <= below around a positive budget"
            )


@dataclass(frozen=True, slots=True)
class AllocationBounds:
    """Limits in micros: of each campaign, (N,), of all together, and of what may stay unspent for its own value.

    Each campaign keeps one step of the platform or more: a budget of 0 is none.
    """

    least_micros: Ints
    most_micros: Ints
    total_micros: Micros
    step_micros: Micros
    idle_most_micros: Micros = 0  # of the money left over so much is worth `idle_slope`, the rest nothing
    idle_slope: float = 0.0


class Allocation(NamedTuple):
    """Budgets of a day; no split whatever is worth more than `gap_micros` more by these curves."""

    daily_micros: Ints  # (N,) whole steps
    unspent_micros: Micros  # of the total
    price: float  # value of one more micro of total
    gain_micros: float  # against all budgets at their kinks and nothing unspent
    gap_micros: float  # the dual bound less the gain, 0 or more


@dataclass(frozen=True, slots=True)
class _Problem:
    """The same in whole steps; `least` and `most` are multiples of the step."""

    curves: ValueCurves
    bounds: AllocationBounds
    least: Floats = field(init=False)
    most: Floats = field(init=False)

    def __post_init__(self) -> None:
        bounds = self.bounds
        step = bounds.step_micros
        object.__setattr__(self, "least", np.maximum(np.ceil(bounds.least_micros / step), 1) * step)
        object.__setattr__(self, "most", np.floor(bounds.most_micros / step) * step)

    def wanted(self, price: float) -> Floats:
        """The budgets that are best when a micro costs `price`, (N,)."""
        curves = self.curves
        power = 1 / (1 - curves.elasticity)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            above, below = (
                np.where(slope > 0, curves.kink_micros * np.power(slope / price, power), 0.0)
                for slope in (curves.slope_above, curves.slope_below)
            )
        return np.clip(np.clip(curves.kink_micros, above, below), self.least, self.most)

    def bound(self, price: float) -> float:
        """The dual: no allocation is worth more, whatever the price."""
        budgets, bounds = self.wanted(price), self.bounds
        idle = bounds.idle_most_micros * max(bounds.idle_slope - price, 0.0)
        worth = value_micros(self.curves, budgets).sum() - price * (budgets.sum() - bounds.total_micros)
        return float(worth) + idle

    def worth(self, budgets: Floats) -> float:
        """The value of budgets and of what is left over."""
        left = min(self.bounds.total_micros - budgets.sum(), self.bounds.idle_most_micros)
        return float(value_micros(self.curves, budgets).sum() + self.bounds.idle_slope * left)


def value_micros(curves: ValueCurves, budgets_micros: Floats) -> Floats:
    """The value of a day with these budgets less that at the kinks, (N,)."""
    slope = np.where(budgets_micros > curves.kink_micros, curves.slope_above, curves.slope_below)
    ratio = budgets_micros / curves.kink_micros
    growth = np.expm1(curves.elasticity * np.log(np.maximum(ratio, 1e-300)))
    return np.asarray(slope * curves.kink_micros / curves.elasticity * growth)


def allocate(curves: ValueCurves, bounds: AllocationBounds) -> Allocation:
    """The split of greatest value within the bounds, in whole steps of the platform."""
    problem = _Problem(curves, bounds)
    _check(problem)
    price = _price_of_money(problem)
    budgets = _in_steps(problem, price)
    gain = problem.worth(budgets)
    return Allocation(
        daily_micros=budgets.astype(np.int64),
        unspent_micros=bounds.total_micros - int(budgets.sum()),
        price=price,
        gain_micros=gain,
        gap_micros=max(problem.bound(price) - gain, 0.0),
    )


def _check(problem: _Problem) -> None:
    bounds, shape = problem.bounds, problem.curves.kink_micros.shape
    if bounds.least_micros.shape != shape or bounds.most_micros.shape != shape or not shape[0]:
        raise BadInput(
            f"bounds of {bounds.least_micros.shape} and {bounds.most_micros.shape} for curves of {shape}: give one of"
            " each for each campaign"
        )
    if bounds.step_micros < 1 or bounds.idle_most_micros < 0 or bounds.idle_slope < 0:
        raise BadInput(
            f"saw a step of {bounds.step_micros} micros and {bounds.idle_most_micros} idle ones at"
            f" {bounds.idle_slope}: give a step of 1 or more, the others 0 or more"
        )
    wrong = (problem.least > problem.most) | (bounds.least_micros < 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise BadInput(
            f"campaign {row} has a budget from {bounds.least_micros[row]} to {bounds.most_micros[row]} micros and"
            f" steps of {bounds.step_micros}: no whole step lies between; widen the bounds"
        )
    if problem.least.sum() > bounds.total_micros:
        raise BadInput(
            f"the least budgets sum to {problem.least.sum():.0f} micros, the total is {bounds.total_micros}: raise the"
            " total or lower the least budgets"
        )


def _price_of_money(problem: _Problem) -> float:
    """The price at which the total is just used up, with what is better left unspent."""
    bounds = problem.bounds
    without = _clearing_price(problem, bounds.total_micros)
    if without >= bounds.idle_slope:
        return without
    with_all = _clearing_price(problem, bounds.total_micros - bounds.idle_most_micros)
    return min(with_all, bounds.idle_slope)


def _clearing_price(problem: _Problem, total_micros: float) -> float:
    """The price at which the campaigns together want the total; 0: they want less at any, infinite: always more."""
    if problem.wanted(_CHEAPEST).sum() <= total_micros:
        return 0.0
    if problem.least.sum() > total_micros:
        return float("inf")
    dearest = _slopes(problem.curves, problem.least).max()
    low, high = np.log(_CHEAPEST), np.log(max(dearest, _CHEAPEST) * 1.000_001)  # at which nobody wants a step more
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if problem.wanted(np.exp(middle)).sum() > total_micros else (low, middle)
    return float(np.exp(high))


def _slopes(curves: ValueCurves, budgets: Floats) -> Floats:
    slope = np.where(budgets > curves.kink_micros, curves.slope_above, curves.slope_below)
    return np.asarray(slope * np.power(budgets / curves.kink_micros, curves.elasticity - 1))


def _in_steps(problem: _Problem, price: float) -> Floats:
    """Whole steps: rounded down, then what is left goes to the steps that are worth most."""
    bounds, step = problem.bounds, problem.bounds.step_micros
    best = problem.wanted(price if price > 0 else _CHEAPEST)
    budgets = np.maximum(np.floor(best / step) * step, problem.least)
    gain = (value_micros(problem.curves, budgets + step) - value_micros(problem.curves, budgets)) / step
    room = budgets + step <= problem.most
    worth_it = room & (gain > bounds.idle_slope if bounds.idle_most_micros else gain > 0)
    order = np.argsort(-gain, kind="stable")
    order = order[worth_it[order]]
    steps = int((bounds.total_micros - budgets.sum()) // step)
    budgets[order[: max(steps, 0)]] += step
    return np.asarray(budgets, np.float64)
