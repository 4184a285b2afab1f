"""The one reward of the project: what the objective counts, divided by the hindsight optimum.

Market and replay pay it; the market's training signal is a share of the same optimum. 1.0 is what a bidder who knew
everything beforehand (`hindsight.py`) would have got from the same opportunities. Today the objective counts value.
Another objective enters in two places: what is passed here as `achieved_micros`, and the optimum that maximises it.

Logged campaigns and live accounts have no hindsight optimum. They report money and lift instead.
"""

import numpy as np

from gaelp.arrays import Floats

__all__ = ["headroom_share", "reward"]


def reward(achieved_micros: Floats, optimum_micros: Floats) -> Floats:
    """Share of the hindsight optimum, (N,) or (N, S) like `achieved_micros`; 0 where the optimum is 0."""
    share = np.zeros(achieved_micros.shape)
    return np.divide(achieved_micros, optimum_micros, out=share, where=optimum_micros > 0)


def headroom_share(agent: float, constant: float) -> float:
    """How much of the way from a constant bid's reward to 1 an agent covers."""
    return (agent - constant) / (1.0 - constant)
