"""Hour reports of a platform as arrays of a pilot: hours x campaigns x targets, in the plan's order."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from gaelp.arrays import Ints
from gaelp.clock import account_day
from gaelp.pilot.known_hours import HourFigures
from gaelp.pilot.pilot_plan import PilotPlan
from gaelp.platforms.platform import CampaignHour, CampaignState, HourReport

__all__ = ["PilotPlaces", "bids_in_force", "hour_figures", "target_bids"]

_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class PilotPlaces:
    """Where each campaign and target of a plan is in its arrays; `begins` is the first hour of the pilot."""

    begins: datetime
    campaigns: dict[str, int]
    targets: tuple[dict[str, int], ...]
    shape: tuple[int, int]

    @classmethod
    def of(cls, plan: PilotPlan, begins: datetime) -> "PilotPlaces":
        """The places of a plan; campaigns with fewer targets leave the last ones empty."""
        targets = tuple({target: place for place, target in enumerate(each.targets)} for each in plan.campaigns)
        names = {campaign.name: row for row, campaign in enumerate(plan.campaigns)}
        return cls(begins, names, targets, (len(names), max(map(len, targets))))

    def hour(self, instant: datetime) -> int:
        """Hours from the first one on to the one that an instant is in."""
        return (instant - self.begins) // _HOUR

    def start(self, hour: int) -> datetime:
        """The instant at which an hour begins."""
        return self.begins + hour * _HOUR

    def place(self, campaign: str, target: str) -> tuple[int, int] | None:
        """Row and column; None for what is not in the plan."""
        row = self.campaigns.get(campaign)
        column = None if row is None else self.targets[row].get(target)
        return None if row is None or column is None else (row, column)


def hour_figures(report: HourReport, places: PilotPlaces, first: int) -> HourFigures:
    """What the report says of the pilot's hours from `first` on that have ended by its `as_of`."""
    until = max(places.hour(report.as_of), first)
    shape = (until - first, *places.shape)
    impressions, clicks, cost, value = (np.zeros(shape, np.int64) for _ in range(4))
    conversions = np.zeros(shape)
    for hour, (row, column), listed in _placed(report.hours, places):
        if first <= hour < until:
            at = (hour - first, row, column)
            impressions[at] += listed.impressions
            clicks[at] += listed.clicks
            conversions[at] += listed.conversions
            cost[at] += listed.cost_micros
            value[at] += listed.value_micros
    return HourFigures(first, impressions, clicks, conversions, cost, value)


def _placed(hours: Iterable[CampaignHour], places: PilotPlaces) -> Iterable[tuple[int, tuple[int, int], CampaignHour]]:
    for listed in hours:
        place = places.place(listed.campaign, listed.target)
        if place is not None:
            yield places.hour(listed.start), place, listed


def bids_in_force(states: Iterable[CampaignState], places: PilotPlaces, at: datetime, zone: str) -> Ints:
    """The bids with which campaigns take part in auctions at an instant, (N, S); 0 where they do not."""
    today = account_day(at, zone)
    return target_bids((state for state in states if state.status == "enabled" and state.through >= today), places)


def target_bids(states: Iterable[CampaignState], places: PilotPlaces) -> Ints:
    """The bids that campaigns have on the platform, running or not, (N, S); 0 where there is none."""
    bids = np.zeros(places.shape, np.int64)
    for state in states:
        for target, micros in state.bids:
            place = places.place(state.campaign, target)
            if place is not None:
                bids[place] = micros
    return bids
