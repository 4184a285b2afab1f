"""A mean over validation episodes with its 95% interval, and its lead over a reference on the same episodes."""

import math
from statistics import NormalDist

import numpy as np

from gaelp.arrays import Floats
from gaelp.config.base import Frozen
from gaelp.errors import BadInput

__all__ = ["Score", "score"]

_ALPHA = 0.05  # two-sided


class Score(Frozen):
    """`lead` is the mean difference to the reference, 0 where there is none to be `compared` with.

    Whoever looks at ten checkpoints and takes the best one takes luck: with no real lead, one of ten exceeds its own
    95% bound in a quarter of all runs. `lead_lower_all_looks` is the lower bound that holds for all looks together
    (Bonferroni), so a checkpoint whose bound is above 0 is better than the reference, however often one looked.
    """

    mean: float
    lower_95: float
    upper_95: float
    lead: float
    lead_lower_95: float
    lead_upper_95: float
    episodes: int
    compared: bool = True
    lead_lower_all_looks: float | None = None  # earlier releases stored none: not proven

    @property
    def proven(self) -> bool:
        """Whether the lead over the reference is above 0 beyond luck; without a reference there is nothing to prove."""
        return not self.compared or (self.lead_lower_all_looks or 0.0) > 0.0


def score(rewards: Floats, reference: Floats | None = None, *, looks: int = 1) -> Score:
    """The score of rewards (episodes,); `reference` holds those of another policy in the same episodes.

    `looks` is how many checkpoints the run compares with the reference in all.
    """
    if len(rewards) < 2 or not np.isfinite(rewards).all():
        raise BadInput(f"saw rewards of {len(rewards)} episodes, some perhaps not finite: 2 or more finite ones wanted")
    difference = np.zeros(len(rewards)) if reference is None else rewards - reference
    mean, half = _interval(rewards)
    lead, lead_half = _interval(difference)
    _, half_all_looks = _interval(difference, looks)
    return Score(
        mean=mean,
        lower_95=mean - half,
        upper_95=mean + half,
        lead=lead,
        lead_lower_95=lead - lead_half,
        lead_upper_95=lead + lead_half,
        episodes=len(rewards),
        compared=reference is not None,
        lead_lower_all_looks=lead - half_all_looks,
    )


def _interval(values: Floats, looks: int = 1) -> tuple[float, float]:
    z = NormalDist().inv_cdf(1 - _ALPHA / 2 / looks)
    return float(values.mean()), z * float(values.std(ddof=1)) / math.sqrt(len(values))
