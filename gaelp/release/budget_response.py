"""What campaigns return of their budgets, fitted from what was seen: value for each dollar, and how it falls with more.

**Value for each dollar** of a campaign has a gamma distribution: sales are Poisson with more spread where days show it,
and campaigns differ as much as their totals say (empirical Bayes). So a campaign with few sales stays near the others
and has wide bounds.

**Elasticity**: a budget that is 1% higher returns `elasticity` percent more value, the same for all campaigns that use
their budgets up. What days with different budgets of the same campaign show (a Poisson regression conditional on the
campaign's total, so that its level cancels) is combined with a prior; without such days the prior stays.
"""

from dataclasses import dataclass

import numpy as np
from pydantic import Field
from scipy.special import gammainccinv, gammaincinv, gammaln

from gaelp.arrays import Bools, Floats, Ints
from gaelp.config.base import Frozen
from gaelp.errors import BadInput

__all__ = ["BudgetDays", "BudgetResponses", "ResponsePrior", "fit_responses"]

_ELASTICITIES = np.linspace(0.05, 0.95, 181)
_SHAPES = np.geomspace(0.3, 25.0, 45)  # of the gamma distribution between campaigns; 25: they differ by 20% at least
_LEAST_EXPECTED = 1e-9
_USED_DAYS = 14  # of the agent: whether a raised budget is used shows at once, what it returns does not


class ResponsePrior(Frozen):
    """What is known of the elasticity before budgets were changed: docs/allocation.md says where it was measured."""

    elasticity: float = Field(default=0.5, gt=0.05, lt=0.95)
    elasticity_sd: float = Field(default=0.1, gt=0.0, lt=1.0)


@dataclass(frozen=True, slots=True)
class BudgetDays:
    """D days x N campaigns; value is the part that is known of those days, `known_share` (D,) of the final one."""

    value_micros: Floats
    spend_micros: Ints
    daily_micros: Ints  # the budgets
    counted: Bools  # whether the agent's bids were in force
    known_share: Floats
    sale_micros: Ints  # (N,) of a sale
    now_micros: Ints  # (N,) the budgets in force

    def __post_init__(self) -> None:
        shape = self.spend_micros.shape
        grids = (self.value_micros, self.daily_micros, self.counted)
        if any(grid.shape != shape for grid in grids) or self.known_share.shape != shape[:1]:
            raise BadInput(f"days of budgets have shapes other than {shape}: give days x campaigns everywhere")
        if (self.sale_micros <= 0).any() or (self.now_micros <= 0).any():
            raise BadInput("a sale or a budget in force is worth 0 micros or less: give positive ones")


@dataclass(frozen=True, slots=True)
class BudgetResponses:
    """Of N campaigns at the budgets in force; bounds are one-sided at the confidence asked for."""

    value_per_dollar: Floats  # (N,)
    lower: Floats
    upper: Floats
    used_share: Floats  # (N,) of the budgets of the newest counted days; NaN without any
    days: Ints  # (N,) counted
    sales: Floats  # (N,) known of them
    elasticity: float
    elasticity_lower: float


def fit_responses(days: BudgetDays, confidence: float, prior: ResponsePrior | None = None) -> BudgetResponses:
    """Fit all campaigns together; `confidence` is one-sided, such as 0.8."""
    if not 0.5 <= confidence < 1:
        raise BadInput(f"confidence is {confidence}; allowed: 0.5 or more, below 1")
    counted = days.counted & (days.spend_micros > 0)
    spend = np.where(counted, days.spend_micros, 0).astype(np.float64)
    sales = np.where(counted, days.value_micros, 0.0) / days.sale_micros
    elasticity, elasticity_lower = _elasticity(days, sales, counted, confidence, prior or ResponsePrior())
    cheaper = np.power(np.maximum(days.daily_micros, 1) / days.now_micros, elasticity - 1)  # than at today's budgets
    even = spend * days.known_share[:, None] * cheaper / days.sale_micros  # sales at a return of 1
    value, lower, upper = _rates(sales, even, counted, confidence)
    newest = days.counted & (np.cumsum(days.counted[::-1], axis=0)[::-1] <= _USED_DAYS)
    given = np.where(newest, days.daily_micros, 0).sum(axis=0)
    taken = np.where(newest, spend, 0.0).sum(axis=0)
    used = np.divide(taken, given, out=np.full(len(given), np.nan), where=given > 0)
    return BudgetResponses(
        value, lower, upper, used, days.counted.sum(axis=0), sales.sum(axis=0), elasticity, elasticity_lower
    )


def _rates(sales: Floats, even: Floats, counted: Bools, confidence: float) -> tuple[Floats, Floats, Floats]:
    """Mean and bounds of each campaign's value for a dollar, (N,) each."""
    total, exposure = sales.sum(axis=0), even.sum(axis=0)
    if exposure.sum() <= 0:
        nothing = np.zeros(len(total))
        return nothing, nothing, np.full(len(total), np.inf)
    spread = _dispersion(sales, even, counted)
    total, exposure = total / spread, exposure / spread
    mean = float((total.sum() + 1) / (exposure.sum() + 1))  # as if one sale had come at a return of 1
    shape = _between(total, mean * exposure)
    known, rate = shape + total, shape / mean + exposure
    doubt = 1 / (total.sum() + 1) + 1 / (shape * len(total))  # of the mean of all, relative and squared
    sure = 1 / (1 / known + (shape / mean / rate) ** 2 * doubt)
    low, high = (quantile(sure, 1 - confidence) / sure for quantile in (gammaincinv, gammainccinv))
    return known / rate, np.asarray(low * known / rate), np.asarray(high * known / rate)


def _dispersion(sales: Floats, even: Floats, counted: Bools) -> float:
    """Variance of a day's sales over its mean, 1 or more (Pearson)."""
    exposure = even.sum(axis=0)
    level = np.divide(sales.sum(axis=0), exposure, out=np.zeros(len(exposure)), where=exposure > 0)
    expected = even * level
    used = counted & (expected > _LEAST_EXPECTED)
    free = int(used.sum()) - int(used.any(axis=0).sum())
    if free < 1:
        return 1.0
    return max(float((((sales - expected)[used]) ** 2 / expected[used]).sum()) / free, 1.0)


def _between(total: Floats, expected: Floats) -> float:
    """The shape of the gamma distribution between campaigns under which the totals are likeliest."""
    shape = _SHAPES[:, None]
    known = expected > 0
    count, mean = total[known], expected[known]
    likely = gammaln(count + shape) - gammaln(shape) + shape * np.log(shape / (shape + mean))
    likely = likely + count * np.log(mean / (shape + mean))
    return float(_SHAPES[np.argmax(likely.sum(axis=1))])


def _elasticity(
    days: BudgetDays, sales: Floats, counted: Bools, confidence: float, prior: ResponsePrior
) -> tuple[float, float]:
    """Mean and lower bound, on a grid."""
    log_budget = np.log(np.maximum(days.daily_micros, 1) / days.now_micros)
    weight = np.where(counted, days.known_share[:, None], 0.0)
    total = sales.sum(axis=0)
    informative = (total > 0) & ((weight > 0).sum(axis=0) > 1)
    spread = _dispersion(sales, weight, counted)
    likely = -0.5 * ((_ELASTICITIES - prior.elasticity) / prior.elasticity_sd) ** 2
    if informative.any():
        powers = np.exp(_ELASTICITIES[:, None, None] * log_budget[:, informative])
        sums = np.log((weight[:, informative] * powers).sum(axis=1))  # (K, N)
        slope = (sales * log_budget).sum()
        likely = likely + (_ELASTICITIES * slope - sums @ total[informative]) / spread
    chance = np.exp(likely - likely.max())
    chance /= chance.sum()
    below = np.cumsum(chance)
    return float(chance @ _ELASTICITIES), float(_ELASTICITIES[np.searchsorted(below, 1 - confidence)])
