"""Run a synthesized history again with another bidder in its last days: what it would truly have brought.

Only the local ad platform can do that. The days before are the incumbent's, as they were, from so long ago on that what
audiences and the platform's own bidding remember is there; the searches, rivals and buyers are the same for everybody.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

import numpy as np

from gaelp.arrays import Floats, Ints
from gaelp.errors import BadInput
from gaelp.sandbox.exchange import Exchange
from gaelp.sandbox.incumbent import IncumbentCampaign, SynthesisSpec, draw_actions, incumbent_campaigns
from gaelp.sandbox.serving import BiddingStrategy, ServedCampaign
from gaelp.sandbox.spec import SandboxSpec
from gaelp.sandbox.synthesis import history_hours

__all__ = ["LOGGED", "HourBidder", "RerunOutcome", "RerunWindow", "automated", "rerun_history", "shifted"]

LOGGED = "logged bids"
_DAY, _DAY_HOURS = timedelta(days=1), 24

# A campaign's number, its incumbent, the hour of the window and the logged log factors on its usual bids, (groups,):
# how the campaign is served in that hour.
HourBidder = Callable[[int, IncumbentCampaign, int, Floats], ServedCampaign]


@dataclass(frozen=True, slots=True)
class RerunWindow:
    """The days in which other bidders take over, both ends included."""

    spec: SynthesisSpec
    world: SandboxSpec
    first_day: date
    last_day: date
    warm_days: int = 14  # of the incumbent, before them


@dataclass(frozen=True, slots=True)
class RerunOutcome:
    """What one bidder brought in the window; value is the expected value of its clicks, which sales scatter around."""

    bidder: str
    value_micros: float
    spend_micros: int

    @property
    def value_per_dollar(self) -> float:
        """0 where nothing was spent."""
        return self.value_micros / max(self.spend_micros, 1)


def automated(strategy: BiddingStrategy) -> HourBidder:
    """The platform's own bidding, which has learned from the incumbent's clicks; the usual bids are its first ones."""
    return lambda _number, campaign, _hour, _actions: replace(campaign.served, strategy=strategy)


def shifted(shift_log: Floats) -> HourBidder:
    """The logged bids times exp(shift), of shape (hours, campaigns, groups); hours after the last are as logged."""

    def served(number: int, campaign: IncumbentCampaign, hour: int, actions: Floats) -> ServedCampaign:
        return campaign.with_actions(actions + shift_log[hour, number] if hour < len(shift_log) else actions)

    return served


def _as_logged(_number: int, campaign: IncumbentCampaign, _hour: int, actions: Floats) -> ServedCampaign:
    return campaign.with_actions(actions)


def rerun_history(window: RerunWindow, bidders: Mapping[str, HourBidder]) -> dict[str, RerunOutcome]:
    """What each bidder brings in the window, and first of all what the logged bids bring there."""
    spec, world = window.spec, window.world
    exchange = Exchange(world)
    ticks, day_starts = history_hours(world, exchange, spec.weeks)
    first, last = _hours_of(window, exchange, ticks, day_starts)
    campaigns = incumbent_campaigns(spec, world, exchange.price_levels)

    def drawn(hour: int) -> list[Floats]:
        return [draw_actions(spec, n, hour, len(campaign.segments)) for n, campaign in enumerate(campaigns)]

    begin = max(first - window.warm_days * _DAY_HOURS, 0)
    exchange.advance(int(ticks[begin]))
    for hour in range(begin, first):
        _serve(exchange, campaigns, _as_logged, hour, drawn(hour))
        exchange.advance(int(ticks[hour + 1]))
    begun = exchange.snapshot()
    everyone: dict[str, HourBidder] = {LOGGED: _as_logged, **bidders}
    actions = [drawn(hour) for hour in range(first, last)]
    return {
        name: _play(name, Exchange.restore(world, begun), campaigns, bidder, (ticks[first : last + 1], actions))
        for name, bidder in everyone.items()
    }


def _hours_of(window: RerunWindow, exchange: Exchange, ticks: Ints, day_starts: list[int]) -> tuple[int, int]:
    """The first hour of the window, and the one after its last."""
    begin, end = (exchange.calendar.first_tick(day) for day in (window.first_day, window.last_day + _DAY))
    if not {begin, end} <= set(day_starts) or begin >= end:
        raise BadInput(
            f"{window.first_day} to {window.last_day} are not whole days of this history: give rising days that it has"
        )
    return int(np.searchsorted(ticks, begin)), int(np.searchsorted(ticks, end))


def _serve(
    exchange: Exchange,
    campaigns: tuple[IncumbentCampaign, ...],
    bidder: HourBidder,
    hour: int,
    actions: Sequence[Floats],
) -> None:
    for number, campaign in enumerate(campaigns):
        exchange.serve(bidder(number, campaign, hour, actions[number]))


def _play(
    name: str,
    exchange: Exchange,
    campaigns: tuple[IncumbentCampaign, ...],
    bidder: HourBidder,
    hours: tuple[Ints, Sequence[Sequence[Floats]]],
) -> RerunOutcome:
    """`hours` are when each begins, with the end of the last, and the logged actions of each."""
    ticks, actions = hours
    numbers = [campaign.served.id for campaign in campaigns]
    before = math.fsum(exchange.expected_value_micros(number) for number in numbers)
    spend = 0
    for hour, end in enumerate(ticks[1:].tolist()):
        _serve(exchange, campaigns, bidder, hour, actions[hour])
        spend += int(exchange.advance(end).hours["cost_micros"].sum())
    value = math.fsum(exchange.expected_value_micros(number) for number in numbers) - before
    return RerunOutcome(name, value, spend)
