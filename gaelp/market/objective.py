"""An objective in numbers: what it asks of each campaign, and what value and cost achieve towards it.

With value v and cost c of a flight, under its budget and daily caps:

| objective   | achieved                              | price of money at least                        |
|-------------|---------------------------------------|------------------------------------------------|
| value       | v                                     | 0                                              |
| profit      | v - c                                 | 1                                              |
| target_roas | v - PENALTY x max(0, T x c - v)       | the price at which v = T x c, if that is missed|
| target_cpa  | the same, T = conversion value / CPA  | the same                                       |

A flight that misses its target achieves at most its optimum, however the penalty works out, so breaking a target never
pays. See docs/objectives.md for the choice of PENALTY.
"""

import numpy as np

from gaelp.arrays import Floats, Ints
from gaelp.config.objective import Objective

__all__ = ["PENALTY", "achieved_micros", "least_price", "slack_log", "target_return"]

PENALTY = 3.0  # per micro of value that is missing for the target


def least_price(objective: Objective) -> float:
    """Least value that a unit of money must return at the margin, whatever the budget: 1 for profit, else 0."""
    return 1.0 if objective.kind == "profit" else 0.0


def target_return(objective: Objective, conversion_value_micros: Ints) -> Floats:
    """Least value over cost of each campaign's flight, (N,); 0 where the objective has no target."""
    if objective.target_cpa_micros is not None:
        return np.asarray(conversion_value_micros / objective.target_cpa_micros, dtype=np.float64)
    return np.full(len(conversion_value_micros), objective.target_roas or 0.0)


def achieved_micros(
    objective: Objective, value_micros: Floats, cost_micros: Floats, *, target: Floats, optimum_micros: Floats
) -> Floats:
    """What flights that won this value at this cost achieve towards the objective, (N,); negative for a loss."""
    if objective.kind == "profit":
        return value_micros - cost_micros
    if not objective.has_target:
        return value_micros
    missing = target * cost_micros - value_micros
    return np.where(missing > 0, np.minimum(value_micros - PENALTY * missing, optimum_micros), value_micros)


def slack_log(value_micros: Floats, cost_micros: Floats, target: Floats, prior_micros: Floats) -> Floats:
    """Log of value over target x cost, (N,), where a target just met counts as much as `prior_micros` of value."""
    return np.log((value_micros + prior_micros) / (target * cost_micros + prior_micros))
