"""Percentile intervals by resampling clusters of observations that belong together."""

from collections.abc import Callable

import numpy as np

from gaelp.arrays import Floats

__all__ = ["cluster_weights", "percentile_interval"]


def cluster_weights(clusters: int, replicates: int, rng: np.random.Generator) -> Floats:
    """How often each cluster is drawn in each replicate, (replicates, clusters)."""
    return rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=replicates).astype(float)


def percentile_interval(
    statistic: Callable[[int], float], replicates: int, value: float, *, share: float = 0.95
) -> tuple[float, float]:
    """The central share of the statistic over replicates, widened to hold the value itself (Efron, 1979)."""
    drawn = np.array([statistic(number) for number in range(replicates)])
    low, high = np.quantile(drawn[np.isfinite(drawn)], [(1 - share) / 2, (1 + share) / 2])
    return min(float(low), value), max(float(high), value)
