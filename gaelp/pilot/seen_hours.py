"""All hours of a pilot as they are known now, from its first hour on: what rules, evidence and figures read."""

from datetime import datetime, timedelta

import numpy as np

from gaelp.arrays import Bools, Floats, Ints
from gaelp.clock import account_day
from gaelp.pilot.decision_book import MoneySoFar
from gaelp.pilot.known_hours import HourFigures
from gaelp.pilot.pilot_figures import PilotFigures
from gaelp.pilot.pilot_plan import PilotPlan

__all__ = ["SeenHours", "pilot_figures"]

_HOUR = timedelta(hours=1)


class SeenHours:
    """The newest figures of each hour; `until` is the first hour that is not reported."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.until = 0
        self._shape = shape
        self.impressions, self.clicks, self.cost_micros, self.value_micros = (
            np.zeros((0, *shape), np.int64) for _ in range(4)
        )
        self.conversions: Floats = np.zeros((0, *shape))

    def take_in(self, figures: HourFigures) -> Bools:
        """Replace what is known of the hours of a report; returns where a figure is new or changed, (H, N, S).

        A report that ends before the newest known hour is an old one and is ignored.
        """
        changed = np.zeros(figures.impressions.shape, np.bool_)
        if figures.until < self.until:
            return changed
        known = len(self.impressions)
        for name in ("impressions", "clicks", "conversions", "cost_micros", "value_micros"):
            kept, given = getattr(self, name), getattr(figures, name)
            if figures.until > known:
                more = np.zeros((figures.until - known, *self._shape), kept.dtype)
                kept = np.concatenate([kept, more])
            changed |= kept[figures.first : figures.until] != given
            kept[figures.first : figures.until] = given
            setattr(self, name, kept)
        fresh = max(self.until - figures.first, 0)
        changed[fresh:] = True
        self.until = figures.until
        return changed

    def money(self, hour: int) -> MoneySoFar:
        """All hours together, as they are known at this hour of the pilot."""
        return MoneySoFar(
            hour=hour,
            spend_micros=int(self.cost_micros.sum()),
            value_micros=int(self.value_micros.sum()),
            clicks=int(self.clicks.sum()),
            conversions=float(self.conversions.sum()),
        )

    @property
    def spend_by_hour(self) -> Ints:
        """(H,) of all campaigns."""
        return np.asarray(self.cost_micros.sum(axis=(1, 2)), np.int64)


def pilot_figures(reported: SeenHours, plan: PilotPlan, begins: datetime, as_of: datetime) -> PilotFigures:
    """What the pilot brought by day of the account and campaign; conversions count on the day of their click."""
    days = [account_day(begins + hour * _HOUR, plan.time_zone) for hour in range(len(reported.impressions))]
    order = sorted(set(days))
    index = np.array([order.index(day) for day in days], np.int64)
    names = tuple(campaign.name for campaign in plan.campaigns)
    sums = {}
    for name in ("impressions", "clicks", "conversions", "cost_micros", "value_micros"):
        by_hour = getattr(reported, name).sum(axis=2)
        total = np.zeros((len(order), len(names)), by_hour.dtype)
        np.add.at(total, index, by_hour)
        sums[name] = total
    return PilotFigures(
        as_of=as_of,
        days=tuple(order),
        campaigns=names,
        spend_micros=sums["cost_micros"],
        impressions=sums["impressions"],
        clicks=sums["clicks"],
        conversions=sums["conversions"],
        value_micros=sums["value_micros"],
    )
