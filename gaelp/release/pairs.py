"""What is compared: value for each dollar spent under treatment and control, in pairs of campaign-days.

A pair is a block of two days of one campaign, one of which was treatment and one control. With value V and spend S of
either day, the pair observes

    w = V_T S_C / (S_T + S_C)    and    u = V_C S_T / (S_T + S_C).

The ratio of their sums is the rate ratio of Mantel and Haenszel with dollars as person-time (Greenland and Robins,
Biometrics 41, 1985): given the spends, E[w] / E[u] is the ratio of the two values per dollar, whatever a campaign earns
and however much less one side spends. Both are at least 0, so the betting sequence of the gate applies to them.

A pair in which a side spent nothing says nothing about value per dollar. It is left out and counted in `unspent`: an
agent that does not spend collects no pairs, and so no proof.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from pydantic import Field, PositiveInt

from gaelp.arrays import Bools, Floats, Ints
from gaelp.config.base import Frozen
from gaelp.errors import BadInput, DataError
from gaelp.gates.lift_test import LiftInterval, LiftPlan, lift_interval
from gaelp.release.assignment import BLOCK_DAYS

__all__ = [
    "NOTHING_COMPARED",
    "ArmComparison",
    "ArmTotals",
    "PairRules",
    "Pairs",
    "ReleaseDays",
    "compare_arms",
    "cut_pairs",
    "pairs_lift",
]

NOTHING_COMPARED = LiftInterval(math.nan, -1.0, math.inf, 0, 0.0)  # its bounds exclude nothing


class PairRules(Frozen):
    """How campaign-days become pairs; fixed before the release begins."""

    unit_micros: PositiveInt = Field(
        description="half of what a campaign is planned to spend a day; in this unit an observation is near the value"
        " per dollar, and the gate's clip_at limits it"
    )
    age_days_min: int = Field(default=7, ge=0, description="full days that a day must be past: late conversions")


@dataclass(frozen=True, slots=True)
class ReleaseDays:
    """D days x N campaigns, from day 0 of the release on. A conversion counts on the day of its click."""

    value_micros: Ints  # (D, N) known so far
    spend_micros: Ints  # (D, N)
    treated: Bools  # (D, N) whose bids were in force
    known_share: Floats | None = None  # (D,) of a day's final value, see pilot.late_value; none: all is known

    def __post_init__(self) -> None:
        shape = self.treated.shape
        for name in ("value_micros", "spend_micros"):
            array = getattr(self, name)
            if array.shape != shape or len(shape) != 2:
                raise DataError(f"{name} of the release has shape {array.shape}; allowed: {shape}, days x campaigns")
            if (array < 0).any():
                raise DataError(f"{name} of the release has {int(array.min())}: value and spend are at least 0")
        if self.known_share is not None and (
            self.known_share.shape != shape[:1] or not (np.isfinite(self.known_share) & (self.known_share > 0)).all()
        ):
            raise DataError(f"known_share is not one positive number for each of the {shape[0]} days: compute it again")

    def final_value(self) -> Floats:
        """Return the value in micros with what is still to come, (D, N)."""
        value = self.value_micros.astype(np.float64)
        return value if self.known_share is None else value / self.known_share[:, None]


class Pairs(NamedTuple):
    """P pairs by block and campaign, that is, in the order in which they became old enough."""

    treatment: Floats  # (P,) in units of the rules
    control: Floats  # (P,)
    block: Ints  # (P,)
    campaign: Ints  # (P,) column of the arrays
    unspent: int  # blocks of one day each in which a side spent nothing


class ArmTotals(Frozen):
    """Plain figures of one arm over the compared days; both arms have the same number of them."""

    campaign_days: int
    spend_micros: int
    value_micros: int  # with what is still to come
    value_per_dollar: float | None  # none: nothing was spent
    profit_per_day_micros: int  # of a campaign-day


class ArmComparison(NamedTuple):
    """What the comparison shows so far."""

    lift: LiftInterval  # in value per dollar; NaN without pairs
    treatment: ArmTotals
    control: ArmTotals
    pairs: Pairs


def compare_arms(days: ReleaseDays, rules: PairRules, plan: LiftPlan) -> ArmComparison:
    """Return the lift in value per dollar with its always-valid bounds, and the figures of both arms."""
    pairs = cut_pairs(days, rules)
    compared = _compared(days.treated, rules)
    return ArmComparison(
        pairs_lift(pairs, plan),
        _totals(days, compared & days.treated),
        _totals(days, compared & ~days.treated),
        pairs,
    )


def pairs_lift(pairs: Pairs, plan: LiftPlan) -> LiftInterval:
    """Return the lift of all pairs; without any it is NaN and its bounds exclude nothing."""
    if not len(pairs.treatment):
        return NOTHING_COMPARED
    return lift_interval(pairs.treatment, pairs.control, plan)


def cut_pairs(days: ReleaseDays, rules: PairRules, *, person_time: Floats | None = None) -> Pairs:
    """Return the pairs that are old enough at the end of the last day.

    With `person_time` (D, N) value is compared for each unit of that instead of for each dollar.
    """
    time = days.spend_micros.astype(np.float64) if person_time is None else person_time
    if time.shape != days.treated.shape:
        raise BadInput(f"person_time has shape {time.shape}; allowed: {days.treated.shape}, days x campaigns")
    compared = _compared(days.treated, rules)
    value_t, value_c = (_by_block(days.final_value(), compared & side) for side in (days.treated, ~days.treated))
    time_t, time_c = (_by_block(time, compared & side) for side in (days.treated, ~days.treated))
    spent = (time_t > 0) & (time_c > 0)
    block, campaign = np.nonzero(spent)
    together = (time_t + time_c)[spent] * rules.unit_micros
    return Pairs(
        treatment=(value_t * time_c)[spent] / together,
        control=(value_c * time_t)[spent] / together,
        block=block,
        campaign=campaign,
        unspent=int(_by_block(compared.astype(np.float64), compared).astype(bool).sum() - spent.sum()),
    )


def _compared(treated: Bools, rules: PairRules) -> Bools:
    """Return which campaign-days belong to a block with one day of each kind that is old enough, (D, N)."""
    old = max(treated.shape[0] - rules.age_days_min, 0) // BLOCK_DAYS * BLOCK_DAYS
    mixed = _by_block(treated[:old].astype(np.float64), np.ones(treated[:old].shape, bool)) == 1
    compared = np.zeros(treated.shape, dtype=bool)
    compared[:old] = np.repeat(mixed, BLOCK_DAYS, axis=0)
    return compared


def _by_block(values: Floats, chosen: Bools) -> Floats:
    """Return sums over the chosen days of each full block, (B, N)."""
    full = len(values) // BLOCK_DAYS * BLOCK_DAYS
    kept = np.where(chosen, values, 0.0)[:full]
    return np.asarray(kept.reshape(-1, BLOCK_DAYS, values.shape[1]).sum(axis=1))


def _totals(days: ReleaseDays, chosen: Bools) -> ArmTotals:
    spend, value = int(days.spend_micros[chosen].sum()), round(float(days.final_value()[chosen].sum()))
    count = int(chosen.sum())
    return ArmTotals(
        campaign_days=count,
        spend_micros=spend,
        value_micros=value,
        value_per_dollar=value / spend if spend else None,
        profit_per_day_micros=round((value - spend) / count) if count else 0,
    )
