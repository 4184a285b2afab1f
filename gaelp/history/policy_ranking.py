"""Do market and history agree on which policy is better? Rank correlation of the values that both give to policies."""

from collections.abc import Mapping

import numpy as np
from scipy.stats import kendalltau

from gaelp.config.base import Frozen
from gaelp.errors import DataError
from gaelp.history.fidelity_scores import spearman

__all__ = ["PolicyRanking", "rank_policies"]

POLICIES_MIN = 3


class PolicyRanking(Frozen):
    """Agreement of two orders of the same policies."""

    policies: tuple[str, ...]  # best first, by the market
    spearman: float
    kendall: float
    same_best: bool
    regret: float  # what history loses by taking the market's best instead of its own, as a share of its best


def rank_policies(market: Mapping[str, float], history: Mapping[str, float]) -> PolicyRanking:
    """Compare the values of policies in the market with their estimates from history; names must be the same."""
    if set(market) != set(history):
        differ = sorted(set(market) ^ set(history))
        raise DataError(f"{differ[0]!r} is valued in one of market and history only: give both the same policies")
    if len(market) < POLICIES_MIN:
        raise DataError(f"saw {len(market)} policies; allowed: {POLICIES_MIN} or more, fewer have no order to compare.")
    names = sorted(market, key=lambda name: (-market[name], name))
    first, second = (np.array([values[name] for name in names]) for values in (market, history))
    best = max(history, key=lambda name: history[name])
    lost = history[best] - history[names[0]]
    return PolicyRanking(
        policies=tuple(names),
        spearman=spearman(first, second),
        kendall=float(np.nan_to_num(kendalltau(first, second).statistic)),
        same_best=lost == 0,
        regret=lost / max(abs(history[best]), 1e-12),
    )
