"""A generated month of spend with planted breaches of each kind, and how well the budget safety job finds them.

Accounts of five campaigns in three time zones, one of which changes its clocks in the month. Among the spend events are
late ones, duplicates (some with another account day) and credits; among the hour reports are first reports that a later
revision corrects, and reports by segment. Everything is shuffled.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gaelp.arrays import Floats, Ints
from gaelp.jobs.budget_limits import AccountLimits, BudgetLimits, CampaignLimits
from gaelp.jobs.run_jobs import run_budget_safety
from gaelp.storage.schema import TABLES, TableName

__all__ = ["BREACH_KINDS", "BreachKey", "PlantedMonth", "confusion", "plant_month", "trial"]

BREACH_KINDS = ("overspend", "account-overspend", "pacing", "difference", "unreserved", "anomaly")
BreachKey = tuple[str, str, str | None, date]  # kind, account, campaign, day

_FIRST_DAY = date(2026, 3, 1)
_DAYS, _QUIET_DAYS = 30, 6  # the detectors learn from a week before anything is planted
_ZONES = ("America/New_York", "UTC", "Asia/Tokyo")
_CAMPAIGNS = 5  # an account; the first has many clicks, the others few
_ACCOUNT_SHARE = 1.5  # the account's day cap, in budgets of its campaigns
_EVENTS_MAX = 1_000_000
_LATE_SHARE, _DUPLICATE_SHARE, _REVISED_SHARE, _CREDIT_SHARE = 0.05, 0.03, 0.1, 0.01
_VALUE_OF_SPEND = 1.5  # no campaign loses money


@dataclass(frozen=True)
class PlantedMonth:
    """The tables of a month, the limits to judge them by, and what has to be found."""

    spend_events: pa.Table
    hour_reports: pa.Table
    limits: BudgetLimits
    planted: frozenset[BreachKey]
    as_of: datetime


def plant_month(breaches: int, rng: np.random.Generator, events: int = _EVENTS_MAX) -> PlantedMonth:
    """A month with so many breaches of each kind; about `events` spend events over accounts in proportion."""
    accounts = max(1, breaches // 10)
    plan = _place(accounts, breaches, rng)
    per_hour = events / (1 + _DUPLICATE_SHARE) / (accounts * _CAMPAIGNS * _DAYS * 24)
    parts = [_account(number, plan, rng, per_hour) for number in range(accounts)]
    return PlantedMonth(
        _shuffled(_with_ids(pa.concat_tables([part.events for part in parts]), rng), rng),
        _shuffled(pa.concat_tables([part.reports for part in parts]), rng),
        BudgetLimits(accounts={f"account-{number}": part.limits for number, part in enumerate(parts)}),
        frozenset(key for part in parts for key in part.planted),
        datetime.combine(_FIRST_DAY + timedelta(days=_DAYS + 10), time(), UTC),
    )


def confusion(planted: frozenset[BreachKey], breaches: pa.Table) -> dict[str, dict[str, int]]:
    """For each kind: planted breaches that were reported, those that were missed, and reports without one."""
    reported = {
        (row["kind"], row["account"], row["campaign"], row["day"])
        for row in breaches.select(["kind", "account", "campaign", "day"]).to_pylist()
    }
    return {
        kind: {
            "planted": sum(key[0] == kind for key in planted),
            "true_positives": sum(key[0] == kind for key in planted & reported),
            "false_negatives": sum(key[0] == kind for key in planted - reported),
            "false_positives": sum(key[0] == kind for key in reported - planted),
        }
        for kind in sorted({*BREACH_KINDS, *(key[0] for key in reported)})
    }


def trial(folder: Path, breaches: int, events: int, seed: int) -> dict[str, Any]:
    """Write a month as stored tables below a folder, run the job on it, and compare its breaches with the planted."""
    month = plant_month(breaches, np.random.default_rng(seed), events)
    for name, table in ((TableName.SPEND_EVENTS, month.spend_events), (TableName.HOUR_REPORTS, month.hour_reports)):
        (folder / name.value).mkdir(parents=True)
        pq.write_table(table, folder / name.value / "part.parquet", compression="zstd")
    output = folder / "safety"
    report = run_budget_safety(folder, month.limits, output, as_of=month.as_of)
    paths = [*sorted(output.glob("breaches/*.parquet")), *sorted(output.glob("account_breaches/*.parquet"))]
    reported = pa.concat_tables([pq.read_table(path, partitioning=None) for path in paths])
    counts = confusion(month.planted, reported)
    return {
        "spend_events": month.spend_events.num_rows,
        "hour_reports": month.hour_reports.num_rows,
        "dead_letters": report.dead_letters,
        "kinds": counts,
        "is_exact": not any(kind["false_negatives"] or kind["false_positives"] for kind in counts.values()),
    }


@dataclass(frozen=True)
class _Account:
    events: pa.Table
    reports: pa.Table
    limits: AccountLimits
    planted: tuple[BreachKey, ...]


def _place(accounts: int, breaches: int, rng: np.random.Generator) -> dict[str, set[tuple[int, int, int]]]:
    """Where each breach is: (account, campaign, day). None of them causes another: see the sums in `_multipliers`."""
    slots = [(account, day) for account in range(accounts) for day in range(_QUIET_DAYS, _DAYS)]
    whole = {slots[place] for place in rng.choice(len(slots), breaches, replace=False)}
    other = [slot for slot in slots if slot not in whole]

    def some(campaigns: list[int]) -> list[tuple[int, int, int]]:
        places = rng.choice(len(other), breaches, replace=False)
        return [(account, int(rng.choice(campaigns)), day) for account, day in (other[place] for place in places)]

    return {
        "account-overspend": {(account, 0, day) for account, day in whole},
        "overspend": set(some([1, 2])),
        "pacing": set(some([3, 4])),
        "anomaly": set(some([0])),
        "difference": set(some([0, 1, 2, 3, 4])),
        "unreserved": set(some([0, 3, 4])),
    }


def _account(
    number: int, plan: dict[str, set[tuple[int, int, int]]], rng: np.random.Generator, events_per_hour: float
) -> _Account:
    zone = ZoneInfo(_ZONES[number % len(_ZONES)])
    starts, days = _hours(zone)
    mine = {kind: {(place[1], place[2]) for place in places if place[0] == number} for kind, places in plan.items()}
    daily = np.repeat(rng.integers(20, 200) * 1_000_000, _CAMPAIGNS)
    hourly = daily[:, None] / np.bincount(days)[days][None, :]
    times = _multipliers(mine, days, rng)
    spend = (hourly * times * rng.uniform(0.95, 1.05, times.shape)).astype(np.int64)
    clicks = np.rint(np.where(np.arange(_CAMPAIGNS) == 0, 100, 8)[:, None] * times).astype(np.int64)
    conversions = np.maximum(1, np.rint(np.where(np.arange(_CAMPAIGNS) == 0, 5, 1)[:, None] * times)).astype(np.int64)
    name = f"account-{number}"
    hours = _HourArrays(name, starts, days, spend, clicks, conversions)
    reports = _reports(hours, rng)
    events = _events(hours, mine["difference"], rng, events_per_hour)
    values = spend.sum(axis=1) / conversions.sum(axis=1) * _VALUE_OF_SPEND
    limits = AccountLimits(
        time_zone=zone.key,
        day_cap_micros=int(_ACCOUNT_SHARE * daily.sum()),
        campaigns={
            hours.campaign(place): _limits(place, int(daily[place]), int(values[place]), mine)
            for place in range(_CAMPAIGNS)
        },
    )
    planted = tuple(
        (kind, name, None if kind == "account-overspend" else hours.campaign(campaign), _day(day))
        for kind, places in mine.items()
        for campaign, day in places
    )
    return _Account(events, reports, limits, planted)


@dataclass(frozen=True)
class _HourArrays:
    """The hours of an account: arrays of shape (campaigns, hours), `starts` and `days` of shape (hours,)."""

    account: str
    starts: Ints  # microseconds since 1970
    days: Ints
    spend: Ints
    clicks: Ints
    conversions: Ints

    def campaign(self, place: int) -> str:
        return f"{self.account}-campaign-{place}"


def _limits(place: int, daily: int, value: int, mine: dict[str, set[tuple[int, int]]]) -> CampaignLimits:
    reserved = {_day(day): 3 * daily for campaign, day in mine["overspend"] if campaign == place}
    reserved |= {_day(day): daily // 2 for campaign, day in mine["unreserved"] if campaign == place}
    return CampaignLimits(
        daily_micros=daily,
        day_cap_micros=2 * daily,
        episode_cap_micros=3 * _DAYS * daily,
        loss_cap_micros=10 * daily,
        conversion_value_micros=value,
        reserved_by_day_micros=reserved,
    )


def _hours(zone: ZoneInfo) -> tuple[Ints, Ints]:
    """The start of each hour from the first local midnight to the last, and the number of its local day."""
    first, last = (
        datetime.combine(_FIRST_DAY + timedelta(days=offset), time(), zone).astimezone(UTC) for offset in (0, _DAYS)
    )
    starts = [first + timedelta(hours=hour) for hour in range(int((last - first) / timedelta(hours=1)))]
    days = [(start.astimezone(zone).date() - _FIRST_DAY).days for start in starts]
    return np.array([int(start.timestamp()) for start in starts]) * 1_000_000, np.array(days)


def _multipliers(mine: dict[str, set[tuple[int, int]]], days: Ints, rng: np.random.Generator) -> Floats:
    """Spend of each hour in units of its plan.

    A day of 2.2 exceeds the day cap of 2 and no rate (3.3); six hours of 4.6 exceed the rate of six hours (4.2) and
    leave the day at 1.8; an hour of 3 in the campaign with many clicks is a jump. Four campaigns at 1.9 exceed the
    account's 1.5; two other breaches on a day make 1.4.
    """
    times = np.full((_CAMPAIGNS, len(days)), 0.9)
    for campaign, day in mine["overspend"]:
        times[campaign, days == day] = 2.2
    for _, day in mine["account-overspend"]:
        times[1:, days == day] = 1.9
    for campaign, day in mine["pacing"]:
        start = np.flatnonzero(days == day)[0] + rng.integers(8, 13)
        times[campaign, start : start + 6] = 4.6
    for campaign, day in mine["anomaly"]:
        times[campaign, np.flatnonzero(days == day)[0] + rng.integers(2, 20)] = 3.0
    return times


def _day(number: int) -> date:
    return _FIRST_DAY + timedelta(days=int(number))


def _reports(hours: _HourArrays, rng: np.random.Generator) -> pa.Table:
    """Hour reports: some are first too low and revised later; every other campaign is reported by two segments."""
    tables = []
    for place in range(_CAMPAIGNS):
        columns = (hours.spend[place], hours.clicks[place] * 20, hours.clicks[place], hours.conversions[place])
        segments: tuple[str | None, ...] = ("brand", "generic") if place % 2 else (None,)
        for number, segment in enumerate(segments):
            counts = tuple(_part(column, number, len(segments)) for column in columns)
            tables.append(_report_rows(hours, place, segment, np.arange(len(hours.days)), counts, 1))
            revised = np.flatnonzero(rng.random(len(hours.days)) < _REVISED_SHARE)
            too_low = tuple(column[revised] * 7 // 10 for column in counts)
            tables.append(_report_rows(hours, place, segment, revised, too_low, 0))
    return pa.concat_tables(tables)


def _part(column: Ints, number: int, parts: int) -> Ints:
    return column if parts == 1 else (column // 2 if number else column - column // 2)


def _report_rows(
    hours: _HourArrays, place: int, segment: str | None, rows: Ints, counts: tuple[Ints, ...], revision: int
) -> pa.Table:
    campaign, starts = hours.campaign(place), hours.starts[rows]
    spend, impressions, clicks, conversions = counts
    names = [f"{campaign}/{segment}/{start}/{revision}" for start in starts]
    return _table(
        TableName.HOUR_REPORTS,
        len(rows),
        id=pa.array(names),
        at=_times(starts),
        campaign=campaign,
        account=hours.account,
        account_day=_dates(hours.days[rows]),
        segment=segment,
        revision=revision,
        reported_at=_times(starts + (1 + 20 * revision) * 3_600_000_000),
        impressions=pa.array(impressions),
        clicks=pa.array(clicks),
        conversions=pa.array(conversions.astype(np.float64)),
        spend_micros=pa.array(spend),
    )


def _events(hours: _HourArrays, different: set[tuple[int, int]], rng: np.random.Generator, per_hour: float) -> pa.Table:
    """Charges that add up to each hour's spend, with credits of equal charges; planted days lack one hour."""
    places, rows = (axis.ravel() for axis in np.indices(hours.spend.shape))
    charges = np.maximum(1, rng.poisson(per_hour, len(places)))
    hour_of = np.repeat(np.arange(len(places)), charges)
    amounts = hours.spend.ravel()[hour_of] // charges[hour_of]
    firsts = np.concatenate([[0], np.cumsum(charges)[:-1]])
    amounts[firsts] += hours.spend.ravel() - amounts[firsts] * charges  # what the division left over
    kept = np.ones(len(hour_of), bool)
    for campaign, day in different:
        hour = np.flatnonzero((places == campaign) & (hours.days[rows] == day))[rng.integers(0, 20)]
        kept &= hour_of != hour
    hour_of, amounts = hour_of[kept], amounts[kept]
    returned = np.flatnonzero(rng.random(len(hour_of)) < _CREDIT_SHARE)
    hour_of = np.concatenate([hour_of, hour_of[returned], hour_of[returned]])
    amounts = np.concatenate([amounts, amounts[returned], -amounts[returned]])
    starts = hours.starts[rows[hour_of]] + rng.integers(0, 3_600_000_000, len(hour_of))
    is_late = rng.random(len(hour_of)) < _LATE_SHARE
    lag = np.where(is_late, rng.integers(24, 120, len(hour_of)) * 3_600, 60) * 1_000_000
    names = pa.array([hours.campaign(place) for place in range(_CAMPAIGNS)])
    return _table(
        TableName.SPEND_EVENTS,
        len(hour_of),
        id="",
        at=_times(starts),
        campaign=names.take(pa.array(places[hour_of])),
        account=hours.account,
        account_day=_dates(hours.days[rows[hour_of]]),
        kind=pc.if_else(pa.array(amounts < 0), "credit", "charge"),
        amount_micros=pa.array(amounts),
        reported_at=_times(starts + lag),
    )


def _with_ids(events: pa.Table, rng: np.random.Generator) -> pa.Table:
    """Number the events, and repeat some under the same id, later; half of these claim the next account day."""
    numbers = pc.cast(pa.array(np.arange(events.num_rows)), pa.string())
    events = events.set_column(0, events.schema.field("id"), pc.binary_join_element_wise("event", numbers, "-"))
    again = events.take(pa.array(np.flatnonzero(rng.random(events.num_rows) < _DUPLICATE_SHARE)))
    later = pc.add(again.column("reported_at"), pa.scalar(timedelta(hours=5), pa.duration("us")))
    days = again.column("account_day").cast(pa.int32()).to_numpy() + rng.integers(0, 2, again.num_rows)
    # A day beyond the one of `at` would be a dead letter: the claim stays within a day of it.
    nearest = np.minimum(days, again.column("at").cast(pa.date32()).cast(pa.int32()).to_numpy() + 1)
    changed = {"reported_at": later, "account_day": pa.array(nearest.astype(np.int32)).cast(pa.date32())}
    for name, values in changed.items():
        again = again.set_column(again.column_names.index(name), again.schema.field(name), values)
    return pa.concat_tables([events, again])


def _shuffled(table: pa.Table, rng: np.random.Generator) -> pa.Table:
    return table.take(pa.array(rng.permutation(table.num_rows)))


def _table(name: TableName, rows: int, **columns: Any) -> pa.Table:
    """A stored table of these columns; a single value fills its column, and what is not given is null."""
    values = {"phase": "pilot", "source": "planted", **columns}
    arrays = []
    for field in TABLES[name].columns:
        value: Any = values.get(field.name)
        is_column = isinstance(value, pa.Array | pa.ChunkedArray)
        arrays.append(value.cast(field.type) if is_column else pa.repeat(pa.scalar(value, field.type), rows))
    return pa.table(arrays, schema=TABLES[name].columns)


def _times(microseconds: Ints) -> pa.Array:
    return pa.array(microseconds.astype(np.int64)).cast(pa.timestamp("us", tz="UTC"))


def _dates(days: Ints) -> pa.Array:
    first = (_FIRST_DAY - date(1970, 1, 1)).days
    return pa.array((days + first).astype(np.int32)).cast(pa.date32())
