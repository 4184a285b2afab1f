"""What a plan can tell: how often a true ROI of 0% and of +30% would pass the statistical rules of gate 3.

Pilots of the plan's size are drawn by chance and judged by the code of production. A plan that cannot tell the two
apart is refused, with the smallest size that can.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np

from gaelp.arrays import Floats
from gaelp.config.base import Frozen
from gaelp.errors import BadInput
from gaelp.gates import Evidence, Gate, judge
from gaelp.money import Micros
from gaelp.pilot.expectation import PilotExpectation
from gaelp.pilot.late_value import LateValue
from gaelp.pilot.pilot_figures import PilotFigures
from gaelp.pilot.pilot_metrics import measure_pilot
from gaelp.pilot.sale_chance import SaleChance, draw_sales

__all__ = [
    "STATISTICAL",
    "PilotPower",
    "PowerGround",
    "TruthPower",
    "find_size",
    "pilot_power",
    "refuse_without_power",
    "resized",
    "statistical_rules",
]

STATISTICAL = ("roi", "positive_roi_streak", "budget_efficiency")
WORTHLESS, GOOD = 0.0, 0.3  # true returns that a plan must tell apart
FALSE_MOST, POWER_LEAST = 0.05, 0.8  # how often they may, and should, pass
_PILOTS, _SEARCH_PILOTS = 400, 200
_SEARCHED_CAMPAIGNS = (12, 16, 20, 24, 30, 36, 44, 52, 64, 80, 100, 140, 200, 300, 500)
_SEARCHED_DAYS = (7, 14, 21, 28, 42, 60)
_WEEK_DAYS, _Z = 7, 1.959964


@dataclass(frozen=True, slots=True)
class PowerGround:
    """What pilots are drawn from and judged by."""

    gate: Gate
    chance: SaleChance
    late: LateValue
    time_zone: str
    settle_days: int
    daily_micros: Micros  # of one campaign, to state the money


class TruthPower(Frozen):
    """What becomes of pilots with one true ROI."""

    roi: float
    pass_share: float
    refused_by: dict[str, float]  # share of pilots that each rule refuses


class PilotPower(Frozen):
    """What pilots of one size can tell."""

    campaigns: int
    days: int
    budget_micros: int  # all daily budgets together
    expected_conversions: float
    pilots: int  # drawn for each true ROI
    truths: tuple[TruthPower, ...]

    def passes(self, roi: float) -> float:
        """The share of pilots with this true ROI that pass."""
        return next(truth.pass_share for truth in self.truths if truth.roi == roi)

    @property
    def tells_apart(self) -> bool:
        """Whether a worthless agent hardly ever passes and a good one mostly does."""
        return self.passes(WORTHLESS) <= FALSE_MOST and self.passes(GOOD) >= POWER_LEAST


def statistical_rules(gate: Gate) -> Gate:
    """The gate with only the rules that chance can make wrong."""
    rules = tuple(rule for rule in gate.criteria if rule.metric in STATISTICAL)
    if not rules:
        raise BadInput(f"gate {gate.name} has none of the rules {', '.join(STATISTICAL)}: a pilot needs one of them")
    return gate.model_copy(update={"criteria": rules})


def pilot_power(
    expected: PilotExpectation,
    ground: PowerGround,
    *,
    seed: int,
    pilots: int = _PILOTS,
    truths: Sequence[float] = (WORTHLESS, GOOD),
) -> PilotPower:
    """Draw pilots of this size for each true ROI, and judge them."""
    rng = np.random.default_rng([seed, 37])
    results = tuple(_truth_power(expected, ground, roi, pilots, rng) for roi in truths)
    return PilotPower(
        campaigns=len(expected.campaigns),
        days=len(expected.days),
        budget_micros=len(expected.campaigns) * len(expected.days) * ground.daily_micros,
        expected_conversions=float(expected.day_conversions.sum()),
        pilots=pilots,
        truths=results,
    )


def find_size(
    expected: PilotExpectation, ground: PowerGround, *, seed: int, campaigns_most: int = _SEARCHED_CAMPAIGNS[-1]
) -> PilotPower | None:
    """The cheapest size that can separate the two, with at most so many campaigns; None if there is none."""
    campaigns = sorted({size for size in _SEARCHED_CAMPAIGNS if size < campaigns_most} | {campaigns_most})
    sizes = sorted((n * days, days, n) for n in campaigns for days in _SEARCHED_DAYS)
    too_small: list[tuple[int, int]] = []
    for _, days, n in sizes:
        if any(n <= small and days <= short for small, short in too_small):
            continue
        size = resized(expected, n, days)
        if not _mostly_passes(size, ground, np.random.default_rng([seed, 41])):
            too_small.append((n, days))
            continue
        power = pilot_power(size, ground, seed=seed + 1)
        if power.tells_apart:
            return power
    return None


def refuse_without_power(
    power: PilotPower, expected: PilotExpectation, ground: PowerGround, *, seed: int, campaigns_most: int
) -> None:
    """Raise BadInput for a plan that cannot tell a worthless agent from a good one; it names the size it needs."""
    if power.tells_apart:
        return
    needed = find_size(expected, ground, seed=seed, campaigns_most=campaigns_most)
    way_out = (
        f"choose other campaigns or higher budgets: no size with up to {campaigns_most} campaigns and"
        f" {_SEARCHED_DAYS[-1]} days can"
        if needed is None
        else f"plan {needed.campaigns} campaigns for {needed.days} days (budgets of"
        f" {needed.budget_micros / 1e6:,.0f} in all): there {needed.passes(WORTHLESS):.1%} and"
        f" {needed.passes(GOOD):.0%} pass"
    )
    raise BadInput(
        f"{power.campaigns} campaigns for {power.days} days cannot tell a worthless agent from a good one: a true ROI"
        f" of 0% passes gate {ground.gate.name} in {power.passes(WORTHLESS):.1%} (at most {FALSE_MOST:.0%}), one of"
        f" +30% in {power.passes(GOOD):.0%} (at least {POWER_LEAST:.0%}). To fix it, {way_out}"
    )


def resized(expected: PilotExpectation, campaigns: int, days: int) -> PilotExpectation:
    """The same account with other numbers of campaigns and days: campaigns and weekdays are repeated in turn."""
    week = min(_WEEK_DAYS, len(expected.days))
    columns = np.arange(campaigns) % len(expected.campaigns)

    def laid_out(rows: Sequence[Sequence[float]]) -> tuple[tuple[float, ...], ...]:
        table = np.array(rows)
        by_weekday = np.stack([table[day::week].mean(axis=0) for day in range(week)])
        return tuple(tuple(row) for row in by_weekday[np.arange(days) % week][:, columns].tolist())

    return expected.model_copy(
        update={
            "days": tuple(expected.days[0] + timedelta(days=day) for day in range(days)),
            "campaigns": tuple(f"campaign-{number}" for number in range(1, campaigns + 1)),
            "spend_micros": laid_out(expected.spend_micros),
            "value_micros": laid_out(expected.value_micros),
            "conversions": laid_out(expected.conversions),
        }
    )


def _truth_power(
    expected: PilotExpectation, ground: PowerGround, roi: float, pilots: int, rng: np.random.Generator
) -> TruthPower:
    gate = statistical_rules(ground.gate)
    refused: Counter[str] = Counter()
    passed = 0
    for _ in range(pilots):
        failed = _failed(gate, _draw(expected, ground, roi, rng), expected, ground)
        refused.update(failed)
        passed += not failed
    shares = {rule: count / pilots for rule, count in refused.most_common()}
    return TruthPower(roi=roi, pass_share=passed / pilots, refused_by=shares)


def _mostly_passes(expected: PilotExpectation, ground: PowerGround, rng: np.random.Generator) -> bool:
    """Whether a good agent passes often enough; ends as soon as too many pilots have failed."""
    gate, failures = statistical_rules(ground.gate), 0
    for _ in range(_SEARCH_PILOTS):
        failures += bool(_failed(gate, _draw(expected, ground, GOOD, rng), expected, ground))
        if failures > (1 - POWER_LEAST) * _SEARCH_PILOTS:
            return False
    return True


def _failed(gate: Gate, figures: PilotFigures, expected: PilotExpectation, ground: PowerGround) -> list[str]:
    measured = measure_pilot(figures, expected, ground.late, time_zone=ground.time_zone, safety_violations=0)
    evidence = Evidence(
        run_id="power",
        agent="drawn",
        learned=True,
        config_hash="power",
        measured_at=figures.as_of,
        metrics=measured.metrics,
    )
    verdict = judge(gate, evidence, figures.as_of)
    return [result.criterion.metric for result in verdict.results if result.outcome != "pass"]


def _draw(expected: PilotExpectation, ground: PowerGround, roi: float, rng: np.random.Generator) -> PilotFigures:
    """Figures of one pilot with this true return; campaigns differ as the expectation says, days by chance."""
    wish, chance = np.array(expected.spend_micros), ground.chance
    level = math.exp(_spend_log_sd(expected) * float(rng.standard_normal()))
    spend = np.rint(wish * level * _gamma(chance.spend_spread, wish.shape, rng))
    returns = np.exp(expected.roi_log_sd * rng.standard_normal(wish.shape[1]))
    returns *= (1 + roi) * spend.sum() / max(float((spend.sum(axis=0) * returns).sum()), 1.0)
    worth = _value_of_sale(expected)
    sales, value = draw_sales(spend * returns / worth, worth, chance, rng)
    as_of = _judged_at(expected, ground)
    known = ground.late.known(expected.days, as_of, ground.time_zone).value[:, None]
    counts = np.rint(spend / 1e6).astype(np.int64)  # of clicks and impressions no rule asks
    known_micros = np.rint(value * known).astype(np.int64)
    feed = ground.late.refunds is not None
    return PilotFigures(
        as_of=as_of,
        days=expected.days,
        campaigns=expected.campaigns,
        spend_micros=spend.astype(np.int64),
        impressions=counts,
        clicks=counts,
        conversions=sales,
        value_micros=known_micros,
        sales=sales if feed else None,
        sale_value_micros=known_micros if feed else None,
    )


def _judged_at(expected: PilotExpectation, ground: PowerGround) -> datetime:
    day = expected.days[-1] + timedelta(days=1 + ground.settle_days)
    return datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(ground.time_zone))


def _spend_log_sd(expected: PilotExpectation) -> float:
    """What is unknown about the total spend, from its interval."""
    total = expected.total_spend_micros
    if total.lower_95 <= 0:
        return 0.0
    return math.log(total.upper_95 / total.lower_95) / (2 * _Z)


def _value_of_sale(expected: PilotExpectation) -> Floats:
    """Of each campaign, (N,); of all where none is expected."""
    value, sales = np.sum(expected.value_micros, axis=0), np.sum(expected.conversions, axis=0)
    overall = value.sum() / max(float(sales.sum()), 1e-9)
    return np.asarray(np.where(sales > 0, value / np.maximum(sales, 1e-9), overall), np.float64)


def _gamma(spread: float, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Factors of mean 1."""
    return np.ones(shape) if spread <= 0 else rng.gamma(1 / spread**2, spread**2, shape)
