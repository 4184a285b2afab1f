"""Which bids are worth a call: a bounded step towards the wanted ones, the largest gains first, within a quota."""

from dataclasses import dataclass

import numpy as np
from pydantic import Field, PositiveInt

from gaelp.arrays import Bools, Floats, Ints
from gaelp.config.base import Frozen

__all__ = ["BidChoice", "CallQuota", "SendingRules", "choose_bids", "step_towards"]


class SendingRules(Frozen):
    """When a bid is sent, and how far it may move."""

    worth: float = Field(default=0.05, ge=0, le=0.5, description="a bid is sent if it differs by more than this share")
    change_percent: PositiveInt = Field(default=50, description="by how much the guard lets a bid move in an hour")
    unit_micros: PositiveInt = 10_000
    calls_a_day: PositiveInt = 15_000
    pause_reserve: PositiveInt = Field(default=10, description="operations kept for the pauses of each campaign")


@dataclass(frozen=True, slots=True)
class CallQuota:
    """Operations that bid changes may still take in this hour: what the day has left, spread over its hours."""

    rules: SendingRules
    campaigns: int
    used_today: int
    hours_left: int  # of the account's day, this one included

    @property
    def now(self) -> int:
        """How many in this hour; never those that pauses need."""
        free = self.rules.calls_a_day - self.rules.pause_reserve * self.campaigns - self.used_today
        return max(free, 0) // max(self.hours_left, 1)


@dataclass(frozen=True, slots=True)
class BidChoice:
    """What is ordered of N campaigns in this hour."""

    bids: Ints  # (N, S) to order
    chosen: Bools  # (N,) whether the campaign's bids are sent
    why_not: tuple[str, ...]  # (N,) same, small or quota; empty where they are sent


def step_towards(wanted: Ints, recent: tuple[Ints, ...], rules: SendingRules) -> Ints:
    """The bids nearest to the wanted ones that stay within the bound of every recent bid, in whole units.

    A recent bid of 0 does not bind: there was none.
    """
    percent, unit = 100 + rules.change_percent, rules.unit_micros
    least, most = np.zeros_like(wanted), np.full_like(wanted, np.iinfo(np.int64).max // 200)
    for bids in recent:
        had = bids > 0
        least = np.where(had, np.maximum(least, -(-bids * 100 // percent)), least)
        most = np.where(had, np.minimum(most, bids * percent // 100), most)
    least, most = -(-least // unit) * unit, most // unit * unit
    return np.where(least <= most, np.clip(wanted, least, np.maximum(most, least)), recent[0] if recent else wanted)


def choose_bids(
    wanted: Ints,
    recent: tuple[Ints, ...],
    spend_weight: Floats,
    running: Bools,
    rules: SendingRules,
    quota: CallQuota,
) -> BidChoice:
    """Bids of running campaigns, (N, S), that are worth sending; `recent[0]` are those in force.

    A bid that is off by a log factor d loses about spend x d^2 / 2, so that is the gain of correcting it;
    `spend_weight` (N, S) is the expected spend of an hour.
    """
    bids, in_force = step_towards(wanted, recent, rules), recent[0]
    off = np.where(in_force > 0, np.abs(np.log(np.maximum(bids, 1) / np.maximum(in_force, 1))), np.inf)
    worth = (off > np.log1p(rules.worth) + 1e-9).any(axis=1) & running
    with np.errstate(invalid="ignore"):
        gain = np.where(np.isinf(off).any(axis=1), np.inf, (spend_weight * np.minimum(off, 10.0) ** 2).sum(axis=1))
    operations = bids.shape[1] + 1  # each target, and the label that makes the call happen once
    room = quota.now // operations
    order = [row for row in np.argsort(-gain, kind="stable") if worth[row]]
    chosen = np.zeros(len(bids), np.bool_)
    chosen[order[:room]] = True
    why = tuple(
        "" if chosen[n] else "quota" if worth[n] else "same" if (bids[n] == in_force[n]).all() else "small"
        for n in range(len(bids))
    )
    return BidChoice(bids, chosen, why)
