"""Hourly reports of segments as arrays: what calibration from reports reads, each hour by its newest revision."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
import pandas as pd
import pyarrow as pa

from gaelp.arrays import Bools, Floats, Ints
from gaelp.errors import DataError
from gaelp.storage.schema import TableName

__all__ = [
    "FLOOR",
    "BidPoints",
    "HourReports",
    "Sales",
    "bid_points",
    "floored",
    "hour_reports",
    "keep_days",
    "without_shares",
]

FLOOR = 0.1  # shares below it read as 0.0999
_FLOOR_READS = 0.0999
_HOUR_S = 3600
_WHOLE_DAY_HOURS = 23
_MONDAY_SHIFT_HOURS = 72
_COUNTS = ("impressions", "clicks", "spend_micros", "conversions", "value_micros")


@dataclass(frozen=True, slots=True)
class Sales:
    """Reported conversions: how long after the click each was reported."""

    segment: Ints  # (n,)
    click_hours: Floats  # (n,) hours since 1970 on the account's clock
    delay_hours: Floats  # (n,)


@dataclass(frozen=True, slots=True)
class BidPoints:
    """Bid simulator points: what each bid would have brought over `days` days."""

    segment: Ints  # (n,)
    end_day: Ints  # (n,) days since 1970
    days: Floats  # (n,)
    bid_micros: Floats  # (n,)
    impressions: Floats  # (n,)
    clicks: Floats  # (n,)
    spend_micros: Floats  # (n,)


@dataclass(frozen=True, slots=True)
class HourReports:
    """S segments over T hours; hours are counted from 1970-01-01 00:00 on the account's clock."""

    source: str
    segment_names: tuple[str, ...]  # campaign/segment
    campaign: Ints  # (S,) index into campaign_names
    campaign_names: tuple[str, ...]
    covered_hours: Ints  # (T,) without gaps
    has_row: Bools  # (S, T) where there is a row with a bid
    bid_micros: Floats  # (S, T) 1 where there is no row
    impressions: Floats  # (S, T) 0 where there is no row, as the others
    clicks: Floats
    spend_micros: Floats
    conversions: Floats
    value_micros: Floats
    share: Floats  # (S, T) of possible impressions, NaN where there is none
    day_share: Floats  # (S, D) of the whole day, NaN where there is none
    day_budget_micros: Floats  # (C, D) of campaigns, NaN where unknown
    offset_hours: float  # of the account's clock against UTC
    as_of_hours: float  # when the reports were read
    sales: Sales | None
    points: BidPoints | None

    @property
    def segments(self) -> int:
        """How many segments."""
        return len(self.segment_names)

    @property
    def hour_of_week(self) -> Ints:
        """Of each hour, Monday 00h first, shape (T,)."""
        return np.asarray((self.covered_hours + _MONDAY_SHIFT_HOURS) % 168)

    @property
    def day(self) -> Ints:
        """Which day each hour belongs to, from 0, shape (T,)."""
        return np.asarray(self.covered_hours // 24 - self.covered_hours[0] // 24)

    @property
    def age_hours(self) -> Floats:
        """Of each hour's middle when the reports were read, shape (T,)."""
        return np.asarray(np.maximum(self.as_of_hours - self.covered_hours - 0.5, 0.0), np.float64)

    @property
    def days(self) -> int:
        """How many days, the first and the last perhaps in part."""
        return int(self.day[-1]) + 1

    @property
    def day_marks(self) -> Floats:
        """1 where an hour (row) belongs to a day (column), shape (T, D)."""
        return np.asarray(self.day[:, None] == np.arange(self.days), float)

    def by_day(self, value: Floats | Bools) -> Floats:
        """Sum of a value (S, T) over the hours of each day, shape (S, D)."""
        return np.asarray(value @ self.day_marks)


def hour_reports(tables: Mapping[TableName, pa.Table], *, source: str, as_of: datetime | None = None) -> HourReports:
    """Arrange stored rows; with `as_of`, as they had been reported by then.

    The account's clock is read from the rows: `at` is UTC, `account_day` the day in the account's time zone.
    """
    rows = _newest(_frame(tables, TableName.HOUR_REPORTS, as_of), ["campaign", "segment", "at"])
    rows = rows[rows["bid_micros"].notna() & (rows["bid_micros"] > 0) & rows["impressions"].notna()]
    if rows.empty:
        raise DataError(
            f"{source} has no hour report with a bid and impressions; allowed: at least one. Import or synthesize"
            " reports by segment, with the bid in force."
        )
    rows = _finest(rows)
    offset_hours = _offset_hours(rows)
    rows = rows.assign(hour=_local_hours(rows["at"], offset_hours).astype(np.int64), name=_names(rows))
    names = tuple(sorted(rows["name"].unique()))
    campaign_of = rows.drop_duplicates("name").set_index("name")["campaign"]
    campaigns = tuple(sorted(rows["campaign"].unique()))
    first, last = int(rows["hour"].min()), int(rows["hour"].max())
    place = (pd.Index(names).get_indexer(rows["name"]), (rows["hour"] - first).to_numpy())
    shape = (len(names), last - first + 1)
    has_row = np.zeros(shape, bool)
    has_row[place] = True
    counts = {name: _laid_out(rows[name], place, shape, 0.0) for name in _COUNTS}
    newest = max(rows["reported_at"].max(), as_of) if as_of is not None else rows["reported_at"].max()
    return HourReports(
        source=source,
        segment_names=names,
        campaign=pd.Index(campaigns).get_indexer(campaign_of.reindex(names)).astype(np.int64),
        campaign_names=campaigns,
        covered_hours=np.arange(first, last + 1, dtype=np.int64),
        has_row=has_row,
        bid_micros=_laid_out(rows["bid_micros"], place, shape, 1.0),
        share=_laid_out(rows["impression_share"], place, shape, np.nan),
        day_share=_day_shares(_frame(tables, TableName.IMPRESSION_SHARES, as_of), names, first // 24, last // 24),
        day_budget_micros=_day_budgets(_frame(tables, TableName.DECISIONS, None), campaigns, first, last, offset_hours),
        offset_hours=offset_hours,
        as_of_hours=float(_local_hours(pd.Series([newest]), offset_hours).iloc[0]),
        sales=_sales(_frame(tables, TableName.CONVERSIONS, as_of), names, offset_hours),
        points=_points(_frame(tables, TableName.BID_SIMULATIONS, as_of), names),
        **counts,
    )


def bid_points(rows: pa.Table) -> tuple[tuple[str, ...], BidPoints]:
    """The names (campaign/segment) of all segments with bid simulator points, and the points."""
    frame: pd.DataFrame = rows.to_pandas()
    names = tuple(sorted(_names(frame).unique()))
    points = _points(frame, names)
    if points is None:
        raise DataError("no bid simulator point; allowed: at least one. Import or synthesize some.")
    return names, points


def keep_days(reports: HourReports, first: int, last: int) -> HourReports:
    """The part from day `first` up to, not including, day `last`; sales and points stay as they are."""
    kept = (reports.day >= first) & (reports.day < last)
    if not kept.any():
        raise DataError(f"no hour from day {first} to {last} of {reports.days}; allowed: at least one. Use others.")
    hourly = ("has_row", "bid_micros", "share", *_COUNTS)
    return replace(
        reports,
        covered_hours=reports.covered_hours[kept],
        day_share=reports.day_share[:, first:last],
        day_budget_micros=reports.day_budget_micros[:, first:last],
        **{name: getattr(reports, name)[:, kept] for name in hourly},
    )


def without_shares(reports: HourReports) -> HourReports:
    """The same reports from a platform that gives no impression share."""
    return replace(
        reports, share=np.full_like(reports.share, np.nan), day_share=np.full_like(reports.day_share, np.nan)
    )


def floored(reports: HourReports) -> HourReports:
    """The same reports with shares below a tenth read as 0.0999."""
    share, day_share = (np.where(value < FLOOR, _FLOOR_READS, value) for value in (reports.share, reports.day_share))
    return replace(reports, share=share, day_share=day_share)


def _frame(tables: Mapping[TableName, pa.Table], name: TableName, as_of: datetime | None) -> pd.DataFrame:
    if name not in tables:
        return pd.DataFrame()
    frame: pd.DataFrame = tables[name].to_pandas()
    return frame if as_of is None or frame.empty else frame[frame["reported_at"] <= as_of]


def _newest(rows: pd.DataFrame, key: list[str]) -> pd.DataFrame:
    """The last revision of each."""
    if rows.empty:
        return rows
    return rows.sort_values(["revision", "reported_at"], kind="stable").drop_duplicates(key, keep="last")


def _finest(rows: pd.DataFrame) -> pd.DataFrame:
    """Without the rows of whole campaigns that have rows by segment."""
    split = rows.groupby("campaign")["segment"].transform("count") > 0
    return rows[~(split & rows["segment"].isna())]


def _names(rows: pd.DataFrame) -> pd.Series:
    segment = rows["segment"].fillna("")
    return rows["campaign"] + np.where(segment == "", "", "/") + segment


def _offset_hours(rows: pd.DataFrame) -> float:
    """The account's clock against UTC: how much earlier than midnight UTC its days usually begin."""
    midnight = pd.to_datetime(rows["account_day"]).dt.tz_localize("UTC")
    behind = ((rows["at"] - midnight).dt.total_seconds() / _HOUR_S).groupby(rows["account_day"])
    whole = behind.min()[behind.nunique() >= _WHOLE_DAY_HOURS]  # only of these the first hour is midnight
    return -float(round(whole.median() if len(whole) else behind.min().min(), 2))


def _local_hours(times: pd.Series, offset_hours: float) -> pd.Series:
    return (times - pd.Timestamp(0, tz="UTC")).dt.total_seconds() / _HOUR_S + offset_hours


def _laid_out(values: pd.Series, place: tuple[Ints, Ints], shape: tuple[int, int], empty: float) -> Floats:
    laid = np.full(shape, empty)
    laid[place] = values.astype(float).fillna(empty if np.isnan(empty) else 0.0)
    return laid


def _day_shares(rows: pd.DataFrame, names: tuple[str, ...], first_day: int, last_day: int) -> Floats:
    shares = np.full((len(names), last_day - first_day + 1), np.nan)
    if rows.empty:
        return shares
    rows = _newest(rows, ["campaign", "segment", "account_day"])
    segment = pd.Index(names).get_indexer(_names(rows))
    day = _day_numbers(rows["account_day"]) - first_day
    kept = (segment >= 0) & (day >= 0) & (day < shares.shape[1])
    shares[segment[kept], day[kept]] = rows["impression_share"].to_numpy()[kept]
    return shares


def _day_budgets(
    rows: pd.DataFrame, campaigns: tuple[str, ...], first_hour: int, last_hour: int, offset_hours: float
) -> Floats:
    """What was left of the day's budget before the first decision of each day."""
    budgets = np.full((len(campaigns), last_hour // 24 - first_hour // 24 + 1), np.nan)
    if rows.empty:
        return budgets
    rows = rows[rows["budget_left_micros"].notna()].sort_values("at", kind="stable")
    day = (_local_hours(rows["at"], offset_hours) // 24).astype(np.int64)
    opening = rows.assign(day=day - first_hour // 24).drop_duplicates(["campaign", "day"])
    campaign = pd.Index(campaigns).get_indexer(opening["campaign"])
    inside = (campaign >= 0) & (opening["day"] >= 0).to_numpy() & (opening["day"] < budgets.shape[1]).to_numpy()
    budgets[campaign[inside], opening["day"].to_numpy()[inside]] = opening["budget_left_micros"].to_numpy()[inside]
    return budgets


def _day_numbers(days: pd.Series) -> Ints:
    return np.asarray(pd.to_datetime(days).to_numpy().astype("datetime64[D]"), np.int64)


def _sales(rows: pd.DataFrame, names: tuple[str, ...], offset_hours: float) -> Sales | None:
    """First reports of conversions with a known click; later revisions change values, not times."""
    if rows.empty:
        return None
    rows = rows[rows["click_at"].notna() & (rows["revision"] == 0)]
    segment = pd.Index(names).get_indexer(_names(rows))
    rows, segment = rows[segment >= 0], segment[segment >= 0]
    if rows.empty:
        return None
    click = _local_hours(rows["click_at"], offset_hours).to_numpy()
    return Sales(segment, click, _local_hours(rows["reported_at"], offset_hours).to_numpy() - click)


def _points(rows: pd.DataFrame, names: tuple[str, ...]) -> BidPoints | None:
    if rows.empty:
        return None
    segment = pd.Index(names).get_indexer(_names(rows))
    rows, segment = rows[segment >= 0], segment[segment >= 0]
    if rows.empty:
        return None
    start, end = _day_numbers(rows["period_start"]), _day_numbers(rows["period_end"])
    columns = {name: rows[name].astype(float).to_numpy() for name in ("bid_micros", *_COUNTS[:3])}
    return BidPoints(segment=segment, end_day=end, days=(end - start + 1).astype(float), **columns)
