"""An agent that drives a simulated pilot hour by hour, through the controller and reports that lag."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gaelp.arrays import Ints
from gaelp.bench.pilot_world import PilotWorld
from gaelp.history.logged_bidders import known_segments
from gaelp.market.baselines.bids import Bidder
from gaelp.market.calibration.segment_estimates import SegmentEstimates
from gaelp.market.from_reports.bids import BidRules
from gaelp.market.market import Market
from gaelp.pilot.controller import CampaignHours, Controller
from gaelp.pilot.known_hours import HourFigures
from gaelp.sandbox.exchange_events import ExchangeEvents, Rows
from gaelp.sandbox.serving import ServedCampaign

__all__ = ["DrivenPilot", "segment_groups"]


def segment_groups(world: PilotWorld, estimates: SegmentEstimates) -> Ints:
    """Which ad group of its campaign each estimated segment is, (N, S); campaigns in the same order in both."""
    return np.array(
        [
            [campaign.segments.index(name) for name in names]
            for campaign, names in zip(world.campaigns, estimates.segment_names, strict=True)
        ]
    )


@dataclass
class DrivenPilot:
    """Called hour by hour with what happened in the hour before; answers with the campaigns to serve."""

    world: PilotWorld
    estimates: SegmentEstimates  # of the same campaigns, with the budgets of the pilot
    controller: Controller
    hour_ticks: Ints  # (T + 1,) when each hour begins, and when the last one ends

    @classmethod
    def of(
        cls,
        world: PilotWorld,
        estimates: SegmentEstimates,
        policy: Bidder,
        market: Market,
        *,
        hour_ticks: Ints,
        start_hour_of_week: int,
        reach: float,
    ) -> "DrivenPilot":
        """A pilot before its first hour; reports lag as those of the world do."""
        controller = Controller(
            policy,
            known_segments(market, estimates, start_hour_of_week),
            np.rint(estimates.usual_bid_micros).astype(np.int64),
            market,
            BidRules(reference_factor=reach),
            runs=CampaignHours.same(len(world.campaigns), len(hour_ticks) - 1),
        )
        return cls(world, estimates, controller, hour_ticks)

    def __post_init__(self) -> None:
        self._groups = segment_groups(self.world, self.estimates)
        self._place = {
            campaign.served.groups[group].id: (n, s)
            for n, campaign in enumerate(self.world.campaigns)
            for s, group in enumerate(self._groups[n])
        }
        shape = (len(self.hour_ticks) - 1, *self._groups.shape)
        self._counts = {name: np.zeros(shape, np.int64) for name in ("impressions", "clicks", "cost_micros")}
        self._sales: list[tuple[int, int, int, int, int]] = []  # when reported, hour, campaign, segment, value
        self._sold, self._value = np.zeros(shape), np.zeros(shape, np.int64)

    def __call__(self, hour: int, events: ExchangeEvents) -> Sequence[ServedCampaign]:
        """Report what is known now, decide, and serve the decided bids."""
        self._take_in(events)
        known = max(hour - self.world.spec.reports.lag_hours, 0)
        if known:
            self._report(hour, known)
        bids = self.controller.decide().bids.bid_micros
        self.controller.pass_hour(bids)
        return [self._served(n, bids[n]) for n in range(len(self.world.campaigns))]

    def _served(self, n: int, bids: Ints) -> ServedCampaign:
        campaign = self.world.campaigns[n].served
        by_group = dict(zip(self._groups[n].tolist(), bids.tolist(), strict=True))
        groups = tuple(replace(group, bid_micros=by_group[place]) for place, group in enumerate(campaign.groups))
        return replace(campaign, groups=groups, daily_micros=int(self.estimates.daily_budget_micros[n]))

    def _take_in(self, events: ExchangeEvents) -> None:
        hours = self._in_pilot(events.hours, "hour_tick")
        at = self._at(hours, "hour_tick")
        for name, counts in self._counts.items():
            np.add.at(counts, at, hours[name])
        sales = self._in_pilot(events.conversions, "click_tick")
        hour, campaign, segment = self._at(sales, "click_tick")
        rows = (sales["reported_tick"], hour, campaign, segment, sales["value_micros"])
        self._sales += zip(*(part.tolist() for part in rows), strict=True)

    def _report(self, hour: int, known: int) -> None:
        now, waiting = int(self.hour_ticks[hour]), []
        for sale in self._sales:
            reported, *place, value = sale
            if reported <= now and place[0] < known:
                self._sold[tuple(place)] += 1
                self._value[tuple(place)] += value
            else:
                waiting.append(sale)
        self._sales = waiting
        figures = HourFigures(
            first=0,
            conversions=self._sold[:known].copy(),
            value_micros=self._value[:known].copy(),
            **{name: counts[:known] for name, counts in self._counts.items()},
        )
        self.controller.report(figures)

    def _in_pilot(self, rows: Rows, tick: str) -> Rows:
        inside: Rows = rows[(rows[tick] >= self.hour_ticks[0]) & np.isin(rows["group"], list(self._place))]
        return inside

    def _at(self, rows: Rows, tick: str) -> tuple[Ints, Ints, Ints]:
        hour = np.minimum(np.searchsorted(self.hour_ticks, rows[tick], side="right"), len(self._sold)) - 1
        places = np.array([self._place[int(group)] for group in rows["group"]], np.int64).reshape(-1, 2)
        return hour, places[:, 0], places[:, 1]
