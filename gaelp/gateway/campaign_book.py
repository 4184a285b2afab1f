"""The campaigns that the gateway knows: their briefs, and the last decision of each, so that requests may repeat."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Ints
from gaelp.errors import BadInput, Refused
from gaelp.gateway.traffic import campaign_score
from gaelp.gateway.wire import BRIEF_COLUMNS, Sizes, WireRows
from gaelp.market.view import Action

__all__ = ["CampaignBook", "UnknownCampaign", "WrongHour"]

_FIRST_ROWS = 256


class UnknownCampaign(BadInput):
    """A campaign whose brief was never given."""


class WrongHour(BadInput):
    """An hour that lies before one that was decided."""


class CampaignBook:
    """One row a campaign. `epoch` changes when a campaign begins again, and with it what versions remember of it."""

    def __init__(self, sizes: Sizes, most: int) -> None:
        self.sizes, self._most = sizes, most
        self._row: dict[str, int] = {}
        self._free: list[int] = []
        self._epochs = 0
        self._tables: dict[str, npt.NDArray[Any]] = {}
        for column in BRIEF_COLUMNS:
            width = sizes.width(column)
            shape = (0,) if column.per == "campaign" else (0, width)
            self._tables[column.name] = np.zeros(shape, column.dtype)
        segments = sizes.segments
        self._tables |= {
            "epoch": np.zeros(0, np.int64),
            "last_hour": np.zeros(0, np.int64),
            "score": np.zeros(0),
            "version": np.zeros(0, np.int64),
            "bid_micros": np.zeros((0, segments), np.int64),
            "last_pace": np.zeros(0, np.float32),
            "last_creative": np.zeros((0, segments), np.int8),
        }

    def __len__(self) -> int:
        return len(self._row)

    @property
    def capacity(self) -> int:
        """How many rows the tables have."""
        return len(self._tables["epoch"])

    def table(self, name: str) -> npt.NDArray[Any]:
        """One column of all rows."""
        return self._tables[name]

    def begin(self, rows: WireRows) -> int:
        """Begin flights of these campaigns; one with the same brief as before keeps its memory. How many began."""
        new = [name for name in rows.campaigns if name not in self._row]
        if len(self._row) + len(new) > self._most:
            raise Refused(
                f"{len(self._row):,} campaigns are remembered and {len(new):,} more were given; allowed:"
                f" {self._most:,}. DELETE those that ended, or raise gateway.max_campaigns"
            )
        begun = 0
        for place, name in enumerate(rows.campaigns):
            row = self._row.get(name)
            if row is not None and all(
                np.array_equal(self._tables[key][row], array[place]) for key, array in rows.arrays.items()
            ):
                continue
            self._write(name, row, {key: array[place] for key, array in rows.arrays.items()})
            begun += 1
        return begun

    def end(self, name: str) -> None:
        """Forget a campaign."""
        row = self._row.pop(name, None)
        if row is None:
            raise UnknownCampaign(f"campaign {name[:100]!r} is not known: nothing was forgotten")
        self._free.append(row)

    def rows(self, names: Sequence[str]) -> Ints:
        """The rows of campaigns; UnknownCampaign names those without a brief."""
        try:
            return np.array([self._row[name] for name in names], np.int64)
        except KeyError:
            unknown = [name for name in names if name not in self._row]
            raise UnknownCampaign(
                f"{len(unknown)} of {len(names)} campaigns are not known, such as {unknown[0]!r}: send their briefs"
                " with PUT /campaigns first (also after the gateway was restarted)"
            ) from None

    def check_hours(self, rows: Ints, hours: Ints) -> npt.NDArray[np.bool_]:
        """Which were decided for this hour already; WrongHour if an hour lies before the last, or after the flight."""
        last, length = self._tables["last_hour"][rows], self._tables["hours"][rows]
        if (wrong := np.flatnonzero((hours < last) | (hours >= length))).size:
            first = wrong[0]
            raise WrongHour(
                f"hour {hours[first]} of a campaign whose last decision was for hour {last[first]} (-1: none) of a"
                f" flight of {length[first]} hours: send later hours, or a new brief to begin a flight"
            )
        return np.asarray(hours == last)

    def note(self, rows: Ints, hours: Ints, action: Action, version: int) -> None:
        """Remember a decision."""
        self._tables["last_hour"][rows] = hours
        self._tables["version"][rows] = version
        self._tables["bid_micros"][rows] = action.bid_micros
        self._tables["last_pace"][rows] = 1.0 if action.pace is None else action.pace
        self._tables["last_creative"][rows] = -1 if action.creative is None else action.creative

    def _write(self, name: str, row: int | None, values: dict[str, Any]) -> None:
        if row is None:
            row = self._free.pop() if self._free else self._new_row()
            self._row[name] = row
        self._epochs += 1
        fresh = {"epoch": self._epochs, "last_hour": -1, "score": campaign_score(name), "version": 0}
        for key, value in (values | fresh).items():
            self._tables[key][row] = value

    def _new_row(self) -> int:
        used = len(self._row)
        if used == self.capacity:
            more = max(_FIRST_ROWS, used)
            for key, table in self._tables.items():
                self._tables[key] = np.concatenate([table, np.zeros((more, *table.shape[1:]), table.dtype)])
        return used
