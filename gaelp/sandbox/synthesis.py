"""Run an incumbent on the exchange for some weeks and keep everything that happened; in process, without a server."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import numpy as np

from gaelp.arrays import Floats, Ints
from gaelp.sandbox.auctions.account_calendar import AccountDay
from gaelp.sandbox.exchange import TICK_SECONDS, Exchange
from gaelp.sandbox.exchange_events import ExchangeEvents, join_events
from gaelp.sandbox.incumbent import IncumbentCampaign, SynthesisSpec, draw_actions, incumbent_campaigns
from gaelp.sandbox.spec import SandboxSpec
from gaelp.sandbox.world_call import BidPoint

__all__ = ["SimulatedPoint", "SynthesizedHistory", "history_hours", "synthesize"]

POINT_FACTORS = (0.4, 0.65, 1.0, 1.6, 2.8)  # of the usual bid
_DAY = timedelta(days=1)
_WEEK_DAYS, _DAY_HOURS = 7, 24
_TICK = timedelta(seconds=TICK_SECONDS)

Progress = Callable[[int, int], None]  # steps done, steps in all


@dataclass(frozen=True, slots=True)
class SimulatedPoint:
    """One bid simulator point of a campaign's ad group, for seven days."""

    campaign: int  # place in the list of campaigns
    group: int  # place in its segments
    first_day: date
    last_day: date
    asked_tick: int
    point: BidPoint


@dataclass(frozen=True, slots=True)
class SynthesizedHistory:
    """What happened in T hours; ticks are minutes since the start of the world."""

    spec: SynthesisSpec
    world: SandboxSpec
    campaigns: tuple[IncumbentCampaign, ...]
    hour_ticks: Ints  # (T,) when each hour began
    end_tick: int
    actions: Floats  # (T, campaigns, groups)
    bid_micros: Ints  # (T, campaigns, groups)
    events: ExchangeEvents
    points: tuple[SimulatedPoint, ...]

    def instant(self, tick: int) -> datetime:
        """When a tick is, UTC."""
        return self.world.start.astimezone(UTC) + tick * _TICK

    def account_day(self, tick: int) -> date:
        """The day of the account's clock that a tick is on."""
        return self.instant(tick).astimezone(self.world.zone).date()


def synthesize(
    spec: SynthesisSpec, world: SandboxSpec, progress: Progress | None = None, *, simulator_points: bool = True
) -> SynthesizedHistory:
    """Bid hour by hour from the first midnight of the account's clock on; the same specs give the same history.

    Without `simulator_points` the bid simulator is not asked, which takes half of the time; all else is the same. Bids
    are then set a week at a time, as a schedule by hour, which takes a quarter of what is left. The simulator would
    multiply the bids that it is asked about by such a schedule, so with it they are set by the hour.
    """
    exchange = Exchange(world)
    campaigns = incumbent_campaigns(spec, world, exchange.price_levels)
    hour_ticks, day_starts = history_hours(world, exchange, spec.weeks)
    point_weeks = (spec.point_weeks or (spec.weeks,)) if simulator_points else ()
    point_ticks = {day_starts[_WEEK_DAYS * week]: week for week in point_weeks}
    steps = _Steps(progress, len(hour_ticks) - 1 + len(point_ticks) * len(campaigns))
    actions, bids, parts, points = [], [], [exchange.advance(int(hour_ticks[0]))], []
    days = _account_days(world, exchange, spec.weeks)
    slots = np.concatenate([day.weekday * _DAY_HOURS + day.hours for day in days])
    for hours in _stretches(slots, whole_weeks=not simulator_points):
        drawn = np.stack([_draw(spec, number, hours, each) for number, each in enumerate(campaigns)], axis=1)
        set_bids = np.stack([each.bids_micros(drawn[:, number]) for number, each in enumerate(campaigns)], axis=1)
        for number, campaign in enumerate(campaigns):
            exchange.serve(
                campaign.with_actions(drawn[0, number])
                if simulator_points
                else campaign.with_schedule(set_bids[:, number], slots[hours.start : hours.stop])
            )
        end = int(hour_ticks[hours.stop])
        parts.append(exchange.advance(end))
        actions.append(drawn)
        bids.append(set_bids)
        steps.next(len(hours))
        if end in point_ticks:
            points += _ask_simulator(exchange, campaigns, day_starts, point_ticks[end], steps)
    return SynthesizedHistory(
        spec=spec,
        world=world,
        campaigns=campaigns,
        hour_ticks=hour_ticks[:-1],
        end_tick=int(hour_ticks[-1]),
        actions=np.concatenate(actions),
        bid_micros=np.concatenate(bids),
        events=join_events(parts),
        points=tuple(points),
    )


def _draw(spec: SynthesisSpec, number: int, hours: range, campaign: IncumbentCampaign) -> Floats:
    """Actions of some hours, (H, groups)."""
    return np.stack([draw_actions(spec, number, hour, len(campaign.segments)) for hour in hours])


def _stretches(slots: Ints, *, whole_weeks: bool) -> Iterator[range]:
    """Hours whose bids are set at once: single ones, or up to a week, in which no hour of the week comes twice."""
    first = 0
    for hour in range(1, len(slots) + 1):
        if hour == len(slots) or not whole_weeks or slots[hour] in slots[first:hour]:
            yield range(first, hour)
            first = hour


class _Steps:
    """Counts steps for a progress bar."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def next(self, count: int = 1) -> None:
        self._done += count
        if self._progress is not None:
            self._progress(self._done, self._total)


def history_hours(world: SandboxSpec, exchange: Exchange, weeks: int) -> tuple[Ints, list[int]]:
    """When each hour of whole account days begins, with the end of the last; and when the days begin."""
    days = _account_days(world, exchange, weeks)
    ticks = np.concatenate([*(day.ticks[:-1] for day in days), days[-1].ticks[-1:]])
    return ticks, [*(int(day.ticks[0]) for day in days), int(ticks[-1])]


def _account_days(world: SandboxSpec, exchange: Exchange, weeks: int) -> list[AccountDay]:
    """Whole days of the account's clock, the first that the world has in full and those after it."""
    first = world.start.astimezone(world.zone).date()
    if exchange.calendar.first_tick(first) < 0:
        first += _DAY
    return [exchange.calendar.day(first + n * _DAY) for n in range(weeks * _WEEK_DAYS)]


def _ask_simulator(
    exchange: Exchange, campaigns: Sequence[IncumbentCampaign], day_starts: list[int], week: int, steps: _Steps
) -> list[SimulatedPoint]:
    """The week that just ended again, with other bids for one ad group at a time."""
    first, last = day_starts[_WEEK_DAYS * (week - 1)], day_starts[_WEEK_DAYS * week]
    first_day = exchange.calendar.day_at(first).ordinal
    points = []
    for number, campaign in enumerate(campaigns):
        for place, group in enumerate(campaign.served.groups):
            bids = [round(group.bid_micros * factor) for factor in POINT_FACTORS]
            for point in exchange.bid_points(campaign.served.id, group.id, bids, first, last):
                days = (date.fromordinal(first_day), date.fromordinal(first_day + _WEEK_DAYS - 1))
                points.append(SimulatedPoint(number, place, *days, last, point))
        steps.next()
    return points
