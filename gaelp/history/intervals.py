"""Intervals for estimates whose rows come in clusters: Student t, bootstrap, empirical Bernstein, valid at every look.

A cluster is what was drawn independently: a campaign, or a campaign-day where campaigns are few and days carry little
over. Rows of one cluster share luck; treated as independent, they make intervals too narrow.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import stats

from gaelp.arrays import Floats
from gaelp.config.base import Frozen
from gaelp.errors import DataError
from gaelp.gates.sequences import asymptotic_bounds
from gaelp.history.array_checks import checked_codes, checked_share
from gaelp.history.policy_value import MEAN, PolicyValue

__all__ = [
    "ValueInterval",
    "bernstein_interval",
    "bootstrap_intervals",
    "cluster_sums",
    "resampled_sums",
    "sequence_interval",
    "student_interval",
]

_CHUNK = 4_000_000  # counts held at once: 32 MB
_NO_SPREAD = 1e-13  # what rounding leaves of a standard error of 0, relative to the value


class ValueInterval(Frozen):
    """An estimate with two ends; each end alone is wrong in half of 1 - `confidence`."""

    name: str
    method: Literal["student", "bootstrap", "bernstein", "sequence"]
    value: float
    lower: float
    upper: float
    confidence: float
    clusters: int


def student_interval(
    estimate: PolicyValue,
    clusters: npt.ArrayLike | None = None,
    *,
    confidence: float = 0.95,
    log_offset: float | None = None,
    degrees: float | None = None,
) -> ValueInterval:
    """Student t over clusters, for ratios by linearisation (Cochran 1977, "Sampling techniques", 6.3).

    value +- t_{G-1} sqrt(G / (G-1) sum over clusters of (sum of influence)^2). With `log_offset` the interval is
    symmetric in log(value + offset), which suits ratios (0) and lifts (1), whose errors are skewed to the right.
    `degrees` of freedom below G - 1 suit clusters of very different size.
    """
    totals = cluster_sums(estimate.influence[:, None], clusters)[:, 0]
    count = _enough_clusters(len(totals))
    freedom = count - 1 if degrees is None else degrees
    quantile = float(stats.t.ppf(0.5 + checked_share(confidence, "confidence") / 2, freedom))
    value, reach = estimate.value, quantile * _standard_error(totals)
    if log_offset is None:
        return _interval(estimate.name, "student", value, (value - reach, value + reach), confidence, count)
    level = _above(estimate, value, log_offset)
    ends = (level * np.exp(-reach / level) - log_offset, level * np.exp(reach / level) - log_offset)
    return _interval(estimate.name, "student", value, ends, confidence, count)


def bootstrap_intervals(
    estimates: Sequence[PolicyValue],
    clusters: npt.ArrayLike | None,
    rng: np.random.Generator,
    *,
    replicates: int = 1000,
    confidence: float = 0.95,
    log_offset: float | None = None,
) -> tuple[ValueInterval, ...]:
    """Studentised bootstrap over clusters (Hall 1988, "Theoretical comparison of bootstrap confidence intervals").

    In each resample b the estimate v_b and its own linearised standard error e_b are computed; quantiles of
    (v_b - v) / e_b take the place of Student's t. So a skewed error gives two ends of different length. All estimates
    share the resamples. The work is one product of counts (replicates, G) with cluster sums and their products (G, m +
    m^2). With `log_offset` everything is done with log(v + offset), as in `student_interval`.
    """
    sums = [cluster_sums(estimate.columns, clusters) for estimate in estimates]
    count = _enough_clusters(len(sums[0]))
    products = [np.einsum("gi,gj->gij", each, each).reshape(count, -1) for each in sums]
    draws = resampled_sums(np.hstack([*sums, *products]), rng, replicates=replicates)
    widths = [each.shape[1] for each in (*sums, *products)]
    parts = np.split(draws, np.cumsum(widths)[:-1], axis=1)
    tail = (1 - checked_share(confidence, "confidence")) / 2
    intervals = []
    for place, estimate in enumerate(estimates):
        values, errors = _resampled(estimate, parts[place], parts[len(sums) + place], count)
        ends = _studentised(estimate, sums[place], values, errors, tail, log_offset)
        intervals.append(_interval(estimate.name, "bootstrap", estimate.value, ends, confidence, count))
    return tuple(intervals)


def _resampled(estimate: PolicyValue, sums: Floats, products: Floats, count: int) -> tuple[Floats, Floats]:
    """Estimate and standard error in each resample, both of shape (replicates,)."""
    slopes = estimate.formula.slopes(sums)
    size = sums.shape[1]
    squares = np.einsum("bi,bij,bj->b", slopes, products.reshape(-1, size, size), slopes)
    return estimate.formula.combine(sums), np.sqrt(np.maximum(squares, 0) * count / (count - 1))


def _studentised(
    estimate: PolicyValue, sums: Floats, values: Floats, errors: Floats, tail: float, log_offset: float | None
) -> tuple[float, float]:
    value, error = estimate.value, _standard_error(sums @ estimate.formula.slopes(estimate.sums))
    if error <= _NO_SPREAD * max(1.0, abs(value)):
        return value, value
    if not (np.isfinite(values).all() and np.isfinite(errors).all() and errors.all()):
        raise DataError(f"{estimate.name}: some resamples have no value or no spread; use more or larger clusters")
    if log_offset is None:
        low, high = np.quantile((values - value) / errors, [tail, 1 - tail])
        return value - high * error, value - low * error
    level, levels = _above(estimate, value, log_offset), values + log_offset
    if levels.min() <= 0:
        raise DataError(f"{estimate.name}: a resample is at or below {0 - log_offset:g}; use an interval without logs")
    low, high = np.quantile(np.log(levels / level) / (errors / levels), [tail, 1 - tail])
    return level * np.exp(-high * error / level) - log_offset, level * np.exp(-low * error / level) - log_offset


def bernstein_interval(
    estimate: PolicyValue,
    clusters: npt.ArrayLike | None = None,
    *,
    limits: tuple[float, float] | None = None,
    confidence: float = 0.95,
) -> ValueInterval:
    """Empirical Bernstein (Maurer and Pontil 2009, "Empirical Bernstein bounds and sample variance penalization").

    mean -+ sqrt(2 V ln(2/d) / G) + 7 R ln(2/d) / (3 (G - 1)) with d = (1 - confidence) / 2 for each end, V the sample
    variance and R the range of a cluster's mean contribution. Valid at any sample size, for means of contributions with
    known limits only. Clusters of unequal size count with their share of the rows, which widens R.
    """
    known = limits or estimate.limits
    if known is None or estimate.formula is not MEAN or not np.all(estimate.columns[:, 1] == 1):
        raise DataError(
            f"{estimate.name}: this bound needs a mean of contributions with known limits; clip the weights"
        )
    rows = estimate.columns[:, 0]
    if rows.min() < known[0] or rows.max() > known[1]:
        raise DataError(
            f"{estimate.name}: contributions from {rows.min():.6g} to {rows.max():.6g} are outside their limits {known}"
        )
    sums = cluster_sums(np.column_stack((rows, np.ones_like(rows))), clusters)
    count = _enough_clusters(len(sums))
    means = sums[:, 0] * count / len(rows)
    spread = (known[1] - known[0]) * float(sums[:, 1].max()) * count / len(rows)
    log_term = float(np.log(4 / (1 - checked_share(confidence, "confidence"))))
    reach = np.sqrt(2 * means.var(ddof=1) * log_term / count) + 7 * spread * log_term / (3 * (count - 1))
    value = estimate.value
    return _interval(estimate.name, "bernstein", value, (value - reach, value + reach), confidence, count)


def sequence_interval(
    estimate: PolicyValue, clusters: npt.ArrayLike | None = None, *, tuned_for: float, confidence: float = 0.95
) -> ValueInterval:
    """Valid at every look at a growing log: the asymptotic confidence sequence of `gaelp/gates/sequences.py`.

    Contributions of clusters are its observations. `tuned_for` is the number of clusters at which it is narrowest.
    """
    totals = cluster_sums(estimate.influence[:, None], clusters)[:, 0]
    count = _enough_clusters(len(totals))
    centred = count * (totals - totals.mean())
    lower, upper = asymptotic_bounds(
        count,
        np.asarray(estimate.value),
        np.asarray(np.sum(centred**2)),
        np.asarray(np.sum(centred**3)),
        side_alpha=(1 - checked_share(confidence, "confidence")) / 2,
        tuned_for=tuned_for,
    )
    if not np.isfinite([lower, upper]).all():
        raise DataError(f"{estimate.name}: all {count} clusters contribute the same, so their spread is unknown")
    return _interval(estimate.name, "sequence", estimate.value, (float(lower), float(upper)), confidence, count)


def cluster_sums(columns: Floats, clusters: npt.ArrayLike | None) -> Floats:
    """Sums of columns (n, m) over each cluster, shape (G, m); without clusters every row is its own."""
    if clusters is None:
        return columns
    numbers, count = checked_codes(clusters, len(columns), "clusters")
    return np.column_stack([np.bincount(numbers, weights=column, minlength=count) for column in columns.T])


def resampled_sums(sums: Floats, rng: np.random.Generator, *, replicates: int = 1000) -> Floats:
    """Column sums over G clusters drawn with replacement, shape (replicates, m)."""
    count = len(sums)
    step = max(1, _CHUNK // count)
    drawn = []
    for start in range(0, replicates, step):
        size = min(step, replicates - start)
        places = rng.integers(0, count, size=(size, count)) + count * np.arange(size)[:, None]
        counts = np.bincount(places.ravel(), minlength=size * count).reshape(size, count)  # ten times rng.multinomial
        drawn.append(counts.astype(np.float64) @ sums)
    return np.concatenate(drawn)


def _standard_error(totals: Floats) -> float:
    """Of an estimate, from the influence of each cluster, shape (G,)."""
    count = len(totals)
    return float(np.sqrt(count / (count - 1) * np.sum((totals - totals.mean()) ** 2)))


def _above(estimate: PolicyValue, value: float, log_offset: float) -> float:
    level = value + log_offset
    if level <= 0:
        raise DataError(f"{estimate.name} is {value:.4g}: an interval in logs needs a value above {0 - log_offset:g}")
    return level


def _enough_clusters(count: int) -> int:
    if count < 2:
        raise DataError(f"{count} cluster: an interval needs at least 2; take campaign-days instead of campaigns")
    return count


def _interval(
    name: str,
    method: Literal["student", "bootstrap", "bernstein", "sequence"],
    value: float,
    ends: Sequence[float] | Floats,
    confidence: float,
    clusters: int,
) -> ValueInterval:
    lower, upper = (float(end) for end in ends)
    return ValueInterval(
        name=name, method=method, value=value, lower=lower, upper=upper, confidence=confidence, clusters=clusters
    )
