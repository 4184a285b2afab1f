"""Marginalised importance sampling: long horizons over a few discrete states, without products of weights."""

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Floats, Ints
from gaelp.errors import DataError
from gaelp.history.array_checks import checked_columns, checked_weights
from gaelp.history.policy_value import PolicyValue, mean_value

__all__ = ["marginalised_value"]


def marginalised_value(state: npt.ArrayLike, weight: npt.ArrayLike, reward: npt.ArrayLike) -> PolicyValue:
    """Total reward of an episode under the target policy, from n episodes of T decisions; all shapes are (n, T).

    Xie, Ma and Wang 2019, "Towards optimal off-policy evaluation for reinforcement learning with marginalized
    importance sampling". `state` holds whole numbers from 0, such as tenths of the budget left; the next state and the
    reward may depend on the past only through the state and the action, so what couples decisions must be in it. With
    W_t(s) the sum of weights of the episodes that are in state s at time t,

        r_t(s) = sum over these of w r / W_t(s),     P_t(s'|s) = sum over these of w 1[s_t+1 = s'] / W_t(s),
        d_1(s) = share of episodes,  d_t+1 = P_t d_t,   value = sum over t, s of d_t(s) r_t(s).

    The paper divides by the number of episodes instead of W_t(s); then the d_t need not sum to 1, and their sum drifts
    with every hour. An episode's contribution is exact to first order (delta method), with V the value function of the
    fitted chain: V_1(s_1) + sum over t of n d_t(s_t) / W_t(s_t) x w_t (r_t + V_t+1(s_t+1) - V_t(s_t)). Keep states
    coarse: every state at every time needs enough episodes.
    """
    weights, rewards, labels = checked_columns(weight=weight, reward=reward, state=state)
    if weights.ndim != 2:
        raise DataError(f"weight has shape {weights.shape}: episodes in rows and decisions in columns are needed")
    checked_weights(weights)
    states = labels.astype(np.int64)
    if (states != labels).any() or states.min() < 0:
        raise DataError("state must hold whole numbers from 0: cut continuous states into bins first")
    count = int(states.max()) + 1
    totals = np.zeros((states.shape[1], count))
    for t in range(states.shape[1]):
        totals[t] = np.bincount(states[:, t], weights=weights[:, t], minlength=count)
    reward_of, moves = _chain(states, weights, rewards, totals)
    reached = _state_shares(np.bincount(states[:, 0], minlength=count) / len(states), moves)
    worth = _worths(reward_of, moves)
    return mean_value("mis", _contributions(states, weights, rewards, reached / _divisor(totals), worth))


def _chain(states: Ints, weights: Floats, rewards: Floats, totals: Floats) -> tuple[Floats, Floats]:
    """Mean reward (T, S) and transition matrices (T - 1, S, S) of the target policy; unvisited states have zeros."""
    horizon, count = totals.shape
    divisor = _divisor(totals)
    reward_of = np.stack(
        [
            np.bincount(states[:, t], weights=weights[:, t] * rewards[:, t], minlength=count) / divisor[t]
            for t in range(horizon)
        ]
    )
    moves = np.zeros((max(horizon - 1, 0), count, count))
    for t in range(horizon - 1):
        pairs = states[:, t] * count + states[:, t + 1]
        sums = np.bincount(pairs, weights=weights[:, t], minlength=count * count).reshape(count, count)
        moves[t] = sums / divisor[t][:, None]
    return reward_of, moves


def _divisor(totals: Floats) -> Floats:
    """The sums of weights; 1 where a state has none, because what is divided is 0 there."""
    return np.where(totals > 0, totals, 1.0)


def _state_shares(first: Floats, moves: Floats) -> Floats:
    """Share of episodes of the target policy in each state, shape (T, S)."""
    shares = [first]
    for move in moves:
        shares.append(shares[-1] @ move)
    return np.stack(shares)


def _worths(reward_of: Floats, moves: Floats) -> Floats:
    """Reward from each time and state on, shape (T + 1, S); the last row is 0."""
    horizon, count = reward_of.shape
    worth = np.zeros((horizon + 1, count))
    for t in range(horizon - 1, -1, -1):
        after = moves[t] @ worth[t + 1] if t < horizon - 1 else 0.0
        worth[t] = reward_of[t] + after
    return worth


def _contributions(states: Ints, weights: Floats, rewards: Floats, ratio: Floats, worth: Floats) -> Floats:
    episodes, horizon = states.shape
    total = worth[0][states[:, 0]].copy()
    for t in range(horizon):
        later = worth[t + 1][states[:, t + 1]] if t < horizon - 1 else 0.0
        surprise = weights[:, t] * (rewards[:, t] + later - worth[t][states[:, t]])
        total += episodes * ratio[t][states[:, t]] * surprise
    return np.asarray(total)
