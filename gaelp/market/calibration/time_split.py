"""Fit on a log's first days and judge on the later ones: a random split of hours cannot see a market that changes."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Literal

import numpy as np
from pydantic import NonNegativeInt
from scipy.stats import norm

from gaelp.config.base import Frozen
from gaelp.errors import DataError
from gaelp.market.calibration.chance import PriceJudgement, judge_price
from gaelp.market.calibration.fit import calibrate
from gaelp.market.calibration.fitted import CONFIDENCE, Fitted, TooLittle
from gaelp.market.calibration.goodness import PriceComparison, compare
from gaelp.market.calibration.half_split import (
    HalfSplitReport,
    PriceFit,
    compare_prices,
    fit_prices,
    half_split_report,
)
from gaelp.market.calibration.landscapes import ratio_curve
from gaelp.market.calibration.log_frame import BidLog, keep_hours
from gaelp.market.spec import MarketSpec

__all__ = ["CheckReport", "CheckVerdict", "StatisticChange", "TimeSplitReport", "check_report", "time_split_report"]

CheckVerdict = Literal["fits", "drifts", "does not fit", "too few prices"]

_DAY_HOURS = 24
_SHIFT_MEASURED = 0.2
_Z = float(norm.ppf(0.5 + CONFIDENCE / 2))
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class StatisticChange(Frozen):
    """One statistic of the first and of the later days."""

    statistic: str
    first: float
    later: float
    change: float
    interval_low: float  # 95% for all statistics together
    interval_high: float
    changed: bool


class TimeSplitReport(Frozen):
    """Fitted on the first days of a log, compared on the later ones; `missing` says which parts lack data."""

    cut_at: str  # on the market's clock
    fitted_auctions: NonNegativeInt
    later_auctions: NonNegativeInt
    price: PriceComparison | None
    price_judgement: PriceJudgement | None
    changes: tuple[StatisticChange, ...]
    missing: dict[str, str]

    @property
    def steady(self) -> bool:
        """Whether the later days are as the first ones say."""
        prices_fit = self.price_judgement is None or self.price_judgement.fits
        return prices_fit and not any(change.changed for change in self.changes)


class CheckReport(HalfSplitReport):
    """Both splits of a log, and the verdict."""

    time_split: TimeSplitReport
    verdict: CheckVerdict


def check_report(log: BidLog, base: MarketSpec, rng: np.random.Generator) -> CheckReport:
    """Split the log by hours at random and by time: does a fit hold elsewhere in the log, and does it last?"""
    half = half_split_report(log, rng)
    by_time = time_split_report(log, base, rng)
    return CheckReport(**dict(half), time_split=by_time, verdict=_verdict(half, by_time))


def _verdict(half: HalfSplitReport, by_time: TimeSplitReport) -> CheckVerdict:
    if half.price_judgement is None:
        return "too few prices"
    if not half.price_judgement.fits:
        return "does not fit"
    return "fits" if by_time.steady else "drifts"


def time_split_report(log: BidLog, base: MarketSpec, rng: np.random.Generator) -> TimeSplitReport:
    """Fit on the first half of the days and compare on the others; a log of less than two days is cut in its middle."""
    hours = len(log.covered_hours)
    if hours < 2:
        raise DataError(f"{log.source} covers {hours} hour; allowed: at least 2 to split. Use a longer log.")
    cut = hours // 2 if hours < 2 * _DAY_HOURS else round(hours / 2 / _DAY_HOURS) * _DAY_HOURS
    position = np.arange(hours)
    first, later = keep_hours(log, position < cut), keep_hours(log, position >= cut)
    missing: dict[str, str] = {}
    estimates = _estimates(first, "first days", base, missing)
    price, judgement = _judged_prices(log, first, later, _level_change_sd(estimates, cut, hours - cut), rng)
    if isinstance(price, TooLittle):
        missing["price"] = price.reason
    return TimeSplitReport(
        cut_at=(_EPOCH + timedelta(hours=int(log.covered_hours[cut]))).strftime("%Y-%m-%d %H:%M"),
        fitted_auctions=first.rows,
        later_auctions=later.rows,
        price=None if isinstance(price, TooLittle) else price,
        price_judgement=judgement,
        changes=_changes(estimates, _estimates(later, "later days", base, missing)),
        missing=missing,
    )


def _estimates(part: BidLog, name: str, base: MarketSpec, missing: dict[str, str]) -> dict[str, Fitted]:
    """Every estimate with an interval; why there is none goes to `missing`."""
    try:
        return calibrate(part, name="part", base=base).report.estimates
    except DataError as problem:
        missing[name] = str(problem)
        return {}


def _judged_prices(
    log: BidLog, first: BidLog, later: BidLog, level_change_sd: float, rng: np.random.Generator
) -> tuple[PriceComparison | TooLittle, PriceJudgement | None]:
    fit = fit_prices(first)
    price = fit if isinstance(fit, TooLittle) else compare_prices(fit, later)
    if isinstance(fit, TooLittle) or isinstance(price, TooLittle):
        return price, None
    drift = _by_drift(fit, first, _Z * level_change_sd)
    return price, judge_price(price, log, first.rows, rng, drift=drift)


def _level_change_sd(estimates: dict[str, Fitted], first_hours: int, later_hours: int) -> float:
    """Standard deviation of the change in mean log price that the common drift causes: a mean of an AR(1) series."""
    sd, persistence = (estimates.get(f"price.{key}") for key in ("common_drift_sd", "drift_persistence"))
    if sd is None or persistence is None:
        return 0.0
    kept = min(persistence.value, 1 - 1e-6)
    long_run = (1 + kept) / (1 - kept)
    return sd.value * math.sqrt(min(long_run / first_hours, 1.0) + min(long_run / later_hours, 1.0))


def _by_drift(fit: PriceFit, first: BidLog, shift: float) -> PriceComparison:
    """How far the first days' prices are from their own fit once their log level is moved by `shift`.

    A small shift is measured by a larger one: prices come in ticks, and one that just moves past another says little.
    """
    curve = ratio_curve(first, fit.level)
    measured = max(shift, _SHIFT_MEASURED)
    factor = math.exp(-measured)
    moved = replace(curve, price=curve.price * factor, highest=curve.highest * factor)
    distance = compare(fit.landscape.landscape, moved, level=fit.landscape.mean_price)
    share = shift / measured
    return distance.model_copy(update={"ks": distance.ks * share, "kl": distance.kl * share**2})


def _changes(first: dict[str, Fitted], later: dict[str, Fitted]) -> tuple[StatisticChange, ...]:
    """The change of each statistic that both parts have, the largest against its interval first.

    The interval of a difference follows from both intervals (the distance to an end is a deviation of its own), widened
    so that all of them together miss once in twenty steady logs.
    """
    shared = [path for path in first if path in later]
    wider = float(norm.ppf(1 - (1 - CONFIDENCE) / 2 / max(len(shared), 1))) / _Z
    changes = [_change(path, first[path], later[path], wider) for path in shared]
    return tuple(sorted(changes, key=_size, reverse=True))


def _change(path: str, first: Fitted, later: Fitted, wider: float) -> StatisticChange:
    change = later.value - first.value
    down = wider * math.hypot(later.value - later.interval_low, first.interval_high - first.value)
    up = wider * math.hypot(later.interval_high - later.value, first.value - first.interval_low)
    return StatisticChange(
        statistic=path,
        first=first.value,
        later=later.value,
        change=change,
        interval_low=change - down,
        interval_high=change + up,
        changed=change - down > 0 or change + up < 0,
    )


def _size(change: StatisticChange) -> float:
    """The change in units of the distance to the end of its interval that is nearer to 0."""
    reach = change.change - change.interval_low if change.change > 0 else change.interval_high - change.change
    return abs(change.change) / max(reach, 1e-12)
