"""Pilots on worlds of the local ad platform, in process: a bidder for some days, and the truth behind its sales.

A world has a history from which an account is fitted. A pilot continues it with other random numbers: the same
products, rivals and buyers, and another course of searches, clicks and sales. So one world can be piloted many times.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

import numpy as np

from gaelp.arrays import Floats, Ints
from gaelp.sandbox.auctions.account_calendar import TICK_SECONDS, AccountCalendar
from gaelp.sandbox.auctions.exchange_arrays import new_state
from gaelp.sandbox.auctions.exchange_rules import exchange_rules
from gaelp.sandbox.campaign_rows import row_of
from gaelp.sandbox.exchange import Exchange
from gaelp.sandbox.exchange_events import NEVER, ExchangeEvents, Rows, join_events
from gaelp.sandbox.incumbent import IncumbentCampaign
from gaelp.sandbox.product_market import ProductMarket
from gaelp.sandbox.serving import ServedCampaign
from gaelp.sandbox.spec import SandboxSpec

__all__ = ["Flight", "HourlyBids", "PilotOutcome", "PilotWorld", "fly", "pilot_hours"]

HourlyBids = Callable[
    [int, ExchangeEvents], Sequence[ServedCampaign]
]  # hour, events of the one before -> what to serve

_DAY = timedelta(days=1)
_AFTER_TICKS = 180  # after the last day, until the last late click is billed


@dataclass(frozen=True, slots=True)
class PilotWorld:
    """A world, its campaigns, and the tick at which its history ends, which is midnight of the account."""

    spec: SandboxSpec
    campaigns: tuple[IncumbentCampaign, ...]
    end_tick: int


@dataclass(frozen=True, slots=True)
class Flight:
    """How a pilot runs."""

    days: int
    settle_days: int
    warm_days: int = 4  # of the incumbent before: fatigue has a half-life of two days
    key: int = 0  # of the random numbers


@dataclass(frozen=True, slots=True)
class PilotOutcome:
    """D days x N campaigns as known at the end of the settling days, and the truth."""

    days: tuple[date, ...]
    as_of: datetime
    spend_micros: Ints
    impressions: Ints
    clicks: Ints
    conversions: Floats
    value_micros: Ints
    sales: Floats
    sale_value_micros: Ints
    true_spend_micros: Floats  # (N,) credits taken off, however late
    true_value_micros: Floats  # (N,) expected value of all clicks, refunds taken off

    @property
    def true_roi(self) -> float:
        """What the pilot returns in expectation."""
        return float(self.true_value_micros.sum() / self.true_spend_micros.sum()) - 1


def fly(
    world: PilotWorld, flight: Flight, bids: Sequence[ServedCampaign] | HourlyBids, warm: Sequence[ServedCampaign]
) -> PilotOutcome:
    """Serve campaigns for the days of a pilot: the same all the time, or new ones each hour, after `warm`."""
    run = _Run(world, flight)
    first, last = run.hour_ticks[0], run.hour_ticks[-1]
    run.serve(warm, first - 1440 * flight.warm_days)
    run.advance(first)
    expected = run.expected_value()
    events: list[ExchangeEvents] = []
    if callable(bids):
        for hour, end in enumerate(run.hour_ticks[1:]):
            run.serve(bids(hour, events[-1] if events else join_events([])), run.tick)
            events.append(run.advance(int(end)))
        campaigns = [market.served[number + 1] for number, market in enumerate(run.markets)]
    else:
        run.serve(bids, first)
        events.append(run.advance(int(last)))
        campaigns = list(bids)
    run.serve([replace(campaign, enabled=False) for campaign in campaigns], run.tick)
    events.append(run.advance(int(last) + _AFTER_TICKS))
    return run.outcome(join_events(events), run.expected_value() - expected)


def pilot_hours(world: PilotWorld, flight: Flight) -> Ints:
    """When each hour of the pilot begins, in ticks, and when the last one ends."""
    calendar = Exchange(world.spec).calendar
    return _hour_ticks(calendar, _days(calendar, world, flight))


def _days(calendar: AccountCalendar, world: PilotWorld, flight: Flight) -> tuple[date, ...]:
    first = date.fromordinal(calendar.day_at(world.end_tick).ordinal)
    return tuple(first + number * _DAY for number in range(flight.days))


def _hour_ticks(calendar: AccountCalendar, days: tuple[date, ...]) -> Ints:
    ticks = [calendar.day(day).ticks for day in days]
    return np.concatenate([*(day[:-1] for day in ticks), ticks[-1][-1:]])


class _Run:
    """One product market for each campaign, with random numbers of its own."""

    def __init__(self, world: PilotWorld, flight: Flight) -> None:
        self.world, self.flight = world, flight
        exchange = Exchange(world.spec)
        self._rules, self._calendar = exchange_rules(world.spec), exchange.calendar
        keys = np.random.default_rng([world.spec.seed, 977, flight.key]).integers(2**63, size=len(world.campaigns))
        self.markets = []
        for campaign, key in zip(world.campaigns, keys, strict=True):
            traits = exchange.traits(campaign.served.product)._replace(key=np.uint64(key))
            state = new_state(traits, world.spec.users.per_product)
            self.markets.append(ProductMarket(campaign.served.product, traits, state))
        self.days = _days(self._calendar, world, flight)
        self.hour_ticks = _hour_ticks(self._calendar, self.days)
        starts = [int(self._calendar.day(day).ticks[0]) for day in self.days]
        self._day_ticks = np.array([*starts, int(self.hour_ticks[-1])])
        self.tick = 0

    def serve(self, campaigns: Sequence[ServedCampaign], tick: int) -> None:
        """Serve campaigns like these from a tick on; those that serve the same already are left alone."""
        self.tick = tick
        for market, campaign in zip(self.markets, campaigns, strict=True):
            if market.served.get(campaign.id) != campaign:
                market.place(campaign, tick)

    def advance(self, to_tick: int) -> ExchangeEvents:
        """Run all markets."""
        parts: list[ExchangeEvents] = []
        for market in self.markets:
            parts += market.run(self._rules, self._calendar, (self.tick, int(to_tick)))[0]
        self.tick = int(to_tick)
        return join_events(parts)

    def expected_value(self) -> Floats:
        """Of all billed clicks so far, before refunds, (N,)."""
        rows = [(market.state, row_of(market.state, number + 1)) for number, market in enumerate(self.markets)]
        return np.array([float(state.campaigns["expected_value"][row]) for state, row in rows])

    def outcome(self, events: ExchangeEvents, expected_value: Floats) -> PilotOutcome:
        """Figures by the day of the click, as known when the pilot is judged."""
        settled = self.days[-1] + (self.flight.settle_days + 1) * _DAY
        now = int(self._calendar.day(settled).ticks[0])
        sales, returned = events.conversions, events.credits
        reported, made = sales[sales["reported_tick"] <= now], sales[sales["tick"] <= now]
        kept = np.where((made["refunded_tick"] != NEVER) & (made["refunded_tick"] <= now), 0, 1)
        credited = returned[returned["tick"] <= now]
        cost = self._by_day(events.clicks, "tick", "cost_micros")
        every_credit = self._by_day(returned, "click_tick", "cost_micros").sum(axis=0)
        return PilotOutcome(
            days=self.days,
            as_of=self.world.spec.start.astimezone(UTC) + now * timedelta(seconds=TICK_SECONDS),
            spend_micros=cost - self._by_day(credited, "click_tick", "cost_micros"),
            impressions=self._by_day(events.hours, "hour_tick", "impressions"),
            clicks=self._by_day(events.clicks, "tick") - self._by_day(credited, "click_tick"),
            conversions=self._by_day(reported, "click_tick").astype(float),
            value_micros=self._by_day(reported, "click_tick", "value_micros"),
            sales=self._by_day(made[kept == 1], "click_tick").astype(float),
            sale_value_micros=self._by_day(made[kept == 1], "click_tick", "value_micros"),
            true_spend_micros=cost.sum(axis=0) - every_credit.astype(float),
            true_value_micros=expected_value * (1 - self.world.spec.sales.refund_share),
        )

    def _by_day(self, rows: Rows, tick: str, amount: str | None = None) -> Ints:
        """Sums of rows (or their number) by day and campaign; what comes after the last day belongs to it."""
        total = np.zeros((len(self.days), len(self.markets)), np.int64)
        inside = rows[rows[tick] >= self._day_ticks[0]]
        day = np.minimum(np.searchsorted(self._day_ticks, inside[tick], side="right") - 1, len(self.days) - 1)
        np.add.at(total, (day, inside["campaign"] - 1), 1 if amount is None else inside[amount])
        return total
