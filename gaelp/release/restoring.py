"""What the platform has after a rollback, beside what it should have: the control's bids and the first budgets."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from gaelp.arrays import Ints
from gaelp.pilot.decision_book import DecisionBook, PilotEvent
from gaelp.pilot.report_arrays import PilotPlaces, target_bids
from gaelp.platforms.platform import CampaignState

__all__ = ["SAME_BID", "ReadBack", "note_read_back", "read_back"]

SAME_BID = 0.06  # as a log factor; smaller differences are not sent, see bid_change_worth


@dataclass(frozen=True, slots=True)
class ReadBack:
    """What was read back of campaigns that exist, by name."""

    restored: tuple[str, ...]
    other_bids: tuple[str, ...]
    other_budgets: tuple[str, ...]

    @property
    def is_off(self) -> bool:
        """Whether a campaign is not as it should be."""
        return bool(self.other_bids or self.other_budgets)

    @property
    def text(self) -> str:
        """In words."""
        if not self.is_off:
            return f"{len(self.restored)} campaigns have the control's bids and their first budgets again, read back"
        parts = {"bids": self.other_bids, "budgets": self.other_budgets}
        return "NOT RESTORED: " + "; ".join(f"{what} of {', '.join(names)}" for what, names in parts.items() if names)


def read_back(states: Iterable[CampaignState], places: PilotPlaces, bids: Ints, daily: Ints) -> ReadBack:
    """Compare campaigns on the platform with bids (N, S) and budgets (N,)."""
    known = {state.campaign: state for state in states if state.bids}
    there = target_bids(known.values(), places)
    off = np.abs(np.log(np.maximum(there, 1) / np.maximum(bids, 1)))
    far = np.asarray(((off > SAME_BID) & (bids > 0) & (there > 0)).any(axis=1))
    rows = {name: places.campaigns[name] for name in known if name in places.campaigns}
    other_bids = tuple(name for name, row in rows.items() if far[row])
    other_budgets = tuple(name for name, row in rows.items() if known[name].daily_micros != daily[row])
    restored = tuple(name for name in rows if name not in {*other_bids, *other_budgets})
    return ReadBack(restored, other_bids, other_budgets)


def note_read_back(book: DecisionBook, read: ReadBack, at: datetime, *, decided: PilotEvent, hours: int) -> str:
    """Record what was read back, so many hours of the platform after the decision; returns the text."""
    seconds = (at - decided.at).total_seconds()
    what = f"{read.text}; {hours} hours of the platform and {seconds:.1f} s after the decision"
    figures = {"subject": "restored", "is_restored": not read.is_off, "hours": hours, "seconds": seconds}
    book.add_event("note", what, at, figures=figures)
    return what
