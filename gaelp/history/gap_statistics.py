"""The statistics that log and market are compared by: sums of a numerator and a denominator, by place and day.

They are chosen so that one wrong number of a market moves one of them. Prices are per impression, not per click: a
market is priced so, and a wrong click rate would otherwise look like a wrong price.
"""

from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Floats
from gaelp.history.twin_play import PlayedHours
from gaelp.history.window_figures import DAY_HOURS, WindowFigures

__all__ = ["BLOCK_HOURS", "Ratio", "block_ratios", "segment_ratios"]

BLOCK_HOURS = 4
_BLOCKS = DAY_HOURS // BLOCK_HOURS


@dataclass(frozen=True, slots=True)
class Ratio:
    """Numerator and denominator of a statistic: of the log (..., D), of the market (R, ..., D)."""

    statistic: str
    unit: str  # "count", "micros" or "share": how to print it
    logged: tuple[Floats, Floats]
    market: tuple[Floats, Floats]
    evidence: Floats  # (..., D) of the log: a count, whose chance the numerator has at least
    is_count: bool = False  # whether the numerator itself is a count


def segment_ratios(window: WindowFigures, played: PlayedHours) -> list[Ratio]:
    """Statistics by campaign, segment and day, (N, S, D)."""
    log = {name: window.by_day(getattr(window, name)) for name in _NAMES}
    market = {name: window.by_day(getattr(played, name)) for name in (*_NAMES, "opportunities")}
    shared = np.isfinite(window.possible)
    ratios = [
        _ratio("price of an impression", "micros", log, market, "spend_micros", "impressions", "clicks"),
        _ratio("clicks per impression", "share", log, market, "clicks", "impressions", "clicks"),
        _ratio("conversions per click", "share", log, market, "conversions", "clicks", "conversions"),
        _ratio("value of a conversion", "micros", log, market, "value_micros", "conversions", "conversions"),
    ]
    if not shared.any():
        days = window.by_day(window.compared.astype(float)) / DAY_HOURS
        shown = (log["impressions"], days), (market["impressions"], np.broadcast_to(days, market["clicks"].shape))
        return [Ratio("impressions a day", "count", *shown, log["impressions"], is_count=True), *ratios]
    possible, won = np.where(shared, window.possible, 0.0), np.where(shared, log["impressions"], 0.0)
    chances, shown_market = market["opportunities"] * shared, market["impressions"] * shared
    days = np.broadcast_to(shared.astype(float), chances.shape)
    return [
        Ratio(
            "possible impressions a day",
            "count",
            (possible, shared.astype(float)),
            (chances, days),
            possible,
            is_count=True,
        ),
        Ratio(
            "share of possible impressions won", "share", (won, possible), (shown_market, chances), won, is_count=True
        ),
        *ratios,
    ]


def block_ratios(window: WindowFigures, played: PlayedHours) -> list[Ratio]:
    """Statistics by block of hours, all campaigns together: (blocks, N, D)."""
    log = {name: _blocks(getattr(window, name)) for name in ("impressions", "clicks", "spend_micros")}
    market = {name: _blocks(getattr(played, name)) for name in ("impressions", "clicks", "spend_micros")}
    total = np.broadcast_to(log["impressions"].sum(axis=0), log["impressions"].shape)
    total_market = np.broadcast_to(market["impressions"].sum(axis=1, keepdims=True), market["impressions"].shape)
    profile = Ratio(
        "share of the day's impressions",
        "share",
        (log["impressions"], total),
        (market["impressions"], total_market),
        log["impressions"],
        is_count=True,
    )
    return [
        profile,
        _ratio("price of an impression", "micros", log, market, "spend_micros", "impressions", "clicks"),
        _ratio("clicks per impression", "share", log, market, "clicks", "impressions", "clicks"),
    ]


_NAMES = ("impressions", "clicks", "spend_micros", "conversions", "value_micros")


def _ratio(
    statistic: str,
    unit: str,
    log: dict[str, Floats],
    market: dict[str, Floats],
    top: str,
    bottom: str,
    evidence: str,
) -> Ratio:
    parts = (log[top], log[bottom]), (market[top], market[bottom])
    return Ratio(statistic, unit, *parts, log[evidence], is_count=top == evidence)


def _blocks(hourly: Floats) -> Floats:
    """(..., N, S, T) by block of hours: (..., blocks, N, D)."""
    *lead, segments, hours = hourly.shape
    days = hours // DAY_HOURS
    cut = hourly.reshape(*lead, segments, days, _BLOCKS, BLOCK_HOURS).sum(axis=(-1, -4))  # (..., N, D, blocks)
    return np.asarray(np.moveaxis(cut, -1, -3))
