"""The one reward of the project: what the objective counts, divided by the hindsight optimum.

Market and replay pay it; the market's training signal is a share of the same optimum. 1.0 is what a bidder who knew
everything beforehand (`hindsight.py`) would have got from the same opportunities.

Value always has an optimum above 0, so each campaign's value is divided by its own. Other objectives can have an
optimum of 0 (a campaign that should not spend); there everything is divided by the mean optimum of the campaigns that
are judged together. The mean of these rewards is the sum of the objective over the sum of optima.

Logged campaigns and live accounts have no hindsight optimum. They report money and lift instead.
"""

import numpy as np

from gaelp.arrays import Floats, Ints
from gaelp.config.objective import Objective, is_value
from gaelp.market.objective import achieved_micros, target_return

__all__ = ["RewardMeter", "headroom_share", "optimum_share", "reward", "reward_scale"]

# What rewards are divided by at least, as a share of the mean budget: in an evaluation, where hardly any campaign
# should spend; and in a batch, which may be one campaign, whose losses would otherwise drown all other rewards.
_LEAST_SCALE, _LEAST_SCALE_IN_A_BATCH = 1e-3, 0.1


def reward(achieved_micros: Floats, optimum_micros: Floats) -> Floats:
    """Share of the hindsight optimum, (N,) or (N, S) like `achieved_micros`; 0 where the optimum is 0."""
    share = np.zeros(achieved_micros.shape)
    return np.divide(achieved_micros, optimum_micros, out=share, where=optimum_micros > 0)


def reward_scale(
    objective: Objective, optimum_micros: Floats, budget_micros: Ints, least: float = _LEAST_SCALE
) -> Floats:
    """What the objective of each campaign is divided by, (N,)."""
    if is_value(objective):
        return optimum_micros
    return np.full(len(optimum_micros), max(optimum_micros.mean(), least * budget_micros.mean()))


def optimum_share(objective: Objective, optimum_micros: Floats, budget_micros: Ints) -> Floats | None:
    """Each optimum over what rewards are divided by, (N,): part of the error of a reward; None where all are 1."""
    if is_value(objective):
        return None
    return reward(optimum_micros, reward_scale(objective, optimum_micros, budget_micros))


class RewardMeter:
    """Turns the value and cost of each hour into rewards that add up to what the whole flight achieves."""

    def __init__(
        self, objective: Objective, optimum_micros: Floats, budget_micros: Ints, conversion_value_micros: Ints
    ) -> None:
        self.objective = objective
        self.optimum_micros = optimum_micros
        self.scale_micros = reward_scale(objective, optimum_micros, budget_micros, _LEAST_SCALE_IN_A_BATCH)
        self.target = target_return(objective, conversion_value_micros)
        self._is_value = is_value(objective)
        self._budget_micros = budget_micros
        self._left_micros = budget_micros
        self.value_micros = np.zeros(len(optimum_micros))  # since launch

    @property
    def cost_micros(self) -> Floats:
        """Spend since launch, (N,)."""
        return np.asarray(self._budget_micros - self._left_micros, dtype=np.float64)

    def add(self, value_micros: Floats, left_micros: Ints) -> Floats:
        """Take in the value that one hour won and the money it left, (N,) each; returns its reward."""
        if self._is_value:
            self.value_micros += value_micros
            self._left_micros = left_micros
            return reward(value_micros, self.scale_micros)
        before = self.achieved_micros()
        self.value_micros += value_micros
        self._left_micros = left_micros.copy()  # a market changes the array that it gave
        return reward(self.achieved_micros() - before, self.scale_micros)

    def resume(self, value_micros: Floats, left_micros: Ints) -> None:
        """Continue flights that have won this value and have this money left, (N,) each."""
        self.value_micros[:] = value_micros
        self._left_micros = left_micros.copy()

    def achieved_micros(self) -> Floats:
        """What the flights have achieved so far, (N,)."""
        return achieved_micros(
            self.objective,
            self.value_micros,
            self.cost_micros,
            target=self.target,
            optimum_micros=self.optimum_micros,
        )


def headroom_share(agent: float, constant: float) -> float:
    """How much of the way from a constant bid's reward to 1 an agent covers."""
    return (agent - constant) / (1.0 - constant)
