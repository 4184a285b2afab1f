"""Whole releases day by day: steps of exposure, sales that are reported late, and a decision at the start of each day.

Exposure follows the plan of a release until a bound ends it, so the days of all releases are assigned together and
judged together. The values of a pair still change after it is compared, because more of its sales are reported; each
day's decision is made with the values as they are known on that day.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import numpy as np
from numpy.random import Generator

from gaelp.arrays import Bools, Floats, Ints
from gaelp.bench.release_trials import full_pairs
from gaelp.bench.release_worlds import DAY_SPEND_MICROS, Days, assigned_days, platform_rates, platform_spend
from gaelp.gates.lift_test import LiftInterval, LiftPlan, shown_at_looks
from gaelp.market.spec import DelaySpec
from gaelp.pilot.late_value import LateValue
from gaelp.release.exposure import ExposurePlan, ExposureState, Strategy, next_exposure, plan_exposure
from gaelp.release.exposure_checks import CheckLimits, ReleaseEvidence
from gaelp.release.pairs import PairRules

__all__ = ["PLATFORM_DELAY", "CalendarCase", "TrialCalendar", "TrialSales", "calendar_trial", "planned_percent"]

PLATFORM_DELAY = DelaySpec(mean_hours=31.5, window_hours=720, family="mixture", parts=((0.5, 3.0), (0.5, 60.0)))
_FIRST = datetime(2026, 1, 5, tzinfo=UTC)
_BATCH = 100  # releases at once
_SALE_SHAPE = 9.0
_NO_CAP = 10**15  # money guards are tried elsewhere: here only the comparison may end a release


@dataclass(frozen=True, slots=True)
class TrialCalendar:
    """How much is simulated, and what the plan of each release says."""

    releases: int = 1000
    campaigns: int = 20
    days: int = 60
    step_days: int = 4
    mature_days: int = 7
    lift_lower_min: float = 0.15
    strategy: Strategy = "canary"
    seed: int = 1900


@dataclass(frozen=True, slots=True)
class CalendarCase:
    """What is true: the lift, and how much longer than calibrated sales of either side take to be reported."""

    lift: float = 0.0
    treatment_delay: float = 1.0
    control_delay: float = 1.0


@dataclass(frozen=True, slots=True)
class TrialSales:
    """Value of D days x C columns: what is known when a day is compared first, and each sale that comes later."""

    spend_micros: Ints  # (D, C)
    early_micros: Floats  # (D, C)
    late_place: Ints  # (S,) flat index into D x C
    late_on: Ints  # (S,) the day at whose start it is known
    late_micros: Floats  # (S,)

    def known(self, day: int) -> Days:
        """The days before this one, as they are known at its start."""
        value = self.early_micros.copy()
        reported = self.late_on <= day
        np.add.at(value.reshape(-1), self.late_place[reported], self.late_micros[reported])
        return Days(np.rint(value[:day]).astype(np.int64), self.spend_micros[:day])


def calendar_trial(calendar: TrialCalendar, plan: LiftPlan, case: CalendarCase) -> dict[str, Any]:
    """Return how the releases end: shares, and median days and pairs of those that a bound ends."""
    exposure = _plan(calendar, plan)
    percent = planned_percent(exposure, calendar.days)
    proving = percent >= exposure.steps[-2].percent
    began = int(np.argmax(proving))
    ended: list[Any] = []
    day: list[Any] = []
    pairs: list[Any] = []
    for first in range(0, calendar.releases, _BATCH):
        count = min(_BATCH, calendar.releases - first)
        treated = assigned_days(calendar.seed * 1_000_000 + first, count, calendar.campaigns, percent)
        sales = _draw_sales(np.random.default_rng([calendar.seed, first]), treated, case, calendar)
        outcome = _judge_days(calendar, plan, treated, sales, began + calendar.step_days)
        for parts, part in zip((ended, day, pairs), outcome, strict=True):
            parts.append(part)
    return _summary(*(np.concatenate(each) for each in (ended, day, pairs)))


def planned_percent(exposure: ExposurePlan, days: int) -> Floats:
    """The exposure of each day while no bound ends the release, from the plan's own decisions, (D,)."""
    undecided = LiftInterval(0.0, -1.0, float("inf"), 10**6, 0.0)
    state, percent = ExposureState(), []
    for day in range(days):
        evidence = ReleaseEvidence(day, undecided, loss_micros=0, day_spend_micros=0, day_planned_micros=1)
        decided = next_exposure(exposure, state, evidence)
        state = decided.state
        percent.append(decided.percent)
    return np.array(percent)


def _plan(calendar: TrialCalendar, plan: LiftPlan) -> ExposurePlan:
    return plan_exposure(
        calendar.strategy,
        CheckLimits(loss_cap_micros=_NO_CAP),
        lift_lower_min=calendar.lift_lower_min,
        step_days=calendar.step_days,
        pairs_min=plan.minimum,
        hold_deadline_days=calendar.days,
    )


def _draw_sales(rng: Generator, treated: Bools, case: CalendarCase, calendar: TrialCalendar) -> TrialSales:
    """Sales as on the local platform; each is reported after a delay of its side."""
    budget, worth, sale = platform_rates(rng, treated.shape[1])
    spend = budget * platform_spend(rng, treated.shape)
    expected = spend * worth / sale * np.where(treated, 1 + case.lift, 1.0)
    first_age = calendar.mature_days + 1  # days after the start of a day at which it is compared first
    known = {
        side: _known_by_age(factor, calendar.days)
        for side, factor in ((True, case.treatment_delay), (False, case.control_delay))
    }
    early_share = np.where(treated, known[True][first_age], known[False][first_age])
    early = rng.poisson(expected * early_share)
    late = rng.poisson(expected * (1 - early_share))
    place = np.repeat(np.arange(late.size), late.reshape(-1))
    age = np.zeros(len(place), np.int64)
    of_treatment = treated.reshape(-1)[place]
    for side, shares in known.items():
        mine = of_treatment == side
        chance = rng.uniform(shares[first_age], 1.0, int(mine.sum()))
        age[mine] = np.searchsorted(shares, chance)  # beyond the last age: never in time
    worth_of = np.broadcast_to(sale, treated.shape).reshape(-1)
    return TrialSales(
        spend_micros=np.rint(spend).astype(np.int64),
        early_micros=np.where(early > 0, rng.gamma(np.maximum(_SALE_SHAPE * early, 1e-9)), 0.0) * sale / _SALE_SHAPE,
        late_place=place,
        late_on=place // treated.shape[1] + age,
        late_micros=rng.gamma(_SALE_SHAPE, size=len(place)) * worth_of[place] / _SALE_SHAPE,
    )


def _late_value(factor: float = 1.0) -> LateValue:
    delay = PLATFORM_DELAY.model_copy(update={"mean_hours": PLATFORM_DELAY.mean_hours * factor})
    return LateValue(delay=delay, shortest=delay, longest=delay)


def _known_by_age(factor: float, days: int) -> Floats:
    """Share of a day's value that is known at the start of the day so many days later, (days + 1,)."""
    ages = tuple((_FIRST - timedelta(days=age)).date() for age in range(days + 1))
    return _late_value(factor).known(ages, _FIRST, "UTC").value


def _judge_days(
    calendar: TrialCalendar, plan: LiftPlan, treated: Bools, sales: TrialSales, promotes_from: int
) -> tuple[Ints, Ints, Ints]:
    """How each release ends (-1 rolled back, 1 promoted, 0 at the deadline), on which day, after how many pairs."""
    releases = treated.shape[1] // calendar.campaigns
    rules = PairRules(unit_micros=DAY_SPEND_MICROS // 2, age_days_min=calendar.mature_days)
    known_by_age = np.maximum(_known_by_age(1.0, calendar.days), 0.05)
    ended, ended_day, ended_pairs = (np.zeros(releases, np.int64) for _ in range(3))
    for day in range(calendar.mature_days + 2, calendar.days):
        share = known_by_age[day - np.arange(day)]
        sides = full_pairs(sales.known(day), treated[:day], releases, rules, known_share=share)
        if sides[0].shape[1] < plan.minimum:
            continue
        worse = _now(sides, plan, 0.0, "worse")
        better = _now(sides, plan, calendar.lift_lower_min, "better") & (day >= promotes_from)
        new = (ended == 0) & (worse | better)
        ended[new] = np.where(worse[new], -1, 1)
        ended_day[new], ended_pairs[new] = day, sides[0].shape[1]
    return ended, ended_day, ended_pairs


def _now(sides: tuple[Floats, Floats], plan: LiftPlan, lift: float, finds: Literal["better", "worse"]) -> Bools:
    return np.asarray(shown_at_looks(*sides, plan, lift=lift, finds=finds)[:, -1])


def _summary(ended: Ints, day: Ints, pairs: Ints) -> dict[str, Any]:
    def of(kind: int) -> dict[str, Any]:
        mine = ended == kind
        half = mine.mean() >= 0.5
        return {
            "share": float(mine.mean()),
            "median_day": int(np.median(day[mine])) if half else None,
            "median_pairs": int(np.median(pairs[mine])) if half else None,
        }

    return {"rolled_back": of(-1), "promoted": of(1), "at_the_deadline": float((ended == 0).mean())}
