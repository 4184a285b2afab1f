"""One version that bids: its policy, what it remembers of each campaign, and batches that are asked for again."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Bools, Ints
from gaelp.errors import GaelpError
from gaelp.gateway.campaign_book import CampaignBook
from gaelp.gateway.wire import BRIEF_COLUMNS
from gaelp.market.baselines.bids import Bidder
from gaelp.market.campaign_rows import take, take_state
from gaelp.market.view import Action, Brief, Observation
from gaelp.types import PolicyState

__all__ = ["BadBids", "LoadedVersion"]

_KEPT_BATCHES = 8
_HIGHEST_BID = 10**12


class BadBids(GaelpError):
    """A version returned what is no bid."""


@dataclass(slots=True)
class _Batch:
    """A policy that holds these campaigns, as long as none of them was decided elsewhere since."""

    policy: Bidder
    stamp: int


class LoadedVersion:
    """A version's policy for all campaigns. Its memory of a campaign begins when it first decides for it.

    Campaigns may come in any company: their states are put together for each call. The same batch in the same order is
    kept as it is, which halves the time of a call.
    """

    def __init__(self, number: int, build: Callable[[], Bidder], template: Brief) -> None:
        self.number, self._build, self._template = number, build, template
        self._tables: dict[str, npt.NDArray[Any]] = {}
        self._epoch = np.zeros(0, np.int64)  # of each row, when this version began it; 0: never
        self._stamp = np.zeros(0, np.int64)  # of the last call that decided for the row
        self._calls = 0
        self._batches: OrderedDict[bytes, _Batch] = OrderedDict()

    def decide(self, book: CampaignBook, rows: Ints, obs: Observation) -> Action:
        """Bids of these rows; what is remembered changes only if they are bids."""
        self._grow(book)
        key = rows.tobytes()
        batch, begun = self._batches.get(key), self._epoch[rows] == book.table("epoch")[rows]
        if batch is None or not begun.all() or (self._stamp[rows] != batch.stamp).any():
            batch = _Batch(self._resumed(book, rows, begun), 0)
        self._batches.pop(key, None)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            action = batch.policy.act(obs)
        _check(action, self.number)
        self._keep(book, rows, batch)
        return action

    def _keep(self, book: CampaignBook, rows: Ints, batch: _Batch) -> None:
        self._calls += 1
        batch.stamp = self._calls
        self._stamp[rows] = self._calls
        self._epoch[rows] = book.table("epoch")[rows]
        self._store(rows, batch.policy.state())
        self._batches[rows.tobytes()] = batch
        while len(self._batches) > _KEPT_BATCHES:
            self._batches.popitem(last=False)

    def _resumed(self, book: CampaignBook, rows: Ints, begun: Bools) -> Bidder:
        policy, brief = self._build(), self._brief(book, rows)
        if begun.all():
            policy.load_state(brief, take_state(self._tables, rows))
            return policy
        policy.begin(take(brief, np.flatnonzero(~begun)) if begun.any() else brief)
        if begun.any():
            self._store(rows[~begun], policy.state())
            policy.load_state(brief, take_state(self._tables, rows))
        return policy

    def _brief(self, book: CampaignBook, rows: Ints) -> Brief:
        columns: dict[str, Any] = {column.name: book.table(column.name)[rows] for column in BRIEF_COLUMNS}
        return replace(self._template, **columns)

    def _store(self, rows: Ints, state: PolicyState) -> None:
        for name, array in state.items():
            if name not in self._tables:
                self._tables[name] = np.zeros((len(self._epoch), *array.shape[1:]), array.dtype)
            self._tables[name][rows] = array

    def _grow(self, book: CampaignBook) -> None:
        if (more := book.capacity - len(self._epoch)) > 0:
            none = np.zeros(more, np.int64)
            self._epoch, self._stamp = np.concatenate([self._epoch, none]), np.concatenate([self._stamp, none])
            for name, table in self._tables.items():
                self._tables[name] = np.concatenate([table, np.zeros((more, *table.shape[1:]), table.dtype)])


def _check(action: Action, number: int) -> None:
    bids = action.bid_micros
    if bids.dtype != np.int64 or bids.min(initial=0) < 0 or bids.max(initial=0) > _HIGHEST_BID:
        raise BadBids(f"version {number} bid {bids.min()} to {bids.max()} micros; allowed: 0 to {_HIGHEST_BID}")
    if action.pace is not None and not ((action.pace >= 0) & (action.pace <= 1)).all():
        raise BadBids(f"version {number} returned a pacing rate outside 0 to 1")
