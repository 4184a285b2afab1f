"""Coefficients of many segments fitted together: each from its own rows, pulled towards the others if these are few."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Floats, Ints

__all__ = ["Evaluation", "SegmentEffects", "SegmentModel", "fit_segment_effects", "log_rate_model", "sum_by_day"]

_ROUNDS = 60
_HALVINGS = 8
_LONGEST_STEP = 1.0
_PRIOR_SEGMENTS = 2.0  # how many segments the first guess of the spread counts for
_ENOUGH = 1e-4  # largest change of a coefficient in a round
_LOG_MEAN_MAX = 40.0
_LAGS_MAX = 7  # days


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A likelihood at some coefficients: of each segment, with its slope day by day and its information."""

    log_likelihood: Floats  # (S,)
    day_score: Floats  # (S, D, p)
    information: Floats  # (S, p, p)


SegmentModel = Callable[[Floats], Evaluation]  # takes the coefficients (S, p)


@dataclass(frozen=True, slots=True)
class SegmentEffects:
    """Coefficients (S, p), what remains unknown of them, and the spread between segments."""

    coefficient: Floats  # (S, p)
    covariance: Floats  # (S, p, p), widened where days differ by more than chance
    mean: Floats  # (p,) of segments
    spread: Floats  # (p, p) covariance between segments


def fit_segment_effects(
    model: SegmentModel, start: Floats, spread: Floats, *, known_mean: Floats | None = None
) -> SegmentEffects:
    """Empirical Bayes: coefficients (S, p) are normal around a common mean, which is fitted along with their spread.

    `spread` (p,) are standard deviations between segments to start from; they decide only with few segments. With
    `known_mean` (p,), mean and spread stay as given: for what the data cannot tell.
    """
    segments = len(start)
    guess = np.diag(spread**2)
    coefficient, between = start, guess
    mean: Floats = np.asarray(start.mean(axis=0), np.float64) if known_mean is None else known_mean
    at = model(coefficient)
    for _ in range(_ROUNDS):
        precision: Floats = np.asarray(np.linalg.inv(between), np.float64)
        updated, at = _newton_step(model, coefficient, at, mean, precision)
        change = float(np.abs(updated - coefficient).max())
        coefficient = updated
        if known_mean is None:
            mean = np.asarray(coefficient.mean(axis=0), np.float64)
            apart = coefficient - mean
            scatter = apart.T @ apart + np.linalg.inv(at.information + precision).sum(axis=0)
            between = (scatter + _PRIOR_SEGMENTS * guess) / (segments + _PRIOR_SEGMENTS)
        if change < _ENOUGH:
            break
    return SegmentEffects(coefficient, _covariance(at, np.asarray(np.linalg.inv(between), np.float64)), mean, between)


def log_rate_model(count: Floats, exposure: Floats, basis: Floats, day: Ints, *, dispersion: float) -> SegmentModel:
    """Counts (S, T) with mean exposure x exp(basis @ coefficients); `basis` is (S, T, p), `day` (T,) its day.

    `dispersion` is the variance of a count over its mean: 1 for Poisson.
    """

    def evaluate(coefficient: Floats) -> Evaluation:
        log_mean = np.clip(np.einsum("stp,sp->st", basis, coefficient), -_LOG_MEAN_MAX, _LOG_MEAN_MAX)
        mean = exposure * np.exp(log_mean)
        left = (count - mean) / dispersion
        weighted = basis * (mean / dispersion)[..., None]
        return Evaluation(
            log_likelihood=np.asarray((count * log_mean - mean).sum(axis=1) / dispersion),
            day_score=sum_by_day(left[..., None] * basis, day),
            information=weighted.transpose(0, 2, 1) @ basis,
        )

    return evaluate


def sum_by_day(hourly: Floats, day: Ints) -> Floats:
    """Sums (S, D, p) of hourly values (S, T, p) over the hours of each day; `day` (T,) rises from 0 without gaps."""
    return np.asarray(np.add.reduceat(hourly, np.searchsorted(day, np.arange(int(day[-1]) + 1)), axis=1))


def _newton_step(
    model: SegmentModel, coefficient: Floats, here: Evaluation, mean: Floats, precision: Floats
) -> tuple[Floats, Evaluation]:
    """One step uphill for every segment, halved for those that would fall."""

    def penalised(at: Floats, evaluation: Evaluation) -> Floats:
        apart = at - mean
        return np.asarray(evaluation.log_likelihood - 0.5 * ((apart @ precision) * apart).sum(axis=1))

    slope = here.day_score.sum(axis=1) - (coefficient - mean) @ precision
    step = np.linalg.solve(here.information + precision, slope[..., None])[..., 0]
    step *= np.minimum(1.0, _LONGEST_STEP / np.maximum(np.abs(step).max(axis=1), 1e-12))[:, None]
    before = penalised(coefficient, here)
    for _ in range(_HALVINGS):
        there = model(coefficient + step)
        falls = penalised(coefficient + step, there) < before - _ENOUGH
        if not falls.any():
            return coefficient + step, there
        step = np.where(falls[:, None], step / 4, step)
    step = np.where(falls[:, None], 0.0, step)  # a segment that finds no way up must not stop the others
    return coefficient + step, model(coefficient + step)


def _covariance(at: Evaluation, precision: Floats) -> Floats:
    """Sandwich over days: where days differ by more than the likelihood says, what it knows counts for less."""
    bread = np.linalg.inv(at.information + precision)
    days = at.day_score.shape[1]
    by_day = at.day_score - at.day_score.mean(axis=1, keepdims=True)
    meat = by_day.transpose(0, 2, 1) @ by_day
    lags = min(_LAGS_MAX, days // 4)
    for lag in range(1, lags + 1):  # Newey and West: prices of one day are much like those of the day before
        together = by_day[:, lag:].transpose(0, 2, 1) @ by_day[:, :-lag]
        meat += (1 - lag / (lags + 1)) * (together + together.transpose(0, 2, 1))
    meat *= days / max(days - 1, 1)
    robust = bread @ (meat + precision) @ bread
    plain = np.diagonal(bread, axis1=1, axis2=2)
    # With few days the sandwich can be too narrow by chance: no coefficient is known better than the likelihood says.
    wider = np.sqrt(np.maximum(plain / np.maximum(np.diagonal(robust, axis1=1, axis2=2), 1e-300), 1.0))
    return np.asarray(robust * wider[:, :, None] * wider[:, None, :])
