"""How a budget is spread: limits of the day, the period and the flight, an aim for today, and a share of auctions.

The limits are strict to the micro and hold for every billed click. The aim is softer: a daily budget counts for more on
busy days and less on quiet ones, and what the period is behind or ahead is made up for little by little.
"""

from gaelp.arrays import Floats
from gaelp.market.compiled import compiled_part, inlined
from gaelp.sandbox.auctions.account_calendar import AccountDay
from gaelp.sandbox.auctions.exchange_arrays import NO_LIMIT
from gaelp.sandbox.auctions.exchange_rules import ExchangeRules
from gaelp.sandbox.exchange_events import ExchangeRecord

__all__ = ["UNLIMITED", "busyness", "money_left", "note_hour", "roll_over", "serves_on", "set_pace"]

UNLIMITED = 2**62
_QUIETEST = 0.3  # of a daily budget: the least to aim for on any day
_STEADY_SEARCHES = 20.0  # how many expected searches it takes to believe half of what a day seems to be
_FLIGHT_DAYS = 30  # that a total budget without a last day is spread over
_WEEK_DAYS = 7


@inlined
def money_left(row: ExchangeRecord) -> int:
    """What a campaign may still be billed now."""
    left = UNLIMITED
    if row.daily != NO_LIMIT:
        left = min(
            row.day_budget * row.day_percent // 100 - row.spent_day,
            row.period_budget * row.period_percent // 100 - row.spent_period,
        )
    if row.total != NO_LIMIT:
        left = min(left, row.total - row.spent_total)
    return left


@inlined
def serves_on(row: ExchangeRecord, ordinal: int) -> bool:
    """Whether the campaign is enabled and the day is in its flight."""
    return bool(row.enabled == 1 and row.first_day <= ordinal <= row.last_day)


@compiled_part
def roll_over(row: ExchangeRecord, day: AccountDay) -> None:
    """Begin a campaign's day and period where they have changed, and count a day it serves towards the period."""
    period = day.month if row.monthly == 1 else day.week
    if row.period != period:
        row.period = period
        row.spent_period = 0
        row.period_budget = row.daily
        row.entitled = 0.0
    if row.day != day.ordinal:
        row.day = day.ordinal
        row.spent_day = 0
        row.day_budget = row.daily
    if row.entitled_day != day.ordinal and serves_on(row, day.ordinal):
        row.entitled_day = day.ordinal
        days = day.month_days if row.monthly == 1 else _WEEK_DAYS
        row.entitled += max(row.daily, 0) * row.period_percent / (100.0 * days)


@compiled_part
def busyness(searches: int, expected: float) -> float:
    """How many times the searches of an ordinary day the day seems to have; near 1 while it is young."""
    return (searches + _STEADY_SEARCHES) / (expected + _STEADY_SEARCHES)


@compiled_part
def _aim(row: ExchangeRecord, rules: ExchangeRules, day: AccountDay, weight: float) -> int:
    """What to spend today; `weight` is today's traffic relative to that of a mean day."""
    if row.daily != NO_LIMIT:
        days = day.month_days if row.monthly == 1 else _WEEK_DAYS
        behind = row.entitled - row.daily * row.period_percent / (100.0 * days) - (row.spent_period - row.spent_day)
        aim = max(row.daily * weight + rules.catch_up * behind, row.daily * _QUIETEST)
    elif row.total != NO_LIMIT:
        days_left = min(row.last_day - day.ordinal + 1, _FLIGHT_DAYS)
        aim = (row.total - row.spent_total + row.spent_day) / max(days_left, 1) * (1.0 if days_left <= 1 else weight)
    else:
        return UNLIMITED
    return int(aim)


@compiled_part
def note_hour(row: ExchangeRecord, rules: ExchangeRules, searched: int) -> None:
    """Remember what the hour that ended cost, and how many of its searches were entered."""
    row.rate_cost = rules.rate_memory * row.rate_cost + row.spent_hour
    row.rate_searches = rules.rate_memory * row.rate_searches + row.pace * searched
    row.spent_hour = 0


@compiled_part
def set_pace(
    row: ExchangeRecord, rules: ExchangeRules, day: AccountDay, searches: Floats, hour: int, busy: float
) -> None:
    """Set today's aim and the share of auctions to enter from now on.

    `searches` is the product's mean per tick, by hour of the week; `hour` is the index of the current hour, and `busy`
    how many times the searches of an ordinary day the day has.
    """
    today, ahead = 0.0, 0.0
    for h in range(len(day.hours)):
        expected = searches[day.weekday * 24 + day.hours[h]] * (day.ticks[h + 1] - day.ticks[h])
        today += expected
        if h >= hour:
            ahead += expected
    mean_day = searches.sum() * 60.0 / _WEEK_DAYS
    row.aim = max(min(_aim(row, rules, day, busy * today / mean_day), row.spent_day + money_left(row)), 0)
    need = row.rate_cost / max(row.rate_searches, 1.0) * ahead * busy
    row.pace = 1.0
    if need > 0.0:
        row.pace = min(1.0, max(rules.lowest_pace, (row.aim - row.spent_day) / need))
