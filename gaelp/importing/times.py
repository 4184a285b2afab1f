"""Times of a file as UTC: ISO text, epoch seconds or milliseconds, yyyymmddHHMMSS(fff), or a format that is given."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import numpy.typing as npt
import pandas as pd

from gaelp.arrays import Bools, Floats
from gaelp.errors import DataError

__all__ = ["TIME_FORMS", "Moments", "TimeReader", "fixed_offset", "time_zone"]

Moments = npt.NDArray[np.datetime64]

TIME_FORMS = (
    "ISO 8601 such as 2024-01-31T13:05:00, epoch seconds or milliseconds, or yyyymmddHHMMSS with optional milliseconds;"
    " 1971 to 2099"
)
_EARLIEST, _LATEST = np.datetime64("1971-01-01", "us"), np.datetime64("2100-01-01", "us")
_MILLISECONDS_FROM = 1e11  # larger numbers cannot be seconds before 2100
_OFFSET_MIN_HOURS, _OFFSET_MAX_HOURS = -12.0, 14.0  # of all clocks in use
_COMPACT = r"^\d{14}(?:\d{3})?$"
_NUMBER = r"^\d+(?:\.\d+)?(?:[eE]\+?\d+)?$"
_ZONED = r"(?:[zZ]|[+-]\d{2}:?\d{2})$"
_HOUR = re.compile(r"(\d{1,2})(?::.*)?")
_NEVER = np.datetime64("NaT", "us")


def fixed_offset(utc_offset_hours: float) -> tzinfo:
    """The clock with this offset; one that no clock has is refused, NaN too."""
    if not _OFFSET_MIN_HOURS <= utc_offset_hours <= _OFFSET_MAX_HOURS:
        raise DataError(
            f"saw an offset of {utc_offset_hours:g} hours from UTC; allowed: {_OFFSET_MIN_HOURS:g} to"
            f" {_OFFSET_MAX_HOURS:g}. Give the market's clock, such as 5.5 for India."
        )
    return timezone(timedelta(hours=utc_offset_hours))


def time_zone(name: str) -> tzinfo:
    """The time zone with this name, such as Europe/Berlin."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise DataError(f"saw the time zone {name!r}; allowed: a name such as Europe/Berlin or UTC.") from None


@dataclass(frozen=True, slots=True)
class TimeReader:
    """How a column's times are written, and the clock of those without a zone."""

    zone: tzinfo = UTC
    formats: Sequence[str] = ()  # of strptime; the first that fits counts. Empty: TIME_FORMS

    def utc(self, column: pd.Series, hours: pd.Series | None = None) -> tuple[Moments, Bools]:
        """Times in UTC (NaT where unreadable), and where a value was given; `hours` of the day are added first.

        Of an hour that the clock has twice, in autumn, the first is taken; one that it skips is unreadable.
        """
        moments, is_utc, given = self.as_written(column)
        if hours is not None:
            moments = moments + _hours_of_day(hours)
        local = pd.Series(moments).dt.tz_localize(self.zone, ambiguous=np.ones(len(moments), bool), nonexistent="NaT")
        utc = local.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy("datetime64[us]")
        return np.where(is_utc, moments, utc), given

    def as_written(self, column: pd.Series) -> tuple[Moments, Bools, Bools]:
        """Times on the clock they are written on, where that is UTC, and where a value was given."""
        given = column.notna().to_numpy(bool)
        if isinstance(column.dtype, pd.DatetimeTZDtype) or column.dtype.kind == "M":
            moments, is_utc = _from_datetimes(column)
        elif column.dtype.kind in "iuf":
            moments, is_utc = _from_numbers(column.to_numpy(np.float64, na_value=np.nan)), np.ones(len(column), bool)
        else:
            text = column.astype("string").fillna("").str.strip()
            given = (text != "").to_numpy(bool)
            moments, is_utc = self._from_formats(text) if self.formats else _from_text(text)
        return np.where((moments >= _EARLIEST) & (moments < _LATEST), moments, _NEVER), is_utc, given

    def _from_formats(self, text: pd.Series) -> tuple[Moments, Bools]:
        moments = np.full(len(text), _NEVER)
        is_utc = np.zeros(len(text), bool)
        for form in self.formats:
            zoned = "%z" in form
            parsed = _micros(pd.to_datetime(text, format=form, utc=zoned, errors="coerce"))
            is_utc |= np.isnat(moments) & ~np.isnat(parsed) & zoned
            moments = np.where(np.isnat(moments), parsed, moments)
        return moments, is_utc


def _hours_of_day(column: pd.Series) -> npt.NDArray[np.timedelta64]:
    """Hours such as 7, 07:00 or "07:00:00 - 07:59:59"; NaT where unreadable."""

    def hour(text: str) -> float:
        match = _HOUR.fullmatch(text.strip())
        return int(match[1]) if match and int(match[1]) < 24 else np.nan

    hours = (
        column.astype("string").fillna("").map({text: hour(text) for text in column.astype("string").dropna().unique()})
    )
    seconds = 3600 * pd.to_numeric(hours, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    return np.asarray(seconds).astype("timedelta64[s]")


def _from_datetimes(column: pd.Series) -> tuple[Moments, Bools]:
    return _micros(column), np.full(len(column), isinstance(column.dtype, pd.DatetimeTZDtype))


def _from_numbers(values: Floats) -> Moments:
    seconds = np.where(values >= _MILLISECONDS_FROM, values / 1000, values)
    fits = (seconds >= 0) & (seconds < 1e10)
    micros = np.rint(np.where(fits, seconds, 0) * 1e6).astype(np.int64).astype("datetime64[us]")
    return np.where(fits, micros, _NEVER)


def _from_text(text: pd.Series) -> tuple[Moments, Bools]:
    compact = text.str.match(_COMPACT).to_numpy(bool)
    number = text.str.match(_NUMBER).to_numpy(bool) & ~compact
    iso = ~compact & ~number
    moments = np.full(len(text), _NEVER)
    moments[compact] = _from_compact(text[compact])
    moments[number] = _from_numbers(pd.to_numeric(text[number]).to_numpy(np.float64))
    moments[iso] = _micros(pd.to_datetime(text[iso], format="ISO8601", utc=True, errors="coerce"))
    zoned = (text.str.contains(_ZONED, regex=True) & text.str.contains(":", regex=False)).to_numpy(bool)
    return moments, number | (iso & zoned)


def _from_compact(text: pd.Series) -> Moments:
    whole = _micros(pd.to_datetime(text.str.slice(0, 14), format="%Y%m%d%H%M%S", errors="coerce"))
    part = pd.to_numeric(text.str.slice(14).replace("", "0")).to_numpy(np.int64)
    return np.asarray(whole + part.astype("timedelta64[ms]"))


def _micros(moments: pd.Series) -> Moments:
    if isinstance(moments.dtype, pd.DatetimeTZDtype):
        moments = moments.dt.tz_convert("UTC").dt.tz_localize(None)
    return np.asarray(moments.to_numpy("datetime64[us]"))
