"""The three scores of gate 2, from campaign-days of log and market.

* `simulator_match`: 1 - the worst relative error of four totals: spend, clicks, conversions, value. Of the last two,
  which are sparse, only the part of the error counts that chance cannot explain at 95%.
* `prediction_accuracy`: 1 - the relative error of campaign-days that chance does not explain, the worse of spend and
  clicks.
* `correlation_with_actuals`: Spearman's correlation over campaign-days, divided by the one that a market right in every
  mean would reach; the mean of spend and clicks, which rank the same days.

Errors of a wrong market and of chance are independent, so their squares add up: of the mean squared error of a
campaign's days, relative to its mean day, the noise floor is subtracted, and the root of what is left is the market's
own error; campaigns count by their size. Squares, because this holds whatever the distribution of chance is; the
weighted absolute percentage error (WAPE) and its floor are reported beside it. The correlation is divided by its
ceiling for the same reason (Spearman, 1904, The proof and measurement of association between two things). The gate
reads Spearman's, because it has to tell good days from bad ones in every campaign; Pearson's follows the largest one.

Intervals resample clusters of campaign and week: the account's campaigns are given, its weeks are the sample, and the
days of a week share their price level. The noise floor is of the same days and resampled along with them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from gaelp.arrays import Floats, Ints
from gaelp.history.cluster_bootstrap import cluster_weights, percentile_interval
from gaelp.history.fidelity_report import FidelityScore, FigureScore
from gaelp.history.noise_floor import NORMAL_DEVIATION, NoiseFloor
from gaelp.market.calibration.report_forecast import poisson_error_share

__all__ = ["CampaignDays", "Scores", "pearson", "score_days", "spearman"]

DENSE = ("spend", "clicks")
REPLICATES = 1000
_RANK_REPLICATES = 300
_CEILING_DRAWS, _CEILING_DRAWS_RESAMPLED = 100, 8
_Z = 1.959964
_TINY = 1e-9


@dataclass(frozen=True, slots=True)
class CampaignDays:
    """Figures by campaign-day, (N, D) each: as logged, and the market's mean over its copies."""

    logged: dict[str, Floats]
    market: dict[str, Floats]
    cluster: Ints  # (N, D)
    counted: dict[str, float]  # conversions behind the sparse totals in both windows, as 1 / variance of the log


@dataclass(frozen=True, slots=True)
class Scores:
    """Everything that gate 2 and the report read."""

    simulator_match: FidelityScore
    prediction_accuracy: FidelityScore
    correlation_with_actuals: FidelityScore
    plain_accuracy: FidelityScore
    plain_correlation: FidelityScore
    figures: tuple[FigureScore, ...]


def score_days(days: CampaignDays, floors: dict[str, NoiseFloor], rng: np.random.Generator) -> Scores:
    """All scores with their intervals."""
    sums = _ClusterSums(days, floors, rng)
    ranks = _RankDraws(days, floors, rng)
    return Scores(
        simulator_match=_score(sums.match, REPLICATES),
        prediction_accuracy=_score(sums.accuracy, REPLICATES),
        correlation_with_actuals=_score(ranks.over_ceiling, _RANK_REPLICATES),
        plain_accuracy=_score(sums.plain_accuracy, REPLICATES),
        plain_correlation=_score(
            lambda number: float(np.mean([ranks.correlation(name, number) for name in DENSE])), _RANK_REPLICATES
        ),
        figures=tuple(_figure(name, days, sums, ranks) for name in days.logged),
    )


def _score(statistic: Callable[[int], float], replicates: int) -> FidelityScore:
    value = statistic(-1)
    lower, upper = percentile_interval(statistic, replicates, value)
    return FidelityScore(value=value, lower_95=lower, upper_95=upper)


class _ClusterSums:
    """Sums by cluster, so that a replicate is a weighted sum; number -1 is the sample itself."""

    def __init__(self, days: CampaignDays, floors: dict[str, NoiseFloor], rng: np.random.Generator) -> None:
        clusters = int(days.cluster.max()) + 1
        self._days, self._floors = days, floors
        self._weights = cluster_weights(clusters, REPLICATES, rng)
        self._size = np.bincount(days.cluster.ravel(), minlength=clusters).astype(float)
        self._logged, self._market, self._apart = (
            {name: np.bincount(days.cluster.ravel(), part(name).ravel(), clusters) for name in days.logged}
            for part in (days.logged.__getitem__, days.market.__getitem__, self._distance)
        )

    def _distance(self, name: str) -> Floats:
        return np.abs(self._days.market[name] - self._days.logged[name])

    def _weight(self, number: int) -> Floats:
        return np.ones(self._weights.shape[1]) if number < 0 else self._weights[number]

    def total_error(self, name: str, number: int = -1) -> float:
        weight = self._weight(number)
        return float(weight @ self._market[name] / max(float(weight @ self._logged[name]), _TINY)) - 1

    def noise(self, name: str) -> float:
        """What chance allows of a sparse total's error at 95%; dense totals are allowed nothing."""
        return 0.0 if name in DENSE else _Z / math.sqrt(max(self._days.counted[name], _TINY))

    def match(self, number: int) -> float:
        worst = max(abs(self.total_error(name, number)) - self.noise(name) for name in self._logged)
        return 1 - min(max(worst, 0.0), 1.0)

    def wape(self, name: str, number: int = -1) -> float:
        weight = self._weight(number)
        return float(weight @ self._apart[name] / max(float(weight @ self._logged[name]), _TINY))

    def floor(self, name: str) -> float:
        """The WAPE by chance."""
        if name not in DENSE:
            return poisson_error_share(self._days.market[name]) if name == "conversions" else self._value_floor()
        return self._floors[name].share

    def _value_floor(self) -> float:
        """Of value: as conversions, times what the different values of sales add."""
        ratio = math.sqrt(self._days.counted["conversions"] / max(self._days.counted["value"], _TINY))
        return poisson_error_share(self._days.market["conversions"]) * ratio

    def accuracy(self, number: int) -> float:
        return 1 - min(max(math.sqrt(self._beyond_chance(name, self._weight(number))) for name in DENSE), 1.0)

    def _beyond_chance(self, name: str, weight: Floats) -> float:
        """Mean squared relative error of days, less that of chance; campaigns count by their size."""
        logged, weeks = self._days.logged[name], self._floors[name].square.shape[1]
        mean_day = np.repeat(np.maximum(logged.mean(axis=1), _TINY), weeks)
        squares = np.bincount(self._days.cluster.ravel(), self._distance(name).ravel() ** 2, len(weight))
        left = (squares - self._floors[name].square.ravel()) / mean_day
        return max(float(weight @ left / max(float(weight @ (self._size * mean_day)), _TINY)), 0.0)

    def plain_accuracy(self, number: int) -> float:
        return 1 - min(max(self.wape(name, number) for name in DENSE), 1.0)


class _RankDraws:
    """Spearman's correlation over resampled clusters of campaign-days, and the highest that chance lets it be.

    The ceiling is the correlation of the market's means with days that differ from them by chance alone; it depends on
    how different the days of a sample are, so it is that of the same days.
    """

    def __init__(self, days: CampaignDays, floors: dict[str, NoiseFloor], rng: np.random.Generator) -> None:
        self._days = days
        self._by_chance = {name: _chance_days(days.market[name], floors[name], rng) for name in DENSE}
        cluster = days.cluster.ravel()
        clusters = int(cluster.max()) + 1
        members = [np.flatnonzero(cluster == each) for each in range(clusters)]
        drawn = rng.integers(clusters, size=(_RANK_REPLICATES, clusters))
        self._rows = [np.concatenate([members[each] for each in row]) for row in drawn]

    def correlation(self, name: str, number: int = -1) -> float:
        rows = self._of(number)
        return spearman(self._days.market[name].ravel()[rows], self._days.logged[name].ravel()[rows])

    def ceiling(self, name: str, number: int = -1) -> float:
        rows = self._of(number)
        drawn = self._by_chance[name] if number < 0 else self._by_chance[name][:_CEILING_DRAWS_RESAMPLED]
        ranks = rankdata(np.vstack([self._days.market[name].ravel()[rows], drawn[:, rows]]), axis=1)
        return max(float(np.mean([pearson(ranks[0], each) for each in ranks[1:]])), _TINY)

    def over_ceiling(self, number: int) -> float:
        """The mean of spend and clicks: both rank the same days, and together with less noise."""
        shares = [min(self.correlation(name, number) / self.ceiling(name, number), 1.0) for name in DENSE]
        return float(np.mean(shares))

    def _of(self, number: int) -> Ints | slice:
        return slice(None) if number < 0 else self._rows[number]


def spearman(first: Floats, second: Floats) -> float:
    """Correlation of ranks; 0 where one side does not vary."""
    return pearson(rankdata(first), rankdata(second))


def pearson(first: Floats, second: Floats) -> float:
    """Linear correlation; 0 where one side does not vary."""
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])


def _chance_days(market: Floats, floor: NoiseFloor, rng: np.random.Generator) -> Floats:
    """Campaign-days, (draws, N x D), that differ from the market's means by chance alone."""
    spread = floor.by_campaign()[:, None] / NORMAL_DEVIATION
    draws = np.maximum(1 + spread * rng.standard_normal((_CEILING_DRAWS, *market.shape)), 0)
    return np.asarray((market * draws).reshape(_CEILING_DRAWS, -1))


def _figure(name: str, days: CampaignDays, sums: _ClusterSums, ranks: _RankDraws) -> FigureScore:
    logged, market = days.logged[name], days.market[name]
    floor, wape = sums.floor(name), sums.wape(name)
    return FigureScore(
        figure=name,
        logged=float(logged.sum()),
        market=float(market.sum()),
        total_error=sums.total_error(name),
        total_noise=sums.noise(name),
        wape=wape,
        noise_wape=floor,
        noise_ratio=wape / max(floor, _TINY),
        pearson=pearson(market.ravel(), logged.ravel()),
        spearman=ranks.correlation(name),
        spearman_possible=ranks.ceiling(name) if name in DENSE else None,
    )
