"""The estimators of `gaelp/history` row by row in plain Python: the reference of tests and of `gaelp bench history`."""

import math
import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence

__all__ = [
    "rowwise_bootstrap",
    "rowwise_clipped",
    "rowwise_doubly_robust",
    "rowwise_inverse_propensity",
    "rowwise_kernel",
    "rowwise_lift",
    "rowwise_marginalised",
    "rowwise_per_decision",
    "rowwise_recalibrated_lift",
    "rowwise_self_normalised",
    "rowwise_self_normalised_doubly_robust",
    "rowwise_shrunk",
    "rowwise_switch",
]

_Column = Sequence[float]


def rowwise_inverse_propensity(reward: _Column, weight: _Column) -> float:
    """IPS."""
    return sum(w * r for r, w in zip(reward, weight, strict=True)) / len(reward)


def rowwise_clipped(reward: _Column, weight: _Column, weight_max: float) -> float:
    """IPS with clipped weights."""
    return sum(min(w, weight_max) * r for r, w in zip(reward, weight, strict=True)) / len(reward)


def rowwise_self_normalised(reward: _Column, weight: _Column) -> float:
    """SNIPS."""
    return sum(w * r for r, w in zip(reward, weight, strict=True)) / sum(weight)


def rowwise_doubly_robust(
    reward: _Column,
    weight: _Column,
    predicted: _Column,
    predicted_target: _Column,
    change: Callable[[float], float] = lambda w: w,
) -> float:
    """DR, with each weight changed first."""
    rows = zip(reward, weight, predicted, predicted_target, strict=True)
    return sum(base + change(w) * (r - q) for r, w, q, base in rows) / len(reward)


def rowwise_self_normalised_doubly_robust(
    reward: _Column, weight: _Column, predicted: _Column, predicted_target: _Column
) -> float:
    """SNDR."""
    correction = sum(w * (r - q) for r, w, q in zip(reward, weight, predicted, strict=True))
    return sum(predicted_target) / len(reward) + correction / sum(weight)


def rowwise_switch(
    reward: _Column, weight: _Column, predicted: _Column, predicted_target: _Column, switch_at: float
) -> float:
    """Switch-DR."""
    return rowwise_doubly_robust(reward, weight, predicted, predicted_target, lambda w: w if w <= switch_at else 0.0)


def rowwise_shrunk(
    reward: _Column, weight: _Column, predicted: _Column, predicted_target: _Column, shrinkage: float
) -> float:
    """DRos."""
    return rowwise_doubly_robust(
        reward, weight, predicted, predicted_target, lambda w: shrinkage * w / (w * w + shrinkage)
    )


def rowwise_per_decision(reward: Sequence[_Column], weight: Sequence[_Column], discount: float) -> float:
    """PDIS over trajectories."""
    total = 0.0
    for rewards, weights in zip(reward, weight, strict=True):
        for step, earned in enumerate(rewards):
            total += discount**step * math.prod(weights[: step + 1]) * earned
    return total / len(reward)


def rowwise_lift(value: _Column, spend: _Column, weight: _Column) -> float:
    """Lift in value per dollar over the logging policy."""
    target_value = sum(w * v for w, v in zip(weight, value, strict=True))
    target_spend = sum(w * s for w, s in zip(weight, spend, strict=True))
    return target_value / target_spend * sum(spend) / sum(value) - 1


def rowwise_kernel(reward: _Column, target: _Column, action: _Column, density: _Column, bandwidth: float) -> float:
    """Self-normalised kernel weights, Epanechnikov."""
    total = weight_sum = 0.0
    for earned, wanted, taken, likely in zip(reward, target, action, density, strict=True):
        distance = (wanted - taken) / bandwidth
        if abs(distance) <= 1:
            weight = 0.75 * (1 - distance * distance) / (bandwidth * likely)
            total += weight * earned
            weight_sum += weight
    return total / weight_sum


def rowwise_recalibrated_lift(
    value: _Column, spend: _Column, weight: _Column, clicks: _Column, model: _Column, cells: Sequence[Hashable]
) -> float:
    """Lift with the residuals of a click model weighted by their cell's mean weight."""
    weighted, total, residuals = defaultdict[Hashable, float](float), defaultdict[Hashable, float](float), 0.0
    predicted = spent = 0.0
    for w, s, c, m, cell in zip(weight, spend, clicks, model, cells, strict=True):
        weighted[cell] += w * c
        total[cell] += c
        predicted += w * c * m
        spent += w * s
    for v, c, m, cell in zip(value, clicks, model, cells, strict=True):
        if total[cell] > 0:
            residuals += weighted[cell] / total[cell] * (v - c * m)
    return (predicted + residuals) / spent * sum(spend) / sum(value) - 1


def rowwise_marginalised(state: Sequence[Sequence[int]], weight: Sequence[_Column], reward: Sequence[_Column]) -> float:
    """Marginalised importance sampling over discrete states."""
    shares = defaultdict[int, float](float)
    for states in state:
        shares[states[0]] += 1 / len(state)
    value = 0.0
    for step in range(len(state[0])):
        total, earned = defaultdict[int, float](float), defaultdict[int, float](float)
        moved = defaultdict[tuple[int, int], float](float)
        for states, weights, rewards in zip(state, weight, reward, strict=True):
            total[states[step]] += weights[step]
            earned[states[step]] += weights[step] * rewards[step]
            if step + 1 < len(states):
                moved[states[step], states[step + 1]] += weights[step]
        value += sum(shares[here] * earned[here] / total[here] for here in total if total[here] > 0)
        after = defaultdict[int, float](float)
        for (here, there), amount in moved.items():
            if total[here] > 0:
                after[there] += shares[here] * amount / total[here]
        shares = after
    return value


def rowwise_bootstrap(
    clusters: Sequence[Hashable], estimate: Callable[[list[int]], float], replicates: int, seed: int
) -> list[float]:
    """The estimate on rows of clusters drawn with replacement, `replicates` times; `estimate` gets row numbers."""
    rows: dict[Hashable, list[int]] = defaultdict(list)
    for row, cluster in enumerate(clusters):
        rows[cluster].append(row)
    names = list(rows)
    draw = random.Random(seed)  # noqa: S311 - a resample, not a secret
    values = []
    for _ in range(replicates):
        drawn = [row for _ in names for row in rows[draw.choice(names)]]
        values.append(estimate(drawn))
    return values
