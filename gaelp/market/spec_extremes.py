"""What the numbers of a market could do together, and whether the market's arrays can hold it.

Each number alone is bounded by its own range; these are the few sums that overflow although every part is allowed.
The market's normal draws never leave 7.2 standard deviations, so a single spread is bounded by that; independent ones
are added as variances, which a draw in 10^12 leaves.
"""

import math
from collections.abc import Iterator, Mapping

from gaelp.config.problems import KeyPath

__all__ = ["extremes_refused"]

_FARTHEST = 7.2  # standard deviations
_RARE = 6.0  # the same where one draw a campaign decides; one in 10^9 leaves it
_UNLIKELY = 3.3  # the same where spread, burst and the busiest hour of the week have to come together
_WAVE_MOST = math.exp(0.3 * _FARTHEST)  # campaigns differ in the height of the daily price wave
_PERSONA_LOG = math.log(20)  # the largest index a persona may have
_BUSY_LOG = math.log(4)  # the busiest hour of the week over an average one
_RATES_MOST_LOG = 2 * math.log(0.6)  # a segment clicks, and converts, at no more than this rate
_WEEK_HOURS, _BURSTS = 168, 2

_COUNT_MOST = 2**31 - 1  # opportunities, clicks and impressions of a flight are 32-bit
_CONVERSIONS_MOST = 30_000  # conversions by the hour of their report are 16-bit
_PRICE_MOST_MICROS = 1e12  # the highest bid a market takes
_BUDGET_MOST_MICROS = 2.0**53  # beyond, a double no longer holds every micro
_VALUE_MOST_MICROS = 1e15
_PAUSE_MOST_LOG = 600.0  # prices fall by this many logs before the optimum leaves the range of doubles

Numbers = Mapping[str, float]


def extremes_refused(least: Numbers, most: Numbers, *, days: int, segments: int) -> list[tuple[KeyPath, str]]:
    """What a campaign of the market could reach but not compute, each with the key that adds most to it.

    `least` and `most` hold each number by key path, at the low and the high end of its range.
    """
    checks = (_volume(most, days), _conversions(most), _price(most), _budget(most, days, segments))
    return [*(refusal for check in (*checks, _value(least, most), _pause(most)) for refusal in check)]


def _volume(most: Numbers, days: int) -> Iterator[tuple[KeyPath, str]]:
    hours = _BURSTS * _WEEK_HOURS * math.ceil(days / 7)
    opportunities_log = math.log(most["volume.per_hour"] * hours) + _FARTHEST * most["volume.segment_log_sd"]
    if opportunities_log > math.log(_COUNT_MOST):
        yield _refusal(
            "volume.per_hour",
            most,
            f"a segment could see {_scientific(opportunities_log)} opportunities in {days} days",
            f"{_COUNT_MOST} at most",
            "volume.segment_log_sd",
        )


def _conversions(most: Numbers) -> Iterator[tuple[KeyPath, str]]:
    volume_log = math.log(most["volume.per_hour"]) + _BUSY_LOG
    rates_log = math.log(most["response.click_rate"] * most["response.conversion_rate"])
    burst_sd = math.sqrt(math.log1p(most["volume.overdispersion"]))
    volume_sd = math.hypot(most["volume.segment_log_sd"], burst_sd)
    response = ("click_log_sd", "conversion_log_sd", "campaign_log_sd", "campaign_log_sd")
    all_sd = math.hypot(volume_sd, _joint(most, *(f"response.{key}" for key in response)))
    reached_log = volume_log + min(_RATES_MOST_LOG + _UNLIKELY * volume_sd, rates_log + _UNLIKELY * all_sd)
    if reached_log > math.log(_CONVERSIONS_MOST):
        yield _refusal(
            "volume.per_hour",
            most,
            f"a segment could see {_scientific(reached_log)} conversions in an hour",
            f"{_CONVERSIONS_MOST} at most",
            "response.click_rate",
            "response.conversion_rate",
            "response.conversion_log_sd",
        )


def _price(most: Numbers) -> Iterator[tuple[KeyPath, str]]:
    sds = ("segment_log_sd", "campaign_log_sd", "common_drift_sd", "segment_drift_sd", "hourly_noise_sd")
    price_log = math.log(most["price.level_micros"]) + _FARTHEST * _joint(most, *(f"price.{key}" for key in sds))
    price_log += _WAVE_MOST * most["price.diurnal_amplitude"] + most["price.jump_log_size"]
    price_log += _PERSONA_LOG * most["response.persona_strength"]
    if price_log > math.log(_PRICE_MOST_MICROS):
        yield _refusal(
            "price.level_micros",
            most,
            f"a price could reach {_scientific(price_log)} micros",
            f"{_PRICE_MOST_MICROS:.0e} at most, the highest bid a market takes",
            *(f"price.{key}" for key in (*sds, "diurnal_amplitude", "jump_log_size")),
            "response.persona_strength",
        )


def _budget(most: Numbers, days: int, segments: int) -> Iterator[tuple[KeyPath, str]]:
    keys = ("volume.segment_log_sd", "price.segment_log_sd", "price.campaign_log_sd")
    hourly_log = math.log(most["volume.per_hour"] * most["price.level_micros"]) + _FARTHEST * _joint(most, *keys)
    hourly_log += _PERSONA_LOG * most["response.persona_strength"]
    budget_log = hourly_log + math.log(most["budget.share_high"] * segments * 24 * days)
    if budget_log > math.log(_BUDGET_MOST_MICROS):
        yield _refusal(
            "price.level_micros",
            most,
            f"a budget could reach {_scientific(budget_log)} micros",
            f"{_BUDGET_MOST_MICROS:.0e} at most",
            "volume.per_hour",
            "budget.share_high",
            *keys,
        )


def _value(least: Numbers, most: Numbers) -> Iterator[tuple[KeyPath, str]]:
    spread_log = most["response.conversion_value_log_sd"]
    rates = ("response.click_rate", "response.conversion_rate")
    high_log = math.log(most["price.level_micros"] / (least[rates[0]] * least[rates[1]])) + _FARTHEST * spread_log
    high_log += math.log(most["response.return_ratio"])
    low_log = math.log(least["price.level_micros"] / (most[rates[0]] * most[rates[1]])) - _RARE * spread_log
    low_log += math.log(least["response.return_ratio"])
    subject = "a conversion, worth the price over both rates, could be worth"
    others = (*rates, "response.conversion_value_log_sd")
    if high_log > math.log(_VALUE_MOST_MICROS):
        numbers = {**most, **{rate: least[rate] for rate in rates}}
        limit = f"{_VALUE_MOST_MICROS:.0e} at most"
        yield _refusal("price.level_micros", numbers, f"{subject} {_scientific(high_log)} micros", limit, *others)
    if low_log < 0:
        numbers = {**most, "price.level_micros": least["price.level_micros"]}
        yield _refusal("price.level_micros", numbers, f"{subject} {_scientific(low_log)} micros", "1 at least", *others)


def _pause(most: Numbers) -> Iterator[tuple[KeyPath, str]]:
    random = most["rivals.randomness"]
    fall_log = most["rivals.depth"] * math.exp(0.5 * random * _FARTHEST - 0.125 * random * random)
    if fall_log > _PAUSE_MOST_LOG:
        yield _refusal(
            "rivals.depth",
            most,
            f"rivals who stop could let prices fall by {fall_log:.0f} logs",
            f"{_PAUSE_MOST_LOG:.0f} at most",
            "rivals.randomness",
        )


def _joint(numbers: Numbers, *paths: str) -> float:
    """Standard deviation of a sum of independent draws."""
    return math.sqrt(sum(numbers[path] ** 2 for path in paths))


def _refusal(path: str, numbers: Numbers, what: str, limit: str, *others: str) -> tuple[KeyPath, str]:
    with_others = ", ".join(f"{other}={numbers[other]:g}" for other in others)
    text = (
        f"saw {numbers[path]:g}; together with {with_others} {what}; allowed: {limit}. Bring one closer to its default."
    )
    return tuple(path.split(".")), text


def _scientific(log: float) -> str:
    """e to a power that may exceed what a double holds."""
    digits = log / math.log(10)
    return f"{10 ** (digits % 1):.1f}e{math.floor(digits):+03d}"
