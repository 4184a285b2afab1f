"""What shadows decided, beside what was really bid: one line a campaign in a file for each version."""

import json
from pathlib import Path

import numpy as np

from gaelp.arrays import Ints
from gaelp.config.private_files import make_private_folder
from gaelp.gateway.campaign_book import CampaignBook
from gaelp.gateway.wire import WireRows
from gaelp.market.view import Action
from gaelp.observability import get_logger

__all__ = ["ShadowTraffic"]

log = get_logger(__name__)


class ShadowTraffic:
    """Appends to `shadow-VERSION.jsonl` in a folder, up to so many rows in all; those beyond are counted and logged."""

    def __init__(self, folder: Path, most_rows: int) -> None:
        self._folder, self._left = folder, most_rows
        self.dropped = 0
        self._mean_log: dict[int, tuple[int, float]] = {}

    def add(self, version: int, asked: WireRows, book: CampaignBook, rows: Ints, action: Action) -> None:
        """Record the shadow's bids and those that were given out for the same hour."""
        served = book.table("bid_micros")[rows]
        ratio = np.log(np.maximum(action.bid_micros, 1) / np.maximum(served, 1)).mean(axis=1)
        count, total = self._mean_log.get(version, (0, 0.0))
        self._mean_log[version] = (count + len(rows), total + float(ratio.sum()))
        kept = min(len(rows), self._left)
        if kept < len(rows):
            if not self.dropped:
                log.warning("shadow decisions are no longer recorded: gateway.shadow_rows is reached")
            self.dropped += len(rows) - kept
        self._left -= kept
        if kept:
            make_private_folder(self._folder)
            hours, by = asked.arrays["hour"], book.table("version")[rows]
            with (self._folder / f"shadow-{version}.jsonl").open("a", encoding="utf-8") as file:
                for place in range(kept):
                    line = {
                        "campaign": asked.campaigns[place],
                        "hour": int(hours[place]),
                        "served_by": int(by[place]),
                        "served_bid_micros": served[place].tolist(),
                        "shadow_bid_micros": action.bid_micros[place].tolist(),
                    }
                    file.write(json.dumps(line) + "\n")

    def mean_log_ratio(self, version: int) -> float | None:
        """Mean log of the shadow's bids over those given out; None before its first decision."""
        count, total = self._mean_log.get(version, (0, 0.0))
        return total / count if count else None
