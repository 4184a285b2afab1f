"""Kernel estimators for continuous bids: what a policy without randomness would have earned.

A single bid has probability 0 in the log, so decisions near it are used instead, weighted by their distance. Take
logs of bids as actions, so that one bandwidth means the same relative distance everywhere.
"""

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Floats
from gaelp.errors import DataError
from gaelp.history.array_checks import checked_columns
from gaelp.history.policy_value import RATIO, PolicyValue, mean_value

__all__ = ["kernel_doubly_robust", "kernel_inverse_propensity", "kernel_self_normalised", "kernel_weights"]


def kernel_weights(
    target_action: npt.ArrayLike, action: npt.ArrayLike, logging_density: npt.ArrayLike, *, bandwidth: float
) -> Floats:
    """K((pi(x) - a) / h) / (h mu(a|x)) with the Epanechnikov kernel K(u) = 3/4 (1 - u^2) on [-1, 1]; shape (n,).

    Kallus and Zhou 2018, "Policy evaluation and optimization with continuous treatments". Their mean is 1 up to chance
    where the log's support reaches h beyond the target's bid. They also serve as weights in `value_per_dollar.py`. The
    bias is of order h^2, the variance of order 1 / (n h); choose h with `slope.choose_by_slope`.
    """
    if not bandwidth > 0:
        raise DataError(f"bandwidth is {bandwidth}: it must be above 0, in units of the action")
    targets, actions, density = checked_columns(
        target_action=target_action, action=action, logging_density=logging_density
    )
    wrong = int(np.count_nonzero(density <= 0))
    if wrong:
        raise DataError(
            f"logging_density is 0 or below for {wrong} decisions: an action that was taken has one above 0"
        )
    distance = (targets - actions) / bandwidth
    weights = np.where(np.abs(distance) <= 1, 0.75 * (1 - distance**2), 0.0) / (bandwidth * density)
    if not weights.any():
        raise DataError(
            f"no logged action lies within {bandwidth} of the target's: the log says nothing about these bids;"
            " use a larger bandwidth or clip the policy to the log's support"
        )
    return weights


def kernel_inverse_propensity(reward: npt.ArrayLike, weight: npt.ArrayLike) -> PolicyValue:
    """Mean of k r with the weights k of `kernel_weights` (Kallus and Zhou 2018)."""
    rewards, weights = checked_columns(reward=reward, weight=weight)
    return mean_value("kernel-ips", weights * rewards)


def kernel_self_normalised(reward: npt.ArrayLike, weight: npt.ArrayLike) -> PolicyValue:
    """Sum of k r / sum of k: also right where the log's support ends inside the kernel (Kallus and Zhou 2018, 3.2)."""
    rewards, weights = checked_columns(reward=reward, weight=weight)
    return PolicyValue("kernel-snips", np.column_stack((weights * rewards, weights)), RATIO)


def kernel_doubly_robust(
    reward: npt.ArrayLike, weight: npt.ArrayLike, predicted: npt.ArrayLike, predicted_target: npt.ArrayLike
) -> PolicyValue:
    """Mean of q(x, pi(x)) + k (r - q(x, a)) (Kallus and Zhou 2018; Colangelo and Lee 2020, "Double debiased ...")."""
    rewards, weights, model, baseline = checked_columns(
        reward=reward, weight=weight, predicted=predicted, predicted_target=predicted_target
    )
    return mean_value("kernel-dr", baseline + weights * (rewards - model))
