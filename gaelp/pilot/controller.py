"""Decide the bids of N campaigns of different age in one call of the policy, from what was reported so far; no I/O.

An hour of a pilot runs `report` (what is known now), `decide` (bids for the coming hour) and `pass_hour` (the bids that
are really in force in it). Hours are counted from the first hour of the pilot, which begins at midnight of the account.
A policy was trained on flights of some hours: every campaign runs in consecutive flights of that length from its own
first hour on, with what was learned in the flights before.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gaelp.arrays import Bools, Floats, Ints
from gaelp.errors import BadInput
from gaelp.history.logged_bidders import KnownSegments
from gaelp.market.baselines.bids import Bidder
from gaelp.market.campaign_rows import join_states, take, take_state
from gaelp.market.from_reports.bids import BidRules, ClickBids, click_bids
from gaelp.market.from_reports.driving import Driving, DrivingSpec
from gaelp.market.from_reports.report_model import ObserverSpec, report_model
from gaelp.market.market import Market
from gaelp.market.policy_state import part_of, prefixed
from gaelp.market.view import Action, Brief, Observation
from gaelp.pilot.known_hours import HourFigures, KnownHours
from gaelp.types import PolicyState, SegmentBelief

__all__ = ["BidController", "CampaignHours", "Controller", "Decision"]

_LEAST_REMEMBERED_HOURS = 48


@dataclass(frozen=True, slots=True)
class CampaignHours:
    """When each campaign runs, counted from the first hour of the pilot."""

    first: Ints  # (N,)
    hours: Ints  # (N,) how many from then on

    @classmethod
    def same(cls, campaigns: int, hours: int) -> "CampaignHours":
        """All run from the first hour on, equally long."""
        return cls(np.zeros(campaigns, np.int64), np.full(campaigns, hours, np.int64))

    def running(self, hour: int) -> Bools:
        """Which run in an hour, (N,)."""
        return np.asarray((self.first <= hour) & (hour < self.first + self.hours))


@dataclass(frozen=True, slots=True)
class Decision:
    """The bids of the coming hour, for the campaigns that run in it."""

    hour: int
    rows: Ints  # (n,) campaigns that run
    bids: ClickBids  # of these campaigns
    log_factor: Floats  # (n, S) log of the bid over the reference bid
    brief: Brief  # of these campaigns' flights
    observation: Observation  # what the policy saw of them
    action: Action  # what it answered
    daily_micros: Ints | None = None  # (n,) budgets for the day; none: those of the plan


class BidController(Protocol):
    """Who decides the bids of a loop's campaigns, hour by hour; `Controller` says when each is called."""

    @property
    def hour(self) -> int:
        """The coming hour."""
        ...

    @property
    def has_ended(self) -> bool:
        """Whether nothing is left to decide, although hours are left."""
        ...

    @property
    def is_restoring(self) -> bool:
        """Whether bids are being brought back after a failure: decided every hour, however rarely it is otherwise."""
        ...

    def decide(self) -> Decision:
        """Bids for the coming hour of the campaigns that run in it."""
        ...

    def pass_hour(self, bid_micros: Ints) -> None:
        """The hour begins with these bids in force, (N, S); 0 where a campaign does not take part in auctions."""
        ...

    def report(self, figures: HourFigures) -> None:
        """Take in the newest figures of all hours that are open to revision."""
        ...

    def state(self) -> PolicyState:
        """Everything that was remembered, as arrays by name."""
        ...

    def load_state(self, state: PolicyState) -> None:
        """Resume the same campaigns with what `state` returned."""
        ...


class Controller:
    """N campaigns x S segments, driven by one policy."""

    def __init__(
        self,
        policy: Bidder,
        known: KnownSegments,
        reference_bid_micros: Ints,
        market: Market,
        rules: BidRules,
        *,
        runs: CampaignHours,
        revised_hours: int = 24 * 30,
    ) -> None:
        """Campaigns before their first hour.

        `known` is about these campaigns in this order, its brief about flights that begin in hour 0. The reference
        bids, (N, S), are the usual ones for a click. What is reported of an hour counts for `revised_hours`.
        """
        self._policy, self._known, self._runs, self._rules = policy, known, runs, rules
        self._reference = np.asarray(reference_bid_micros, np.float64)
        if self._reference.shape != known.brief.persona.shape:
            raise BadInput(
                f"reference bids of shape {self._reference.shape}; allowed: {known.brief.persona.shape}, one for each"
                " segment of each campaign"
            )
        self._flight_hours = int(known.brief.hours.max())
        observer = ObserverSpec(revised_hours=max(self._flight_hours, _LEAST_REMEMBERED_HOURS))
        spec = DrivingSpec(bids=rules, observer=observer, carried_share=1.0)
        model = report_model(market.spec, market.landscapes)
        self._driving = Driving(known.brief, model, (known.click_rate, known.paid_factor), spec)
        self._known_hours = KnownHours(known.brief.persona.shape, revised_hours)
        self._rows = np.zeros(0, np.int64)  # of the campaigns that the policy runs
        self._hour = 0

    @property
    def hour(self) -> int:
        """The coming hour."""
        return self._hour

    @property
    def has_ended(self) -> bool:
        """A pilot runs all of its hours."""
        return False

    @property
    def is_restoring(self) -> bool:
        """A pilot has nothing to go back to."""
        return False

    @property
    def reported_hours(self) -> int:
        """How many hours, from the first on, were reported."""
        return self._known_hours.until

    @property
    def brief(self) -> Brief:
        """Of the flights that the campaigns are in."""
        return self._driving.brief

    def decide(self) -> Decision:
        """Bids for the coming hour of the campaigns that run in it."""
        self._begin_flights()
        rows = self._rows
        obs, brief = take(self._driving.observer.observe(), rows), take(self._driving.brief, rows)
        action = self._policy.act(obs) if len(rows) else _no_action(self._reference)
        reference = self._reference[rows]
        bids = click_bids(action, self._driving.bid_scale()[rows], self._rules, reference)
        return Decision(self._hour, rows, bids, np.log(bids.bid_micros / reference), brief, obs, action)

    def pass_hour(self, bid_micros: Ints) -> None:
        """The hour begins with these bids in force, (N, S); 0 where a campaign does not take part in auctions."""
        self._begin_flights()
        self._driving.bid(np.asarray(bid_micros, np.int64), self._rows)
        self._hour += 1

    def report(self, figures: HourFigures) -> None:
        """Take in the newest figures of all hours that are open to revision; hours that changed are corrected."""
        if figures.until > self._hour:
            raise BadInput(
                f"hours until {figures.until} reported, {self._hour} have begun: note the bids of an hour before its"
                " report"
            )
        changes, rows = self._known_hours.take_in(figures, self._runs.first, self._runs.first + self._runs.hours)
        for row in rows:
            self._driving.report(row)
        self._driving.revise(changes)

    def state(self) -> PolicyState:
        """Everything that was remembered, as arrays by name."""
        own = {"hour": np.array([self._hour]), "rows": self._rows}
        policy = self._policy.state() if len(self._rows) else {}
        parts = {"driving": self._driving.state(), "known_hours": self._known_hours.state(), "policy": policy}
        joined = {name: array for part, state in parts.items() for name, array in prefixed(part, state).items()}
        return own | {name: array.copy() for name, array in joined.items()}

    def load_state(self, state: PolicyState) -> None:
        """Resume the same campaigns with what `state` returned: the same bids follow, to the bit."""
        self._hour, self._rows = int(state["hour"][0]), state["rows"].copy()
        self._driving.load_state(part_of("driving", state))
        self._known_hours.load_state(part_of("known_hours", state))
        if len(self._rows):
            self._policy.load_state(take(self._driving.brief, self._rows), part_of("policy", state))

    def _begin_flights(self) -> None:
        """Campaigns that begin in the coming hour join the policy's batch, those that ended leave it."""
        age = self._hour - self._runs.first
        running = self._runs.running(self._hour)
        begins = running & (age % self._flight_hours == 0) & ~self._begun()
        rows = np.flatnonzero(running)
        if np.array_equal(rows, self._rows) and not begins.any():
            return
        if begins.any():
            left = self._runs.hours - age
            self._driving.begin(np.flatnonzero(begins), self._hour, np.minimum(left, self._flight_hours)[begins])
        self._splice(rows, begins)

    def _begun(self) -> Bools:
        """Which campaigns have begun the flight of the coming hour already."""
        return np.asarray(self._driving.started == self._hour)

    def _splice(self, rows: Ints, begins: Bools) -> None:
        """Let the policy run these campaigns: those that begin a flight afresh, the others from their state."""
        brief, states, order = self._driving.brief, [], []
        resumed = np.array([row for row in self._rows if row in rows and not begins[row]], np.int64)
        if len(resumed):
            states.append(take_state(self._policy.state(), np.searchsorted(self._rows, resumed)))
            order.append(resumed)
        if len(fresh := np.flatnonzero(begins)):
            belief = self._known.belief
            self._policy.begin(take(brief, fresh), SegmentBelief(belief.value_log[fresh], belief.value_log_sd[fresh]))
            states.append(self._policy.state())
            order.append(fresh)
        self._rows = rows
        if len(rows):
            place = np.argsort(np.concatenate(order))
            self._policy.load_state(take(brief, rows), take_state(join_states(states), place))


def _no_action(reference: Floats) -> Action:
    return Action(np.zeros((0, reference.shape[1]), np.int64))
