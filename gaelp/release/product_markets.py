"""Other products of an advertiser: markets with another value, other rates, prices, rhythm and delay than the source.

A product is drawn by its number and a seed, independent of the others. Each figure of `ProductSpread` is the largest
factor by which a number of the source is multiplied or divided, drawn evenly in its logarithm. The ranges are those
between accounts in public keyword reports (configs/sandbox/default.yaml names them): click rates 1.5% to 10.6%,
conversion rates 1.4% to 27%, 128 to 481 yen a click.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from pydantic import Field
from pydantic.fields import FieldInfo

from gaelp.arrays import Floats
from gaelp.config.base import Frozen
from gaelp.config.validation import validated
from gaelp.errors import DataError
from gaelp.market.spec import MarketSpec

__all__ = ["ProductSpread", "draw_product"]

_NAME_MOST = 52  # a name has at most 64 characters
_DAY_HOURS, _WEEK_DAYS = 24, 7
_STREAM = 20_402  # products share no draw with anything else of the same seed
_LEAST_MEAN_HOURS = 1.0


class ProductSpread(Frozen):
    """How far products are from the source, as factors up or down."""

    price_level: float = Field(default=3.0, ge=1, le=20)
    click_rate: float = Field(default=2.5, ge=1, le=20)
    conversion_rate: float = Field(default=3.0, ge=1, le=20)
    value: float = Field(default=1.5, ge=1, le=10, description="what an impression is worth, over its price")
    volume: float = Field(default=2.5, ge=1, le=20)
    value_spread: float = Field(default=1.4, ge=1, le=4, description="how much segments differ in their rates")
    delay: float = Field(default=3.0, ge=1, le=20, description="mean hours from click to conversion")
    rhythm: float = Field(default=2.0, ge=1, le=4, description="power on the hours of the week")
    rhythm_hours: int = Field(default=8, ge=0, le=12, description="by how many hours the day is moved, at most")


def draw_product(source: MarketSpec, number: int, seed: int, spread: ProductSpread | None = None) -> MarketSpec:
    """Return product `number` of a seed; DataError where a number of the source leaves no room for it."""
    spread = spread or ProductSpread()
    rng = np.random.default_rng((seed, _STREAM, number))
    values = source.model_dump(mode="json")
    values |= {"name": f"{source.name[:_NAME_MOST]}-product-{number}", "label": f"another product than {source.name}"}
    for path, factor in _factors(spread, rng).items():
        _multiply(source, values, path, factor)
    values["hour_of_week"] = _rhythm(source, spread, rng).round(4).tolist()
    values["delay"] = _delay(source, spread, rng)
    return validated(MarketSpec, values, lambda _: f"product {number} of market {source.name!r}", error=DataError)


def _factors(spread: ProductSpread, rng: np.random.Generator) -> dict[str, float]:
    """Return one factor for each number, by key path."""

    def drawn(widest: float) -> float:
        return math.exp(math.log(widest) * rng.uniform(-1, 1))

    apart = drawn(spread.value_spread)
    return {
        "price.level_micros": drawn(spread.price_level),
        "response.click_rate": drawn(spread.click_rate),
        "response.conversion_rate": drawn(spread.conversion_rate),
        "response.return_ratio": drawn(spread.value),
        "volume.per_hour": drawn(spread.volume),
        "response.click_log_sd": apart,
        "response.conversion_log_sd": apart,
    }


def _multiply(source: MarketSpec, values: dict[str, Any], path: str, factor: float) -> None:
    """Multiply a number, and the range that campaigns draw it from, within the limits of the key."""
    section, key = path.split(".")
    part = getattr(source, section)
    field = type(part).model_fields[key]
    whole: Callable[[float], float] = round if isinstance(getattr(part, key), int) else float
    values[section][key] = whole(_within_limits(getattr(part, key) * factor, field))
    if path in source.randomise:
        values["randomise"][path] = [whole(_within_limits(end * factor, field)) for end in source.randomise[path]]


def _within_limits(value: float, field: FieldInfo) -> float:
    lowest = max((float(getattr(limit, "ge", -math.inf)) for limit in field.metadata), default=-math.inf)
    highest = min((float(getattr(limit, "le", math.inf)) for limit in field.metadata), default=math.inf)
    return min(max(value, lowest), highest)


def _rhythm(source: MarketSpec, spread: ProductSpread, rng: np.random.Generator) -> Floats:
    """Return 168 factors: the source's hours moved and made flatter or steeper, with weekdays of the product's own."""
    hours = _WEEK_DAYS * _DAY_HOURS
    measured = np.asarray(source.hour_of_week) if source.hour_of_week else np.ones(hours)
    moved = np.roll(measured, int(rng.integers(-spread.rhythm_hours, spread.rhythm_hours + 1)))
    shaped = moved ** math.exp(math.log(spread.rhythm) * rng.uniform(-1, 1))
    if not source.hour_of_week:  # the source has its personas' hours: the product gets one peak a day
        peak = rng.uniform(0, _DAY_HOURS)
        shaped = shaped + 0.5 * np.cos(2 * np.pi * (np.arange(hours) - peak) / _DAY_HOURS)
    weekdays = np.exp(math.log(spread.rhythm) * rng.uniform(-0.5, 0.5, _WEEK_DAYS))
    week = shaped * np.repeat(weekdays, _DAY_HOURS)
    return np.asarray(week / week.mean())


def _delay(source: MarketSpec, spread: ProductSpread, rng: np.random.Generator) -> dict[str, Any]:
    """Return a delay of any family, with another mean; conversions that come at once stay so."""
    values: dict[str, Any] = source.delay.model_dump(mode="json")
    family = str(rng.choice(["exponential", "lognormal", "weibull", "mixture"]))
    shape = {"lognormal": rng.uniform(1.2, 2.0), "weibull": rng.uniform(0.5, 1.0)}.get(family, 1.0)
    parts = [[0.5, 1.0], [0.5, float(rng.uniform(5, 20))]] if family == "mixture" else []
    factor = math.exp(math.log(spread.delay) * rng.uniform(-1, 1))
    if source.delay.mean_hours < _LEAST_MEAN_HOURS:
        return values
    mean_hours = min(source.delay.mean_hours * factor, source.delay.window_hours / 3)
    return values | {"family": family, "shape": shape, "parts": parts, "mean_hours": mean_hours}
