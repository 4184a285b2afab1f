"""How well a market calibrated from reports predicts held-out days and win rates, against the truth of the sandbox."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from gaelp.arrays import Floats, Ints
from gaelp.bench.known_reports import ReportTruth, draw_reports
from gaelp.bench.sandbox_truth import DayMeans, true_day_means, true_win_rates
from gaelp.market.calibration.delay import matured_share
from gaelp.market.calibration.point_curves import curves_from_points
from gaelp.market.calibration.report_check import split_reports
from gaelp.market.calibration.report_curves import ReportCurves, fit_report_curves
from gaelp.market.calibration.report_forecast import forecast, poisson_error_share
from gaelp.market.calibration.report_frame import HourReports, floored, hour_reports, without_shares
from gaelp.market.calibration.report_responses import report_delay
from gaelp.market.spec import DelaySpec
from gaelp.sandbox.incumbent import SynthesisSpec
from gaelp.sandbox.spec import SandboxSpec
from gaelp.sandbox.synthesis import SynthesizedHistory, synthesize
from gaelp.sandbox.synthesis_rows import history_tables
from gaelp.storage.schema import TableName

__all__ = ["COVERAGE_LEAST", "RATIO_MOST", "floor_trial", "report_trial", "shortfalls"]

RATIO_MOST, COVERAGE_LEAST = 1.2, 0.9
FACTORS = (0.5, 0.7, 1.0, 1.4, 2.0)  # of the usual bid: where win rates are compared
_FITTED_WEEKS, _WEEKS = 4, 6
_DELAY = DelaySpec(mean_hours=24.0, window_hours=720)
_BAR_VARIANTS = ("shares by day", "shares floored", "bid simulator points")

ReportChange = Callable[[HourReports], HourReports]


@dataclass(frozen=True, slots=True)
class _Case:
    """One synthesized history, cut into days to fit on and days to predict, and the truth about it."""

    first: HourReports
    later: HourReports
    means: DayMeans  # of the later days, segments in the order of the reports
    win_rates: Floats  # (S, factors)
    usual_bid_micros: Floats  # (S,)
    replays: int


def report_trial(world: SandboxSpec, seed: int, *, campaigns: int = 12, replays: int = 12) -> dict[str, object]:
    """Fit on four weeks, predict two: with shares of days, floored, without any, and from simulator points alone."""
    spec = SynthesisSpec(weeks=_WEEKS, campaigns=campaigns, seed=seed, point_weeks=(_FITTED_WEEKS,))
    history = synthesize(spec, world.model_copy(update={"seed": seed}))
    case = _case(history, history_tables(history, floor_shares=False), replays)
    delay = report_delay(case.first, _DELAY).used
    changes: Mapping[str, ReportChange] = {
        "shares by day": lambda reports: reports,
        "shares floored": floored,
        "no shares": without_shares,
    }
    results = {
        name: _judged(case, fit_report_curves(change(case.first), delay), delay) for name, change in changes.items()
    }
    if case.first.points is not None:
        results["bid simulator points"] = _judged(
            case, curves_from_points(case.first.points, case.first.campaign), None
        )
    limited = fit_report_curves(case.first, delay).limited
    truth = {figure: round(value, 4) for figure, value in _truth_errors(case, delay).items()}
    return {
        "seed": seed,
        "segments": case.first.segments,
        "limited_day_share": round(float(limited.mean()), 3),
        "floored_day_share": round(float(np.nanmean(case.first.day_share < 0.1)), 3),
        "truth_error_share": truth,
        "variants": results,
    }


def floor_trial(seeds: Sequence[int]) -> dict[str, dict[str, float]]:
    """Reports of low bids from a generator of their own: what flooring shares, and having none, costs the curve."""
    sums: dict[str, list[list[float]]] = {}
    for seed in seeds:
        known = draw_reports(ReportTruth(per_hour=3.0, bid_log_offset=-0.8), seed)
        reports = hour_reports(known.tables, source="known")
        bids = known.usual_bid_micros[:, None] * np.array(FACTORS)
        truth = known.share(bids)
        for name, change in (("shares by day", None), ("shares floored", floored), ("no shares", without_shares)):
            curves = fit_report_curves(reports if change is None else change(reports), _DELAY)
            sums.setdefault(name, []).append(_curve_figures(curves, bids, truth))
    names = ("coverage", "rms_error", "mean_width")
    return {
        name: dict(zip(names, np.mean(figures, axis=0).round(4).tolist(), strict=True))
        for name, figures in sums.items()
    }


def shortfalls(results: Sequence[Mapping[str, object]]) -> list[str]:
    """The figures that miss their bar, averaged over the seeds; without shares nothing is promised."""
    missed = []
    for name in _BAR_VARIANTS:
        variants = [_variant(result, name) for result in results]
        for figure in ("clicks_ratio", "spend_ratio"):
            value = float(np.mean([variant[figure] for variant in variants]))
            if value > RATIO_MOST:
                missed.append(f"{name}: {figure} {value:.3f}; allowed: at most {RATIO_MOST}")
        coverage = float(np.mean([variant["coverage"] for variant in variants]))
        if coverage < COVERAGE_LEAST:
            missed.append(f"{name}: coverage {coverage:.3f}; allowed: at least {COVERAGE_LEAST}")
    return missed


def _variant(result: Mapping[str, object], name: str) -> Mapping[str, float]:
    variants = result["variants"]
    if not isinstance(variants, dict):
        raise TypeError(f"saw {type(variants).__name__} for variants; expected what report_trial returns")
    return dict(variants[name])


def _case(history: SynthesizedHistory, tables: Mapping[TableName, pa.Table], replays: int) -> _Case:
    everything = hour_reports(tables, source="synthesized")
    first, later = split_reports(tables, everything, 7 * _FITTED_WEEKS)
    names = [f"{campaign.name}/{segment}" for campaign in history.campaigns for segment in campaign.segments]
    order: Ints = np.array([names.index(name) for name in everything.segment_names], np.int64)
    means = true_day_means(history, range(7 * _FITTED_WEEKS, 7 * _WEEKS), replays)
    rates = true_win_rates(history, FACTORS, days=14, replays=max(replays // 2, 1))
    usual = np.array([group.bid_micros for campaign in history.campaigns for group in campaign.served.groups], float)
    ordered = DayMeans(means.clicks[order], means.spend_micros[order], means.conversions[order])
    return _Case(first, later, ordered, rates[order], usual[order], replays)


def _whole_days(reports: HourReports) -> Floats:
    """1 for days whose hours have all been reported, shape (D,)."""
    return np.asarray(reports.by_day(reports.has_row).min(axis=0) >= reports.day_marks.sum(axis=0).max(), np.float64)


def _error(case: _Case, mean: Floats, reported: Floats) -> float:
    whole = _whole_days(case.later)
    return float((np.abs(mean - reported) * whole).sum() / max(float((reported * whole).sum()), 1e-12))


def _reported(case: _Case) -> dict[str, Floats]:
    later = case.later
    return {
        "clicks": later.by_day(later.clicks),
        "spend": later.by_day(later.spend_micros),
        "conversions": later.by_day(later.conversions),
    }


def _truth_errors(case: _Case, delay: DelaySpec) -> dict[str, float]:
    """Errors of who knows the world but not its chance; the mean of few replays is a little off itself."""
    later = case.later
    age = matured_share(delay, later.age_hours)
    matured = later.by_day(np.tile(age, (later.segments, 1))) / np.maximum(later.day_marks.sum(axis=0), 1)
    means = {
        "clicks": case.means.clicks,
        "spend": case.means.spend_micros,
        "conversions": case.means.conversions * matured,
    }
    own = math.sqrt(1 + 1 / case.replays)
    errors = {figure: _error(case, means[figure], reported) / own for figure, reported in _reported(case).items()}
    return errors | {"clicks_by_poisson_alone": poisson_error_share(case.means.clicks)}


def _judged(case: _Case, curves: ReportCurves, delay: DelaySpec | None) -> dict[str, float]:
    later = case.later
    age = 1.0 if delay is None else matured_share(delay, later.age_hours)
    expected = forecast(curves, later, age)
    means = {"clicks": later.by_day(expected.clicks), "spend": later.by_day(expected.spend_micros)}
    if expected.conversions is not None:
        means["conversions"] = later.by_day(expected.conversions)
    truth = _truth_errors(case, delay or _DELAY)
    figures: dict[str, float] = {}
    for figure, mean in means.items():
        error = _error(case, mean, _reported(case)[figure])
        figures |= {f"{figure}_error_share": round(error, 4), f"{figure}_ratio": round(error / truth[figure], 4)}
    bids = case.usual_bid_micros[:, None] * np.array(FACTORS)
    names = ("coverage", "rms_error", "mean_width")
    of_curve = _curve_figures(curves, bids, case.win_rates)
    return figures | {name: round(value, 4) for name, value in zip(names, of_curve, strict=True)}


def _curve_figures(curves: ReportCurves, bids: Floats, truth: Floats) -> list[float]:
    """Share of points inside their interval, root mean square error, and mean width of the intervals."""
    low, high = curves.win.interval(bids)
    inside = float(((low <= truth) & (truth <= high)).mean())
    error = math.sqrt(float(((curves.win.share(bids) - truth) ** 2).mean()))
    return [inside, error, float((high - low).mean())]
