"""Hourly reports drawn from a known truth in plain numpy: the independent side of tests of calibration from reports.

Nothing here comes from the market, the sandbox or calibration. Each possible impression has one price for a click; the
bid wins if it is at least that price.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.stats import norm

from gaelp.arrays import Bools, Floats, Ints
from gaelp.storage.schema import TABLES, TableName

__all__ = ["KnownReports", "ReportTruth", "draw_reports"]

START = datetime(2026, 3, 2, tzinfo=UTC)  # a Monday
POINT_FACTORS = (0.4, 0.55, 0.75, 1.0, 1.35, 1.8, 2.5)


@dataclass(frozen=True, slots=True)
class ReportTruth:
    """What reports are drawn from; names follow the market file where it has them."""

    campaigns: int = 4
    groups: int = 6
    days: int = 28
    per_hour: float = 8.0
    volume_log_sd: float = 0.5
    overdispersion: float = 0.1
    day_log_sd: float = 0.1  # demand differs from day to day
    cpc_micros: float = 1_000_000.0
    price_log_sd: float = 0.35  # between segments
    within_log_sd: float = 0.6  # of the prices of one hour
    drift_sd: float = 0.08  # of a campaign's price level, from day to day
    diurnal: float = 0.15
    week: tuple[float, float] = (1.1, 0.75)  # demand of a working day and of one at the weekend
    bid_log_sd: float = 0.4
    bid_log_offset: float = 0.1  # of the usual bid over the usual price
    click_rate: float = 0.06
    click_log_sd: float = 0.35
    conversion_rate: float = 0.08
    immediate: float = 0.3
    delay_hours: float = 20.0
    value_micros: float = 25_000_000.0


@dataclass(frozen=True, slots=True)
class KnownReports:
    """Stored rows, and what is true of them; segments are in the order of their names."""

    tables: dict[TableName, pa.Table]
    segment_names: tuple[str, ...]
    per_hour: Floats  # (S,)
    click_rate: Floats  # (S,)
    usual_bid_micros: Floats  # (S,)
    level_log: Floats  # (S, T) log of the usual price of a click
    activity: Floats  # (S, T)
    within_log_sd: float
    possible: Floats  # (S, T) drawn

    def share(self, bid_micros: Floats) -> Floats:
        """True share of possible impressions that each bid (S, n) wins over all hours."""
        weight = self.activity / self.activity.sum(axis=1, keepdims=True)
        distance = (np.log(bid_micros)[..., None] - self.level_log[:, None, :]) / self.within_log_sd
        return np.asarray((norm.cdf(distance) * weight[:, None, :]).sum(axis=2))

    def expected(self, bid_micros: Floats) -> tuple[Floats, Floats]:
        """True mean clicks and spend of each hour with these bids, shape (S, T) each."""
        distance = (np.log(bid_micros) - self.level_log) / self.within_log_sd
        sold = (self.per_hour * self.click_rate)[:, None] * self.activity
        mean_price = np.exp(self.level_log + self.within_log_sd**2 / 2)
        return sold * norm.cdf(distance), sold * mean_price * norm.cdf(distance - self.within_log_sd)


def draw_reports(truth: ReportTruth, seed: int) -> KnownReports:
    """Draw reports as the platform has them when all is reported."""
    rng = np.random.default_rng(seed)
    segments, hours = truth.campaigns * truth.groups, truth.days * 24
    campaign = np.repeat(np.arange(truth.campaigns), truth.groups)
    price_z = rng.normal(size=segments)
    level = math.log(truth.cpc_micros) + truth.price_log_sd * price_z[:, None] + _wave(truth, hours)
    level = level + np.repeat(_drift(truth, rng), 24, axis=1)[campaign]
    click_rate = truth.click_rate * np.exp(truth.click_log_sd * rng.normal(size=segments))
    per_hour = truth.per_hour * np.exp(truth.volume_log_sd * rng.normal(size=segments))
    activity = np.tile(_week(truth, hours), (segments, 1))
    demand = np.exp(truth.day_log_sd * rng.normal(size=(truth.campaigns, truth.days)))
    mean = per_hour[:, None] * activity * np.repeat(demand, 24, axis=1)[campaign]
    count = rng.poisson(mean * rng.gamma(1 / truth.overdispersion, truth.overdispersion, mean.shape))
    usual = np.exp(math.log(truth.cpc_micros) + truth.price_log_sd * price_z + truth.bid_log_offset)
    bid = np.round(usual[:, None] * np.exp(truth.bid_log_sd * rng.normal(size=mean.shape)))
    segment, hour = (np.repeat(index.ravel(), count.ravel()) for index in np.indices(count.shape))
    price = np.exp(level[segment, hour] + truth.within_log_sd * rng.normal(size=len(segment)))
    clicks_if_shown = rng.random(len(segment)) < click_rate[segment]
    drawn = _Drawn(segment, hour, price, clicks_if_shown, price <= bid[segment, hour])
    names = tuple(f"campaign-{n // truth.groups:02d}/group-{n % truth.groups:02d}" for n in range(segments))
    sales = _sales(truth, drawn, rng)
    tables = {
        TableName.HOUR_REPORTS: _hour_table(names, bid, count, drawn, sales, truth),
        TableName.IMPRESSION_SHARES: _share_table(names, count, drawn, truth.days),
        TableName.CONVERSIONS: _sales_table(names, sales, truth),
        TableName.BID_SIMULATIONS: _point_table(names, usual, drawn, truth.days),
    }
    return KnownReports(
        tables, names, per_hour, click_rate, usual, level, activity, truth.within_log_sd, count.astype(float)
    )


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Possible impressions one by one."""

    segment: Ints
    hour: Ints
    price: Floats
    clicks_if_shown: Bools
    won: Bools


@dataclass(frozen=True, slots=True)
class _Sold:
    segment: Ints
    click_hours: Floats
    delay_hours: Floats


def _wave(truth: ReportTruth, hours: int) -> Floats:
    return np.asarray(truth.diurnal * np.sin(2 * np.pi * (np.arange(hours) - 7) / 24))


def _drift(truth: ReportTruth, rng: np.random.Generator) -> Floats:
    path = np.empty((truth.campaigns, truth.days))
    path[:, 0] = truth.drift_sd * rng.normal(size=truth.campaigns)
    for day in range(1, truth.days):
        path[:, day] = 0.7 * path[:, day - 1] + math.sqrt(1 - 0.49) * truth.drift_sd * rng.normal(size=truth.campaigns)
    return path


def _week(truth: ReportTruth, hours: int) -> Floats:
    hour = np.arange(hours)
    shape = (1 + 0.5 * np.sin(2 * np.pi * (hour - 9) / 24)) * np.where(hour // 24 % 7 < 5, *truth.week)
    return np.asarray(shape / shape[:168].mean())


def _sales(truth: ReportTruth, drawn: _Drawn, rng: np.random.Generator) -> _Sold:
    clicked = drawn.won & drawn.clicks_if_shown
    buys = clicked & (rng.random(len(clicked)) < truth.conversion_rate)
    delay = np.where(rng.random(buys.sum()) < truth.immediate, 0.0, rng.exponential(truth.delay_hours, buys.sum()))
    return _Sold(drawn.segment[buys], drawn.hour[buys] + rng.random(buys.sum()), delay)


def _sums(segment: Ints, hour: Ints, weight: Floats | Bools, shape: tuple[int, int]) -> Floats:
    flat = np.bincount(segment * shape[1] + hour, weight, shape[0] * shape[1])
    return flat.reshape(shape).astype(float)


def _table(name: TableName, columns: Mapping[str, Any], names: Sequence[str], segment: Ints) -> pa.Table:
    """Rows with these columns; single values are repeated, what is not given is null."""
    parts = [full.split("/") for full in names]
    campaign, group = (np.array([part[place] for part in parts])[segment] for place in (0, 1))
    rows = len(segment)
    given = {"phase": "history", "source": "known", "account": "1", **columns, "campaign": campaign, "segment": group}
    given["id"] = np.array([f"{name.value}/{number}" for number in range(rows)])
    schema = TABLES[name].columns
    return pa.table([_column(given.get(field.name), field.type, rows) for field in schema], schema=schema)


def _column(values: Any, kind: pa.DataType, rows: int) -> pa.Array:
    if values is None:
        return pa.nulls(rows, kind)
    if np.ndim(values) == 0:
        return pa.repeat(pa.scalar(values, kind), rows)
    return pa.array(values).cast(kind)


def _times(hours: Floats | Ints) -> npt.NDArray[np.datetime64]:
    seconds = np.round(np.asarray(hours, float) * 3600).astype("timedelta64[s]")
    return (np.datetime64(START.replace(tzinfo=None), "us") + seconds).astype("datetime64[us]")


def _days(day: Ints) -> list[date]:
    return [(START + timedelta(days=int(number))).date() for number in day]


def _hour_table(
    names: Sequence[str], bid: Floats, count: Ints, drawn: _Drawn, sold: _Sold, truth: ReportTruth
) -> pa.Table:
    """A row for each hour as first reported, without sales, and a last revision with all of them."""
    shape = (len(names), count.shape[1])
    clicked = drawn.won & drawn.clicks_if_shown
    shown = _sums(drawn.segment, drawn.hour, drawn.won, shape).astype(int)
    clicks = _sums(drawn.segment, drawn.hour, clicked, shape).astype(int)
    spend = _sums(drawn.segment, drawn.hour, clicked * np.floor(drawn.price), shape).astype(int)
    conversions = _sums(sold.segment, sold.click_hours.astype(int), np.ones(len(sold.segment)), shape)
    segment, hour = (index.ravel() for index in np.indices(shape))
    first = {
        "at": _times(hour),
        "account_day": _days(hour // 24),
        "reported_at": _times(hour + 1),
        "bid_micros": bid.ravel().astype(int),
        "impressions": shown.ravel(),
        "clicks": clicks.ravel(),
        "spend_micros": spend.ravel(),
        "conversions": 0.0,
        "value_micros": 0,
        "revision": 0,
    }
    last = {
        **first,
        "reported_at": _times(hour + 24 * 90),
        "conversions": conversions.ravel(),
        "value_micros": (conversions * truth.value_micros).astype(int).ravel(),
        "revision": 1,
    }
    tables = [_table(TableName.HOUR_REPORTS, columns, names, segment) for columns in (first, last)]
    ids = pa.array([f"hour_reports/{n}" for n in range(2 * len(segment))])
    return pa.concat_tables(tables).set_column(0, TABLES[TableName.HOUR_REPORTS].columns.field("id"), ids)


def _share_table(names: Sequence[str], count: Ints, drawn: _Drawn, days: int) -> pa.Table:
    shape = (len(names), days)
    shown = _sums(drawn.segment, drawn.hour // 24, drawn.won, shape)
    possible = count.reshape(len(names), days, 24).sum(axis=2)
    segment, day = (index.ravel() for index in np.indices(shape))
    columns = {
        "at": _times(day * 24),
        "account_day": _days(day),
        "reported_at": _times(day * 24 + 36),
        "impression_share": np.round(shown / np.maximum(possible, 1), 4).ravel(),
        "revision": 0,
    }
    return _table(TableName.IMPRESSION_SHARES, columns, names, segment)


def _sales_table(names: Sequence[str], sold: _Sold, truth: ReportTruth) -> pa.Table:
    columns = {
        "conversion": [f"sale-{n}" for n in range(len(sold.segment))],
        "revision": 0,
        "click_at": _times(sold.click_hours),
        "at": _times(sold.click_hours + sold.delay_hours),
        "reported_at": _times(sold.click_hours + sold.delay_hours),
        "value_micros": int(truth.value_micros),
    }
    return _table(TableName.CONVERSIONS, columns, names, sold.segment)


def _point_table(names: Sequence[str], usual: Floats, drawn: _Drawn, days: int) -> pa.Table:
    """Points of each whole week: the same impressions again with each of some bids."""
    tables = []
    for week in range(days // 7):
        inside = drawn.hour // 168 == week
        segment, price, clicks = drawn.segment[inside], drawn.price[inside], drawn.clicks_if_shown[inside]
        for factor in POINT_FACTORS:
            won = price <= factor * usual[segment]
            sums = [
                np.bincount(segment, weight, len(names)).astype(int)
                for weight in (won, won & clicks, np.floor(price) * (won & clicks))
            ]
            columns = {
                "at": _times(np.full(len(names), 168.0 * (week + 1))),
                "reported_at": _times(np.full(len(names), 168.0 * (week + 1) + 12)),
                "period_start": _days(np.full(len(names), 7 * week)),
                "period_end": _days(np.full(len(names), 7 * week + 6)),
                "bid_micros": (factor * usual).astype(int),
                **dict(zip(("impressions", "clicks", "spend_micros"), sums, strict=True)),
            }
            tables.append(_table(TableName.BID_SIMULATIONS, columns, names, np.arange(len(names))))
    if not tables:
        return TABLES[TableName.BID_SIMULATIONS].columns.empty_table()
    ids = pa.array([f"bid_simulations/{n}" for n in range(sum(table.num_rows for table in tables))])
    return pa.concat_tables(tables).set_column(0, TABLES[TableName.BID_SIMULATIONS].columns.field("id"), ids)
