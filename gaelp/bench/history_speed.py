"""How fast the off-policy estimators and their bootstrap are on a million logged decisions, beside plain Python.

The row-by-row implementation is timed on a part of the same log in the same run, and its time is scaled to all rows and
replicates, in which it is linear. Both must give the same estimates.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from gaelp.bench import rowwise_estimators as rowwise
from gaelp.bench.history_log import HOURS, HistoryLog, draw_history
from gaelp.config.base import Frozen
from gaelp.errors import GaelpError
from gaelp.history import estimators
from gaelp.history.diagnostics import diagnose_weights
from gaelp.history.fitted_q import fitted_q_evaluation
from gaelp.history.intervals import bootstrap_intervals, student_interval
from gaelp.history.kernel import kernel_self_normalised, kernel_weights
from gaelp.history.marginalised import marginalised_value
from gaelp.history.policy_value import PolicyValue
from gaelp.history.slope import choose_by_slope
from gaelp.history.value_per_dollar import lift_of, logged_dollars, realised_dollars, recalibrated_dollars
from gaelp.jobs.peak_memory import peak_memory_mb

__all__ = ["HistorySize", "HistorySpeed", "measure_history"]

_WEIGHT_MAX, _SWITCH, _SHRINKAGE, _BANDWIDTH = 5.0, 4.0, 20.0, 0.1
_CANDIDATES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
_ROWWISE_REPLICATES = 2
_SAME = 1e-9


class HistorySize(Frozen):
    """All estimators with their intervals on so many decisions."""

    rows: int
    seconds: float
    rows_per_s: float


class HistorySpeed(Frozen):
    """What `gaelp bench history` measures; seconds are of CPU time."""

    rows: int
    replicates: int
    seconds: float
    peak_mb: float
    speedup_over_rowwise: float  # the same estimators and their bootstrap
    speedup_of_estimates: float  # the same estimators without any bootstrap
    rowwise_seconds: float  # scaled
    rowwise_rows: int  # that were timed
    growth: tuple[HistorySize, ...]
    seconds_over_linear: float  # at the most rows, divided by ten times those at a tenth
    largest_difference: float  # between both implementations


def measure_history(
    *, rows: int, rowwise_rows: int, replicates: int = 1000, report: Callable[[str], None] = lambda _: None
) -> HistorySpeed:
    """Measure at a tenth of the rows and at all of them, then the row-by-row implementation on `rowwise_rows`."""
    log = draw_history(rows, np.random.default_rng(rows))
    rows = len(log.value)
    _run_everything(log.first(9600), 10)  # imports and caches
    growth = []
    for size in (rows // 10 // 96 * 96, rows):
        seconds = _cpu_seconds(_everything_on(log.first(size), replicates))
        growth.append(HistorySize(rows=size, seconds=seconds, rows_per_s=size / seconds))
        report(f"  {size:,} decisions: {seconds:.2f} s")
    common = _cpu_seconds(_shared_on(log, replicates))
    alone = _cpu_seconds(_shared_on(log, None))
    part = log.first(rowwise_rows // 96 * 96)
    difference = _largest_difference(part)
    once, resampled = _rowwise_seconds(part)
    scale = rows / len(part.value)
    report(f"  row by row: {once * scale:.1f} s, and {resampled * scale:.1f} s for each replicate")
    total = scale * (once + resampled * replicates)
    return HistorySpeed(
        rows=rows,
        replicates=replicates,
        seconds=growth[-1].seconds,
        peak_mb=peak_memory_mb(),
        speedup_over_rowwise=total / common,
        speedup_of_estimates=scale * once / alone,
        rowwise_seconds=total,
        rowwise_rows=len(part.value),
        growth=tuple(growth),
        seconds_over_linear=growth[-1].seconds / growth[0].seconds / (growth[-1].rows / growth[0].rows),
        largest_difference=difference,
    )


def _everything_on(log: HistoryLog, replicates: int) -> Callable[[], None]:
    return lambda: _run_everything(log, replicates)


def _shared_on(log: HistoryLog, replicates: int | None) -> Callable[[], None]:
    return lambda: _run_shared(log, replicates)


def _cpu_seconds(work: Callable[[], None]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _run_everything(log: HistoryLog, replicates: int) -> None:
    """All estimators with Student and bootstrap intervals, SLOPE for two of them, FQE, and the diagnostics."""
    decisions, episodes = _decision_values(log), _episode_values(log)
    model = (log.value, log.weight, log.predicted, log.predicted_target)
    switched = [estimators.switch_doubly_robust(*model, switch_at=limit) for limit in _CANDIDATES]
    shrunk = [estimators.shrunk_doubly_robust(*model, shrinkage=amount) for amount in _CANDIDATES]
    decisions += [each[choose_by_slope(each, log.clusters)] for each in (switched, shrunk)]
    for value in decisions:
        student_interval(value, log.clusters)
    for value in episodes:
        student_interval(value, log.clusters[::HOURS])
    _bootstrap(log, decisions, episodes, replicates)
    diagnose_weights(log.weight, log.clusters)
    _fitted_q(log)


def _run_shared(log: HistoryLog, replicates: int | None) -> None:
    """The estimators that have a row-by-row version; without replicates only their values."""
    decisions, episodes = _decision_values(log), _episode_values(log)
    if replicates is None:
        for value in (*decisions, *episodes):
            _ = value.value
    else:
        _bootstrap(log, decisions, episodes, replicates)


def _bootstrap(log: HistoryLog, decisions: list[PolicyValue], episodes: list[PolicyValue], replicates: int) -> None:
    rng = np.random.default_rng(1)
    bootstrap_intervals(decisions, log.clusters, rng, replicates=replicates)
    bootstrap_intervals(episodes, log.clusters[::HOURS], rng, replicates=replicates)


def _decision_values(log: HistoryLog) -> list[PolicyValue]:
    model = (log.value, log.weight, log.predicted, log.predicted_target)
    near = kernel_weights(log.shift, log.action, log.density, bandwidth=_BANDWIDTH)
    reference = logged_dollars(log.value, log.spend)
    recalibrated = recalibrated_dollars(
        log.value, log.spend, log.weight, clicks=log.clicks, predicted_value_per_click=log.model, cells=log.cells
    )
    return [
        estimators.direct_method(log.predicted_target),
        estimators.inverse_propensity(log.value, log.weight),
        estimators.clipped_inverse_propensity(log.value, log.weight, weight_max=_WEIGHT_MAX),
        estimators.self_normalised(log.value, log.weight),
        estimators.doubly_robust(*model),
        estimators.self_normalised_doubly_robust(*model),
        estimators.switch_doubly_robust(*model, switch_at=_SWITCH),
        estimators.shrunk_doubly_robust(*model, shrinkage=_SHRINKAGE),
        kernel_self_normalised(log.value, near),
        lift_of(realised_dollars(log.value, log.spend, log.weight), reference),
        lift_of(recalibrated, reference),
    ]


def _episode_values(log: HistoryLog) -> list[PolicyValue]:
    state, weight, value = (column.reshape(-1, HOURS) for column in (log.state, log.weight, log.value))
    return [estimators.per_decision(value, weight, discount=0.99), marginalised_value(state, weight, value)]


def _fitted_q(log: HistoryLog) -> None:
    """Features: a constant, the state, the action and its square; the target's action is its shift."""
    last = np.arange(len(log.value)) % HOURS == HOURS - 1
    following = np.roll(log.state, -1)
    taken = np.column_stack((np.ones_like(log.value), log.state, log.action, log.action**2))
    wanted = np.column_stack((np.ones_like(log.value), following, log.shift, log.shift**2))
    first = np.column_stack((np.ones_like(log.value), log.state, log.shift, log.shift**2))[::HOURS]
    fitted_q_evaluation(taken, log.value, wanted, last, first, discount=0.95)


def _as_lists(log: HistoryLog) -> dict[str, list[Any]]:
    return {name: getattr(log, name).tolist() for name in log.__slots__}


def _rowwise_values(lists: dict[str, list[Any]]) -> list[float]:
    """The same estimates as `_decision_values` and `_episode_values`, row by row over plain lists."""
    value, weight = lists["value"], lists["weight"]
    model = (value, weight, lists["predicted"], lists["predicted_target"])
    days = [slice(start, start + HOURS) for start in range(0, len(value), HOURS)]
    state, weights, values = ([lists[name][day] for day in days] for name in ("state", "weight", "value"))
    return [
        sum(lists["predicted_target"]) / len(value),
        rowwise.rowwise_inverse_propensity(value, weight),
        rowwise.rowwise_clipped(value, weight, _WEIGHT_MAX),
        rowwise.rowwise_self_normalised(value, weight),
        rowwise.rowwise_doubly_robust(*model),
        rowwise.rowwise_self_normalised_doubly_robust(*model),
        rowwise.rowwise_switch(*model, _SWITCH),
        rowwise.rowwise_shrunk(*model, _SHRINKAGE),
        rowwise.rowwise_kernel(value, lists["shift"], lists["action"], lists["density"], _BANDWIDTH),
        rowwise.rowwise_lift(value, lists["spend"], weight),
        rowwise.rowwise_recalibrated_lift(
            value, lists["spend"], weight, lists["clicks"], lists["model"], lists["cells"]
        ),
        rowwise.rowwise_per_decision(values, weights, 0.99),
        rowwise.rowwise_marginalised(state, weights, values),
    ]


def _largest_difference(log: HistoryLog) -> float:
    ours = np.array([value.value for value in (*_decision_values(log), *_episode_values(log))])
    theirs = np.array(_rowwise_values(_as_lists(log)))
    difference = float(np.max(np.abs(ours - theirs) / np.maximum(1, np.abs(theirs))))
    if not difference <= _SAME:
        raise GaelpError(
            f"both implementations differ by {difference:.2g}, at most {_SAME:g} is rounding: do not trust this"
        )
    return difference


def _rowwise_seconds(log: HistoryLog) -> tuple[float, float]:
    """CPU seconds of all estimates once, and of each bootstrap replicate; clusters stay whole, so days do too."""
    lists = _as_lists(log)

    def estimate(rows: list[int]) -> float:
        drawn = {name: [column[row] for row in rows] for name, column in lists.items()}
        return sum(_rowwise_values(drawn))

    def once() -> None:
        _rowwise_values(lists)

    def resample() -> None:
        rowwise.rowwise_bootstrap(lists["clusters"], estimate, _ROWWISE_REPLICATES, seed=1)

    return _cpu_seconds(once), _cpu_seconds(resample) / _ROWWISE_REPLICATES
