"""Value and spend of the campaign-days of many simulated releases, for several kinds of reward.

Each world draws D days of R releases with N campaigns, as columns R * N. A campaign-day of the treatment returns on
average (1 + lift) times as much for a dollar as one of the control; everything else differs between worlds. Without a
lift, both sides have the same mean in all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from gaelp.arrays import Bools, Floats, Ints
from gaelp.bench.lift_trial import DrawValues, lognormal, zero_inflated
from gaelp.release.assignment import exposure_scores, served_percent

__all__ = [
    "DAY_SPEND_MICROS",
    "WORLDS",
    "Days",
    "ReleaseWorld",
    "assigned_days",
    "platform_days",
    "platform_rates",
    "platform_spend",
]

DAY_SPEND_MICROS = 25_000_000  # of a campaign; its mean where campaigns differ
_VALUE_PER_DOLLAR = 1.4  # of the control

# Measured on the local ad platform with the incumbent's bids x0.75 (40 campaigns, 56 days, seed 977): see
# docs/release-trials.md.
_BUDGET_LOG_SD = 0.48
_RETURN_LOG_SD = 0.21  # of value per dollar between campaigns
_SALE_MICROS = 20_000_000
_SALE_LOG_SD = 0.33  # of the value of a sale between campaigns
_SALE_SHAPE = 9.0  # of the gamma distribution of sales within a campaign: a spread of a third
_SPEND_SD = 0.27  # of a campaign's spend from day to day


@dataclass(frozen=True, slots=True)
class Days:
    """D days of C columns, in micros."""

    value_micros: Ints
    spend_micros: Ints


DrawDays = Callable[[Generator, Bools, int, float], Days]


@dataclass(frozen=True, slots=True)
class ReleaseWorld:
    """One kind of reward: `draw` takes a generator, which days are treated (D, R * N), N and the lift."""

    name: str
    draw: DrawDays


def assigned_days(first: int, releases: int, campaigns: int, percent: Floats) -> Bools:
    """Which campaign-days are treated in so many releases, each with a key of its own, (D, releases * campaigns)."""
    names = [str(each) for each in range(campaigns)]
    served = served_percent(percent.tolist())[:, None]
    drawn = [100 * exposure_scores(f"release {first + each}", names, len(percent)) < served for each in range(releases)]
    return np.asarray(np.hstack(drawn))


def platform_rates(rng: Generator, columns: int) -> tuple[Floats, Floats, Floats]:
    """Budgets in micros, values per dollar and values of a sale in micros of campaigns like the platform's."""
    budget, worth, sale = (
        np.exp(sd * rng.standard_normal(columns) - sd**2 / 2) for sd in (_BUDGET_LOG_SD, _RETURN_LOG_SD, _SALE_LOG_SD)
    )
    return DAY_SPEND_MICROS * budget, _VALUE_PER_DOLLAR * worth, _SALE_MICROS * sale


def platform_spend(rng: Generator, shape: tuple[int, ...]) -> Floats:
    """Spend over the daily budget: pacing lets it miss or exceed that."""
    return np.clip(1 + _SPEND_SD * rng.standard_normal(shape), 0.2, 2)


def platform_days(day_sd: float = 0.0) -> DrawDays:
    """A few sales a day of campaigns that differ in budget, return and value of a sale; a day may favour all."""

    def draw(rng: Generator, treated: Bools, campaigns: int, lift: float) -> Days:
        days, columns = treated.shape
        budget, worth, sale = platform_rates(rng, columns)
        spend = budget * platform_spend(rng, treated.shape)
        shared = np.maximum(1 + day_sd * rng.standard_normal((days, columns // campaigns)), 0)
        expected = spend * worth * np.where(treated, 1 + lift, 1.0) * np.repeat(shared, campaigns, axis=1)
        sales = rng.poisson(expected / sale)
        value = np.where(sales > 0, rng.gamma(np.maximum(_SALE_SHAPE * sales, 1e-9)), 0.0) * sale / _SALE_SHAPE
        return Days(np.rint(value).astype(np.int64), np.rint(spend).astype(np.int64))

    return draw


def _equal_spend(treatment: DrawValues, control: DrawValues) -> DrawDays:
    """Every campaign spends the same; values of mean 1 times the value per dollar."""

    def draw(rng: Generator, treated: Bools, _campaigns: int, lift: float) -> Days:
        drawn = np.where(treated, (1 + lift) * treatment(rng, treated.shape), control(rng, treated.shape))
        value = np.rint(_VALUE_PER_DOLLAR * DAY_SPEND_MICROS * drawn).astype(np.int64)
        return Days(value, np.full(treated.shape, DAY_SPEND_MICROS, np.int64))

    return draw


WORLDS: tuple[ReleaseWorld, ...] = (
    ReleaseWorld("platform: a few sales a day, campaigns differ", platform_days()),
    ReleaseWorld("platform, a day favours all campaigns (sd 20%)", platform_days(0.2)),
    ReleaseWorld("lognormal 1", _equal_spend(lognormal(1), lognormal(1))),
    ReleaseWorld("skewed: lognormal 1.5", _equal_spend(lognormal(1.5), lognormal(1.5))),
    ReleaseWorld("zero-inflated: an order on a fifth of the days", _equal_spend(*[zero_inflated(0.2, 0.5)] * 2)),
    ReleaseWorld("equal means, treatment spread 1.5, control 0.5", _equal_spend(lognormal(1.5), lognormal(0.5))),
    ReleaseWorld("equal means, treatment spread 0.5, control 1.5", _equal_spend(lognormal(0.5), lognormal(1.5))),
    ReleaseWorld(
        "equal means, orders on 5% of treatment and 20% of control days",
        _equal_spend(zero_inflated(0.05, 0.5), zero_inflated(0.2, 0.5)),
    ),
)
