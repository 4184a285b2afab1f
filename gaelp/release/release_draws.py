"""Releases drawn by chance from the figures of a pilot; they follow the plan's steps, pairs and sequence.

Both sides are drawn with the same spend, and days as they will be known in the end: a pair counts from the day on which
it is old enough. Flights after the promotion have first budgets.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gaelp.arrays import Bools, Floats, Ints
from gaelp.config.base import Frozen
from gaelp.gates.lift_test import LiftInterval, shown_at_looks
from gaelp.pilot.expectation import PilotExpectation
from gaelp.pilot.sale_chance import SaleChance, draw_value
from gaelp.release.assignment import BLOCK_DAYS, treated_days
from gaelp.release.campaign_flights import SuccessRate, cut_flights, success_rate
from gaelp.release.exposure import ExposurePlan, ExposureState, next_exposure
from gaelp.release.exposure_checks import ReleaseEvidence
from gaelp.release.pairs import PairRules, ReleaseDays, cut_pairs
from gaelp.release.release_plan import ReleasePlan

__all__ = ["DrawnPairs", "ReleaseEnds", "ReleaseGround", "ReleaseSize", "draw_releases", "largest_observation"]

_UNKNOWN = LiftInterval(math.nan, -1.0, math.inf, 0, 0.0)


class ReleaseSize(Frozen):
    """How large a release is."""

    campaigns: int
    days: int  # of the comparison
    full_days: int


@dataclass(frozen=True, slots=True)
class ReleaseGround:
    """What releases are drawn from."""

    plan: ReleasePlan
    expected: PilotExpectation  # of the agent in its pilot
    expected_lift: float  # of the agent over the control
    chance: SaleChance

    @property
    def size(self) -> ReleaseSize:
        """Of the plan itself."""
        return ReleaseSize(
            campaigns=len(self.plan.campaigns.campaigns), days=self.plan.proof_days, full_days=self.plan.full_days
        )

    @property
    def control_return(self) -> float:
        """Value per unit of money of the control: what the agent's is expected to be, less its lift."""
        value, spend = np.sum(self.expected.value_micros), np.sum(self.expected.spend_micros)
        return float(value / max(spend, 1.0)) / (1 + self.expected_lift)


class ReleaseEnds(NamedTuple):
    """How R releases ended; days are counted from 0."""

    promoted: Bools  # (R,)
    rolled_back: Bools  # (R,)
    day: Ints  # (R,) on which it was promoted or rolled back, or the last
    spend_micros: Floats  # (R,) of both sides
    success: tuple[SuccessRate | None, ...]  # of those that were promoted


class DrawnPairs(NamedTuple):
    """R releases x P pairs, in the order in which they become old enough."""

    treatment: Floats  # (R, P)
    control: Floats  # (R, P)
    known_on: Ints  # (P,) day at whose start a pair counts


class _Days(NamedTuple):
    """D days x (R x N) campaigns: what either side would bring on each of them."""

    spend: Ints
    treatment: Ints
    control: Ints


def draw_releases(
    ground: ReleaseGround, size: ReleaseSize, lift: float, releases: int, *, rng: np.random.Generator
) -> ReleaseEnds:
    """Draw releases with one true lift over the control, and let them end by the plan."""
    days = _draw(ground, size, lift, releases, rng)
    percents = _planned_percents(ground.plan.exposure, size)
    treated = np.tile(treated_days(ground.plan.campaigns.name, _names(size), percents), (1, releases))
    pairs = _pairs(days, treated, ground.plan.pairs, releases)
    better, worse = _first_days(ground.plan, pairs, percents, size)
    promoted, rolled_back = better < worse, worse <= np.minimum(better, size.days)
    last = np.where(promoted, better + size.full_days, np.where(rolled_back, worse, size.days + size.full_days))
    day = np.where(promoted, better, np.where(rolled_back, worse, last))
    place = np.arange(len(days.spend))[:, None]
    begun, until = (np.repeat(each, size.campaigns) for each in (np.where(promoted, day, len(place)), last))
    treated = np.where(place >= begun, True, treated) & (place < until)
    spend = np.where(place < until, days.spend, 0)
    release = ReleaseDays(np.where(treated, days.treatment, days.control) * (place < until), spend, treated)
    total = spend.sum(axis=0).reshape(releases, -1).sum(axis=1).astype(np.float64)
    return ReleaseEnds(promoted, rolled_back, day, total, _successes(release, ground.plan, promoted))


def largest_observation(
    ground: ReleaseGround, size: ReleaseSize, lift: float, releases: int, *, rng: np.random.Generator
) -> float:
    """Return the largest observation of either side, in units of the plan's pairs; 0 if nothing can be compared."""
    days = _draw(ground, size, lift, releases, rng)
    percents = _planned_percents(ground.plan.exposure, size)
    treated = np.tile(treated_days(ground.plan.campaigns.name, _names(size), percents), (1, releases))
    pairs = _pairs(days, treated, ground.plan.pairs, releases)
    return max(float(side.max(initial=0.0)) for side in pairs[:2])


def _names(size: ReleaseSize) -> tuple[str, ...]:
    return tuple(f"campaign-{number}" for number in range(1, size.campaigns + 1))


def _planned_percents(plan: ExposurePlan, size: ReleaseSize) -> list[float]:
    """The exposure of each day as long as nothing is shown, neither an improvement nor harm."""
    longer = plan.model_copy(update={"hold_deadline_days": max(plan.hold_deadline_days, size.days + size.full_days)})
    state, percents = ExposureState(), []
    for day in range(size.days + size.full_days):
        decided = next_exposure(longer, state, ReleaseEvidence(day, _UNKNOWN, 0, 0, 0))
        state = decided.state
        percents.append(decided.percent)
    return percents


def _draw(ground: ReleaseGround, size: ReleaseSize, lift: float, releases: int, rng: np.random.Generator) -> _Days:
    """Campaigns of the pilot are repeated in turn; their true returns differ as the expectation says."""
    expected, chance = ground.expected, ground.chance
    column = np.arange(size.campaigns) % len(expected.campaigns)
    spend, value, sales = (
        np.mean(rows, axis=0)[column] for rows in (expected.spend_micros, expected.value_micros, expected.conversions)
    )
    worth = np.tile(np.where(sales > 0, value / np.maximum(sales, 1e-9), value.sum() / sales.sum()), releases)
    returns = np.exp(expected.roi_log_sd * rng.standard_normal((releases, size.campaigns)))
    returns *= ground.control_return * spend.sum() / (returns * spend).sum(axis=1, keepdims=True)
    shape = (size.days + size.full_days, releases * size.campaigns)
    spread = chance.spend_spread
    noise = rng.gamma(1 / spread**2, spread**2, shape) if spread > 0 else np.ones(shape)
    spent = np.maximum(np.rint(np.tile(spend, releases) * noise), 1)
    sold = spent * returns.reshape(-1) / worth
    sides = (draw_value(sold * (1 + more), worth, chance, rng) for more in (lift, 0.0))
    return _Days(spent.astype(np.int64), *(np.rint(side).astype(np.int64) for side in sides))


def _pairs(days: _Days, treated: Bools, rules: PairRules, releases: int) -> DrawnPairs:
    """Every release has the same campaign-days of each kind, and so the same pairs."""
    release = ReleaseDays(np.where(treated, days.treatment, days.control), days.spend, treated)
    pairs = cut_pairs(release, rules.model_copy(update={"age_days_min": 0}))
    order = np.argsort(pairs.campaign // (treated.shape[1] // releases), kind="stable")
    treatment, control = (side[order].reshape(releases, -1) for side in (pairs.treatment, pairs.control))
    block = pairs.block[order].reshape(releases, -1)[0]
    return DrawnPairs(treatment, control, (block + 1) * BLOCK_DAYS + rules.age_days_min)


def _first_days(plan: ReleasePlan, pairs: DrawnPairs, percents: list[float], size: ReleaseSize) -> tuple[Ints, Ints]:
    """On which day each release shows the improvement, and on which it shows harm; a day beyond the last: never."""
    step = plan.exposure.steps[-2]
    never = size.days + 1
    days = np.arange(never)
    count = np.searchsorted(pairs.known_on, days, side="right")
    releases = len(pairs.treatment)
    if not count[-1]:
        return np.full(releases, never), np.full(releases, never)
    looks = np.maximum(count, 1) - 1
    threshold = step.lift_lower_min or 0.0
    better = shown_at_looks(pairs.treatment, pairs.control, plan.lift, lift=threshold, finds="better")[:, looks]
    worse = shown_at_looks(pairs.treatment, pairs.control, plan.lift, finds="worse")[:, looks] & (count > 0)
    reached = step.percent in percents  # a plan of a few days may end before its last step
    proving = percents.index(step.percent) + step.days_min if reached else never
    better &= (count >= max(step.pairs_min, 1)) & (days >= proving)
    if step.lift_min is not None:
        total, beside = (np.cumsum(side, axis=1)[:, looks] for side in pairs[:2])
        better &= total >= (1 + step.lift_min) * beside
    return _first(better, never), _first(worse, never)


def _first(shown: Bools, never: int) -> Ints:
    """The first day on which each release shows something, (R,)."""
    return np.asarray(np.where(shown.any(axis=1), shown.argmax(axis=1), never), np.int64)


def _successes(release: ReleaseDays, plan: ReleasePlan, promoted: Bools) -> tuple[SuccessRate | None, ...]:
    """Of the flights of each release that was promoted; late value is all known when it is judged."""
    releases = len(promoted)
    campaigns = release.treated.shape[1] // releases
    flights = cut_flights(release, cut_pairs(release, plan.pairs.model_copy(update={"age_days_min": 0})), plan.flights)
    of_release = flights.campaign // campaigns
    return tuple(
        success_rate(type(flights)(*(part[of_release == number] for part in flights))) if promoted[number] else None
        for number in range(releases)
    )
