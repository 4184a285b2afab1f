import numpy as np
import pytest

from gaelp.errors import DataError
from gaelp.market.calibration.log_frame import HOURS_MAX, keep_hours, make_log


def log_at(*time_hours: float):
    rows = len(time_hours)
    return make_log(
        source="bids.csv",
        time_hours=np.array(time_hours, float),
        bid_micros=np.full(rows, 10),
        price_micros=np.full(rows, 5),
        won=np.ones(rows, bool),
    )


def test_hours_without_auctions_inside_the_span_are_covered():
    log = log_at(100.25, 103.5)
    assert log.covered_hours.tolist() == [100, 101, 102, 103]
    assert log.covered_share.tolist() == [0.75, 1.0, 1.0, 0.5]
    assert log.hour.tolist() == [0, 3]


def test_the_week_begins_on_monday():
    monday = 24 * 4  # 1970-01-05 was a Monday
    assert log_at(monday + 0.5, monday + 25.5).hour_of_week.tolist()[::25] == [0, 25]


def test_keeping_hours_keeps_their_rows_and_their_cover():
    log = log_at(100.25, 101.5, 103.5)
    kept = keep_hours(log, np.array([True, False, False, True]))
    assert kept.time_hours.tolist() == [100.25, 103.5]
    assert kept.hour.tolist() == [0, 1]
    assert kept.end_hours == log.end_hours


def test_hours_without_any_row_cannot_be_kept_alone():
    with pytest.raises(DataError, match="no auction in the 1 chosen hours of 4"):
        keep_hours(log_at(100.25, 103.5), np.array([False, True, False, False]))


def test_a_span_of_decades_is_a_wrong_date():
    with pytest.raises(DataError, match=r"spans 50,000 hours; allowed: 43,800"):
        log_at(0.0, 50_000.0)
    assert HOURS_MAX == 43_800
