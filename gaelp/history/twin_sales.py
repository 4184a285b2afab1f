"""Conversions of a twin market with the hour of their click and the hours until their report."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Bools, Ints, Ints32
from gaelp.history.twin_market import TwinMarket

__all__ = ["SaleEvents", "TwinSales"]

Waiting = npt.NDArray[np.int16]  # (hours, R x N, S) conversions by the hour of their report


@dataclass(frozen=True, slots=True)
class SaleEvents:
    """Conversions of the same click hour, row and segment that are reported in the same hour."""

    hour: Ints  # (n,) of the click
    row: Ints  # (n,) r x N + n
    segment: Ints  # (n,)
    wait: Ints  # (n,) whole hours until the report
    count: Ints  # (n,)

    def some(self, chosen: Bools) -> "SaleEvents":
        """Those that were chosen."""
        return SaleEvents(*(getattr(self, name)[chosen] for name in self.__slots__))


class TwinSales:
    """Reads off a market's state which conversions an hour's clicks bring: `note` before the hour, `add` after it."""

    def __init__(self, twin: TwinMarket) -> None:
        self._twin = twin
        self._before: tuple[Waiting, Ints32] | None = None
        self._parts: list[SaleEvents] = []

    def note(self) -> None:
        """Remember what waits to be reported before an hour."""
        state = self._twin.market.state
        self._before = state.arriving.copy(), state.pending.copy()

    def add(self, hour: int) -> None:
        """Take in the conversions of an hour's clicks, from what waits after it and before it."""
        if self._before is None:
            raise ValueError("call note before each hour")
        state, (waiting, pending) = self._twin.market.state, self._before
        row, segment = np.nonzero(state.pending - pending + state.conversions)
        new = state.arriving[:, row, segment].astype(np.int64) - waiting[:, row, segment]
        now = hour % len(waiting)
        new[now] = state.conversions[row, segment] - waiting[now, row, segment]  # what is due waits no longer
        slot, place = np.nonzero(new)
        self._parts.append(
            SaleEvents(
                hour=np.full(len(slot), hour, np.int64),
                row=row[place],
                segment=segment[place],
                wait=(slot - hour) % len(waiting),
                count=new[slot, place],
            )
        )
        self._before = None

    def events(self) -> SaleEvents:
        """All conversions so far."""
        if not self._parts:
            return SaleEvents(*(np.empty(0, np.int64) for _ in SaleEvents.__slots__))
        return SaleEvents(
            *(np.concatenate([getattr(part, name) for part in self._parts]) for name in SaleEvents.__slots__)
        )
