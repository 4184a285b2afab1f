"""How far apart distributions of log and market are: Kolmogorov-Smirnov, Wasserstein and Kullback-Leibler distances."""

from collections.abc import Iterator

import numpy as np
from scipy.stats import ks_2samp, wasserstein_distance

from gaelp.arrays import Floats
from gaelp.history.fidelity_report import DistributionGap
from gaelp.history.twin_play import PlayedHours
from gaelp.history.window_figures import DAY_HOURS, WindowFigures

__all__ = ["distribution_gaps"]

_SIZE_MIN = 20
_SAMPLE_MAX = 20_000
_KL_CELLS = 20
_SPLITS = 5


def distribution_gaps(
    window: WindowFigures, played: PlayedHours, rng: np.random.Generator
) -> tuple[DistributionGap, ...]:
    """Of each statistic that both sides have at least 20 values of."""
    return tuple(
        _compared(name, logged, market, rng)
        for name, logged, market in _pairs(window, played)
        if min(len(logged), len(market)) >= _SIZE_MIN
    )


def _pairs(window: WindowFigures, played: PlayedHours) -> Iterator[tuple[str, Floats, Floats]]:
    days = {
        name: (window.by_day(getattr(window, name)).sum(axis=1), window.by_day(getattr(played, name)).sum(axis=2))
        for name in ("impressions", "clicks", "spend_micros")
    }
    yield "cost per click by campaign-day", *_rates(days["spend_micros"], days["clicks"])
    yield "clicks per impression by campaign-day", *_rates(days["clicks"], days["impressions"])
    yield "clicks by campaign-day", days["clicks"][0].ravel(), days["clicks"][1].ravel()
    yield "spend by campaign-day", days["spend_micros"][0].ravel(), days["spend_micros"][1].ravel()
    hourly = np.asarray(played.impressions[:, window.compared].ravel(), float)
    yield "impressions by segment-hour", window.impressions[window.compared], hourly
    # The market reports in whole hours.
    yield "delay of conversions", np.floor(window.delay_hours), np.floor(played.delay_hours)
    yield "hour of day of impressions", *_hours_of_day(window, played)


def _rates(top: tuple[Floats, Floats], bottom: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    pairs = ((part[below > 0] / below[below > 0]) for part, below in zip(top, bottom, strict=True))
    logged, market = pairs
    return logged, market


def _hours_of_day(window: WindowFigures, played: PlayedHours) -> tuple[Floats, Floats]:
    """The hour of day of each impression; the market's are as many as the log's, in its own proportions."""
    hour = np.arange(window.impressions.shape[2]) % DAY_HOURS
    logged = np.bincount(hour, window.impressions.sum(axis=(0, 1)), DAY_HOURS)
    market = np.bincount(hour, played.impressions.sum(axis=(0, 1, 2), dtype=float), DAY_HOURS)
    size = min(float(logged.sum()), float(_SAMPLE_MAX))
    counts = (np.rint(each / max(each.sum(), 1.0) * size).astype(int) for each in (logged, market))
    first, second = (np.repeat(np.arange(DAY_HOURS, dtype=float), count) for count in counts)
    return first, second


def _compared(name: str, logged: Floats, market: Floats, rng: np.random.Generator) -> DistributionGap:
    market = market if len(market) <= _SAMPLE_MAX else rng.choice(market, _SAMPLE_MAX, replace=False)
    logged = logged if len(logged) <= _SAMPLE_MAX else rng.choice(logged, _SAMPLE_MAX, replace=False)
    spread = max(float(logged.std()), 1e-12)
    return DistributionGap(
        statistic=name,
        ks=float(ks_2samp(logged, market, method="asymp").statistic),
        wasserstein=float(wasserstein_distance(logged / spread, market / spread)),
        kl=_kl(logged, market),
        ks_by_chance=_ks_by_chance(logged, rng),
        logged_size=len(logged),
    )


def _kl(logged: Floats, market: Floats) -> float:
    """Of the log from the market, over cells that hold equal parts of both together; half a value is in every cell."""
    edges = np.unique(np.quantile(np.concatenate([logged, market]), np.linspace(0, 1, _KL_CELLS + 1)[1:-1]))
    parts = [np.bincount(np.searchsorted(edges, each), minlength=len(edges) + 1) + 0.5 for each in (logged, market)]
    first, second = (part / part.sum() for part in parts)
    return float((first * np.log(first / second)).sum())


def _ks_by_chance(logged: Floats, rng: np.random.Generator) -> float:
    """Mean distance of two random halves of the log, which is what chance alone gives samples of this size."""
    distances = []
    for _ in range(_SPLITS):
        shuffled = rng.permutation(logged)
        half = len(shuffled) // 2
        distances.append(ks_2samp(shuffled[:half], shuffled[half:], method="asymp").statistic)
    return float(np.mean(distances) / np.sqrt(2))  # halves are half as large: so much farther apart
