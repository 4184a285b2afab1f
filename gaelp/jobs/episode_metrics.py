"""Metrics per policy, campaign and day: reward, ROI, CTR, CVR, CPA and pacing error, with 95% intervals.

Partial results are sums by hour. They hold whole numbers only (rewards and conversions in fixed point), so that the
result is the same to the bit however the rows were split. Intervals take the hours of the day as the units that vary:
segments within an hour share its traffic and are not independent. A rate's interval also covers what its counts alone
allow, so that an hour without a click does not look certain. A figure that some row of the day does not know is null.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import stats

from gaelp.arrays import Bools, Floats, Ints
from gaelp.jobs.screening import ScreenedRows, keep_valid, not_finite
from gaelp.storage.schema import TableName

__all__ = [
    "METRIC_COLUMNS",
    "METRIC_INPUTS",
    "PARTIAL_METRICS",
    "finish_metrics",
    "merge_partial_metrics",
    "partial_metrics",
]

METRIC_INPUTS = (
    *("id", "at", "campaign", "policy", "reward"),
    *("impressions", "clicks", "conversions", "spend_micros", "value_micros"),
)
"""The columns of `decisions` that the metrics need."""

_GROUP = ("policy", "campaign", "day")
_HOUR = (*_GROUP, "hour")
_FIGURES = ("reward", "impressions", "clicks", "conversions", "spend_micros", "value_micros")
_SCALES = {"reward": 2.0**32, "conversions": 2.0**20}  # fixed point: a sum does not depend on the order of rows
_LARGEST = {"reward": 1e6, "conversions": 1e9}  # the sum of a day's rows must fit 63 bits
_LARGEST_MICROS = 10**15
_CONFIDENCE = 0.95

PARTIAL_METRICS = pa.schema(
    [
        ("policy", pa.string()),
        ("campaign", pa.string()),
        ("day", pa.date32()),
        ("hour", pa.int64()),
        ("rows", pa.int64()),
        *((name, pa.int64()) for name in _FIGURES),
        *((f"{name}_rows", pa.int64()) for name in _FIGURES),
    ]
)
_BOUNDED = ("reward", "roi", "ctr", "cvr", "cpa_micros")
METRIC_COLUMNS = pa.schema(
    [
        *(("policy", pa.string()), ("campaign", pa.string()), ("day", pa.date32()), ("rows", pa.int64())),
        ("hours", pa.int64()),
        *((name, pa.int64()) for name in ("impressions", "clicks", "spend_micros", "value_micros")),
        ("conversions", pa.float64()),
        *((f"{name}{end}", pa.float64()) for name in _BOUNDED for end in ("", "_lower_95", "_upper_95")),
        ("pacing_error", pa.float64()),
    ]
)


def partial_metrics(decisions: pa.Table) -> ScreenedRows:
    """Sums by policy, campaign, day and hour, and the dead letters of invalid rows."""
    screened = keep_valid(TableName.DECISIONS, decisions, _problems(decisions))
    rows = screened.valid
    at = rows.column("at")
    whole = [_fixed(rows.column(name), name) for name in _FIGURES]
    table = pa.table(
        [rows.column("policy"), rows.column("campaign"), at.cast(pa.date32()), pc.hour(at), *whole],
        names=[*_HOUR, *_FIGURES],
    )
    sums = [(name, "sum") for name in _FIGURES]
    counts = [(name, "count") for name in _FIGURES]
    grouped = table.group_by(list(_HOUR)).aggregate([([], "count_all"), *sums, *counts])
    order = [*_HOUR, "count_all", *(f"{name}_sum" for name in _FIGURES), *(f"{name}_count" for name in _FIGURES)]
    return ScreenedRows(_zero_for_null(grouped.select(order)), screened.dead)


def merge_partial_metrics(partials: Sequence[pa.Table]) -> pa.Table:
    """Add partial results up."""
    table = pa.concat_tables(partials)
    numbers = PARTIAL_METRICS.names[len(_HOUR) :]
    merged = table.group_by(list(_HOUR)).aggregate([(name, "sum") for name in numbers])
    return merged.select([*_HOUR, *(f"{name}_sum" for name in numbers)]).rename_columns(PARTIAL_METRICS.names)


def finish_metrics(partial: pa.Table) -> pa.Table:
    """The metrics of merged partial results, sorted by policy, campaign and day."""
    if partial.num_rows == 0:
        return METRIC_COLUMNS.empty_table()
    hours = partial.sort_by([(name, "ascending") for name in _HOUR])
    starts = _group_starts(hours)
    groups = _Groups(hours, starts)
    reward = groups.total_with_interval("reward")
    columns: dict[str, Floats | Ints] = {
        "rows": groups.whole("rows"),
        "hours": groups.sizes,
        "conversions": groups.total("conversions"),
        **dict(zip(_names("reward"), reward, strict=True)),
        **dict(zip(_names("roi"), (bound - 1 for bound in groups.ratio("value_micros", "spend_micros")), strict=True)),
        **dict(zip(_names("ctr"), groups.rate("clicks", "impressions"), strict=True)),
        **dict(zip(_names("cvr"), groups.rate("conversions", "clicks"), strict=True)),
        **dict(zip(_names("cpa_micros"), groups.cost("spend_micros", "conversions"), strict=True)),
        "pacing_error": groups.pacing_error(),
    }
    keys = hours.select(list(_GROUP)).take(pa.array(starts))
    arrays = {name: keys.column(name) for name in _GROUP}
    for name in ("impressions", "clicks", "spend_micros", "value_micros"):
        arrays[name] = pa.array(groups.whole(name), pa.int64(), mask=~groups.known(name))
    for name, values in columns.items():
        arrays[name] = pa.array(values, METRIC_COLUMNS.field(name).type, mask=~np.isfinite(values))
    return pa.table([arrays[name] for name in METRIC_COLUMNS.names], schema=METRIC_COLUMNS)


def _problems(rows: pa.Table) -> dict[str, pa.ChunkedArray]:
    def is_below_zero(name: str) -> pa.ChunkedArray:
        return pc.less(rows.column(name), 0)

    problems = {f"{name} is missing": pc.is_null(rows.column(name)) for name in ("id", "at", "campaign")}
    problems |= {f"{name} is not finite": not_finite(rows.column(name)) for name in _SCALES}
    problems |= {
        f"{name} is beyond {limit:g}": pc.greater(pc.abs(rows.column(name)), limit) for name, limit in _LARGEST.items()
    }
    for name in ("spend_micros", "value_micros", "impressions", "clicks"):
        problems[f"{name} is beyond {_LARGEST_MICROS}"] = pc.greater(rows.column(name), _LARGEST_MICROS)
    problems |= {f"{name} is negative": is_below_zero(name) for name in _FIGURES[1:-1]}
    problems["more clicks than impressions"] = pc.greater(rows.column("clicks"), rows.column("impressions"))
    return problems


def _fixed(values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    scale = _SCALES.get(name)
    return values if scale is None else pc.round(pc.multiply(values, scale)).cast(pa.int64())


def _zero_for_null(sums: pa.Table) -> pa.Table:
    """Sums as whole numbers; a group in which nothing is known has 0 known rows."""
    arrays = [
        column if field.name in _HOUR else pc.fill_null(column, 0).cast(field.type)
        for column, field in zip(sums.columns, PARTIAL_METRICS, strict=True)
    ]
    return pa.table(arrays, schema=PARTIAL_METRICS)


def _names(metric: str) -> tuple[str, str, str]:
    return metric, f"{metric}_lower_95", f"{metric}_upper_95"


def _group_starts(hours: pa.Table) -> Ints:
    """The first row of each group in sorted rows."""
    changes = np.zeros(hours.num_rows, bool)
    changes[0] = True
    for name in _GROUP:
        codes = hours.column(name).combine_chunks().dictionary_encode(null_encoding="encode").indices.to_numpy()
        changes[1:] |= codes[1:] != codes[:-1]
    return np.flatnonzero(changes)


class _Groups:
    """Hourly sums, group after group; `starts` are the first rows of the groups."""

    def __init__(self, hours: pa.Table, starts: Ints) -> None:
        self._hours, self._starts = hours, starts
        self.sizes: Ints = np.diff(np.append(starts, hours.num_rows))
        spread = np.maximum(self.sizes - 1, 1)
        self._t = np.where(self.sizes > 1, stats.t.ppf(0.5 + _CONFIDENCE / 2, spread), np.nan)

    def whole(self, name: str) -> Ints:
        """The sum of each group, as whole numbers."""
        return np.add.reduceat(self._hours.column(name).to_numpy(), self._starts)

    def known(self, name: str) -> Bools:
        """Whether every row of a group knows the figure."""
        known: Bools = self.whole(f"{name}_rows") == self.whole("rows")
        return known

    def total(self, name: str) -> Floats:
        """The sum of each group in its unit; NaN where unknown."""
        return np.where(self.known(name), self.whole(name) / _SCALES.get(name, 1.0), np.nan)

    def total_with_interval(self, name: str) -> tuple[Floats, Floats, Floats]:
        """A day's sum, and its range if each hour were drawn again."""
        total = self.total(name)
        errors = self._by_hour(name) - np.repeat(total / self.sizes, self.sizes)
        half = self._t * np.sqrt(self.sizes * self._variance(errors))
        return total, total - half, total + half

    def ratio(self, upper: str, lower: str) -> tuple[Floats, Floats, Floats]:
        """A ratio of sums with its interval; NaN where the lower sum is 0."""
        above, below = self.total(upper), self.total(lower)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.where(below > 0, above / below, np.nan)
            errors = self._by_hour(upper) - np.repeat(value, self.sizes) * self._by_hour(lower)
            half = self._t * np.sqrt(self.sizes * self._variance(errors)) / below
        return value, value - half, value + half

    def rate(self, upper: str, lower: str) -> tuple[Floats, Floats, Floats]:
        """A share of trials; its interval covers Wilson's too."""
        value, low, high = self.ratio(upper, lower)
        with np.errstate(divide="ignore", invalid="ignore"):
            trials, share = self.total(lower), np.clip(value, 0, 1)
            z = stats.norm.ppf(0.5 + _CONFIDENCE / 2)
            middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
            half = z / (1 + z * z / trials) * np.sqrt(share * (1 - share) / trials + (z / (2 * trials)) ** 2)
        lowest = np.fmin(np.fmin(low, middle - half), value)  # the value too: rounding may exceed a rate of 0
        return value, np.maximum(lowest, 0.0), np.fmax(high, middle + half)

    def cost(self, upper: str, lower: str) -> tuple[Floats, Floats, Floats]:
        """A cost per event; its interval covers the one of a Poisson count too."""
        value, low, high = self.ratio(upper, lower)
        spend, events = self.total(upper), self.total(lower)
        with np.errstate(divide="ignore", invalid="ignore"):
            tail = (1 - _CONFIDENCE) / 2
            most = stats.gamma.ppf(1 - tail, events + 1)
            fewest = np.where(events > 0, stats.gamma.ppf(tail, np.maximum(events, 1e-9)), np.nan)
            bounds = np.maximum(np.fmin(low, spend / most), 0.0), np.fmax(high, spend / fewest)
        return value, bounds[0], bounds[1]

    def pacing_error(self) -> Floats:
        """The mean distance between the share of the day's spend so far and the share of its hours gone."""
        spend, total = self._by_hour("spend_micros"), self.total("spend_micros")
        so_far = np.cumsum(spend)
        before = np.repeat(so_far[self._starts] - spend[self._starts], self.sizes)
        gone = (np.arange(len(spend)) - np.repeat(self._starts, self.sizes) + 1) / np.repeat(self.sizes, self.sizes)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (so_far - before) / np.repeat(total, self.sizes)
            error = np.add.reduceat(np.abs(share - gone), self._starts) / self.sizes
        return np.where(total > 0, error, np.nan)

    def _by_hour(self, name: str) -> Floats:
        values: Floats = self._hours.column(name).to_numpy() / _SCALES.get(name, 1.0)
        return values

    def _variance(self, errors: Floats) -> Floats:
        squares: Floats = np.add.reduceat(errors * errors, self._starts)
        return squares / np.maximum(self.sizes - 1, 1)
