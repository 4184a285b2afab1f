"""Figures as reports print them: thousands separators, decimal commas, currency signs, percent signs, "--"."""

import re
from collections.abc import Iterable
from typing import Literal

import numpy as np
import pandas as pd

from gaelp.arrays import Bools, Floats

__all__ = ["DecimalMark", "decimal_mark", "figures_of", "numbers_of"]

DecimalMark = Literal[".", ","]

_NO_FIGURE = frozenset({"", "-", "--", "—", "–", "n/a", "na", "null", "none"})
_BOUND = re.compile(r"[<>]\s*[\d.,]+\s*%?")  # such as "< 10%": no figure either
_SPACES = " \u00a0\u202f'\u2019"
_SIGN = r"(?:[A-Z]{0,3}\s?[$€£¥₹]|[A-Z]{3}|kr|zł|Kč)"


def _pattern(thousands: str, decimal: str) -> re.Pattern[str]:
    whole = rf"(?:\d{{1,3}}(?:[{thousands}{_SPACES}]\d{{2,3}})*[{thousands}{_SPACES}]\d{{3}}|\d+)"
    return re.compile(rf"{_SIGN}?\s*(?P<figure>[-+]?{whole}(?:{decimal}\d+)?)\s*(?:{_SIGN}|(?P<percent>%))?")


_PATTERNS: dict[DecimalMark, re.Pattern[str]] = {".": _pattern(",", r"\."), ",": _pattern(".", ",")}
_COMMA = re.compile(r"\D*\d+(?:\.\d{3})*,\d{1,2}\D*|\D*\d{1,3}(?:\.\d{3})+,\d+\D*")
_POINT = re.compile(r"\D*\d+(?:,\d{3})*\.\d{1,2}\D*|\D*\d{1,3}(?:,\d{3})+\.\d+\D*")


def decimal_mark(fields: Iterable[str]) -> DecimalMark:
    """The decimal mark that most of these fields show; a point where none shows any."""
    commas = points = 0
    for field in fields:
        commas += bool(_COMMA.fullmatch(field.strip()))
        points += bool(_POINT.fullmatch(field.strip()))
    return "," if commas > points else "."


def numbers_of(column: pd.Series) -> tuple[Floats, Bools]:
    """Plain numbers as floats (NaN where unreadable) and where one was given; whole ones stay exact below 2**53."""
    if column.dtype.kind in "biuf":
        return column.to_numpy(np.float64, na_value=np.nan), column.notna().to_numpy(bool)
    text = column.astype("string").fillna("").str.strip()
    values = pd.to_numeric(text, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    return values, (text != "").to_numpy(bool)


def figures_of(column: pd.Series, decimal: DecimalMark) -> tuple[Floats, Bools]:
    """Figures of a report as floats (NaN where unreadable), and where one was given; 5% is 0.05."""
    if column.dtype.kind in "biuf":
        return numbers_of(column)
    text = column.astype("string").fillna("").str.strip()
    codes, distinct = pd.factorize(text)
    values = np.array([_figure(value, decimal) for value in distinct])
    given = np.array([value.lower() not in _NO_FIGURE and not _BOUND.fullmatch(value) for value in distinct], bool)
    return values[codes], given[codes]


def _figure(text: str, decimal: DecimalMark) -> float:
    match = _PATTERNS[decimal].fullmatch(text)
    if match is None:
        return np.nan
    digits = re.sub(rf"[{_SPACES}{'.' if decimal == ',' else ','}]", "", match["figure"]).replace(",", ".")
    return float(digits) / (100 if match["percent"] else 1)
