"""How an agent's evaluations develop: trend, anomaly and distance to each goal, over a short and a long window.

The trend is the Theil-Sen slope, judged by a Mann-Kendall test: both use ranks or medians alone, so one odd evaluation
does not make a trend, and the test needs no normal errors at ten points. Successive evaluations resemble each other,
so the plain test raises false alarms; its variance is therefore widened by the lag-one autocorrelation of the detrended
ranks (corrected for its bias in short series, never narrowed). Without a trend, at alpha 0.05 and 10 or 50 points, the
alarm then comes in 3-4% of independent series, 6-7% at autocorrelation 0.3 and 7-11% at 0.6; the plain test reaches
14% and 31%. Verdicts are meant for reading and for stopping early, not for graduation: they are made again after every
evaluation, which a gate's evidence must not be.
"""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Literal, Self

import numpy as np
import scipy  # loads scipy.stats when it is first used: whoever only reads reports need not wait for it
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator
from scipy.special import ndtr

from gaelp.arrays import Floats
from gaelp.checks import Goal, robust_z
from gaelp.config.base import Frozen
from gaelp.config.validation import validated
from gaelp.errors import BadInput, DataError

__all__ = [
    "Anomaly",
    "GoalReport",
    "MonitorReport",
    "MonitorSpec",
    "PerformanceMonitor",
    "SeriesReport",
    "Trend",
    "WindowReport",
    "goal_report",
    "monitor_figures",
]

Trend = Literal["rising", "falling", "flat", "too little data"]
Anomaly = Literal["high", "low", "none", "too little data"]

_VERSION = 1
_SAVED = "monitor state"
_AUTOCORRELATION_MAX = 0.95  # keeps the widening finite; a series this sluggish shows no trend in 50 points anyway


class MonitorSpec(Frozen):
    """What counts as a trend and as an anomaly; windows and minimum counts are in evaluations."""

    short_window: PositiveInt = 10
    long_window: PositiveInt = 50
    alpha: float = Field(default=0.05, gt=0, lt=1)  # two-sided
    trend_minimum: int = Field(default=8, ge=5)
    anomaly_z: PositiveFloat = 5.0
    anomaly_minimum: int = Field(default=10, ge=3)  # 1% false alarms at z=5 on ten normal points, 1.7% on eight
    scale_floor: PositiveFloat = 1e-6
    scale_floor_fraction: float = Field(default=0.01, ge=0)  # of the median, so that tiny jitter is no anomaly

    @model_validator(mode="after")
    def _windows_fit(self) -> Self:
        needed = max(self.trend_minimum, self.anomaly_minimum)
        if not needed <= self.short_window < self.long_window:
            raise ValueError(
                f"short_window={self.short_window}, long_window={self.long_window}: allowed is {needed} (the larger of"
                " trend_minimum and anomaly_minimum) <= short_window < long_window"
            )
        return self


class GoalReport(Frozen):
    """Distance to a goal: >= 0 is the margin by which it is met, < 0 is what is missing, None: no figure."""

    goal: Goal
    value: float | None
    distance: float | None
    met: bool


class WindowReport(Frozen):
    """One series over its last `count` evaluations, at most `window`; the anomaly is about the newest one alone."""

    window: PositiveInt
    count: PositiveInt
    mean: float
    slope_per_record: float | None
    p_value: float | None
    trend: Trend
    anomaly_z: float | None
    anomaly: Anomaly


class SeriesReport(Frozen):
    """One metric over both windows; `last_record` is the number of the evaluation that gave it last."""

    name: str
    last: float
    last_record: PositiveInt
    short: WindowReport
    long: WindowReport


class MonitorReport(Frozen):
    """Trends and goals after `records` evaluations."""

    records: NonNegativeInt
    series: tuple[SeriesReport, ...]
    goals: tuple[GoalReport, ...]


class _Saved(Frozen):
    version: int
    records: NonNegativeInt
    series: dict[str, tuple[tuple[PositiveInt, float], ...]]


class PerformanceMonitor:
    """Remembers the last evaluations of every metric it is given, no more than the long window and one."""

    def __init__(self, spec: MonitorSpec, goals: tuple[Goal, ...] = ()) -> None:
        self._spec = spec
        self._goals = goals
        self._records = 0
        self._series: dict[str, list[tuple[int, float]]] = {}

    def record(self, metrics: Mapping[str, float]) -> None:
        """Record one evaluation; BadInput names NaN and infinity, and nothing of that evaluation is kept."""
        _check_finite(metrics)
        self._records += 1
        for name, value in metrics.items():
            points = self._series.setdefault(name, [])
            points.append((self._records, float(value)))
            del points[: -(self._spec.long_window + 1)]

    def report(self) -> MonitorReport:
        """Every series by name, and every goal against the newest evaluation: an older figure meets no goal."""
        newest = {
            name: points[-1][1] for name, points in self._series.items() if points and points[-1][0] == self._records
        }
        return MonitorReport(
            records=self._records,
            series=tuple(self._series_report(name) for name in sorted(self._series)),
            goals=tuple(goal_report(goal, newest) for goal in self._goals),
        )

    def state(self) -> dict[str, Any]:
        """Everything remembered, as plain data that JSON holds exactly."""
        series = {name: [[record, value] for record, value in points] for name, points in self._series.items()}
        return {"version": _VERSION, "records": self._records, "series": series}

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Continue from `state`; DataError names what is unknown, missing or out of order, and nothing is changed."""
        if saved.get("version", _VERSION) != _VERSION:
            raise DataError(
                f"{_SAVED} has version {saved['version']!r}, this release reads {_VERSION}:"
                " continue with the release that wrote it, or start the monitor again"
            )
        try:
            checked = validated(_Saved, dict(saved), lambda _: _SAVED, error=DataError)
        except TypeError as problem:
            raise DataError(f"{_SAVED} holds more than plain data: {problem}. Give what `state` returned.") from problem
        for name, points in checked.series.items():
            _check_order(name, [record for record, _ in points], checked.records)
        kept = self._spec.long_window + 1
        self._records = checked.records
        self._series = {name: list(points[-kept:]) for name, points in checked.series.items()}

    def _series_report(self, name: str) -> SeriesReport:
        points = self._series[name]
        last_record, last = points[-1]
        short, long = (
            _window_report(self._spec, points, window) for window in (self._spec.short_window, self._spec.long_window)
        )
        return SeriesReport(name=name, last=last, last_record=last_record, short=short, long=long)


def goal_report(goal: Goal, metrics: Mapping[str, float]) -> GoalReport:
    """Compare one goal with the figures of one evaluation; missing, NaN and infinite are not met."""
    value = metrics.get(goal.figure, math.nan)
    if not math.isfinite(value):
        return GoalReport(goal=goal, value=None, distance=None, met=False)
    return GoalReport(goal=goal, value=value, distance=goal.limit.margin(value), met=goal.limit.holds(value))


def monitor_figures(report: MonitorReport) -> dict[str, float]:
    """Figures to plot: the distance to each goal, and slope and outlier z-score of each series by its windows."""
    figures = {f"goals/{goal.goal.figure}": goal.distance for goal in report.goals}
    for series in report.series:
        for window in (series.short, series.long):
            place = f"{series.name}_last_{window.window}"
            figures |= {f"trend/{place}": window.slope_per_record, f"anomaly/{place}": window.anomaly_z}
    return {name: value for name, value in figures.items() if value is not None}


def _window_report(spec: MonitorSpec, points: list[tuple[int, float]], window: int) -> WindowReport:
    recent = points[-window:]
    records, values = np.array(recent, dtype=np.float64).T
    slope, p_value = _trend_test(records, values) if len(recent) >= spec.trend_minimum else (None, None)
    z = robust_z(
        [value for _, value in points[-window - 1 : -1]],
        points[-1][1],
        minimum_count=spec.anomaly_minimum,
        scale_floor=spec.scale_floor,
        scale_floor_fraction=spec.scale_floor_fraction,
    )
    return WindowReport(
        window=window,
        count=len(recent),
        mean=float(values.mean()),
        slope_per_record=slope,
        p_value=p_value,
        trend=_trend(spec, slope, p_value),
        anomaly_z=z,
        anomaly=_anomaly(spec, z),
    )


def _trend(spec: MonitorSpec, slope: float | None, p_value: float | None) -> Trend:
    if slope is None or p_value is None:
        return "too little data"
    if p_value >= spec.alpha or slope == 0:
        return "flat"
    return "rising" if slope > 0 else "falling"


def _anomaly(spec: MonitorSpec, z: float | None) -> Anomaly:
    if z is None:
        return "too little data"
    if abs(z) <= spec.anomaly_z:
        return "none"
    return "high" if z > 0 else "low"


def _trend_test(records: Floats, values: Floats) -> tuple[float, float]:
    """The Theil-Sen slope per record and the two-sided p-value of the widened Mann-Kendall test; shapes (n,)."""
    first, second = np.triu_indices(len(values), 1)
    rises = values[second] - values[first]
    slope = float(np.median(rises / (records[second] - records[first])))
    score = float(np.sign(rises).sum())
    variance = _score_variance(values) * _widening(values - slope * (records - records[0]))
    if variance <= 0:
        return slope, 1.0
    # Continuity correction: the score moves in steps of two while the normal curve is smooth.
    z = max(abs(score) - 1, 0) / math.sqrt(variance)
    return slope, float(2 * ndtr(-z))


def _score_variance(values: Floats) -> float:
    """The variance of the Mann-Kendall score of independent values, with its correction for ties."""
    count = len(values)
    ties = np.unique(values, return_counts=True)[1].astype(np.float64)
    tied = float((ties * (ties - 1) * (2 * ties + 5)).sum())
    return (count * (count - 1) * (2 * count + 5) - tied) / 18


def _widening(residuals: Floats) -> float:
    """By how much autocorrelation, taken as first order, inflates the variance of the score; at least 1."""
    count = len(residuals)
    ranks = scipy.stats.rankdata(residuals) - (count + 1) / 2
    total = float(ranks @ ranks)
    if total == 0:
        return 1.0
    measured = float(ranks[1:] @ ranks[:-1]) / total
    # A detrended short series looks less autocorrelated than it is.
    autocorrelation = min((count * measured + 1) / (count - 4), _AUTOCORRELATION_MAX)
    if autocorrelation <= 0:
        return 1.0
    lags = np.arange(1, count)
    return 1 + 2 * float(((1 - lags / count) * autocorrelation**lags).sum())


def _check_finite(metrics: Mapping[str, float]) -> None:
    bad = [f"{name}={value!r}" for name, value in metrics.items() if not math.isfinite(value)]
    if bad:
        raise BadInput(
            f"{', '.join(bad)}: allowed are finite numbers. Leave out what could not be measured (its goals are then"
            " not met), and look for the cause in the evaluation."
        )


def _check_order(name: str, numbers: list[int], records: int) -> None:
    rising = all(earlier < later for earlier, later in pairwise(numbers))
    if not numbers or not rising or numbers[-1] > records:
        raise DataError(
            f"{_SAVED}: series {name!r} holds the evaluations {numbers[:3]}…{numbers[-1:]} of {records}; allowed: at"
            " least one, each later than the one before. Give what `state` returned."
        )
