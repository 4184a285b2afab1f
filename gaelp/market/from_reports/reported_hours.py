"""Rows of platform reports as arrays: one hour of N campaigns x S segments, and later changes to earlier hours."""

from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Floats, Ints
from gaelp.errors import DataError

__all__ = ["LateChanges", "ReportedHours"]


@dataclass(frozen=True, slots=True)
class ReportedHours:
    """One hour of each campaign, as reported now; an hour that was reported before is replaced.

    Campaigns may be of different age, so each has an hour of its own. Conversions are those reported in that hour, or
    those of its clicks, which later reports revise; the totals are the same.
    """

    hour: Ints  # (N,) hours since launch of the hour that the row is about; -1: no row for this campaign
    impressions: Ints  # (N, S)
    clicks: Ints  # (N, S)
    conversions: Floats  # (N, S)
    cost_micros: Ints  # (N, S)
    value_micros: Ints | None = None  # (N, S) of the conversions
    opportunities: Floats | None = None  # (N, S) possible impressions; NaN where unknown
    opportunities_error: Floats | None = None  # (N, S) relative error of those that are known; None: exact
    in_market: Floats | None = None  # (N,) share of the hour before the money ran out; NaN where unknown

    def __post_init__(self) -> None:
        shape = self.impressions.shape
        if len(shape) != 2 or self.hour.shape != shape[:1]:
            raise DataError(
                f"hours of shape {self.hour.shape} with impressions of shape {shape}: give one hour a campaign and"
                " campaigns x segments impressions"
            )
        for name in ("clicks", "conversions", "cost_micros", "value_micros", "opportunities", "opportunities_error"):
            array = getattr(self, name)
            if array is not None and array.shape != shape:
                raise DataError(f"{name} has shape {array.shape}, impressions have {shape}: give one figure for each")
        if self.in_market is not None and self.in_market.shape != shape[:1]:
            raise DataError(f"in_market has shape {self.in_market.shape}, allowed: {shape[:1]}, one figure a campaign")


@dataclass(frozen=True, slots=True)
class LateChanges:
    """What is known now of hours that were reported before: conversions of their clicks, clicks taken back."""

    campaign: Ints  # (n,) row of the campaign
    segment: Ints  # (n,)
    hour: Ints  # (n,) since launch; below 0: before this flight
    impressions: Ints  # (n,) to add to that hour's, as the next ones; below 0 where they are taken back
    clicks: Ints  # (n,)
    conversions: Floats  # (n,)
    cost_micros: Ints  # (n,)
    value_micros: Ints  # (n,)

    @classmethod
    def none(cls) -> "LateChanges":
        """No change."""
        empty = np.zeros(0, np.int64)
        return cls(empty, empty, empty, empty, empty, np.zeros(0), empty, empty)

    def __len__(self) -> int:
        return len(self.hour)

    def some(self, rows: np.ndarray) -> "LateChanges":
        """Those of these rows."""
        return LateChanges(*(getattr(self, name)[rows] for name in self.__slots__))
