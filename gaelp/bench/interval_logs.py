"""Synthetic logs with known truth, to measure how often off-policy intervals hold it; shares no code with estimators.

Logged actions are log bid factors, normal with standard deviation 0.4; the target shifts them by up to a factor of 1.5
and keeps the random factor. Rewards are counts with the luck of their cluster, so they are skewed and correlated.
"""

from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Floats, Ints

__all__ = [
    "SD",
    "DecisionLog",
    "DollarLog",
    "SpendingLog",
    "draw_decisions",
    "draw_dollars",
    "draw_episodes",
    "smoothed_reward",
]

SD = 0.4
_SHIFT = np.log([1.5, 1.3, 1.1, 1.0, 1 / 1.1, 1 / 1.2, 1 / 1.3, 1 / 1.5])  # by context
_LEVEL = np.array([2.0, 1.6, 1.2, 1.0, 0.8, 0.6, 0.5, 0.3])  # mean reward at the usual bid, by context
_GROWTH = 0.8  # of log reward with the log bid
_LUCK = 0.3  # standard deviation of a cluster's log luck


@dataclass(frozen=True, slots=True)
class DecisionLog:
    """Independent decisions in clusters; arrays have shape (n,)."""

    action: Floats
    shift: Floats
    reward: Floats
    happened: Floats  # 0 or 1: a reward with limits
    level: Floats  # mean reward at the usual bid
    clusters: Ints
    truth: float
    happened_truth: float


@dataclass(frozen=True, slots=True)
class SpendingLog:
    """Episodes of a budget that is used up and refilled; arrays have shape (n, T)."""

    state: Ints
    weight: Floats
    reward: Floats
    truth: float


@dataclass(frozen=True, slots=True)
class DollarLog:
    """Segment-hours of campaign-days with a budget that throttles; arrays have shape (n,)."""

    action: Floats
    shift: Floats
    clicks: Floats
    spend: Floats
    value: Floats
    campaign: Ints
    segment: Ints
    day: Ints
    cells: Ints
    clusters: Ints
    true_lift: float


def draw_decisions(rng: np.random.Generator, *, clusters: int = 200, size: int = 24) -> DecisionLog:
    """Decisions in `clusters` clusters of `size`."""
    count = clusters * size
    context = rng.integers(0, len(_LEVEL), count)
    action = SD * rng.standard_normal(count)
    luck = np.repeat(np.exp(_LUCK * rng.standard_normal(clusters) - _LUCK**2 / 2), size)
    mean = _LEVEL[context] * np.exp(_GROWTH * action) * luck
    level = _LEVEL * np.exp(_GROWTH * _SHIFT + _GROWTH**2 * SD**2 / 2)
    chance = 0.3 + 0.2 * np.tanh(_LEVEL[context] - 1) * np.sign(action)
    expected = 0.3 + 0.2 * np.tanh(_LEVEL - 1) * (1 - 2 * _normal_below(-_SHIFT / SD))
    return DecisionLog(
        action=action,
        shift=_SHIFT[context],
        reward=5.0 * rng.poisson(mean / 5.0),
        happened=(rng.random(count) < chance).astype(np.float64),
        level=_LEVEL[context],
        clusters=np.repeat(np.arange(clusters), size),
        truth=float(level.mean()),
        happened_truth=float(expected.mean()),
    )


def smoothed_reward(level: Floats, shift: Floats, bandwidth: float) -> Floats:
    """Mean reward if bids are spread around exp(shift) by an Epanechnikov kernel on logs."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    kernel = 0.75 * (1 - nodes**2) * weights
    return level * np.exp(_GROWTH * shift) * float(np.sum(kernel * np.exp(_GROWTH * bandwidth * nodes)))


def draw_episodes(rng: np.random.Generator, *, episodes: int, horizon: int) -> SpendingLog:
    """Spend (chance 1/2 in the log, 0.65 in the target) or wait; spending earns while any of 4 units is left."""
    logged, target, refill, most = 0.5, 0.65, 0.4, 4
    state = np.zeros((episodes, horizon), np.int64)
    reward = np.zeros((episodes, horizon))
    spends = rng.random((episodes, horizon)) < logged
    left = np.full(episodes, 2)
    for hour in range(horizon):
        state[:, hour] = left
        used = spends[:, hour] & (left > 0)
        reward[:, hour] = used * rng.poisson(1.0 + left / 4)
        left = np.clip(left - used + (rng.random(episodes) < refill), 0, most)
    weight = np.where(spends, target / logged, (1 - target) / (1 - logged))
    return SpendingLog(state, weight, reward, _chain_value(target, refill, most, horizon))


def draw_dollars(rng: np.random.Generator, *, campaigns: int = 12, days: int = 42) -> DollarLog:
    """Hourly decisions for 3 segments; a click is worth $0.7 to $2.2 and converts at $40 a time; 1.2 sales a day."""
    hours, segments, sale = 24, 3, 40.0
    shape = (campaigns, days, hours, segments)
    shift = np.log(np.array([1.4, 1.0, 1 / 1.5]))
    worth = np.array([2.2, 1.3, 0.7]) * np.linspace(0.8, 1.2, campaigns)[:, None]
    action = SD * rng.standard_normal(shape)
    luck = np.exp(_LUCK * rng.standard_normal((campaigns, days, 1, 1)) - _LUCK**2 / 2)
    clicks = rng.poisson(0.5 * luck * np.exp(0.7 * action) * _throttle(action, hours))
    value = sale * rng.poisson(clicks * worth[:, None, None, :] / sale)
    places = np.meshgrid(*(np.arange(length) for length in shape), indexing="ij")
    campaign, day, _, segment = (place.ravel() for place in places)
    gain, price = np.exp(0.7 * shift), np.exp(0.5 * (shift + 0.7 * SD**2))  # lognormal moments of clicks and of cost
    usual = np.exp(0.5 * 0.7 * SD**2)
    target = np.sum(worth * gain) / np.sum(np.broadcast_to(gain * price, worth.shape))
    logged = np.sum(worth) / (worth.size * usual)
    return DollarLog(
        action=action.ravel(),
        shift=np.broadcast_to(shift, shape).ravel(),
        clicks=clicks.ravel().astype(np.float64),
        spend=np.asarray(clicks * np.exp(0.5 * action), dtype=np.float64).ravel(),
        value=value.ravel().astype(np.float64),
        campaign=campaign,
        segment=segment,
        day=day,
        cells=campaign * segments + segment,
        clusters=campaign * days + day,
        true_lift=float(target / logged - 1),
    )


def _throttle(action: Floats, hours: int) -> Floats:
    """Share of an hour that the day's budget still pays for: full until two thirds of a usual day are spent."""
    used = np.cumsum(np.exp(1.2 * action).mean(axis=3, keepdims=True), axis=2)
    before = np.concatenate((np.zeros_like(used[:, :, :1]), used[:, :, :-1]), axis=2)
    return np.asarray(np.clip(1 - 3 * (before / hours - 2 / 3), 0.1, 1.0))


def _chain_value(chance: float, refill: float, most: int, horizon: int) -> float:
    shares, total = np.eye(most + 1)[2], 0.0
    for _ in range(horizon):
        total += float(sum(shares[left] * chance * (1.0 + left / 4) for left in range(1, most + 1)))
        after = np.zeros(most + 1)
        for left in range(most + 1):
            for used, likely in ((1, chance), (0, 1 - chance)):
                rest = left - (used if left > 0 else 0)
                after[min(rest + 1, most)] += shares[left] * likely * refill
                after[rest] += shares[left] * likely * (1 - refill)
        shares = after
    return total


def _normal_below(x: Floats) -> Floats:
    """Standard normal distribution function by numerical integration, so that no library of the estimators is used."""
    grid = np.linspace(-8, 8, 160_001)
    density = np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi)
    return np.asarray(np.interp(x, grid, np.cumsum(density) * (grid[1] - grid[0])))
