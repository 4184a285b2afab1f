"""Pacing: how much of a day's budget may be spent by now, and what the plan assigns to a span of the day.

Pure functions of instants, whole micros and a plan. The day is the ad account's, 23 or 25 hours long when clocks
change. What may be spent rounds down.
"""

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from fractions import Fraction
from functools import lru_cache
from typing import Self

from pydantic import Field, NonNegativeInt, model_validator

from gaelp.clock import account_day
from gaelp.config.base import Frozen
from gaelp.errors import BadInput, MoneyError
from gaelp.money import Micros

__all__ = [
    "EVEN",
    "DayPlan",
    "allowed_by_now_micros",
    "plan_share",
    "planned_between_micros",
]

_HOUR = timedelta(hours=1)
_MICROSECOND = timedelta(microseconds=1)


class DayPlan(Frozen):
    """How a day's budget is spread over the hours of the account's clock: 24 integer weights from midnight on."""

    weights: tuple[NonNegativeInt, ...] = Field(min_length=24, max_length=24)
    why: str = Field(min_length=1, max_length=400)

    @model_validator(mode="after")
    def _some_hour_may_spend(self) -> Self:
        if not any(self.weights):
            raise ValueError("all 24 weights are 0, so no hour could spend: give at least one above 0")
        return self


EVEN = DayPlan(weights=(1,) * 24, why="the same weight for every hour")


def plan_share(plan: DayPlan, since: datetime, until: datetime, zone: tzinfo) -> Fraction:
    """The share of an account day's plan between two instants of that day; the whole day is exactly 1."""
    start, end = _day_bounds(since, zone)
    if until.utcoffset() is None or not since <= until <= end:
        raise BadInput(
            f"the span {since.isoformat()} to {until.isoformat()} does not run forward within one account day, which"
            f" ends at {end.isoformat()}: swap the ends, give both a time zone, or split it by day"
        )
    total = _weight_of_day(plan.weights, start, end, zone)
    if total == 0:  # the only hour with a weight is skipped when clocks change
        return Fraction(0)
    return Fraction(_weight_within(plan.weights, since, until, zone), total)


def allowed_by_now_micros(cap_micros: Micros, plan: DayPlan, now: datetime, zone: tzinfo) -> Micros:
    """How much of the day's cap may be spent by now, rounded down."""
    share = plan_share(plan, _day_start(now, zone), now, zone)
    return int(_require_micros(cap_micros) * share)


def planned_between_micros(day_micros: Micros, plan: DayPlan, since: datetime, until: datetime, zone: tzinfo) -> Micros:
    """How much of a day's budget the plan assigns to a span of that day, rounded down."""
    return int(_require_micros(day_micros) * plan_share(plan, since, until, zone))


def _day_start(instant: datetime, zone: tzinfo) -> datetime:
    return _day_bounds(instant, zone)[0]


def _day_bounds(instant: datetime, zone: tzinfo) -> tuple[datetime, datetime]:
    """Both midnights around an instant in the account's zone, in UTC: 23, 24 or 25 hours apart."""
    return _midnights(account_day(instant, zone), zone)


@lru_cache(maxsize=1024)
def _midnights(day: date, zone: tzinfo) -> tuple[datetime, datetime]:
    midnights = (datetime.combine(day + timedelta(days=days), time(), zone) for days in (0, 1))
    start, end = (midnight.astimezone(UTC) for midnight in midnights)
    return start, end


@lru_cache(maxsize=1024)
def _weight_of_day(weights: tuple[int, ...], start: datetime, end: datetime, zone: tzinfo) -> int:
    return _weight_within(weights, start, end, zone)


def _weight_within(weights: tuple[int, ...], since: datetime, until: datetime, zone: tzinfo) -> int:
    """The sum over a span of each microsecond's weight, which is that of its hour by the account's clock."""
    weight, at = 0, since.astimezone(UTC)
    while at < until:
        local = at.astimezone(zone)
        left = _HOUR - timedelta(minutes=local.minute, seconds=local.second, microseconds=local.microsecond)
        inside = min(left, until - at)
        weight += weights[local.hour] * (inside // _MICROSECOND)
        at += inside
    return weight


def _require_micros(micros: object) -> Micros:
    if type(micros) is not int or micros < 0:
        raise MoneyError(f"{micros!r} ({type(micros).__name__}) is no amount: give whole micros, 0 or more")
    return micros
