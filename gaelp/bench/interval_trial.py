"""How often the intervals of off-policy estimates hold the truth, on synthetic logs whose truth is known exactly."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from gaelp.bench.interval_logs import (
    SD,
    DecisionLog,
    draw_decisions,
    draw_dollars,
    draw_episodes,
    smoothed_reward,
)
from gaelp.config.base import Frozen
from gaelp.history import estimators
from gaelp.history.intervals import (
    ValueInterval,
    bernstein_interval,
    bootstrap_intervals,
    sequence_interval,
    student_interval,
)
from gaelp.history.kernel import kernel_self_normalised, kernel_weights
from gaelp.history.marginalised import marginalised_value
from gaelp.history.policy_value import PolicyValue, mean_value
from gaelp.history.value_per_click import campaign_time_folds, cross_fitted_value_per_click, indicator_features
from gaelp.history.value_per_dollar import lift_of, logged_dollars, realised_dollars, recalibrated_dollars
from gaelp.history.weights import normal_log_density, shifted_normal_weights

__all__ = ["Coverage", "interval_trial", "not_covered"]

_BANDWIDTH = 0.1
_WEIGHT_MAX = 5.0
_LOOKS = range(50, 201, 10)  # clusters seen at each look
_TWO_SIDED = (0.93, 0.97)  # what an interval of 95% must hold
_ONE_SIDED_MAX = 0.05


class Coverage(Frozen):
    """One kind of interval over all logs; `claims` says what is promised of it."""

    estimator: str
    method: str
    sample: str
    claims: str
    logs: int
    holds: float  # share of logs in which the truth is inside
    lower_wrong: float
    upper_wrong: float
    mean_width: float


class _Look(NamedTuple):
    estimator: str
    method: str
    sample: str
    claims: str
    lower: float
    upper: float
    truth: float


def interval_trial(seeds: Sequence[int], report: Callable[[int], None] = lambda _: None) -> tuple[Coverage, ...]:
    """Draw one log of each kind for each seed and compare every interval with the truth."""
    looks: dict[tuple[str, str, str, str], list[tuple[float, float, float]]] = defaultdict(list)
    for place, seed in enumerate(seeds):
        rng = np.random.default_rng(seed)
        for draw in (_decision_looks, _kernel_looks, _bounded_looks, _episode_looks, _dollar_looks, _peeking_looks):
            for look in draw(rng):
                looks[look[:4]].append(look[4:])
        report(place)
    return tuple(_coverage(key, np.array(values)) for key, values in looks.items())


def not_covered(results: Sequence[Coverage]) -> list[str]:
    """The intervals that do not keep what they claim."""
    broken = []
    for result in results:
        inside = _TWO_SIDED[0] <= result.holds <= _TWO_SIDED[1]
        if result.claims == "two-sided" and not inside:
            broken.append(f"{result.estimator} ({result.method}): holds the truth in {result.holds:.3f} of logs")
        if result.claims == "lower" and result.lower_wrong > _ONE_SIDED_MAX:
            broken.append(f"{result.estimator} ({result.method}): the lower bound is wrong in {result.lower_wrong:.3f}")
        if result.claims == "every look" and 1 - result.holds > _ONE_SIDED_MAX:
            broken.append(f"{result.estimator} ({result.method}): wrong at some look in {1 - result.holds:.3f} of logs")
    return broken


def _coverage(key: tuple[str, str, str, str], values: np.ndarray) -> Coverage:
    lower, upper, truth = values.T
    return Coverage(
        estimator=key[0],
        method=key[1],
        sample=key[2],
        claims=key[3],
        logs=len(values),
        holds=float(np.mean((lower <= truth) & (truth <= upper))),
        lower_wrong=float(np.mean(lower > truth)),
        upper_wrong=float(np.mean(upper < truth)),
        mean_width=float(np.mean(upper - lower)),
    )


def _looks(
    intervals: Sequence[ValueInterval], sample: str, truth: float, claims: Mapping[str, str] | str = "two-sided"
) -> Iterator[_Look]:
    for interval in intervals:
        claim = claims if isinstance(claims, str) else claims.get(interval.name, "two-sided")
        yield _Look(interval.name, interval.method, sample, claim, interval.lower, interval.upper, truth)


def _decision_looks(rng: np.random.Generator) -> Iterator[_Look]:
    """Estimators of one decision, with a model that is 20% too high and misses how rewards grow with bids."""
    log = draw_decisions(rng)
    weight = shifted_normal_weights(log.action, log.shift, sd=SD)
    predicted = 1.2 * log.level * (1 + 0.4 * log.action)
    at_target = 1.2 * log.level * (1 + 0.4 * log.shift)
    model = (log.reward, weight, predicted, at_target)
    values: list[PolicyValue] = [
        estimators.inverse_propensity(log.reward, weight),
        estimators.self_normalised(log.reward, weight),
        estimators.doubly_robust(*model),
        estimators.self_normalised_doubly_robust(*model),
        estimators.direct_method(at_target),
        estimators.switch_doubly_robust(*model, switch_at=4.0),
        estimators.shrunk_doubly_robust(*model, shrinkage=20.0),
    ]
    nothing = dict.fromkeys(("dm", "switch-dr", "dros"), "nothing")  # biased by design
    student = [student_interval(value, log.clusters, log_offset=0.0) for value in values]
    resampled = bootstrap_intervals(values, log.clusters, rng, log_offset=0.0)
    yield from _looks([*student, *resampled], "200 clusters x 24 decisions", log.truth, nothing)


def _kernel_looks(rng: np.random.Generator) -> Iterator[_Look]:
    log = draw_decisions(rng)
    density = np.exp(normal_log_density(log.action, 0.0, SD))
    weight = kernel_weights(log.shift, log.action, density, bandwidth=_BANDWIDTH)
    value = kernel_self_normalised(log.reward, weight)
    truth = float(smoothed_reward(*_contexts(log), _BANDWIDTH).mean())
    student = student_interval(value, log.clusters, log_offset=0.0)
    intervals = [student, *bootstrap_intervals((value,), log.clusters, rng, log_offset=0.0)]
    yield from _looks(intervals, "200 clusters x 24 decisions, smoothed target", truth)


def _contexts(log: DecisionLog) -> tuple[np.ndarray, np.ndarray]:
    """Level and shift of each context once; contexts are equally likely."""
    pairs = np.unique(np.column_stack((log.level, log.shift)), axis=0)
    return pairs[:, 0], pairs[:, 1]


def _bounded_looks(rng: np.random.Generator) -> Iterator[_Look]:
    """Empirical Bernstein: the lower end of a 90% interval may be above the truth in 5%, at any sample size."""
    log = draw_decisions(rng)
    weight = shifted_normal_weights(log.action, log.shift, sd=SD)
    for count in (300, 4800):
        clipped = estimators.clipped_inverse_propensity(
            log.happened[:count], weight[:count], weight_max=_WEIGHT_MAX, reward_max=1.0
        )
        intervals = [bernstein_interval(clipped, confidence=0.9)]
        yield from _looks(intervals, f"{count} decisions, rewards 0 or 1", log.happened_truth, "lower")


def _episode_looks(rng: np.random.Generator) -> Iterator[_Look]:
    short, long = draw_episodes(rng, episodes=1000, horizon=3), draw_episodes(rng, episodes=1000, horizon=12)
    for log, value, sample in (
        (short, estimators.per_decision(short.reward, short.weight), "1,000 episodes of 3 decisions"),
        (long, marginalised_value(long.state, long.weight, long.reward), "1,000 episodes of 12 decisions, 5 states"),
    ):
        yield from _looks([student_interval(value), *bootstrap_intervals((value,), None, rng)], sample, log.truth)


def _dollar_looks(rng: np.random.Generator) -> Iterator[_Look]:
    """Lift in value per dollar under a budget, realised and recalibrated, the model cross-fitted on the log itself."""
    log = draw_dollars(rng)
    weight = shifted_normal_weights(log.action, log.shift, sd=SD)
    folds = campaign_time_folds(log.campaign, log.day, folds=3, block_days=7)
    features = indicator_features(log.segment, log.campaign)
    model = cross_fitted_value_per_click(features, log.clicks, log.value, folds)
    reference = logged_dollars(log.value, log.spend)
    targets = (
        realised_dollars(log.value, log.spend, weight),
        recalibrated_dollars(
            log.value, log.spend, weight, clicks=log.clicks, predicted_value_per_click=model, cells=log.cells
        ),
    )
    lifts = [lift_of(target, reference) for target in targets]
    student = [student_interval(lift, log.clusters, log_offset=1.0) for lift in lifts]
    intervals = [*student, *bootstrap_intervals(lifts, log.clusters, rng, log_offset=1.0)]
    yield from _looks(intervals, "504 campaign-days x 72 decisions, about 530 sales", log.true_lift)


def _peeking_looks(rng: np.random.Generator) -> Iterator[_Look]:
    """The same growing log looked at again and again: the bounds kept are the tightest of all looks."""
    log = draw_decisions(rng)
    weight = shifted_normal_weights(log.action, log.shift, sd=SD)
    rows = weight * log.reward
    ends: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for clusters in _LOOKS:
        inside = log.clusters < clusters
        value = mean_value("ips", rows[inside])
        for interval in (
            sequence_interval(value, log.clusters[inside], tuned_for=200),
            student_interval(value, log.clusters[inside]),
        ):
            ends[interval.method].append((interval.lower, interval.upper))
    for method, looks in ends.items():
        lower, upper = max(low for low, _ in looks), min(high for _, high in looks)
        claims = "every look" if method == "sequence" else "nothing"
        sample = f"{len(looks)} looks at 50 to 200 clusters"
        yield _Look("ips", method, sample, claims, lower, upper, log.truth)
