"""What the split of one total between campaigns is worth on the exchange: by marginal value, equal, and in proportion.

Each seed is a world of its own. Its campaigns have the advertiser's budgets for a history, and then the same days run
again under each split, with the same searches and rivals: the whole course of an account is one observation.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from scipy import stats

from gaelp.arrays import Floats, Ints
from gaelp.bench.sandbox_bidders import new_trial
from gaelp.bench.split_account import SplitAccount
from gaelp.config.base import Frozen
from gaelp.release.allocation import AllocationBounds, allocate
from gaelp.release.budget_response import fit_responses
from gaelp.release.budget_rules import BudgetRules, value_curves
from gaelp.sandbox.exchange import Exchange
from gaelp.sandbox.spec import SandboxSpec

__all__ = ["BY_MARGINAL_VALUE", "OWN", "SplitGain", "SplitOutcome", "measure_splits", "split_gains"]

OWN = "the advertiser's budgets"
BY_MARGINAL_VALUE = "by marginal value with lower bounds"
_HISTORY_DAYS, _SETTLE_DAYS, _DAYS = 21, 7, 28  # the budgets of each split settle before they are measured
_RAISE_PERCENT, _STEP_MICROS = 20, 10_000
_HIGHEST = 3  # times the advertiser's budget

Split = Callable[[SplitAccount, Ints], Ints]  # an account and its budgets in force: those of the next day


class SplitOutcome(Frozen):
    """One seed under one split: what a day brought, in units of the currency; value is expected value of the clicks."""

    seed: int
    split: str
    value_a_day: float
    spend_a_day: float
    budget_a_day: float

    @property
    def profit_a_day(self) -> float:
        """Value less spend."""
        return self.value_a_day - self.spend_a_day


class SplitGain(Frozen):
    """What one split brings more than another, with a 95% interval over seeds (paired, Student t)."""

    split: str
    against: str
    value_gain: float
    value_low: float
    value_high: float
    profit_gain: float  # as a share of the other one's spend: a profit may be near 0
    profit_low: float
    profit_high: float
    spend_gain: float
    worst_seed: int
    worst_value_gain: float


def measure_splits(spec: SandboxSpec, seed: int, campaigns: int) -> tuple[SplitOutcome, ...]:
    """Every split on one world, from the same history on, under the same total."""
    exchange = Exchange(spec.model_copy(update={"seed": seed}))
    trials = [new_trial(exchange, number) for number in range(1, campaigns + 1)]
    own = np.array([trial.budget_micros for trial in trials], np.int64)
    account = SplitAccount(exchange, trials)
    for _ in range(_HISTORY_DAYS):
        account.run_day(own)
    splits: dict[str, Split] = {
        OWN: _as_it_was,
        "equal": _once(lambda _account, _now: _in_proportion(np.ones(campaigns), int(own.sum()))),
        "in proportion to shown value": _once(partial(_by_shown_value, int(own.sum()))),
        "by marginal value, expected": partial(_by_marginal_value, own, 0.5),
        BY_MARGINAL_VALUE: partial(_by_marginal_value, own, None),
    }
    return tuple(_fly(account.copy(), own, (name, split), seed) for name, split in splits.items())


def split_gains(outcomes: Sequence[SplitOutcome], split: str) -> tuple[SplitGain, ...]:
    """One split against each other one, over all seeds."""
    by_split: dict[str, dict[int, SplitOutcome]] = {}
    for outcome in outcomes:
        by_split.setdefault(outcome.split, {})[outcome.seed] = outcome
    return tuple(_gain(split, name, by_split[split], others) for name, others in by_split.items() if name != split)


def _gain(split: str, against: str, own: dict[int, SplitOutcome], others: dict[int, SplitOutcome]) -> SplitGain:
    seeds = sorted(own)
    pairs = [(own[seed], others[seed]) for seed in seeds]
    value = np.array([mine.value_a_day / other.value_a_day - 1 for mine, other in pairs])
    profit = np.array([(mine.profit_a_day - other.profit_a_day) / other.spend_a_day for mine, other in pairs])
    spend = np.array([mine.spend_a_day / other.spend_a_day - 1 for mine, other in pairs])
    worst = int(np.argmin(value))
    return SplitGain(
        split=split,
        against=against,
        **dict(zip(("value_gain", "value_low", "value_high"), _interval(value), strict=True)),
        **dict(zip(("profit_gain", "profit_low", "profit_high"), _interval(profit), strict=True)),
        spend_gain=float(spend.mean()),
        worst_seed=seeds[worst],
        worst_value_gain=float(value[worst]),
    )


def _interval(gains: Floats) -> tuple[float, float, float]:
    mean = float(gains.mean())
    reach = float(stats.t.ppf(0.975, len(gains) - 1) * gains.std(ddof=1) / np.sqrt(len(gains)))
    return mean, mean - reach, mean + reach


def _fly(account: SplitAccount, daily_micros: Ints, named: tuple[str, Split], seed: int) -> SplitOutcome:
    name, split = named
    value, spend = 0.0, 0
    for day in range(_SETTLE_DAYS + _DAYS):
        if day == _SETTLE_DAYS:
            value, spend = account.true_value_micros(), int(account.spend.sum())
        daily_micros = split(account, daily_micros)
        account.run_day(daily_micros)
    return SplitOutcome(
        seed=seed,
        split=name,
        value_a_day=(account.true_value_micros() - value) / 1e6 / _DAYS,
        spend_a_day=(int(account.spend.sum()) - spend) / 1e6 / _DAYS,
        budget_a_day=float(account.budgets[-_DAYS:].sum()) / 1e6 / _DAYS,
    )


def _as_it_was(_account: SplitAccount, now_micros: Ints) -> Ints:
    return now_micros


def _in_proportion(weights: Floats, total_micros: int) -> Ints:
    shares = weights / weights.sum() * total_micros
    return np.asarray(np.maximum(np.floor(shares / _STEP_MICROS), 1).astype(np.int64) * _STEP_MICROS)


def _once(choose: Split) -> Split:
    """Decide on the first day and keep it."""
    chosen: list[Ints] = []

    def split(account: SplitAccount, now_micros: Ints) -> Ints:
        if not chosen:
            chosen.append(choose(account, now_micros))
        return chosen[0]

    return split


def _by_shown_value(total_micros: int, account: SplitAccount, now_micros: Ints) -> Ints:
    value = account.seen(now_micros, _HISTORY_DAYS).value_micros.sum(axis=0)
    return _in_proportion(np.maximum(value, value.max() / 100), total_micros)


def _by_marginal_value(own_micros: Ints, confidence: float | None, account: SplitAccount, now_micros: Ints) -> Ints:
    """As a release splits budgets after its proof, under a total that does not rise."""
    rules = BudgetRules(
        raise_percent=_RAISE_PERCENT,
        raised_daily_micros=int(own_micros.max()) * _HIGHEST,
        step_micros=_STEP_MICROS,
        lift_lower_min=0.0,
    )
    shown = fit_responses(account.seen(now_micros, rules.window_days), confidence or rules.confidence, rules.prior)
    most = np.minimum(now_micros * (100 + _RAISE_PERCENT) // 100, own_micros * _HIGHEST)
    bounds = AllocationBounds(
        least_micros=np.minimum(now_micros * (100 - _RAISE_PERCENT) // 100 // _STEP_MICROS * _STEP_MICROS, most),
        most_micros=np.maximum(most, _STEP_MICROS),
        total_micros=int(own_micros.sum()),
        step_micros=_STEP_MICROS,
    )
    return allocate(value_curves(shown, now_micros, rules.used_share_min), bounds).daily_micros
