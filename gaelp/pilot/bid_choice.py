"""Which bids are worth a call: a bounded step towards the wanted ones, the largest gains first, within a quota."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from pydantic import Field, PositiveInt

from gaelp.arrays import Bools, Floats, Ints
from gaelp.config.base import Frozen

BidLimits = Callable[[int], tuple[Ints, Ints]]  # a campaign's row -> lowest and highest bid of each target, (S,)

__all__ = ["BidChoice", "BidLimits", "CallQuota", "SendingRules", "choose_bids", "step_towards"]


class SendingRules(Frozen):
    """When a bid is sent, and how far it may move."""

    worth: float = Field(default=0.05, ge=0, le=0.5, description="a bid is sent if it differs by more than this share")
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


def step_towards(wanted: Ints, least: Ints, most: Ints, unit_micros: int) -> Ints:
    """The bids nearest to the wanted ones within the guard's bounds, in whole units; none fits: the lower bound's."""
    lowest, highest = -(-least // unit_micros) * unit_micros, most // unit_micros * unit_micros
    return np.asarray(np.clip(wanted, lowest, np.maximum(lowest, highest)), np.int64)


def choose_bids(
    wanted: Ints, in_force: Ints, bounds: BidLimits, spend_weight: Floats, running: Bools, quota: CallQuota
) -> BidChoice:
    """Bids of running campaigns, (N, S), that are worth sending.

    A bid that is off by a log factor d loses about spend x d^2 / 2, so that is the gain of correcting it;
    `spend_weight` (N, S) is the expected spend of an hour. A step that no whole unit fits into is not taken.
    """
    rules = quota.rules
    far = (_off(wanted, in_force) > np.log1p(rules.worth) + 1e-9).any(axis=1) & running
    bids = in_force.copy()
    for row in np.flatnonzero(far):
        least, most = bounds(int(row))
        stepped = step_towards(wanted[row], least, most, rules.unit_micros)
        bids[row] = np.where(stepped <= most, stepped, in_force[row])
    off = _off(bids, in_force)
    worth = (off > np.log1p(rules.worth) + 1e-9).any(axis=1) & running
    gain = np.where(np.isinf(off).any(axis=1), np.inf, (spend_weight * np.minimum(off, 10.0) ** 2).sum(axis=1))
    operations = bids.shape[1] + 1  # each target, and the label that makes the call happen once
    room = quota.now // operations
    order = [row for row in np.argsort(-gain, kind="stable") if worth[row]]
    chosen = np.zeros(len(bids), np.bool_)
    chosen[order[:room]] = True
    why = tuple(
        "" if chosen[n] else "quota" if worth[n] else "same" if (wanted[n] == in_force[n]).all() else "small"
        for n in range(len(bids))
    )
    return BidChoice(bids, chosen, why)


def _off(bids: Ints, in_force: Ints) -> Floats:
    """How far bids are from those in force, in logs; infinite where there is none."""
    ratio = np.maximum(bids, 1) / np.maximum(in_force, 1)
    return np.where(in_force > 0, np.abs(np.log(ratio)), np.where(bids > 0, np.inf, 0.0))
