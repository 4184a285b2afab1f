"""The budgets of the next day: first ones until the improvement is proven, then by what each campaign returns.

What has to be seen before a campaign gets more money, in this order:

1. the agent is promoted, and its improvement is still shown today;
2. the campaign uses its budget up: a higher one would not be spent;
3. even with the raise its value for each dollar, by its lower bound, is what the objective asks for; for profit, so is
   that of the next dollar;
4. the raise is within a day's percentage, the highest budget that was signed, and what the mandate allows today.

Money is taken back at once: from all campaigns when the release ends badly or the improvement is no longer shown to be
one, and from a campaign that is shown to lose money.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from pydantic import Field, PositiveInt

from gaelp.arrays import Bools, Floats, Ints
from gaelp.config.base import Frozen
from gaelp.config.objective import VALUE, Objective
from gaelp.gates.lift_test import LiftInterval
from gaelp.money import Micros
from gaelp.release.allocation import Allocation, AllocationBounds, ValueCurves, allocate
from gaelp.release.budget_decision import BudgetDecision, CampaignBudget
from gaelp.release.budget_response import BudgetDays, BudgetResponses, ResponsePrior, fit_responses
from gaelp.release.exposure import ExposureState
from gaelp.release.exposure_checks import lift_text

__all__ = ["BudgetEvidence", "BudgetRules", "keep_budgets", "next_budgets", "value_curves"]

_LOSING_SHARE = 2  # a campaign that is shown to lose money keeps its first budget divided by this
_FREE = 10**15  # no limit
_HIGHEST_FACTOR = 10.0  # of a day's budget, to keep numbers finite
_LOSES = "it is shown to lose money"
_RAISES = ("a day's raise", "the highest budget that was signed", "what the mandate allows today")


class BudgetRules(Frozen):
    """Limits of budgets; fixed before the release begins."""

    raise_percent: int = Field(ge=0, le=100, description="how much a budget may rise from day to day")
    raised_daily_micros: PositiveInt = Field(description="the most that a campaign's budget may ever be")
    step_micros: PositiveInt = Field(description="budgets are multiples of this")
    lift_lower_min: float = Field(description="lower bound of the improvement without which nothing is raised")
    objective: Objective = VALUE
    confidence: float = Field(default=0.8, ge=0.5, lt=1, description="of each lower bound on what a campaign returns")
    loss_confidence: float = Field(default=0.95, ge=0.5, lt=1, description="with which a campaign is shown to lose")
    used_share_min: float = Field(default=0.7, gt=0, le=1, description="below, a campaign does not use its budget up")
    days_min: PositiveInt = Field(
        default=4, description="days of the agent's bids before a campaign's budget is raised"
    )
    window_days: PositiveInt = Field(default=28, description="older days say little about today's return")
    prior: ResponsePrior = ResponsePrior()

    def least_return(self, sale_micros: Ints) -> Floats:
        """The value for each dollar that the objective asks of each campaign, (N,)."""
        objective = self.objective
        if objective.kind == "target_cpa" and objective.target_cpa_micros:
            return np.asarray(sale_micros / objective.target_cpa_micros, np.float64)
        return np.full(len(sale_micros), objective.target_roas or 1.0)


@dataclass(frozen=True, slots=True)
class BudgetEvidence:
    """What a day's budgets are decided from; arrays are of N campaigns in the order of `campaigns`."""

    campaigns: Sequence[str]
    first_micros: Ints  # budgets at the start
    state: ExposureState
    lift: LiftInterval
    days: BudgetDays  # their `now_micros` are the budgets in force


def next_budgets(rules: BudgetRules, evidence: BudgetEvidence, allowed_micros: Callable[[], Ints]) -> BudgetDecision:
    """Decide all budgets of a day; the same evidence always gives the same ones, each with its reason.

    `allowed_micros` returns the most that the mandate allows each campaign today, (N,); asked only before raises, so
    that taking money back depends on nothing.
    """
    if evidence.state.ended != "promoted":
        return keep_budgets(evidence)
    if not evidence.lift.lower >= 0:
        why = f"no improvement is shown any more, so no budget is above its first one: {lift_text(evidence.lift)}"
        return _all(evidence, np.minimum(evidence.days.now_micros, evidence.first_micros), why)
    return _by_return(rules, evidence, allowed_micros())


def keep_budgets(evidence: BudgetEvidence) -> BudgetDecision:
    """Budgets as they are; none above its first one after a release that ended badly."""
    now = evidence.days.now_micros
    if evidence.state.ended in ("rolled_back", "aborted"):
        why = f"the release was {evidence.state.ended.replace('_', ' ')}, so no budget is above its first one"
        return _all(evidence, np.minimum(now, evidence.first_micros), why)
    return _all(evidence, now, "budgets stay as they are until the improvement is proven")


def value_curves(responses: BudgetResponses, now_micros: Ints, used_share_min: float) -> ValueCurves:
    """Value by budget: what is expected of money that is spent now, the lower bound for more of it."""
    used = np.where(np.isnan(responses.used_share), 0.0, responses.used_share) / used_share_min
    kink = np.maximum(np.minimum(used, 1.0) * now_micros, 1).astype(np.int64)
    below = responses.value_per_dollar * responses.elasticity
    above = np.where(used < 1, 0.0, responses.lower * responses.elasticity_lower)
    return ValueCurves(kink, below, np.minimum(above, below), responses.elasticity)


def _by_return(rules: BudgetRules, evidence: BudgetEvidence, allowed_micros: Ints) -> BudgetDecision:
    days = _newest(evidence.days, rules.window_days)
    shown = fit_responses(days, rules.confidence, rules.prior)
    losing = fit_responses(days, rules.loss_confidence, rules.prior).upper < 1
    now, step = days.now_micros, rules.step_micros
    most, why = _most(_Shown(rules, evidence, shown, losing), allowed_micros)
    least = np.minimum(_whole(now * (100 - rules.raise_percent) // 100, step), most)
    total = int(now.sum()) * (100 + rules.raise_percent) // 100
    profit = rules.objective.kind == "profit"
    bounds = AllocationBounds(
        least_micros=np.maximum(least, np.minimum(step, most)),
        most_micros=most,
        total_micros=total,
        step_micros=step,
        idle_most_micros=total - int(np.minimum(now, most).sum()),  # only money that is new or was taken from a loser
        idle_slope=1.0 if profit else 0.0,
    )
    curves = value_curves(shown, now, rules.used_share_min)
    kept = np.maximum(curves.slope_below, bounds.idle_slope)  # what is spent now is not withdrawn to stay unspent
    split = allocate(replace(curves, slope_below=kept), bounds)
    return _decision(evidence, split, shown, why)


@dataclass(frozen=True, slots=True)
class _Shown:
    """What the limits of a day are made of."""

    rules: BudgetRules
    evidence: BudgetEvidence
    responses: BudgetResponses
    losing: Bools  # (N,)


def _most(given: _Shown, allowed_micros: Ints) -> tuple[Ints, list[str]]:
    """The highest budget of each campaign today, and what sets it."""
    rules, now = given.rules, given.evidence.days.now_micros
    limits: list[tuple[str, Ints]] = [
        (_RAISES[0], now * (100 + rules.raise_percent) // 100),
        (_RAISES[1], np.full(len(now), rules.raised_daily_micros)),
        (_RAISES[2], allowed_micros),
        *_proofs(given),
        (_LOSES, np.where(given.losing, np.minimum(now, given.evidence.first_micros // _LOSING_SHARE), _FREE)),
    ]
    tables = np.stack([_whole(limit, rules.step_micros) for _, limit in limits])
    first = len(limits) - 1 - np.argmin(tables[::-1], axis=0)  # of equal ones the last says most
    most = np.maximum(tables.min(axis=0), rules.step_micros)
    return np.asarray(most, np.int64), [limits[row][0] for row in first]


def _proofs(given: _Shown) -> Iterator[tuple[str, Ints]]:
    """What has to be shown before a budget rises; none of it takes money away."""
    rules, shown, now = given.rules, given.responses, given.evidence.days.now_micros
    lower, needed = given.evidence.lift.lower, rules.lift_lower_min
    over = np.maximum(shown.lower / rules.least_return(given.evidence.days.sale_micros), 0.0)
    earned = now.astype(np.float64) * np.minimum(np.power(over, 1 / (1 - shown.elasticity_lower)), _HIGHEST_FACTOR)
    yield "its return, by the lower bound, would fall below what the objective asks", _held(now, earned)
    used_up = shown.used_share >= rules.used_share_min
    yield f"it uses less than {rules.used_share_min:.0%} of its budget", np.where(used_up, _FREE, now)
    known = shown.days >= rules.days_min
    yield f"fewer than {rules.days_min} days of its return are known", np.where(known, _FREE, now)
    proven = np.full(len(now), lower >= needed)
    yield (
        f"the improvement is shown to be {lower:+.1%} or more, a raise needs {needed:+.1%}",
        np.where(proven, _FREE, now),
    )


def _held(now: Ints, limit: Floats) -> Ints:
    """A limit that stops raises and takes nothing away."""
    return np.maximum(np.floor(limit).astype(np.int64), now)


def _whole(micros: Ints, step: Micros) -> Ints:
    return np.asarray(micros // step * step, np.int64)


def _newest(days: BudgetDays, window: int) -> BudgetDays:
    newest = slice(max(len(days.spend_micros) - window, 0), None)
    return replace(
        days,
        value_micros=days.value_micros[newest],
        spend_micros=days.spend_micros[newest],
        daily_micros=days.daily_micros[newest],
        counted=days.counted[newest],
        known_share=days.known_share[newest],
    )


# The record


def _all(evidence: BudgetEvidence, daily_micros: Ints, why: str) -> BudgetDecision:
    amounts = zip(evidence.campaigns, evidence.days.now_micros.tolist(), daily_micros.tolist(), strict=True)
    return BudgetDecision(
        campaigns=tuple(
            CampaignBudget(campaign=name, before_micros=before, after_micros=after, why=why)
            for name, before, after in amounts
        ),
        why=why,
    )


def _decision(
    evidence: BudgetEvidence, split: Allocation, shown: BudgetResponses, limits: Sequence[str]
) -> BudgetDecision:
    now, after = evidence.days.now_micros, split.daily_micros
    campaigns = tuple(
        CampaignBudget(
            campaign=name,
            before_micros=int(now[row]),
            after_micros=int(after[row]),
            why=_why(int(after[row]), int(now[row]), limits[row], split.price),
            return_value=float(shown.value_per_dollar[row]),
            return_lower=float(shown.lower[row]),
            next_dollar_lower=float(shown.lower[row] * shown.elasticity_lower),
            used_share=None if np.isnan(shown.used_share[row]) else float(shown.used_share[row]),
            days=int(shown.days[row]),
        )
        for row, name in enumerate(evidence.campaigns)
    )
    raised, lowered = int((after > now).sum()), int((after < now).sum())
    return BudgetDecision(
        campaigns=campaigns,
        why=f"{raised} budgets raised and {lowered} lowered by what campaigns return; {lift_text(evidence.lift)}",
        total_micros=int(after.sum()) + split.unspent_micros,
        price=split.price,
        gap_micros=split.gap_micros,
    )


def _why(after: Micros, before: Micros, limit: str, price: float) -> str:
    if after > before:
        return f"one more dollar returns {price:.2f} or more by the lower bound; not higher: {limit}"
    if limit == _LOSES:
        return limit
    if after < before:
        return f"its last dollar is expected to return less than {price:.2f}, which one returns elsewhere"
    if limit in _RAISES:
        return f"one more dollar is not shown to return {price:.2f}"
    return f"not raised: {limit}"
