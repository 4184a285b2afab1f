"""The chance of an impression by bid, from bid simulator points alone."""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit

from gaelp.arrays import Bools, Floats, Ints
from gaelp.errors import DataError
from gaelp.market.calibration.report_curves import ReportCurves, fit_rate_curves
from gaelp.market.calibration.report_frame import BidPoints
from gaelp.market.calibration.segment_effects import Evaluation, SegmentEffects, SegmentModel, fit_segment_effects
from gaelp.market.calibration.win_curve import (
    BID_GRID,
    LOGIT_MAX,
    USUAL_CURVE,
    USUAL_SPREAD,
    WinCurves,
    log_bid_terms,
)

__all__ = ["PointGrid", "curves_from_points", "fit_point_curves", "point_grid"]

_TINY = 1e-12
_SHARE_GUESSES = (0.7, 0.999)  # of all possible impressions, won with the highest bid tried
_SLOPE_LEAST = 1.0  # of the logit by log bid: the odds of an impression rise at least in proportion to the bid
_SLOPE_WEIGHT = 100.0  # so a fall of a logit by a tenth is one standard deviation
_POINTS_MIN = 3
_WEEK_LOG_SD = 0.12  # of the prices of one week around those of others: assumed, for one week cannot show it


@dataclass(frozen=True, slots=True)
class PointGrid:
    """Points of S segments side by side: in each period bids rise; `used` marks what is a point."""

    used: Bools  # (S, J)
    first: Bools  # (S, J) the lowest bid of its period
    hours: Floats  # (S, J) of the period
    period: Ints  # (S, J) from 0
    bid_micros: Floats  # (S, J)
    impressions: Floats  # (S, J)
    clicks: Floats  # (S, J)
    spend_micros: Floats  # (S, J)


def point_grid(points: BidPoints, segments: int) -> PointGrid:
    """Arrange points by segment, period and bid."""
    order = np.lexsort((points.bid_micros, points.end_day, points.segment))
    segment, end_day = points.segment[order], points.end_day[order]
    count = np.bincount(segment, minlength=segments)
    if count.min() < _POINTS_MIN:
        raise DataError(
            f"segment {int(np.argmin(count))} has {int(count.min())} bid simulator points; allowed: at least"
            f" {_POINTS_MIN} for every segment. Leave out the segment, or ask for more bids."
        )
    place = (segment, np.arange(len(segment)) - (np.cumsum(count) - count)[segment])
    shape = (segments, int(count.max()))
    new_period = np.append(True, (np.diff(segment) != 0) | (np.diff(end_day) != 0))
    periods = np.unique(end_day, return_inverse=True)[1]

    def laid_out(values: Floats | Ints | Bools, empty: float) -> Floats:
        laid = np.full(shape, empty)
        laid[place] = values
        return laid

    columns = {
        name: laid_out(getattr(points, name)[order], empty)
        for name, empty in (("bid_micros", 1.0), ("impressions", 0.0), ("clicks", 0.0), ("spend_micros", 0.0))
    }
    return PointGrid(
        used=laid_out(np.ones(len(segment)), 0.0) > 0,
        first=laid_out(new_period, 1.0) > 0,
        hours=laid_out(24 * points.days[order], 0.0),
        period=laid_out(periods, 0.0).astype(np.int64),
        **columns,
    )


def curves_from_points(points: BidPoints, campaign: Ints) -> ReportCurves:
    """Curves of segments (their campaigns in `campaign`, shape (S,)) from points alone: no conversions, no week."""
    segments = len(campaign)
    grid = point_grid(points, segments)
    win = fit_point_curves(grid)
    terms = log_bid_terms(grid.bid_micros, win.usual_bid_micros)
    # The points of a period are of the same impressions: together they count as one of them.
    alike = np.maximum(np.bincount(points.segment, minlength=segments) / (1 + grid.period.max(axis=1)), 1.0)[:, None]
    totals = (grid.impressions / alike, grid.clicks / alike, grid.spend_micros / alike)
    click, price = fit_rate_curves(terms, totals, np.arange(grid.used.shape[1]))
    campaigns = int(campaign.max()) + 1
    return ReportCurves(
        win=win,
        served=win,
        click=click,
        price=price,
        conversion=None,
        week=np.ones((campaigns, 168)),
        campaign=campaign,
        limited=np.zeros((campaigns, 0), bool),
        entered=np.ones((segments, 0)),
    )


def fit_point_curves(grid: PointGrid) -> WinCurves:
    """Fit all segments. A bid wins all that a lower one wins and some more: what each step adds is Poisson.

    Which share of all possible impressions the highest bid wins, points do not say; that the steps become small does.
    """
    usual = np.exp(np.nanmedian(np.where(grid.used, np.log(grid.bid_micros), np.nan), axis=1))
    basis = log_bid_terms(grid.bid_micros, usual)
    hours = grid.hours.max(axis=1)
    effects = _best_effects(_step_model(grid, basis), grid, basis)
    x = np.where(grid.used, basis[..., 1], np.nan)
    lowest, highest = np.nanmin(x, axis=1), np.nanmax(x, axis=1)
    # Each point is of all impressions of its period.
    possible = (hours * (1 + grid.period.max(axis=1)) * np.exp(effects.coefficient[:, 0]))[:, None]
    return WinCurves(
        effects=effects,
        usual_bid_micros=usual,
        lowest_log_bid=lowest,
        highest_log_bid=highest,
        misfit_log_sd=0.0,
        level_log_sd=_WEEK_LOG_SD / math.sqrt(1 + int(grid.period.max())),
        degrees=1_000,
        tried_above=possible * (highest[:, None] >= BID_GRID),
        tried_below=possible * (lowest[:, None] <= BID_GRID),
    )


def _best_effects(model: SegmentModel, grid: PointGrid, basis: Floats) -> SegmentEffects:
    """Fit from several guesses of the share that the highest bid wins, and take what fits each segment best.

    From a guess far below the truth a segment that wins everything ends in a curve that is flat at half of a volume
    that is twice as large.
    """
    top = np.where(grid.used, grid.impressions, 0.0).max(axis=1)
    log_volume = np.log((top + 1) / grid.hours.max(axis=1))
    mean = np.array([float(log_volume.mean()) - math.log(_SHARE_GUESSES[0]), *USUAL_CURVE])
    best: SegmentEffects | None = None
    best_fit = np.full(len(top), -np.inf)
    for guess in _SHARE_GUESSES:
        start = _start(grid, basis, log_volume - math.log(guess), mean)
        effects = fit_segment_effects(model, start, USUAL_SPREAD, known_mean=mean)
        apart = (effects.coefficient - mean) / USUAL_SPREAD
        fit = model(effects.coefficient).log_likelihood - 0.5 * (apart**2).sum(axis=1)
        better = fit > best_fit + _TINY
        best = effects if best is None else _merged(best, effects, better)
        best_fit = np.maximum(fit, best_fit)
    if best is None:
        raise ValueError("no guess to start from; expected at least one")
    return best


def _merged(first: SegmentEffects, second: SegmentEffects, is_second: Bools) -> SegmentEffects:
    """The effects of the second fit for the segments that are marked, those of the first for the others."""
    return replace(
        first,
        coefficient=np.where(is_second[:, None], second.coefficient, first.coefficient),
        covariance=np.where(is_second[:, None, None], second.covariance, first.covariance),
    )


def _start(grid: PointGrid, basis: Floats, log_volume: Floats, mean: Floats) -> Floats:
    """Coefficients to start from at these volumes: logits of the points by least squares, near the usual curve."""
    volume = grid.hours * np.exp(log_volume)[:, None]
    share = (np.where(grid.used, grid.impressions, 0.0) + 0.5) / (volume + 1.0)
    share = np.clip(share, 1e-4, 1 - 1e-4)
    weight = np.where(grid.used, volume * share * (1 - share), 0.0)
    weighted = (basis * weight[..., None]).transpose(0, 2, 1)
    precision = np.diag(USUAL_SPREAD[1:] ** -2)
    left = (weighted @ (logit(share) - basis @ mean[1:])[..., None])[..., 0]
    curve = mean[1:] + np.linalg.solve(weighted @ basis + precision, left[..., None])[..., 0]
    return np.concatenate([log_volume[:, None], curve], axis=1)


def _step_model(grid: PointGrid, basis: Floats) -> SegmentModel:
    added = np.maximum(np.diff(grid.impressions, axis=1, prepend=0.0), 0.0)
    added = np.where(grid.first, grid.impressions, added)
    periods = int(grid.period.max()) + 1
    marks = ((grid.period[..., None] == np.arange(periods)) & grid.used[..., None]).astype(float)

    def below(values: Floats) -> Floats:
        """The value at the next lower bid of the period, 0 at its lowest."""
        shifted = np.concatenate([np.zeros_like(values[:, :1]), values[:, :-1]], axis=1)
        first = grid.first if values.ndim == grid.first.ndim else grid.first[..., None]
        return np.where(first, 0.0, shifted)

    is_step = grid.used & ~grid.first
    rises = np.where(is_step[..., None], basis - below(basis), 0.0)
    least = _SLOPE_LEAST * rises[..., 1]
    steps = np.concatenate([np.zeros_like(least)[..., None], rises], axis=2)

    def evaluate(coefficient: Floats) -> Evaluation:
        logits = np.einsum("sjp,sp->sj", basis, coefficient[:, 1:])
        share = expit(np.clip(logits, -LOGIT_MAX, LOGIT_MAX))
        rise = (share * (1 - share))[..., None] * basis
        volume = grid.hours * np.exp(np.clip(coefficient[:, :1], -30.0, 30.0))
        mean = volume * (share - below(share))
        falling = ~grid.used | (mean <= _TINY)
        mean = np.maximum(mean, _TINY)
        slope = volume[..., None] * (rise - below(rise)) / mean[..., None]
        slope = np.concatenate([np.ones_like(mean)[..., None], slope], axis=2)
        slope = np.where(falling[..., None], 0.0, slope)
        left = np.where(grid.used, added - mean, 0.0)
        log_likelihood = np.where(grid.used, added * np.log(mean) - mean, 0.0).sum(axis=1)
        weighted = slope * np.where(grid.used, mean, 0.0)[..., None]
        # What is too flat is not forbidden, but unlikely: otherwise a curve that wins no more with higher bids could be
        # at any share, where only all of the impressions explain it.
        flat = np.where(is_step, np.maximum(least - np.einsum("sjp,sp->sj", rises, coefficient[:, 1:]), 0.0), 0.0)
        push = _SLOPE_WEIGHT * (flat > 0)[..., None] * steps
        log_likelihood -= 0.5 * _SLOPE_WEIGHT * (flat**2).sum(axis=1)
        score = np.einsum("sjp,sjd->sdp", left[..., None] * slope + flat[..., None] * push, marks, optimize=True)
        return Evaluation(log_likelihood, score, weighted.transpose(0, 2, 1) @ slope + push.transpose(0, 2, 1) @ steps)

    return evaluate
