"""The brief of running campaigns, from estimates of their segments and the market that the policy was trained in."""

from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from gaelp.arrays import Floats, Ints, Ints32
from gaelp.config.base import Frozen
from gaelp.errors import DataError
from gaelp.market.market import Market, budget_share
from gaelp.market.personas import PersonaTable
from gaelp.market.view import Brief
from gaelp.market.world import DAY_HOURS, price_profile_log, week_activity

__all__ = ["PersonaRules", "brief_from_estimates", "segment_personas", "typical_price_log"]


class PersonaRules(Frozen):
    """Which persona each segment counts as: platforms do not say."""

    mapping: Literal["by_share", "first"] = Field(
        default="by_share", description="segments get personas in proportion to their audience, or all the first one"
    )
    names: tuple[str, ...] = Field(default=(), description="a persona for each segment, instead of the mapping")


def brief_from_estimates(
    market: Market,
    *,
    volume_per_hour: Floats,
    price_level_log: Floats,
    conversion_value_micros: Ints | Floats,
    daily_budget_micros: Ints,
    start_hour_of_week: Ints,
    click_rate: Floats | None = None,
    conversion_rate: Floats | None = None,
    delay_mean_hours: Floats | None = None,
    report_lag_hours: int | None = None,
    persona_rules: PersonaRules | None = None,
) -> Brief:
    """A flight of N campaigns as long as those of the market, with a daily budget on each of its days.

    `volume_per_hour` and `price_level_log` are (N, S): possible impressions in an hour of average activity, and log
    micros an impression in an hour of average price. Rates (N, S) are averaged over impressions and over clicks, for a
    brief has only averages; without them, those of the market. So are values of a conversion, (N,) or (N, S). The delay
    and the lag of reports are the market's unless they are given.
    """
    spec, personas = market.spec, market.personas
    shape = (len(daily_budget_micros), volume_per_hour.shape[-1])
    _check(shape, volume_per_hour=volume_per_hour, daily_budget_micros=daily_budget_micros)
    _check(shape, conversion_value_micros=conversion_value_micros, price_level=np.exp(price_level_log))
    persona = np.broadcast_to(segment_personas(personas, shape[1], persona_rules or PersonaRules()), shape)
    clicked = np.full(shape, spec.response.click_rate) if click_rate is None else np.broadcast_to(click_rate, shape)
    bought = np.full(shape, spec.response.conversion_rate)
    bought = bought if conversion_rate is None else np.broadcast_to(conversion_rate, shape)
    _check(shape, click_rate=clicked, conversion_rate=bought)
    delay = spec.delay.mean_hours * personas.delay_index[persona] if delay_mean_hours is None else delay_mean_hours
    volume = volume_per_hour.astype(np.float32)
    price_log = price_level_log.astype(np.float32)
    budget_micros = daily_budget_micros.astype(np.int64) * spec.days
    return Brief(
        hours=np.full(shape[0], spec.hours, np.int64),
        hours_per_day=DAY_HOURS,
        first_price=market.landscapes.first_price,
        landscapes=market.landscapes,
        budget_micros=budget_micros,
        daily_cap_micros=daily_budget_micros.astype(np.int64),
        conversion_value_micros=_campaign_value(conversion_value_micros, volume_per_hour * clicked * bought),
        click_rate=float(np.average(clicked, weights=volume_per_hour)),
        conversion_rate=float(np.average(bought, weights=volume_per_hour * clicked)),
        delay_mean_hours=np.broadcast_to(np.asarray(delay, np.float32), shape).copy(),
        start_hour_of_week=np.broadcast_to(np.asarray(start_hour_of_week, np.int32), shape[:1]) % 168,
        persona=np.ascontiguousarray(persona),
        persona_traits=personas.traits,
        activity=week_activity(spec, personas),
        intent_log=personas.intent_log,
        price_profile_log=price_profile_log(spec),
        volume_forecast=volume,
        price_forecast_log=price_log,
        budget_share=budget_share(budget_micros, volume, price_log, spec.hours),
        creatives=spec.creatives.count,
        values_known=False,
        objective=market.objective,
        report_lag_hours=spec.reports.lag_hours if report_lag_hours is None else report_lag_hours,
    )


def segment_personas(personas: PersonaTable, segments: int, rules: PersonaRules) -> Ints32:
    """The persona of each segment, (S,)."""
    if rules.names:
        unknown = sorted(set(rules.names) - set(personas.names))
        if unknown or len(rules.names) != segments:
            raise DataError(
                f"personas {', '.join(rules.names)} for {segments} segments; allowed: one of"
                f" {', '.join(personas.names)} for each segment"
            )
        return np.array([personas.names.index(name) for name in rules.names], np.int32)
    if rules.mapping == "first":
        return np.zeros(segments, np.int32)
    middles = (np.arange(segments) + 0.5) / segments
    return np.minimum(np.searchsorted(np.cumsum(personas.share), middles), len(personas.names) - 1).astype(np.int32)


def typical_price_log(mean_price_log: Floats, market: Market) -> Floats:
    """Log price in an hour of average price, from the log of the mean price over the hours of a day."""
    return np.asarray(mean_price_log - np.log(np.exp(price_profile_log(market.spec).astype(np.float64)).mean()))


def _campaign_value(value_micros: Ints | Floats, conversions: Floats) -> Ints:
    """Mean value of a conversion of each campaign, (N,)."""
    values = np.asarray(value_micros, np.float64)
    mean = values if values.ndim == 1 else np.average(values, axis=1, weights=conversions)
    return np.maximum(np.rint(mean), 1).astype(np.int64)


def _check(shape: tuple[int, ...], **arrays: npt.NDArray[np.generic]) -> None:
    """Refuse figures that no campaign can have."""
    for name, given in arrays.items():
        array = np.asarray(given, np.float64)
        if array.shape not in (shape, shape[:1]):
            raise DataError(f"{name} has shape {array.shape}; allowed: {shape}, campaigns x segments")
        wrong = np.argwhere(~(np.isfinite(array) & (array > 0)))
        if len(wrong):
            place = tuple(wrong[0].tolist())
            raise DataError(f"{name}{list(place)} is {array[place]:g}; allowed: above 0. Leave out what has no data")
