"""Simulated campaigns, hour by hour, to measure the money rules on: healthy ones, and the same with a planted fault.

A light statistical model, fast enough for a thousand months: hours of the day and weekdays that differ from the plan,
noise that lasts, heavy days, click rates that fade, prices that wander, and conversions that arrive late. All arrays
have shape (campaigns, hours); money is in micros.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from gaelp.arrays import Floats, Ints

__all__ = ["DAY_PLAN", "FAULTS", "Campaigns", "MonthFault", "simulate", "with_fault"]


DAY_PLAN = np.array([2, 1, 1, 1, 1, 2, 4, 6, 8, 9, 9, 9, 10, 9, 9, 9, 9, 10, 11, 12, 12, 10, 7, 4])
_OVERDELIVERY = 2  # the platform stops for the day at twice the budget
_MEAN_DELAY_HOURS = 8.0


@dataclass(frozen=True)
class Campaigns:
    """N campaigns over H hours; `conversions` count in the hour in which they are reported."""

    budget_micros: Ints  # (N,) a day
    value_micros: Ints  # (N,) of one conversion
    planned_micros: Ints
    spend_micros: Ints
    impressions: Ints
    clicks: Ints
    conversions: Ints


def simulate(campaigns: int, days: int, rng: np.random.Generator) -> Campaigns:
    """Healthy campaigns: $20 to $2,000 a day, a true return of 10% to 80%."""
    hours = days * 24
    budget = np.exp(rng.uniform(np.log(20e6), np.log(2000e6), (campaigns, 1)))
    cpc = np.exp(rng.normal(np.log(0.6e6), 0.5, (campaigns, 1))) * _wander(rng, campaigns, days, 0.2)
    ctr = np.exp(rng.normal(np.log(0.02), 0.5, (campaigns, 1))) * _fade(rng, campaigns, hours)
    cvr = np.clip(np.exp(rng.normal(np.log(0.04), 0.4, (campaigns, 1))), 0.005, 0.2)
    planned = budget * DAY_PLAN[None, np.arange(hours) % 24] / DAY_PLAN.sum()
    wanted = planned * 0.95 * _traffic(rng, campaigns, days)
    ctr = ctr * _daily(rng, campaigns, days, 0.08) * _noise(rng, (campaigns, hours), 0.05)
    impressions = rng.poisson(wanted / (cpc * ctr))
    clicks = rng.poisson(impressions * ctr)
    spend = clicks * cpc * _noise(rng, (campaigns, hours), 0.1)
    spend, impressions, clicks = _stopped_at_day_limit(budget, spend, impressions, clicks)
    conversions = rng.poisson(clicks * cvr * _daily(rng, campaigns, days, 0.15))
    value = (1 + rng.uniform(0.1, 0.8, (campaigns, 1))) * cpc.mean(axis=1, keepdims=True) / cvr
    return Campaigns(
        budget_micros=budget[:, 0].astype(np.int64),
        value_micros=value[:, 0].astype(np.int64),
        planned_micros=planned.astype(np.int64),
        spend_micros=spend.astype(np.int64),
        impressions=impressions.astype(np.int64),
        clicks=clicks.astype(np.int64),
        conversions=_reported_late(rng, conversions),
    )


MonthFault: TypeAlias = Callable[[Campaigns, slice, np.random.Generator], Campaigns]


def with_fault(name: str, healthy: Campaigns, hour: int, rng: np.random.Generator) -> Campaigns:
    """The same campaigns with one fault of FAULTS from an hour on."""
    return FAULTS[name](healthy, slice(hour, None), rng)


def _ten_times_the_bid(healthy: Campaigns, at: slice, rng: np.random.Generator) -> Campaigns:
    """Twice the auctions are won, at four times the price; the clicks convert as before."""
    del rng
    return _scaled(healthy, at, spend=8, volume=2)


def _pacing_stuck_open(healthy: Campaigns, at: slice, rng: np.random.Generator) -> Campaigns:
    """The throttle no longer closes: four times the traffic, at the usual price."""
    del rng
    return _scaled(healthy, at, spend=4, volume=4)


def _pacing_stuck_shut(healthy: Campaigns, at: slice, rng: np.random.Generator) -> Campaigns:
    """The throttle no longer opens: nothing is bought."""
    del rng
    return _scaled(healthy, at, spend=0, volume=0)


def _click_fraud(healthy: Campaigns, at: slice, rng: np.random.Generator) -> Campaigns:
    """Four in five clicks are bought ones: as many clicks from a fifth of the impressions, a fifth of conversions."""
    impressions, conversions = healthy.impressions.copy(), healthy.conversions.copy()
    impressions[:, at] //= 5
    conversions[:, at] = rng.binomial(conversions[:, at], 0.2)
    return replace(healthy, impressions=impressions, conversions=conversions)


def _tracking_outage(healthy: Campaigns, at: slice, rng: np.random.Generator) -> Campaigns:
    """No conversion is reported any more."""
    del rng
    conversions = healthy.conversions.copy()
    conversions[:, at] = 0
    return replace(healthy, conversions=conversions)


FAULTS: dict[str, MonthFault] = {
    "ten_times_the_bid": _ten_times_the_bid,
    "pacing_stuck_open": _pacing_stuck_open,
    "pacing_stuck_shut": _pacing_stuck_shut,
    "click_fraud": _click_fraud,
    "tracking_outage": _tracking_outage,
}


def _scaled(healthy: Campaigns, at: slice, *, spend: int, volume: int) -> Campaigns:
    arrays = [healthy.spend_micros, healthy.impressions, healthy.clicks]
    changed = [array.copy() for array in arrays]
    for array, factor in zip(changed, (spend, volume, volume), strict=True):
        array[:, at] *= factor
    spent, impressions, clicks = (array.astype(np.float64) for array in changed)
    limited = _stopped_at_day_limit(healthy.budget_micros[:, None].astype(np.float64), spent, impressions, clicks)
    spend_micros, shown, clicked = (array.astype(np.int64) for array in limited)
    return replace(healthy, spend_micros=spend_micros, impressions=shown, clicks=clicked)


def _stopped_at_day_limit(
    budget: Floats, spend: Floats, impressions: Floats | Ints, clicks: Floats | Ints
) -> tuple[Floats, Floats, Floats]:
    campaigns, hours = spend.shape
    by_day = spend.reshape(campaigns, hours // 24, 24)
    before = by_day.cumsum(axis=2) - by_day
    left = np.clip(_OVERDELIVERY * budget[:, :, None] - before, 0, None)
    share = (np.minimum(by_day, left) / np.maximum(by_day, 1)).reshape(campaigns, hours)
    return spend * share, np.floor(impressions * share), np.floor(clicks * share)


def _traffic(rng: np.random.Generator, campaigns: int, days: int) -> Floats:
    """How much more or less than planned an hour brings: hour, weekday, lasting noise and a heavy day now and then."""
    hour_shape = np.tile(_noise(rng, (campaigns, 24), 0.2), (1, days))
    weekday = np.tile(_noise(rng, (campaigns, 7), 0.12), (1, days // 7 + 1))[:, :days].repeat(24, axis=1)
    lasting = np.exp(_autoregressive(rng, campaigns, days * 24, 0.25, 0.7))
    heavy = np.where(rng.random((campaigns, days)) < 0.03, 1.6, 1.0).repeat(24, axis=1)
    return hour_shape * weekday * lasting * heavy * _daily(rng, campaigns, days, 0.15)


def _daily(rng: np.random.Generator, campaigns: int, days: int, sigma: float) -> Floats:
    return np.exp(_autoregressive(rng, campaigns, days, sigma, 0.5)).repeat(24, axis=1)


def _wander(rng: np.random.Generator, campaigns: int, days: int, span: float) -> Floats:
    """A price level that moves steadily by up to `span` over the month."""
    ends = rng.uniform(-span, span, (campaigns, 1))
    return np.exp(ends * np.linspace(0, 1, days * 24)[None, :])


def _fade(rng: np.random.Generator, campaigns: int, hours: int) -> Floats:
    """A creative that tires: the click rate ends up to 30% lower."""
    lost = rng.uniform(0, 0.3, (campaigns, 1))
    return 1 - lost * np.linspace(0, 1, hours)[None, :]


def _noise(rng: np.random.Generator, shape: tuple[int, int], sigma: float) -> Floats:
    return np.exp(rng.normal(-(sigma**2) / 2, sigma, shape))


def _autoregressive(rng: np.random.Generator, campaigns: int, steps: int, sigma: float, keep: float) -> Floats:
    """Normal noise of standard deviation sigma that keeps a share of itself from step to step."""
    fresh = rng.normal(0, sigma, (campaigns, steps))
    fresh[:, 1:] *= np.sqrt(1 - keep**2)
    for step in range(1, steps):
        fresh[:, step] += keep * fresh[:, step - 1]
    return fresh


def _reported_late(rng: np.random.Generator, conversions: Ints) -> Ints:
    """Each conversion moved to the hour in which it is reported; those after the end are never seen."""
    campaigns, hours = conversions.shape
    row, hour = np.nonzero(conversions)
    each = conversions[row, hour]
    row, hour = row.repeat(each), hour.repeat(each)
    hour = hour + rng.exponential(_MEAN_DELAY_HOURS, len(hour)).astype(np.int64)
    inside = hour < hours
    flat = np.bincount(row[inside] * hours + hour[inside], minlength=campaigns * hours)
    return flat.reshape(campaigns, hours).astype(np.int64)
