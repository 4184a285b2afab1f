import numpy as np
import pandas as pd
import pytest

from gaelp.importing.times import TimeReader, fixed_offset


def hours_of(column, *, utc_offset_hours):
    moments, given = TimeReader(fixed_offset(utc_offset_hours)).utc(column)
    hours = np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / 3.6e9)
    return hours + utc_offset_hours, given


NOON = 473364.0  # 2024-01-01 12:00 in hours since 1970


@pytest.mark.parametrize(
    "text",
    [
        "2024-01-01T12:00:00",
        "2024-01-01 12:00:00",
        "2024-01-01T12:00:00.000",
        "2024-01-01T12:00:00Z",
        "2024-01-01T14:00:00+02:00",
        "1704110400",
        "1704110400.0",
        "1704110400000",
        "20240101120000",
        "20240101120000000",
        " 2024-01-01T12:00 ",
    ],
)
def test_every_declared_form_of_a_time_means_the_same_hour(text):
    hours, given = hours_of(pd.Series([text]), utc_offset_hours=0)
    assert hours.tolist() == [pytest.approx(NOON)]
    assert given.tolist() == [True]


def test_milliseconds_of_a_compact_time_count():
    hours, _ = hours_of(pd.Series(["20240101120000500"]), utc_offset_hours=0)
    assert hours[0] - NOON == pytest.approx(0.5 / 3600, rel=1e-3)


@pytest.mark.parametrize(
    ("text", "shift"),
    [("2024-01-01T12:00:00", 0), ("20240101120000", 0), ("2024-01-01T12:00:00Z", 3), ("1704110400", 3)],
)
def test_only_times_with_a_zone_are_moved_to_the_market_clock(text, shift):
    hours, _ = hours_of(pd.Series([text]), utc_offset_hours=3)
    assert hours[0] == pytest.approx(NOON + shift)


def test_a_date_without_time_is_local_midnight():
    hours, _ = hours_of(pd.Series(["2024-01-01"]), utc_offset_hours=5)
    assert hours[0] == pytest.approx(NOON - 12)


@pytest.mark.parametrize("text", ["soon", "12:00", "2024-13-01T00:00:00", "20241301000000", "-5", "17", "1e99"])
def test_what_is_no_time_is_not_a_number_but_was_given(text):
    hours, given = hours_of(pd.Series([text]), utc_offset_hours=0)
    assert np.isnan(hours[0])
    assert given[0]


def test_empty_is_not_given():
    hours, given = hours_of(pd.Series(["", None]), utc_offset_hours=0)
    assert np.isnan(hours).all()
    assert not given.any()


def test_typed_columns_are_read_like_text():
    naive = pd.Series(pd.to_datetime(["2024-01-01T12:00:00"]))
    zoned = naive.dt.tz_localize("UTC")
    for column, shift in ((naive, 0), (zoned, 3), (pd.Series([1704110400]), 3), (pd.Series([1704110400000]), 3)):
        hours, given = hours_of(column, utc_offset_hours=3)
        assert hours[0] == pytest.approx(NOON + shift)
        assert given[0]
