"""The chance of an impression by bid, from hourly impressions: a cubic in log bid by segment, shares known or not."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, gammainc, gammaln
from scipy.stats import t as student

from gaelp.arrays import Bools, Floats, Ints
from gaelp.market.calibration.fitted import CONFIDENCE
from gaelp.market.calibration.report_frame import FLOOR, HourReports
from gaelp.market.calibration.segment_effects import (
    Evaluation,
    SegmentEffects,
    SegmentModel,
    fit_segment_effects,
    sum_by_day,
)

__all__ = [
    "LostImpressions",
    "WinCurves",
    "fit_win_curves",
    "log_bid_terms",
    "lost_impressions",
    "usual_bids",
]

TERMS = 4  # 1, x, x^2, x^3 of the log bid over the segment's usual one; the cubic term is there to widen intervals
LOGIT_MAX = 15.0
BID_GRID = np.linspace(-2.5, 2.5, 101)  # log bids over the usual one, at which curves are tabulated
_TINY = 1e-12
_STEP = 0.1
# If so many impressions are expected to be lost, none is in one case of forty (Clopper and Pearson, 1934, "The use of
# confidence or fiducial limits illustrated in the case of the binomial"). The same holds for those won.
_UNSEEN_MOST = -math.log((1 - CONFIDENCE) / 2)
# Between segments, to start from: log volume, then the logit of the share at the usual bid, slope, bend and cubic term.
_SPREAD_GUESS = np.array([1.0, 1.0, 0.7, 0.5, 0.3])
_SLOPE_START = 1.5
# Without any share, impressions alone say how steeply they rise with the bid, hardly which share of all they are. Then
# the curves of search campaigns at large have to do: a share of 9% to 91% at the usual bid, and not much of a bend.
USUAL_CURVE = (0.5, 3.0, 0.5, 0.0)
USUAL_SPREAD = np.array([3.0, 1.5, 2.0, 2.0, 1.0])


@dataclass(frozen=True, slots=True)
class LostImpressions:
    """Possible impressions that were not won, as far as shares tell: a number, at least so many, or nothing."""

    hour: Floats  # (S, T) NaN where unknown
    hour_least: Floats  # (S, T) 0 where nothing is known; used where `hour` is NaN
    day: Floats  # (S, D) over the whole day, NaN where unknown or where hours are known
    day_least: Floats  # (S, D)


@dataclass(frozen=True, slots=True)
class WinCurves:
    """Fitted curves of S segments, and the volume that they are shares of."""

    effects: SegmentEffects  # log volume, then the TERMS coefficients of the curve
    usual_bid_micros: Floats  # (S,)
    lowest_log_bid: Floats  # (S,) over the usual one: the range of the bids that were tried
    highest_log_bid: Floats  # (S,)
    misfit_log_sd: float  # how far segments' shares are from their curves, in logits, beyond what chance explains
    level_log_sd: float  # how far the prices of the reported time may be from those of other times
    degrees: int  # of freedom behind the intervals
    tried_above: Floats  # (S, grid) possible impressions for which as much as a bid of the grid was bid, or more
    tried_below: Floats  # (S, grid) as much, or less

    @property
    def per_hour(self) -> Floats:
        """Possible impressions in an hour of average activity, shape (S,)."""
        return np.exp(self.effects.coefficient[:, 0])

    def share(self, bid_micros: Floats) -> Floats:
        """Share of possible impressions won with these bids, shape (S, n); it never falls as the bid rises."""
        return np.asarray(expit(self._rising_logit(bid_micros)))

    def cautious_share(self, bid_micros: Floats) -> Floats:
        """The share, below the lowest bids that were tried at most in proportion to the bid, shape (S, n).

        A curve that is flat there would sell impressions for nothing to an agent that learns from it.
        """
        lowest = (self.usual_bid_micros * np.exp(self.lowest_log_bid))[:, None]
        proportional = self.share(lowest) * bid_micros / lowest
        share = self.share(bid_micros)
        return np.where(bid_micros < lowest, np.minimum(share, proportional), share)

    def interval(self, bid_micros: Floats) -> tuple[Floats, Floats]:
        """Both ends of the 95% interval of the share, shape (S, n) each.

        A logit never says 0 or 1. Where too few impressions were tried to tell the end from these, it is these.
        """
        basis = log_bid_terms(bid_micros, self.usual_bid_micros)
        inside = self.effects.covariance[:, 1:, 1:]
        variance = np.einsum("snp,spq,snq->sn", basis, inside, basis) + self.misfit_log_sd**2
        centre = self._rising_logit(bid_micros)
        if self.level_log_sd > 0:  # other prices are like other bids
            around = [self._rising_logit(bid_micros * math.exp(step)) for step in (-_STEP, _STEP)]
            variance += (self.level_log_sd * (around[1] - around[0]) / (2 * _STEP)) ** 2
        half = float(student.ppf(0.5 + CONFIDENCE / 2, self.degrees)) * np.sqrt(np.maximum(variance, 0.0))
        low, high = expit(centre - half), expit(centre + half)
        can_tell_low = low * self._at(bid_micros, self.tried_below) > _UNSEEN_MOST
        can_tell_high = (1 - high) * self._at(bid_micros, self.tried_above) > _UNSEEN_MOST
        return np.where(can_tell_low, low, 0.0), np.where(can_tell_high, high, 1.0)

    def _rising_logit(self, bid_micros: Floats) -> Floats:
        """A cubic may bend down where few bids were tried; there the share of the nearest bid that was tried holds."""
        bids = np.exp(BID_GRID) * self.usual_bid_micros[:, None]
        logit = np.einsum("snp,sp->sn", log_bid_terms(bids, self.usual_bid_micros), self.effects.coefficient[:, 1:])
        middle = len(BID_GRID) // 2
        up = np.maximum.accumulate(logit[:, middle:], axis=1)
        down = np.minimum.accumulate(logit[:, middle::-1], axis=1)[:, ::-1]
        return self._at(bid_micros, np.concatenate([down[:, :-1], up], axis=1))

    def _at(self, bid_micros: Floats, tabulated: Floats) -> Floats:
        """Values of the grid (S, grid) at these bids (S, n)."""
        x = np.log(bid_micros / self.usual_bid_micros[:, None])
        return np.stack([np.interp(row, BID_GRID, values) for row, values in zip(x, tabulated, strict=True)])


def log_bid_terms(bid_micros: Floats, usual_bid_micros: Floats, terms: int = TERMS) -> Floats:
    """Powers of the log bid over the usual one, shape (S, n, terms)."""
    x = np.log(np.maximum(bid_micros, 1.0) / usual_bid_micros[:, None])
    return np.asarray(x[..., None] ** np.arange(terms))


def lost_impressions(reports: HourReports) -> LostImpressions:
    """Read shares: impressions K at a share s mean K / s possible ones; below the floor, more than K / 0.1."""
    hour, hour_least = _lost(reports.impressions, reports.share)
    # A platform that gives shares by hour gives none where nothing was possible.
    nothing = (
        np.isnan(reports.share)
        & np.asarray(np.isfinite(reports.share).any(axis=1))[:, None]
        & (reports.impressions == 0)
    )
    hour = np.where(nothing & reports.has_row, 0.0, hour)
    day, day_least = _lost(reports.by_day(reports.impressions), reports.day_share)
    by_hour = (reports.by_day(np.isfinite(reports.share).astype(float)) > 0) | ~(reports.by_day(reports.has_row) > 0)
    return LostImpressions(hour, hour_least, np.where(by_hour, np.nan, day), np.where(by_hour, 0.0, day_least))


def _lost(impressions: Floats, share: Floats) -> tuple[Floats, Floats]:
    known = np.isfinite(share) & (share >= FLOOR - 1e-9) & (impressions > 0)
    lost = np.where(known, impressions * (1 / np.where(known, share, 1.0) - 1), np.nan)
    below = np.isfinite(share) & ~known
    # A share of 0.0999 or 0: at least one impression more than nine times those won. One below the floor that is not
    # floored is still only used as a bound where nothing was won.
    exact = below & (impressions > 0) & (np.abs(share - 0.0999) > 1e-6) & (share > 0)
    lost = np.where(exact, impressions * (1 / np.where(exact, share, 1.0) - 1), lost)
    return lost, np.where(below & ~exact, np.floor(impressions * (1 / FLOOR - 1)) + 1, 0.0)


def fit_win_curves(reports: HourReports, activity: Floats, entered: Floats | None = None) -> WinCurves:
    """Fit all segments; `activity` (S, T) is the volume of each hour over the average hour's, 0 to leave an hour out.

    `entered` (S, T) is the share of auctions that the campaign's budget let it enter; None: all of them.
    """
    usual = usual_bids(reports.bid_micros, reports.has_row)
    basis = log_bid_terms(reports.bid_micros, usual)
    exposure = np.where(reports.has_row, activity, 0.0)
    entered = np.ones_like(exposure) if entered is None else entered
    lost = lost_impressions(reports)
    model = _win_model(reports, basis, exposure, entered, lost)
    has_shares = np.isfinite(lost.hour).any() or np.isfinite(lost.day).any()
    start = _start(reports, exposure, lost)
    if has_shares:
        effects = fit_segment_effects(model, start, _SPREAD_GUESS)
    else:
        mean = np.array([float(start[:, 0].mean()), *USUAL_CURVE])
        effects = fit_segment_effects(model, start, USUAL_SPREAD, known_mean=mean)
    x = np.where(reports.has_row, basis[..., 1], np.nan)
    possible = exposure * entered * np.exp(effects.coefficient[:, :1])
    return WinCurves(
        effects=effects,
        usual_bid_micros=usual,
        lowest_log_bid=np.nanquantile(x, 0.01, axis=1),
        highest_log_bid=np.nanquantile(x, 0.99, axis=1),
        misfit_log_sd=_misfit(reports, basis, exposure * entered, effects),
        level_log_sd=0.0,
        degrees=max(reports.days - 1, 1),
        tried_above=np.stack([(possible * (basis[..., 1] >= at)).sum(axis=1) for at in BID_GRID], axis=1),
        tried_below=np.stack([(possible * (basis[..., 1] <= at)).sum(axis=1) for at in BID_GRID], axis=1),
    )


def usual_bids(bid_micros: Floats, has_bid: Bools) -> Floats:
    """The median bid of each segment, shape (S,)."""
    return np.asarray(np.nanmedian(np.where(has_bid, bid_micros, np.nan), axis=1))


def _start(reports: HourReports, exposure: Floats, lost: LostImpressions) -> Floats:
    won = (reports.impressions * (exposure > 0)).sum(axis=1)
    known = np.isfinite(lost.hour) & (exposure > 0)
    known_days = np.isfinite(lost.day) & (reports.by_day(exposure) > 0)
    not_won = np.where(known, lost.hour, 0.0).sum(axis=1) + np.where(known_days, lost.day, 0.0).sum(axis=1)
    of_won = np.where(known, reports.impressions, 0.0).sum(axis=1)
    of_won += np.where(known_days, reports.by_day(reports.impressions), 0.0).sum(axis=1)
    share = np.where(of_won > 0, (of_won + 1) / (of_won + not_won + 2), 0.4)
    start = np.zeros((reports.segments, 1 + TERMS))
    start[:, 0] = np.log((won + 1) / share / np.maximum(exposure.sum(axis=1), 1e-9))
    start[:, 1], start[:, 2] = np.log(share / (1 - share)), _SLOPE_START
    return start


def _win_model(
    reports: HourReports, basis: Floats, exposure: Floats, entered: Floats, lost: LostImpressions
) -> SegmentModel:
    """Impressions won are Poisson, those not won too, and independent of them: their means add up to the volume."""
    day = reports.day
    won, lost_known = reports.impressions, np.isfinite(lost.hour) & (exposure > 0)
    not_won = np.where(lost_known, lost.hour, 0.0)
    bounded = ~lost_known & (lost.hour_least > 0) & (exposure > 0)
    day_known = np.isfinite(lost.day) & (reports.by_day(exposure) > 0)
    day_bounded = ~day_known & (lost.day_least > 0) & (reports.by_day(exposure) > 0)

    def evaluate(coefficient: Floats) -> Evaluation:
        logit = np.clip(np.einsum("stp,sp->st", basis, coefficient[:, 1:]), -LOGIT_MAX, LOGIT_MAX)
        share = expit(logit)
        volume = exposure * np.exp(np.clip(coefficient[:, :1], -30.0, 30.0))
        shown = entered * share
        won_mean, lost_mean = volume * shown + _TINY, volume * (1 - shown) + _TINY
        lost_fall = shown * (1 - share) / np.maximum(1 - shown, _TINY)
        won_slope = np.concatenate([np.ones_like(share)[..., None], basis * (1 - share)[..., None]], axis=2)
        lost_slope = np.concatenate([np.ones_like(share)[..., None], -basis * lost_fall[..., None]], axis=2)
        parts = [_poisson(won, won_mean, won_slope, exposure > 0, day)]
        if lost_known.any() or bounded.any():
            parts.append(_poisson(not_won, lost_mean, lost_slope, lost_known, day))
            parts.append(_at_least(lost.hour_least, lost_mean, lost_slope, bounded, day))
        if day_known.any() or day_bounded.any():
            summed = sum_by_day(lost_mean[..., None] * lost_slope, day)
            day_mean = summed[..., 0] + _TINY  # the slope by log volume is the mean itself
            day_slope = summed / day_mean[..., None]
            parts.append(_poisson(np.where(day_known, lost.day, 0.0), day_mean, day_slope, day_known, None))
            parts.append(_at_least(lost.day_least, day_mean, day_slope, day_bounded, None))
        return Evaluation(
            log_likelihood=np.sum([part.log_likelihood for part in parts], axis=0),
            day_score=np.sum([part.day_score for part in parts], axis=0),
            information=np.sum([part.information for part in parts], axis=0),
        )

    return evaluate


def _poisson(count: Floats, mean: Floats, slope: Floats, used: Bools, day: Ints | None) -> Evaluation:
    """Counts with these means; `slope` (S, n, p) is of the log mean."""
    left = np.where(used, count - mean, 0.0)
    log_likelihood = np.where(used, count * np.log(mean) - mean, 0.0).sum(axis=1)
    weighted = slope * np.where(used, mean, 0.0)[..., None]
    return Evaluation(log_likelihood, _by_day(left, slope, day), weighted.transpose(0, 2, 1) @ slope)


def _at_least(least: Floats, mean: Floats, slope: Floats, used: Bools, day: Ints | None) -> Evaluation:
    """Counts of which only a lower bound is known."""
    bound = np.maximum(least, 1.0)
    chance = np.maximum(gammainc(bound, mean), 1e-300)
    hazard = np.exp(bound * np.log(mean) - mean - gammaln(bound)) / chance  # slope of the log chance by the log mean
    pull = np.where(used, hazard, 0.0)
    weighted = slope * (pull**2)[..., None]
    log_likelihood = np.where(used, np.log(chance), 0.0).sum(axis=1)
    return Evaluation(log_likelihood, _by_day(pull, slope, day), weighted.transpose(0, 2, 1) @ slope)


def _by_day(pull: Floats, slope: Floats, day: Ints | None) -> Floats:
    if day is None:
        return pull[..., None] * slope
    return sum_by_day(pull[..., None] * slope, day)


def _misfit(reports: HourReports, basis: Floats, exposure: Floats, effects: SegmentEffects) -> float:
    """Standard deviation in logits of what the curves miss, from won impressions by segment and sixth of its bids."""
    coefficient = effects.coefficient
    share = expit(np.clip(np.einsum("stp,sp->st", basis, coefficient[:, 1:]), -LOGIT_MAX, LOGIT_MAX))
    mean = exposure * np.exp(coefficient[:, :1]) * share
    bins = _bins(np.where(reports.has_row, basis[..., 1], np.nan))
    squares = weights = 0.0
    for index in range(int(bins.max()) + 1):
        inside = (bins == index) & (exposure > 0)
        expected = (mean * inside).sum(axis=1)
        leverage = (mean * (1 - share) * inside).sum(axis=1)  # impressions gained by one logit
        left = ((reports.impressions - mean) * inside).sum(axis=1)
        squares += float((left**2 - expected).sum())
        weights += float((leverage**2).sum())
    return float(np.sqrt(max(squares, 0.0) / max(weights, 1e-9)))


def _bins(x: Floats) -> Ints:
    edges = np.nanquantile(x, np.arange(1, 6) / 6, axis=1)
    return np.asarray((x[..., None] > edges.T[:, None, :]).sum(axis=2))
