"""A mean over validation episodes with its 95% interval, and its lead over a reference on the same episodes."""

import math

import numpy as np

from gaelp.arrays import Floats
from gaelp.config.base import Frozen
from gaelp.errors import BadInput

__all__ = ["Score", "score"]

_Z_95 = 1.959963984540054


class Score(Frozen):
    """`lead` is the mean difference to the reference, 0 where there is none to be `compared` with."""

    mean: float
    lower_95: float
    upper_95: float
    lead: float
    lead_lower_95: float
    lead_upper_95: float
    episodes: int
    compared: bool = True


def score(rewards: Floats, reference: Floats | None = None) -> Score:
    """The score of rewards (episodes,); `reference` holds those of another policy in the same episodes."""
    if len(rewards) < 2 or not np.isfinite(rewards).all():
        raise BadInput(f"saw rewards of {len(rewards)} episodes, some perhaps not finite: 2 or more finite ones wanted")
    difference = np.zeros(len(rewards)) if reference is None else rewards - reference
    mean, half = _interval(rewards)
    lead, lead_half = _interval(difference)
    return Score(
        mean=mean,
        lower_95=mean - half,
        upper_95=mean + half,
        lead=lead,
        lead_lower_95=lead - lead_half,
        lead_upper_95=lead + lead_half,
        episodes=len(rewards),
        compared=reference is not None,
    )


def _interval(values: Floats) -> tuple[float, float]:
    return float(values.mean()), _Z_95 * float(values.std(ddof=1)) / math.sqrt(len(values))
