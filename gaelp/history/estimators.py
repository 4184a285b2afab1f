"""Off-policy estimators of the value of one decision: the mean reward, had the target policy chosen the actions.

Arrays have one entry for each logged decision, shape (n,): the `reward`, the importance `weight` w = pi(a|x) / mu(a|x),
the reward `predicted` for the action taken, q(x, a), and `predicted_target`, the mean prediction under the target
policy, q(x, pi) = E[q(x, a) | a ~ pi]. Predictions must come from a model fitted on other rows.

They answer questions about *one decision with the others unchanged*. Where a budget couples decisions, use
`value_per_dollar.py`.
"""

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Floats
from gaelp.errors import DataError
from gaelp.history.array_checks import checked_columns, checked_weights
from gaelp.history.policy_value import RATIO, RATIO_SUM, PolicyValue, mean_value

__all__ = [
    "clipped_inverse_propensity",
    "direct_method",
    "doubly_robust",
    "inverse_propensity",
    "per_decision",
    "self_normalised",
    "self_normalised_doubly_robust",
    "shrunk_doubly_robust",
    "switch_doubly_robust",
]


def direct_method(predicted_target: npt.ArrayLike) -> PolicyValue:
    """DM: mean of q(x, pi) (Beygelzimer and Langford 2009, "The offset tree for learning with partial labels").

    Its interval holds only the chance in the contexts. The model's own error is not in it, so it claims no coverage.
    """
    (predicted,) = checked_columns(predicted_target=predicted_target)
    return mean_value("dm", predicted)


def inverse_propensity(reward: npt.ArrayLike, weight: npt.ArrayLike) -> PolicyValue:
    """IPS: mean of w r (Horvitz and Thompson 1952, "A generalization of sampling without replacement ...").

    Unbiased where logged densities are right and positive wherever the target's are.
    """
    rewards, weights = _rewards(reward, weight)
    return mean_value("ips", weights * rewards)


def clipped_inverse_propensity(
    reward: npt.ArrayLike, weight: npt.ArrayLike, *, weight_max: float, reward_max: float | None = None
) -> PolicyValue:
    """Mean of min(w, M) r (Ionides 2008, "Truncated importance sampling"): less variance, biased towards 0.

    Where rewards are known beforehand to lie between 0 and `reward_max`, every contribution lies between 0 and
    M `reward_max`, which `limits` says: then a lower bound of this mean is a lower bound of the policy's value too.
    """
    if not weight_max > 0:
        raise DataError(f"weight_max is {weight_max}: weights are clipped at a limit above 0")
    rewards, weights = _rewards(reward, weight)
    if reward_max is not None and (rewards.min() < 0 or rewards.max() > reward_max):
        raise DataError(f"rewards from {rewards.min():.6g} to {rewards.max():.6g} are not between 0 and {reward_max:g}")
    limits = None if reward_max is None else (0.0, weight_max * reward_max)
    return mean_value("clipped-ips", np.minimum(weights, weight_max) * rewards, limits)


def self_normalised(reward: npt.ArrayLike, weight: npt.ArrayLike) -> PolicyValue:
    """SNIPS: sum of w r / sum of w (Swaminathan and Joachims 2015, "The self-normalized estimator ...").

    Unchanged when all weights are scaled alike and never outside the range of rewards; biased by O(1/n).
    """
    rewards, weights = _rewards(reward, weight)
    return PolicyValue("snips", np.column_stack((weights * rewards, weights)), RATIO)


def doubly_robust(
    reward: npt.ArrayLike, weight: npt.ArrayLike, predicted: npt.ArrayLike, predicted_target: npt.ArrayLike
) -> PolicyValue:
    """DR: mean of q(x, pi) + w (r - q(x, a)) (Dudik, Langford and Li 2011, "Doubly robust policy evaluation ...").

    Unbiased if densities or predictions are right; the better the model, the lower the variance.
    """
    rewards, weights, model, baseline = _modelled(reward, weight, predicted, predicted_target)
    return mean_value("dr", baseline + weights * (rewards - model))


def self_normalised_doubly_robust(
    reward: npt.ArrayLike, weight: npt.ArrayLike, predicted: npt.ArrayLike, predicted_target: npt.ArrayLike
) -> PolicyValue:
    """SNDR: mean of q(x, pi) + sum of w (r - q(x, a)) / sum of w (Thomas and Brunskill 2016, "Data-efficient ...")."""
    rewards, weights, model, baseline = _modelled(reward, weight, predicted, predicted_target)
    columns = np.column_stack((baseline, np.ones_like(baseline), weights * (rewards - model), weights))
    return PolicyValue("sndr", columns, RATIO_SUM)


def switch_doubly_robust(
    reward: npt.ArrayLike,
    weight: npt.ArrayLike,
    predicted: npt.ArrayLike,
    predicted_target: npt.ArrayLike,
    *,
    switch_at: float,
) -> PolicyValue:
    """Switch-DR: DR where w <= tau, else the model alone (Wang, Agarwal and Dudik 2017, "Optimal and adaptive ...")."""
    if not switch_at >= 0:
        raise DataError(f"switch_at is {switch_at}: the weight above which only the model counts is at least 0")
    rewards, weights, model, baseline = _modelled(reward, weight, predicted, predicted_target)
    trusted = np.where(weights <= switch_at, weights, 0.0)
    return mean_value("switch-dr", baseline + trusted * (rewards - model))


def shrunk_doubly_robust(
    reward: npt.ArrayLike,
    weight: npt.ArrayLike,
    predicted: npt.ArrayLike,
    predicted_target: npt.ArrayLike,
    *,
    shrinkage: float,
) -> PolicyValue:
    """DRos: DR with weights lambda w / (w^2 + lambda) (Su, Dimakopoulou, Krishnamurthy and Dudik 2020, "Doubly robust
    off-policy evaluation with shrinkage"): lambda 0 is the model alone, infinity is DR.
    """
    if not shrinkage >= 0:
        raise DataError(f"shrinkage is {shrinkage}: lambda is at least 0; infinity leaves the weights as they are")
    rewards, weights, model, baseline = _modelled(reward, weight, predicted, predicted_target)
    shrunk = weights if np.isinf(shrinkage) else shrinkage * weights / np.maximum(weights**2 + shrinkage, 1e-300)
    return mean_value("dros", baseline + shrunk * (rewards - model))


def per_decision(reward: npt.ArrayLike, weight: npt.ArrayLike, *, discount: float = 1.0) -> PolicyValue:
    """PDIS over trajectories of T decisions: mean over i of sum over t of gamma^t (w_i1 ... w_it) r_it.

    Precup, Sutton and Singh 2000, "Eligibility traces for off-policy policy evaluation". Shapes are (n, T). A reward is
    weighted by the decisions up to it only. Weights still multiply: after a day of 24 hours few trajectories count.
    """
    rewards, weights = _rewards(reward, weight)
    if rewards.ndim != 2:
        raise DataError(f"reward has shape {rewards.shape}: per-decision weights need (trajectories, decisions)")
    if not 0 <= discount <= 1:
        raise DataError(f"discount is {discount}: it must be between 0 and 1")
    discounts = discount ** np.arange(rewards.shape[1])
    return mean_value("pdis", np.sum(discounts * np.cumprod(weights, axis=1) * rewards, axis=1))


def _rewards(reward: npt.ArrayLike, weight: npt.ArrayLike) -> tuple[Floats, Floats]:
    rewards, weights = checked_columns(reward=reward, weight=weight)
    return rewards, checked_weights(weights)


def _modelled(
    reward: npt.ArrayLike, weight: npt.ArrayLike, predicted: npt.ArrayLike, predicted_target: npt.ArrayLike
) -> tuple[Floats, Floats, Floats, Floats]:
    rewards, weights, model, baseline = checked_columns(
        reward=reward, weight=weight, predicted=predicted, predicted_target=predicted_target
    )
    return rewards, checked_weights(weights), model, baseline
