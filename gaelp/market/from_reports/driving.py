"""Campaigns driven along their reports: observer and click rates of N campaigns, each in a flight of its own.

Hours are counted from hour 0 of the account's period, the same for all campaigns; each campaign begins its flights in
hours of its own. A log and a running account are driven by the same code.
"""

from dataclasses import replace

import numpy as np
from pydantic import Field, PositiveFloat

from gaelp.arrays import Bools, Floats, Ints
from gaelp.config.base import Frozen
from gaelp.config.field_types import Share
from gaelp.errors import BadInput
from gaelp.market.from_reports.bids import BidRules, impression_bid_log
from gaelp.market.from_reports.click_rates import PRIOR_CLICKS, predicted_click_rate
from gaelp.market.from_reports.flights import flight_brief
from gaelp.market.from_reports.observer import Observer
from gaelp.market.from_reports.report_model import ObserverSpec, ReportModel
from gaelp.market.from_reports.reported_hours import LateChanges, ReportedHours
from gaelp.market.policy_state import part_of, prefixed
from gaelp.market.view import Brief
from gaelp.types import PolicyState

__all__ = ["Driving", "DrivingSpec"]


class DrivingSpec(Frozen):
    """How a policy is driven along reports."""

    bids: BidRules = BidRules()
    observer: ObserverSpec = ObserverSpec()
    prior_clicks: PositiveFloat = Field(default=PRIOR_CLICKS, description="clicks that the first click rates are worth")
    carried_share: Share = Field(
        default=0.0, description="share of earlier flights' clicks and conversions that counts as evidence in the next"
    )


class Driving:
    """What is known of N campaigns while their hours pass and are reported."""

    def __init__(
        self,
        brief: Brief,
        model: ReportModel,
        scale: tuple[Floats, Floats | float],
        spec: DrivingSpec,
    ) -> None:
        """Before the first flights; `brief` is that of flights which begin in hour 0, with the length of all.

        `scale` is the click rate to begin with, (N, S), and by how much a bid for an impression, in the market's
        prices as paid, exceeds what the same bid for clicks offers, (N, S) or one for all.
        """
        self.spec = spec
        self._brief, self._model = brief, model
        self._first_rate, self._paid_factor = scale
        pair = brief.persona.shape
        self._clicks, self._impressions = np.zeros(pair), np.zeros(pair)  # known so far, of all flights
        self._start = np.full(brief.campaigns, -1, np.int64)  # hour in which the flight began; -1: none has
        self._length = brief.hours.copy()
        self.observer = Observer(brief, model, spec.observer)

    @property
    def brief(self) -> Brief:
        """Of the flights that the campaigns are in."""
        return self.observer.brief

    @property
    def started(self) -> Ints:
        """The hour in which each campaign began its flight, (N,); -1 before its first."""
        return self._start.copy()

    def begin(self, rows: Ints, hour: int, length: Ints | int) -> None:
        """These campaigns begin their first or next flight in this hour, so many hours long."""
        before, first = self.observer, self._start < 0
        self._start[rows], self._length[rows] = hour, length
        brief = self._flight_brief()
        kept = before.state()
        following = before.next_flight(brief, self.spec.carried_share).state()
        fresh = Observer(brief, self._model, self.spec.observer).state()
        for name, array in kept.items():
            array[rows] = np.where(_wide(first[rows], array), fresh[name][rows], following[name][rows])
        self.observer = Observer(brief, self._model, self.spec.observer)
        self.observer.load_state(brief, kept)

    def bid_scale(self) -> Floats:
        """What a bid for an impression is to one for a click, by all that is known now, (N, S)."""
        rate = predicted_click_rate(
            self._first_rate, self._clicks, self._impressions, prior_clicks=self.spec.prior_clicks
        )
        return np.asarray(np.minimum(rate * self._paid_factor, 1.0))

    def bid(self, bid_micros: Ints, rows: Ints | None = None) -> None:
        """Note the bids for clicks (N, S) in force in the hour that begins; 0 is no bid. Without `rows`, of all."""
        bid_log = np.where(bid_micros > 0, impression_bid_log(bid_micros, self.bid_scale()), 0.0)
        self.observer.bid(bid_log, rows)

    def report(self, rows: ReportedHours) -> None:
        """Take in one hour of each campaign that has a row (-1: none); the hours of a flight come in their order."""
        self._count(np.flatnonzero(rows.hour >= 0), rows)
        hour = rows.hour - self._start
        inside = (rows.hour >= 0) & (self._start >= 0) & (hour >= 0)
        if inside.any():
            self.observer.report(replace(rows, hour=np.where(inside, hour, -1)))
        if (before := (rows.hour >= 0) & ~inside).any():
            self.observer.revise(_as_changes(rows, before, hour))

    def _count(self, campaigns: Ints, rows: ReportedHours) -> None:
        self._clicks[campaigns] += rows.clicks[campaigns]
        self._impressions[campaigns] += rows.impressions[campaigns]

    def revise(self, changes: LateChanges) -> None:
        """Correct hours that were reported before."""
        pair = (changes.campaign, changes.segment)
        np.add.at(self._clicks, pair, changes.clicks)
        np.add.at(self._impressions, pair, changes.impressions)
        self.observer.revise(replace(changes, hour=changes.hour - self._start[changes.campaign]))

    def report_share(self, first_hour: int, last_hour: int, impressions: Ints, share: Floats) -> None:
        """Take in impression shares (N, S) of the hours from first to before last."""
        self.observer.report_share(first_hour - self._start, last_hour - self._start, impressions, share)

    def state(self) -> PolicyState:
        """Everything that was remembered, copied; one row a campaign."""
        own = {"start": self._start, "length": self._length, "clicks": self._clicks, "impressions": self._impressions}
        return {name: array.copy() for name, array in own.items()} | dict(prefixed("observer", self.observer.state()))

    def load_state(self, state: PolicyState) -> None:
        """Resume the same campaigns."""
        if missing := {"start", "length", "clicks", "impressions"} - state.keys():
            raise BadInput(f"the state of the campaigns lacks {', '.join(sorted(missing))}: load one that was saved")
        self._start, self._length = state["start"].copy(), state["length"].copy()
        self._clicks, self._impressions = state["clicks"].copy(), state["impressions"].copy()
        self.observer.load_state(self._flight_brief(), part_of("observer", state))

    def _flight_brief(self) -> Brief:
        return flight_brief(self._brief, np.maximum(self._start, 0), self._length)


def _as_changes(rows: ReportedHours, before: Bools, hour: Ints) -> LateChanges:
    """Rows of earlier flights, as changes for the totals that are carried over; hours count from this flight on."""
    values = np.zeros_like(rows.cost_micros) if rows.value_micros is None else rows.value_micros
    figures = (rows.impressions, rows.clicks, rows.conversions, rows.cost_micros, values)
    something = np.any([figure != 0 for figure in figures], axis=0) & before[:, None]
    campaign, segment = place = np.nonzero(something)
    return LateChanges(
        campaign=campaign,
        segment=segment,
        hour=hour[campaign],
        impressions=rows.impressions[place],
        clicks=rows.clicks[place],
        conversions=rows.conversions[place],
        cost_micros=rows.cost_micros[place],
        value_micros=values[place],
    )


def _wide(mask: Bools, array: Floats) -> Bools:
    """A mask of campaigns, for an array with one row a campaign."""
    return mask.reshape(-1, *(1,) * (array.ndim - 1))
