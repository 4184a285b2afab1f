"""Train the network of `auction_agent` on auctions drawn from a training histogram, by evolution strategies.

An episode has the budget of one of five shares of the cost of everything. Its prices are those of the histogram times
a level of their own (log sd 0.25), its click rates log normal with a spread of their own (0.1 to 1), and price and rate
are correlated (0 to 0.4): nothing of the test auctions is known but that they are auctions.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numba as nb
import numpy as np
from scipy.special import ndtr

from gaelp.arrays import Floats
from gaelp.bench.auction_agent import WEIGHTS, PriceTable, bid_units
from gaelp.market.price_history import PriceHistory

__all__ = ["SHARES", "DrawnAuctions", "TrainingSpec", "draw_auctions", "play_drawn", "train_residual"]

SHARES = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2)
_LEVEL_SD = 0.25
_SPREAD_LOW, _SPREAD_HIGH = 0.1, 1.0
_TOGETHER_MOST = 0.4


@dataclass(frozen=True, slots=True)
class TrainingSpec:
    """How long, and how many; the same spec gives the same weights."""

    seed: int = 1
    generations: int = 60
    directions: int = 12  # tried forwards and backwards
    episodes: int = 120  # of each generation, the same for every try
    auctions: int = 1000
    noise: float = 0.15
    step: float = 0.08


@dataclass(frozen=True, slots=True)
class DrawnAuctions:
    """E episodes of T auctions, in price units; click rates as logs over the usual rate."""

    price: Floats  # (E, T)
    rate_log: Floats  # (E, T)
    budget: Floats  # (E,)


def draw_auctions(history: PriceHistory, episodes: int, auctions: int, rng: np.random.Generator) -> DrawnAuctions:
    """Auctions like those of training, at levels and spreads that differ from episode to episode."""
    shape = (episodes, auctions)
    together = rng.uniform(0.0, _TOGETHER_MOST, (episodes, 1))
    first, second = rng.standard_normal(shape), rng.standard_normal(shape)
    rank = _normal_share(together * first + np.sqrt(1 - together**2) * second)
    price = np.searchsorted(np.cumsum(history.counts) / history.auctions, rank).astype(np.float64)
    level = np.exp(_LEVEL_SD * rng.standard_normal((episodes, 1)))
    spread = rng.uniform(_SPREAD_LOW, _SPREAD_HIGH, (episodes, 1))
    share = rng.choice(SHARES, episodes)
    return DrawnAuctions(
        price=np.rint(np.minimum(price, len(history.counts) - 1) * level),
        rate_log=spread * first - spread**2 / 2,
        budget=np.floor(history.mean_price_units * share * auctions),
    )


def _normal_share(values: Floats) -> Floats:
    return np.asarray(ndtr(values))


@nb.njit(cache=True)
def _play(
    table: tuple[Floats, Floats, float], weights: Floats, price: Floats, rate_log: Floats, budget: Floats
) -> Floats:
    """Expected clicks of each episode over the usual rate, (E,)."""
    episodes, auctions = price.shape
    clicks = np.zeros(episodes)
    left = np.empty(3)
    for e in range(episodes):
        state = np.zeros(6)
        left[0], left[2] = budget[e], auctions
        for t in range(auctions):
            left[1] = auctions - t
            bid = min(bid_units(table, weights, state, left, rate_log[e, t]), left[0])
            if bid >= price[e, t]:
                clicks[e] += np.exp(rate_log[e, t])
                left[0] -= price[e, t]
                state[3] += price[e, t]
    return clicks


def play_drawn(table: PriceTable, weights: Floats, drawn: DrawnAuctions) -> Floats:
    """Expected clicks of each episode, in those of a usual impression, (E,)."""
    return np.asarray(
        _play((table.cost, table.spend, table.mean_price), weights, drawn.price, drawn.rate_log, drawn.budget)
    )


def train_residual(
    history: PriceHistory,
    table: PriceTable,
    spec: TrainingSpec,
    report: Callable[[int, float], None] = lambda _generation, _gain: None,
) -> Floats:
    """Weights, from 0 on, that win most in logs over the rule; reports the gain over it on other auctions.

    Salimans et al. 2017, "Evolution strategies as a scalable alternative to reinforcement learning": mirrored noise,
    ranks instead of returns, Adam's step. The best of all generations by the same held-out auctions is returned.
    """
    rng = np.random.default_rng([spec.seed, 31])
    held_out = draw_auctions(history, 4 * spec.episodes, spec.auctions, np.random.default_rng([spec.seed, 32]))
    rule = play_drawn(table, np.zeros(WEIGHTS), held_out)
    weights, best, best_gain = 0.01 * rng.standard_normal(WEIGHTS), np.zeros(WEIGHTS), 0.0
    first, second = np.zeros(WEIGHTS), np.zeros(WEIGHTS)
    for generation in range(1, spec.generations + 1):
        drawn = draw_auctions(history, spec.episodes, spec.auctions, rng)
        noise = rng.standard_normal((spec.directions, WEIGHTS))
        scores = np.array(
            [
                [np.log(play_drawn(table, weights + sign * spec.noise * each, drawn) + 1.0).mean() for sign in (1, -1)]
                for each in noise
            ]
        )
        ranks = scores.ravel().argsort().argsort().reshape(scores.shape) / (scores.size - 1) - 0.5
        gradient = ((ranks[:, 0] - ranks[:, 1])[:, None] * noise).mean(axis=0)
        first = 0.9 * first + 0.1 * gradient
        second = 0.99 * second + 0.01 * gradient**2
        corrected = first / (1 - 0.9**generation) / (np.sqrt(second / (1 - 0.99**generation)) + 1e-8)
        weights = weights + spec.step * (1 - generation / (spec.generations + 1)) * corrected
        if generation % 10 == 0 or generation == spec.generations:
            gain = float(np.log((play_drawn(table, weights, held_out) + 1) / (rule + 1)).mean())
            report(generation, gain)
            if gain > best_gain:
                best, best_gain = weights.copy(), gain
    return best
