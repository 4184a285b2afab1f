"""Times of a log as hours on the market's own clock: ISO text, epoch seconds or milliseconds, yyyymmddHHMMSS(fff)."""

import numpy as np
import pandas as pd

from gaelp.arrays import Bools, Floats
from gaelp.errors import DataError

__all__ = ["TIME_FORMS", "check_utc_offset", "hours_of"]

TIME_FORMS = (
    "ISO 8601 such as 2024-01-31T13:05:00, epoch seconds or milliseconds, or yyyymmddHHMMSS with optional milliseconds;"
    " 1971 to 2099"
)
_EARLIEST_S, _LATEST_S = 31_536_000.0, 4_102_444_800.0  # 1971-01-01, 2100-01-01
_MILLISECONDS_FROM = 1e11  # larger numbers cannot be seconds before 2100
_OFFSET_MIN_HOURS, _OFFSET_MAX_HOURS = -12.0, 14.0  # of all clocks in use
_COMPACT = r"^\d{14}(?:\d{3})?$"
_NUMBER = r"^\d+(?:\.\d+)?(?:[eE]\+?\d+)?$"
_ZONED = r"(?:[zZ]|[+-]\d{2}:?\d{2})$"


def check_utc_offset(utc_offset_hours: float) -> None:
    """Refuse an offset that no clock has; NaN is one."""
    if not _OFFSET_MIN_HOURS <= utc_offset_hours <= _OFFSET_MAX_HOURS:
        raise DataError(
            f"saw an offset of {utc_offset_hours:g} hours from UTC; allowed: {_OFFSET_MIN_HOURS:g} to"
            f" {_OFFSET_MAX_HOURS:g}. Give the market's clock, such as 5.5 for India."
        )


def hours_of(column: pd.Series, *, utc_offset_hours: float) -> tuple[Floats, Bools]:
    """Hours since 1970-01-01 00:00 on the local clock (NaN where unreadable), and where a value was given.

    A time without zone is taken as local; epoch numbers and zoned times are shifted by `utc_offset_hours`.
    """
    given = column.notna().to_numpy()
    if isinstance(column.dtype, pd.DatetimeTZDtype) or column.dtype.kind == "M":
        seconds, absolute = _from_datetimes(column)
    elif column.dtype.kind in "iuf":
        seconds, absolute = _from_numbers(column.to_numpy(np.float64, na_value=np.nan))
    else:
        text = column.astype("string").fillna("").str.strip()
        given = (text != "").to_numpy(bool)
        seconds, absolute = _from_text(text)
    seconds = np.where((seconds >= _EARLIEST_S) & (seconds < _LATEST_S), seconds, np.nan)
    return seconds / 3600 + np.where(absolute, utc_offset_hours, 0.0), given


def _from_datetimes(column: pd.Series) -> tuple[Floats, Bools]:
    zoned = isinstance(column.dtype, pd.DatetimeTZDtype)
    plain = column.dt.tz_convert("UTC").dt.tz_localize(None) if zoned else column
    return _seconds(plain), np.full(len(column), zoned)


def _from_numbers(values: Floats) -> tuple[Floats, Bools]:
    return np.where(values >= _MILLISECONDS_FROM, values / 1000, values), np.ones(len(values), bool)


def _from_text(text: pd.Series) -> tuple[Floats, Bools]:
    compact = text.str.match(_COMPACT).to_numpy(bool)
    number = text.str.match(_NUMBER).to_numpy(bool) & ~compact
    iso = ~compact & ~number
    seconds = np.full(len(text), np.nan)
    seconds[compact] = _compact_seconds(text[compact])
    seconds[number] = _from_numbers(pd.to_numeric(text[number]).to_numpy(np.float64))[0]
    seconds[iso] = _seconds(pd.to_datetime(text[iso], format="ISO8601", utc=True, errors="coerce").dt.tz_localize(None))
    zoned = (text.str.contains(_ZONED, regex=True) & text.str.contains(":", regex=False)).to_numpy(bool)
    return seconds, number | (iso & zoned)


def _compact_seconds(text: pd.Series) -> Floats:
    whole = _seconds(pd.to_datetime(text.str.slice(0, 14), format="%Y%m%d%H%M%S", errors="coerce"))
    part = pd.to_numeric(text.str.slice(14).replace("", "0")).to_numpy(np.float64)
    return np.asarray(whole + part / 1000)


def _seconds(moments: pd.Series) -> Floats:
    values = moments.to_numpy("datetime64[us]")
    seconds = values.astype(np.int64) / 1e6
    return np.where(np.isnat(values), np.nan, seconds)
