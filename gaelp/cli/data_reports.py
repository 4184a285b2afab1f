"""`gaelp data calibrate --from reports|points`: a market from stored hourly reports or bid simulator points."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from gaelp.bootstrap import open_store
from gaelp.cli.calibration_output import CalibrationTarget, say_how_to_use, show_calibration
from gaelp.cli.output import say, show_json, show_table, show_text
from gaelp.config import Settings
from gaelp.market.build import load_market_spec
from gaelp.market.calibration import (
    Calibration,
    CalibrationReport,
    calibrate_points,
    calibrate_reports,
    check_reports,
    hour_reports,
    read_report_tables,
    write_calibration,
)
from gaelp.market.calibration.report_frame import bid_points
from gaelp.market.number_text import short_number
from gaelp.storage.schema import TableName
from gaelp.storage.sealed_store import withheld_note
from gaelp.storage.store import RowFilter

__all__ = ["CalibrationInput", "StoredReports", "calibrate_stored", "check_stored"]

CalibrationInput = Literal["log", "reports", "points"]
_CURVES_SHOWN = 12


@dataclass(frozen=True, slots=True)
class StoredReports:
    """Which rows of the store are calibrated on, and the market whose values stay where they are too thin."""

    settings: Settings
    calibrated_from: CalibrationInput
    sources: tuple[str, ...]
    base: str

    @property
    def source_name(self) -> str:
        """As the report names it."""
        return ", ".join(self.sources) or "the store"

    def tables(self) -> dict[TableName, pa.Table]:
        """The rows."""
        store = open_store(self.settings)
        needed = TableName.HOUR_REPORTS if self.calibrated_from == "reports" else TableName.BID_SIMULATIONS
        say(f"Reading {needed} of {self.source_name} ...")
        try:
            tables = read_report_tables(store, RowFilter(sources=self.sources), needed=needed)
            if note := withheld_note(store):
                say(note)
            return tables
        finally:
            store.close()


def calibrate_stored(stored: StoredReports, target: CalibrationTarget, *, as_json: bool) -> None:
    """Fit, write the market and its report, and print what was found."""
    calibration = _calibrate(stored, target.name)
    write_calibration(calibration, market_path=target.market_path, report_path=target.report_path)
    if as_json:
        files = {"market_path": str(target.market_path), "report_path": str(target.report_path)}
        results = [result.model_dump(mode="json") for result in calibration.report.results]
        show_json({**files, **calibration.report.model_dump(mode="json"), "results": results})
        return
    show_calibration(calibration.report)
    _show_curves(calibration.report)
    say_how_to_use(target)


def check_stored(stored: StoredReports, *, as_json: bool) -> None:
    """Hold out the last third of the days and print how far the forecast of them is off, against chance alone."""
    base = load_market_spec(stored.base)
    rng = np.random.default_rng(stored.settings.run.seed)
    check = check_reports(stored.tables(), base, rng, source=stored.source_name)
    if as_json:
        show_json(check.model_dump(mode="json"))
        return
    rows = [
        (error.figure, f"{error.error_share:.1%}", f"{error.chance_share:.1%}", f"{error.ratio:.2f}")
        for error in check.errors
    ]
    show_table(("by segment and day", "error of the forecast", "by chance alone", "ratio"), rows)
    show_text(
        f"Fitted on {check.fitted_days} days before {check.cut_at}, compared with the {check.later_days} after it."
        " The error is the sum of absolute differences over the sum of what came; chance is Poisson."
    )


def _calibrate(stored: StoredReports, name: str) -> Calibration:
    base = load_market_spec(stored.base)
    tables = stored.tables()
    if stored.calibrated_from == "points":
        names, points = bid_points(tables[TableName.BID_SIMULATIONS])
        return calibrate_points(points, names, source=stored.source_name, name=name, base=base)
    reports = hour_reports(tables, source=stored.source_name)
    say(f"Fitting {reports.segments:,} segments in {len(reports.covered_hours):,} hours ...")
    return calibrate_reports(reports, name=name, base=base)


def _show_curves(report: CalibrationReport) -> None:
    """The win rate of the first segments by bid; the report file has all of them."""
    rows = [
        (
            curve.segment,
            short_number(curve.usual_bid_micros / 1e6, 3),
            *(f"{point.share:.0%} ({point.interval_low:.0%}..{point.interval_high:.0%})" for point in curve.win_rate),
        )
        for curve in report.curves[:_CURVES_SHOWN]
    ]
    factors = ("0.5x", "0.7x", "usual", "1.4x", "2x")
    show_table(("win rate by bid", "usual bid", *factors), rows)
    if len(report.curves) > _CURVES_SHOWN:
        say(f"{len(report.curves) - _CURVES_SHOWN} more segments are in the report.")
