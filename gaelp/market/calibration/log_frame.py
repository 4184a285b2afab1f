"""A log of bids in time: what calibration reads and nothing else."""

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Bools, Floats, Ints
from gaelp.errors import DataError
from gaelp.importing.bad_rows import BadRows
from gaelp.importing.header import LogColumns

__all__ = ["HOURS_MAX", "UNKNOWN_PRICE", "BidLog", "keep_hours", "make_log"]

UNKNOWN_PRICE = -1
HOURS_MAX = 43_800  # five years; a longer span is a wrong date in some row
_SHORTEST_COVER = 1 / 60  # an hour with rows in it is covered for at least a minute
_MONDAY_SHIFT_HOURS = 72  # hour 0 of the epoch is Thursday 00h


@dataclass(frozen=True, slots=True)
class BidLog:
    """n auctions in time order; times are hours since 1970-01-01 00:00 on the market's own clock."""

    source: str
    time_hours: Floats  # (n,)
    segment: Ints  # (n,) index into segment_names
    segment_names: tuple[str, ...]
    bid_micros: Ints  # (n,)
    price_micros: Ints  # (n,) highest rival bid, UNKNOWN_PRICE where it is not known
    won: Bools  # (n,)
    click: Bools | None  # (n,)
    conversion: Bools | None  # (n,) reported by the end of the log
    delay_hours: Floats | None  # (n,) click to conversion, NaN where none
    covered_hours: Ints  # (T,) whole hours of the log, rising
    covered_share: Floats  # (T,) of each hour; below 1 where the log begins or ends inside it
    end_hours: float  # when the log was cut
    skipped: BadRows | None = None  # bad rows that were set aside, where that was asked for
    columns: LogColumns = field(default_factory=LogColumns)  # of the file

    @property
    def rows(self) -> int:
        """How many auctions."""
        return len(self.time_hours)

    @property
    def segments(self) -> int:
        """How many segments."""
        return len(self.segment_names)

    @property
    def hour(self) -> Ints:
        """Position of each auction's hour in covered_hours, shape (n,)."""
        return np.searchsorted(self.covered_hours, np.floor(self.time_hours)).astype(np.int64)

    @property
    def hour_of_week(self) -> Ints:
        """Hour of week of each covered hour, Monday 00h first, shape (T,)."""
        return (self.covered_hours + _MONDAY_SHIFT_HOURS) % 168

    @property
    def price_known(self) -> Bools:
        """Where the rival price itself was seen; elsewhere it was only above the bid."""
        return np.asarray(self.price_micros != UNKNOWN_PRICE)

    def by_segment(self, value: Floats | Bools) -> Floats:
        """Sum of a value (n,) over the auctions of each segment, shape (S,)."""
        return np.bincount(self.segment, value, self.segments).astype(float)

    def by_hour_of_day(self, value: Floats | Bools) -> Floats:
        """Sum of a value (n,) over the auctions of each hour of day, shape (24,)."""
        return np.bincount(self.hour_of_day, value, 24).astype(float)

    @property
    def hour_of_day(self) -> Ints:
        """Hour of day of each auction, shape (n,)."""
        return np.asarray(self.covered_hours[self.hour] % 24)


def make_log(
    *,
    source: str,
    time_hours: Floats,
    bid_micros: Ints,
    price_micros: Ints,
    won: Bools,
    segment: npt.NDArray[np.str_] | None = None,
    click: Bools | None = None,
    conversion: Bools | None = None,
    conversion_time_hours: Floats | None = None,
    skipped: BadRows | None = None,
    columns: LogColumns | None = None,
) -> BidLog:
    """Build a log from arrays of equal length whose rows were checked; sorts them by time."""
    if len(time_hours) == 0:
        raise DataError(f"{source} holds no auction; allowed: at least one row. Export a longer period.")
    names, codes = _segments(segment, len(time_hours))
    order = np.argsort(time_hours, kind="stable")
    time_hours = time_hours[order]
    delay = None
    end = float(time_hours[-1])
    if conversion_time_hours is not None:
        delay = conversion_time_hours[order] - time_hours
        end = float(np.nanmax(conversion_time_hours, initial=end))
    if time_hours[-1] - time_hours[0] > HOURS_MAX:
        raise DataError(
            f"{source} spans {time_hours[-1] - time_hours[0]:,.0f} hours; allowed: {HOURS_MAX:,}. Correct the first or"
            " last time, or split the log."
        )
    hours, share = _cover(time_hours)
    return BidLog(
        source=source,
        time_hours=time_hours,
        segment=codes[order],
        segment_names=names,
        bid_micros=bid_micros[order],
        price_micros=price_micros[order],
        won=won[order],
        click=None if click is None else click[order],
        conversion=None if conversion is None else conversion[order],
        delay_hours=delay,
        covered_hours=hours,
        covered_share=share,
        end_hours=end,
        skipped=skipped,
        columns=columns or LogColumns(),
    )


def _segments(segment: npt.NDArray[np.str_] | None, rows: int) -> tuple[tuple[str, ...], Ints]:
    if segment is None:
        return ("all",), np.zeros(rows, np.int64)
    names, codes = np.unique(segment, return_inverse=True)
    return tuple(str(name) for name in names), codes.astype(np.int64)


def _cover(time_hours: Floats) -> tuple[Ints, Floats]:
    """Every whole hour between the first and the last row, and how much of it the log saw."""
    first, last = float(time_hours[0]), float(time_hours[-1])
    hours = np.arange(int(np.floor(first)), int(np.floor(last)) + 1, dtype=np.int64)
    share = np.minimum(hours + 1, last) - np.maximum(hours, first)
    return hours, np.maximum(share, _SHORTEST_COVER)


def keep_hours(log: BidLog, kept: Bools) -> BidLog:
    """The part of a log inside the chosen covered hours, shape (T,)."""
    rows = kept[log.hour]
    if not rows.any():
        raise DataError(
            f"{log.source}: no auction in the {int(kept.sum())} chosen hours of {len(kept)}; allowed: at least one."
            " Use a longer log."
        )
    return replace(
        log,
        time_hours=log.time_hours[rows],
        segment=log.segment[rows],
        bid_micros=log.bid_micros[rows],
        price_micros=log.price_micros[rows],
        won=log.won[rows],
        click=None if log.click is None else log.click[rows],
        conversion=None if log.conversion is None else log.conversion[rows],
        delay_hours=None if log.delay_hours is None else log.delay_hours[rows],
        covered_hours=log.covered_hours[kept],
        covered_share=log.covered_share[kept],
    )
