"""The price of money that an objective asks of a rule, whatever the budget: money beyond it stays unspent.

Profit asks for 1. A target return T asks for a price below T, for what is bought at a price returns more than it on
average. By how much nobody knows beforehand, so the price follows the slack since launch (dual averaging): value
bought so far, as the rule estimates it, over T x cost. At no slack it is half of T, and a return one percent short of
the target raises it by five.
"""

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Floats
from gaelp.config.objective import is_value
from gaelp.market.objective import slack_log, target_return
from gaelp.market.view import Brief, Observation

__all__ = ["bought_micros", "objective_price_log", "within_objective", "worth_within_objective"]

_USUAL_SHARE_LOG = float(np.log(0.5))  # of the target: where the return is as wanted
_GAIN = 5.0  # log price per log of missing return
_PRIOR_SHARE = 0.02  # of the budget: what counts as bought at the target before anything was


def bought_micros(obs: Observation, value_log: npt.NDArray[np.floating]) -> Floats:
    """Value of the impressions since launch, (N,), each at the value (N, S) that its segment has as estimated now."""
    return np.asarray((obs.total_impressions * np.exp(value_log, dtype=np.float64)).sum(axis=1))


def objective_price_log(brief: Brief, obs: Observation, value_log: npt.NDArray[np.floating]) -> Floats | None:
    """Least log price of money, (N,), given log values of an impression, (N, S); None if only the budget counts."""
    if is_value(brief.objective):
        return None
    if not brief.objective.has_target:
        return np.zeros(brief.campaigns)
    target = target_return(brief.objective, brief.conversion_value_micros)
    cost = obs.total_cost_micros.sum(axis=1, dtype=np.float64)
    prior = target * _PRIOR_SHARE * brief.budget_micros
    slack = slack_log(bought_micros(obs, value_log), cost, target, prior)
    return np.log(target) + np.minimum(_USUAL_SHARE_LOG - _GAIN * slack, 0.0)


def within_objective(brief: Brief, obs: Observation, value_log: npt.NDArray[np.floating], price_log: Floats) -> Floats:
    """A rule's log price of money, (N,), raised to what the objective asks for."""
    least_log = objective_price_log(brief, obs, value_log)
    return price_log if least_log is None else np.maximum(price_log, least_log)


def worth_within_objective(
    brief: Brief, obs: Observation, value_log: npt.NDArray[np.floating], worth_micros: Floats
) -> Floats:
    """What a rule would bid for each impression, (N, S), lowered to its value at the price the objective asks for."""
    least_log = objective_price_log(brief, obs, value_log)
    return worth_micros if least_log is None else np.minimum(worth_micros, np.exp(value_log - least_log[:, None]))
