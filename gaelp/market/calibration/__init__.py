"""Calibration: fit a market to a log of auctions or to reports, every statistic with interval and goodness of fit."""

from gaelp.market.calibration.chance import PriceJudgement
from gaelp.market.calibration.files import check_target, write_calibration
from gaelp.market.calibration.fit import calibrate
from gaelp.market.calibration.fitted import Fitted
from gaelp.market.calibration.goodness import PriceComparison, compare
from gaelp.market.calibration.half_split import HalfSplitReport, half_split_report, split_half
from gaelp.market.calibration.kaplan_meier import PriceCurve, kaplan_meier
from gaelp.market.calibration.knots import landscape_from_curve
from gaelp.market.calibration.log_frame import BidLog
from gaelp.market.calibration.log_readers import read_ipinyou, read_log
from gaelp.market.calibration.report import Calibration, CalibrationReport
from gaelp.market.calibration.report_check import ReportCheck, check_reports
from gaelp.market.calibration.report_fit import calibrate_points, calibrate_reports
from gaelp.market.calibration.report_frame import HourReports, hour_reports
from gaelp.market.calibration.stored_reports import read_report_tables
from gaelp.market.calibration.time_split import (
    CheckReport,
    CheckVerdict,
    TimeSplitReport,
    check_report,
    time_split_report,
)

__all__ = [
    "BidLog",
    "Calibration",
    "CalibrationReport",
    "CheckReport",
    "CheckVerdict",
    "Fitted",
    "HalfSplitReport",
    "HourReports",
    "PriceComparison",
    "PriceCurve",
    "PriceJudgement",
    "ReportCheck",
    "TimeSplitReport",
    "calibrate",
    "calibrate_points",
    "calibrate_reports",
    "check_report",
    "check_reports",
    "check_target",
    "compare",
    "half_split_report",
    "hour_reports",
    "kaplan_meier",
    "landscape_from_curve",
    "read_ipinyou",
    "read_log",
    "read_report_tables",
    "split_half",
    "time_split_report",
    "write_calibration",
]
