"""Fit on the first days of reports, as they were known then, and compare with the days that followed."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
from pydantic import NonNegativeInt

from gaelp.config.base import Frozen
from gaelp.errors import DataError
from gaelp.market.calibration.delay import matured_share
from gaelp.market.calibration.report_curves import fit_report_curves
from gaelp.market.calibration.report_forecast import ForecastError, day_errors, forecast
from gaelp.market.calibration.report_frame import HourReports, hour_reports, keep_days
from gaelp.market.calibration.report_responses import report_delay
from gaelp.market.spec import MarketSpec
from gaelp.storage.schema import TableName

__all__ = ["ReportCheck", "check_reports", "split_reports"]

DAYS_MIN = 14
_LATER_SHARE = 1 / 3  # of the days are held out
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ReportCheck(Frozen):
    """How far the forecast for held-out days was off, against chance alone."""

    source: str
    cut_at: str  # on the account's clock
    fitted_days: NonNegativeInt
    later_days: NonNegativeInt
    errors: tuple[ForecastError, ...]


def check_reports(
    tables: Mapping[TableName, pa.Table], base: MarketSpec, rng: np.random.Generator, *, source: str
) -> ReportCheck:
    """Hold out the last third of the days; the fit sees only what had been reported when they began."""
    everything = hour_reports(tables, source=source)
    if everything.days < DAYS_MIN:
        raise DataError(
            f"{source} has reports of {everything.days} days; allowed: {DAYS_MIN} or more to hold some out."
        )
    cut = everything.days - round(everything.days * _LATER_SHARE)
    first, later = split_reports(tables, everything, cut)
    delay = report_delay(first, base.delay)
    curves = fit_report_curves(first, delay.used)
    expected = forecast(curves, later, matured_share(delay.used, later.age_hours))
    return ReportCheck(
        source=source,
        cut_at=(_EPOCH + timedelta(hours=int(later.covered_hours[0]))).strftime("%Y-%m-%d %H:%M"),
        fitted_days=cut,
        later_days=later.days,
        errors=day_errors(expected, later, rng),
    )


def split_reports(
    tables: Mapping[TableName, pa.Table], everything: HourReports, cut: int
) -> tuple[HourReports, HourReports]:
    """The days before day `cut`, as they had been reported when it began, and the days from then on."""
    later = keep_days(everything, cut, everything.days)
    began = _EPOCH + timedelta(hours=float(later.covered_hours[0]) - everything.offset_hours)
    first = hour_reports(tables, source=everything.source, as_of=began)
    if first.segment_names != everything.segment_names:
        new = sorted(set(everything.segment_names) - set(first.segment_names))
        raise DataError(
            f"{len(new)} segments such as {new[0]} had no report before {began:%Y-%m-%d %H:%M}: leave them out, or use"
            " a longer period"
        )
    return first, later
