"""What a release's design can get wrong, and what other designs cost, on campaign-days as the local platform has them.

Four trials: campaigns that stay on one side for good; days that leave something to the next day; a control that is
still being scaled down when the comparison begins; and a value model that is wrong for one side.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats

from gaelp.arrays import Bools, Floats
from gaelp.bench.release_trials import TrialSize, first_looks, full_pairs, share_found
from gaelp.bench.release_worlds import DAY_SPEND_MICROS, Days, assigned_days, platform_rates, platform_spend
from gaelp.gates.lift_test import LiftPlan
from gaelp.release.control_bids import ScaledIncumbent
from gaelp.release.pairs import PairRules

__all__ = ["adapting_control", "carry_over", "parallel_campaigns", "wrong_value_model"]

_SALE_SHAPE = 9.0
_BATCH = 50
_RETURN_ELASTICITY = 0.7  # value per dollar rises by a fifth where bids fall by a quarter, as measured there
_SPEND_ELASTICITY = 1.6
_RULES = PairRules(unit_micros=DAY_SPEND_MICROS // 2, age_days_min=0)

Means = Callable[[Generator, Bools], Floats]  # which days are treated -> factor on their value per dollar, (D, C)


def carry_over(plan: LiftPlan, size: TrialSize, *, lift: float, left: float) -> dict[str, Any]:
    """A treated day multiplies the value of the campaign's next day by 1 + `left`, whoever bids on that.

    `true_lift` is that of an agent with all days over one with none.
    """

    def means(_rng: Generator, treated: Bools) -> Floats:
        before = np.vstack([np.zeros((1, treated.shape[1]), bool), treated[:-1]])
        return np.where(treated, 1 + lift, 1.0) * np.where(before, 1 + left, 1.0)

    return {"true_lift": (1 + lift) * (1 + left) - 1, **_tried(plan, size, means)}


def adapting_control(plan: LiftPlan, size: TrialSize, *, shadow_days: int) -> dict[str, Any]:
    """The agent bids what lasts from the first day; the control, no worse in the end, is still finding that."""

    def means(rng: Generator, treated: Bools) -> Floats:
        days, columns = treated.shape
        lasting = rng.uniform(0.5, 1.0, columns)
        control, budget = ScaledIncumbent(np.full((columns, 1), 1_000_000)), np.full(columns, DAY_SPEND_MICROS)
        own = np.vstack([np.zeros((shadow_days, columns), bool), treated])
        factor = np.ones((days, columns))
        for day, agents in enumerate(own):
            over = control.factor / lasting
            if day >= shadow_days:
                factor[day - shadow_days] = np.where(agents, 1.0, np.maximum(over, 1.0) ** -_RETURN_ELASTICITY)
            spend = np.minimum(over**_SPEND_ELASTICITY, 1.0) * budget
            control.end_day(np.rint(spend).astype(np.int64), budget, ~agents)
        return factor

    return {"true_lift": 0.0, **_tried(plan, size, means)}


def wrong_value_model(plan: LiftPlan, size: TrialSize, *, error: float) -> dict[str, Any]:
    """Both sides are equal; the model predicts `error` too much value for the treatment's clicks."""
    verdicts: dict[str, list[Any]] = {"noticed": [], "promoted": [], "predicted": []}
    for first in range(0, size.releases, _BATCH):
        count = min(_BATCH, size.releases - first)
        rng = np.random.default_rng([size.seed, first, 3])
        treated = _half(size, first, count)
        days, expected = _draw(rng, treated, np.ones(treated.shape))
        predicted = expected * np.where(treated, 1 + error, 1.0)
        of_model = full_pairs(days, treated, count, _RULES, person_time=predicted)
        too_low, too_high = (
            first_looks(of_model, plan, 0.0)[rule] for rule in ("worse: upper bound < 0", "better: lower bound > 0")
        )
        verdicts["noticed"].append(np.where(too_low > 0, too_low, too_high))
        realised = first_looks(full_pairs(days, treated, count, _RULES), plan, 0.0)
        verdicts["promoted"].append(realised["point >= 15%, lower bound >= 5%"])
        model = full_pairs(Days(np.rint(predicted).astype(np.int64), days.spend_micros), treated, count, _RULES)
        verdicts["predicted"].append(first_looks(model, plan, 0.0)["point >= 15%, lower bound >= 5%"])
    return {name: share_found(np.concatenate(looks)) for name, looks in verdicts.items()}


def parallel_campaigns(plan: LiftPlan, size: TrialSize, *, lift: float) -> dict[str, Any]:
    """Half of the campaigns are the agent's for good; beside the bets, a t-test over campaigns at the last day.

    `pairs` takes one campaign of each side on a day for a pair, `campaigns_pass` the logarithm of each campaign's
    value per dollar, once; both are asked for more than 0 and for more than 15%.
    """
    looks: dict[str, list[Any]] = {}
    passed: dict[float, list[Any]] = {0.0: [], 0.15: []}
    for first in range(0, size.releases, _BATCH):
        count = min(_BATCH, size.releases - first)
        treated = np.tile(np.arange(count * size.campaigns) % 2 == 0, (size.days, 1))
        days, _ = _draw(np.random.default_rng([size.seed, first, 4]), treated, np.where(treated, 1 + lift, 1.0))
        for rule, answered_after in first_looks(_neighbours(days, count), plan, 0.0).items():
            looks.setdefault(rule, []).append(answered_after)
        rate = np.log(np.maximum(days.value_micros.sum(axis=0), 1) / days.spend_micros.sum(axis=0))
        sides = rate.reshape(count, -1, 2)
        for asked, shares in passed.items():
            test = stats.ttest_ind(sides[..., 0] - np.log1p(asked), sides[..., 1], axis=1, alternative="greater")
            shares.append(test.pvalue < plan.alpha)
    return {
        "pairs": {rule: share_found(np.concatenate(each)) for rule, each in looks.items()},
        "campaigns_pass": {f"> {asked:.0%}": float(np.concatenate(each).mean()) for asked, each in passed.items()},
        "dollars": size.campaigns * size.days * DAY_SPEND_MICROS / 1e6,
    }


def _tried(plan: LiftPlan, size: TrialSize, means: Means) -> dict[str, Any]:
    looks: dict[str, list[Any]] = {}
    total = np.zeros(2)
    for first in range(0, size.releases, _BATCH):
        count = min(_BATCH, size.releases - first)
        rng = np.random.default_rng([size.seed, first, 2])
        treated = _half(size, first, count)
        days, _ = _draw(rng, treated, means(rng, treated))
        sides = full_pairs(days, treated, count, _RULES)
        total += [side.sum() for side in sides]
        for rule, answered_after in first_looks(sides, plan, 0.0).items():
            looks.setdefault(rule, []).append(answered_after)
    shown = {rule: share_found(np.concatenate(each)) for rule, each in looks.items()}
    return {"shown_lift": float(total[0] / total[1] - 1), "rules": shown}


def _half(size: TrialSize, first: int, count: int) -> Bools:
    return assigned_days(size.seed * 1_000_000 + first, count, size.campaigns, np.full(size.days, 50.0))


def _draw(rng: Generator, treated: Bools, means: Floats) -> tuple[Days, Floats]:
    """Campaign-days, and the expected value of each in micros, (D, C)."""
    budget, worth, sale = platform_rates(rng, treated.shape[1])
    spend = budget * platform_spend(rng, treated.shape)
    expected = spend * worth * means
    sales = rng.poisson(expected / sale)
    value = np.where(sales > 0, rng.gamma(np.maximum(_SALE_SHAPE * sales, 1e-9)), 0.0) * sale / _SALE_SHAPE
    return Days(np.rint(value).astype(np.int64), np.rint(spend).astype(np.int64)), expected


def _neighbours(days: Days, releases: int) -> tuple[Floats, Floats]:
    """Pairs of two campaigns on one day, (R, P) each, day by day."""
    value, spend = (
        each.reshape(len(each), releases, -1, 2).astype(float) for each in (days.value_micros, days.spend_micros)
    )
    together = spend.sum(axis=-1) * _RULES.unit_micros
    sides = (value[..., 0] * spend[..., 1] / together, value[..., 1] * spend[..., 0] / together)
    treatment, control = (np.moveaxis(side, 1, 0).reshape(releases, -1) for side in sides)
    return treatment, control
