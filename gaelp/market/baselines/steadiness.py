"""Compare an agent's last evaluation episodes with the earlier ones: the metric `last_50_z` of the first gate."""

import math

from gaelp.arrays import Floats
from gaelp.errors import BadInput

__all__ = ["LAST_EPISODES", "last_episodes_z"]

LAST_EPISODES = 50


def last_episodes_z(rewards: Floats, last: int = LAST_EPISODES) -> float:
    """How many standard errors the mean of the last episodes lies from the mean of those before; never negative.

    `rewards` has shape (episodes,), in the order in which they were played, at least twice `last`. Both parts bring
    their own variance (Welch), so the last ones cannot hide a change by widening a common one. A steady agent exceeds 3
    in 0.3% to 0.7% of evaluations (200 or 1,000 episodes, normal or skewed rewards).
    """
    if rewards.ndim != 1 or not 2 <= last <= len(rewards) // 2:
        raise BadInput(
            f"rewards of shape {rewards.shape} with last={last}: allowed are one reward an episode and 2 to half of"
            " the episodes. Evaluate more episodes."
        )
    centred = rewards - rewards[0]  # equal rewards then have a spread of exactly zero
    before, after = centred[:-last], centred[-last:]
    apart = abs(float(after.mean() - before.mean()))
    error = math.sqrt(float(before.var(ddof=1)) / len(before) + float(after.var(ddof=1)) / len(after))
    if error == 0:
        return 0.0 if apart == 0 else math.inf
    return apart / error
