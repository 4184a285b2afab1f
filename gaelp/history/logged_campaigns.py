"""Logged decisions of a window as arrays, each figure as it was known at a stated moment.

A decision's clicks and conversions are reported hours to weeks later and revised after that. Where the store has hour
reports of a campaign by segment, impressions, clicks and spend are those of the newest report made by `as_of`; where it
has the campaign's conversions, these are counted at the hour of their click, in their newest revision made by then, and
one that was refunded counts as none. Only a log without either is taken at its own figures, which have no date.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gaelp.arrays import Bools, Floats, Ints, Ints8
from gaelp.history.late_figures import (
    FEED_COLUMNS,
    REPORT_COLUMNS,
    FeedFigures,
    ReportFigures,
    feed_figures,
    report_figures,
)
from gaelp.history.log_tables import UNKNOWN, LogCells, codes, floats, ints, read_rows, seconds, sorted_names
from gaelp.storage.schema import TableName
from gaelp.storage.store import EpisodeStore, RowFilter
from gaelp.types import Phase

__all__ = ["DENSITY_KINDS", "LogFacts", "LoggedDecisions", "Times", "keep_rows", "read_logged", "sort_rows"]

Times = npt.NDArray[np.datetime64]  # microseconds, UTC

DENSITY_KINDS = ("none", "recorded", "estimated")  # by the codes of `density_kind`

_DECISION_COLUMNS = (
    *("id", "at", "source", "campaign", "step", "segment", "bid_micros", "action", "density", "density_kind"),
    *("budget_left_micros", "impressions", "clicks", "conversions", "spend_micros", "value_micros"),
)
_CLICK_COLUMNS = ("id", "at", "segment")
_SPEND_COLUMNS = ("campaign", "amount_micros")
_DAY_S = 86_400
_DAY_ORDINAL_1970 = 719_163


@dataclass(frozen=True, slots=True)
class LogFacts:
    """What was noticed while a log was read."""

    unreported_rows: int  # hours that had not been reported by `as_of`, left out unless asked for
    undated_rows: int  # figures taken from the decision itself, so that `as_of` cannot be applied to them
    unmatched_conversions: int  # conversions whose click belongs to no decision that was read
    reports_before_their_hour: int
    conversions_before_their_click: int
    spend_without_decisions_micros: dict[str, int]  # by campaign
    newest_report: datetime | None  # when the newest report or conversion that was used was made
    account_clock: str  # where the account's days come from: reports, the zone that was given, or UTC


@dataclass(frozen=True, slots=True)
class LoggedDecisions:
    """R rows, one an hour of a campaign's segment, sorted by campaign, hour and segment; money is micros."""

    campaign_names: tuple[str, ...]
    segment_names: tuple[str, ...]
    source_names: tuple[str, ...]
    as_of: datetime | None  # None: everything that is stored was used
    campaign: Ints  # (R,) index into campaign_names
    segment: Ints  # (R,) index into segment_names
    source: Ints  # (R,) index into source_names
    account_day: Ints  # (R,) ordinal of the day in the account's time zone
    hour_start: Times  # (R,) UTC
    step: Ints  # (R,) hours since the flight began
    bid_micros: Ints  # (R,)
    action: Floats  # (R,) NaN where the log has none
    density: Floats  # (R,) of the action, NaN where the log has none
    density_kind: Ints8  # (R,) index into DENSITY_KINDS
    budget_left_micros: Ints  # (R,) before the decision, -1 where the log has none
    impressions: Ints  # (R,)
    clicks: Ints  # (R,)
    conversions: Floats  # (R,)
    spend_micros: Ints  # (R,)
    value_micros: Ints  # (R,)
    delay_hours: Floats  # (n,) from click to first report of the conversions of these rows
    delay_click_hours: Floats  # (n,) when those clicks were, hours since 1970 UTC
    facts: LogFacts

    def __len__(self) -> int:
        """How many rows."""
        return len(self.campaign)

    @property
    def log_density(self) -> Floats:
        """Log of the density, NaN where there is none or where it is not above 0, shape (R,)."""
        usable = self.density > 0
        return np.where(usable, np.log(np.where(usable, self.density, 1.0)), np.nan)

    @property
    def campaign_day(self) -> Ints:
        """A number for each campaign and account day, the unit that budgets couple, shape (R,)."""
        first, last = (int(self.account_day.min()), int(self.account_day.max())) if len(self) else (0, 0)
        day = self.campaign * (last - first + 1) + self.account_day - first
        return np.asarray(np.unique(day, return_inverse=True)[1], np.int64)


_BY_ROW = tuple(
    field.name
    for field in fields(LoggedDecisions)
    if not field.name.endswith("_names") and field.name not in ("as_of", "delay_hours", "delay_click_hours", "facts")
)


def read_logged(
    store: EpisodeStore,
    rows: RowFilter,
    *,
    as_of: datetime | None = None,
    zone: str | None = None,
    keep_unreported: bool = False,
) -> LoggedDecisions:
    """Read the decisions that match, of phase history unless the filter names others; figures as known at `as_of`.

    The account's days come from its hour reports; without reports, from `zone`, or they are days of UTC. Hours that had
    not been reported by `as_of` are left out; `keep_unreported` keeps them, with zeros. A store from
    `gaelp.storage.backends.build_store` withholds rows of a sealed window.
    """
    rows = rows if rows.phases else rows.model_copy(update={"phases": (Phase.HISTORY,)})
    table = read_rows(store, TableName.DECISIONS, rows, _DECISION_COLUMNS)
    names = sorted_names(table["campaign"]), sorted_names(table["segment"])
    campaign, segment = codes(table["campaign"], names[0]), codes(table["segment"], names[1])
    start_s = seconds(table["at"])
    cells = LogCells.of(campaign, segment, start_s, max(len(names[1]), 1))
    as_of_s = None if as_of is None else int(as_of.timestamp())
    anywhere = rows.model_copy(update={"policies": ()})  # reports do not say which policy decided
    reports_table = read_rows(store, TableName.HOUR_REPORTS, anywhere, REPORT_COLUMNS)
    reports = report_figures(reports_table, cells, names, as_of_s)
    feed = _read_feed(store, anywhere, cells, names, as_of_s)
    log = _assembled(table, (campaign, segment, start_s), reports, feed)
    account_day, clock = _account_days(campaign, start_s, reports.account_day, zone)
    is_reported = reports.is_known | ~reports.reports_campaign[campaign] if len(campaign) else np.zeros(0, bool)
    facts = LogFacts(
        unreported_rows=int((~is_reported).sum()),
        undated_rows=int((~reports.reports_campaign[campaign]).sum()) if len(campaign) else 0,
        unmatched_conversions=feed.unmatched,
        reports_before_their_hour=reports.before_their_hour,
        conversions_before_their_click=feed.before_their_click,
        spend_without_decisions_micros=_spend_elsewhere(store, anywhere, reports_table, names[0]),
        newest_report=_instant(max(reports.latest_s, feed.latest_s)),
        account_clock=clock,
    )
    whole = LoggedDecisions(
        campaign_names=names[0],
        segment_names=names[1],
        source_names=sorted_names(table["source"]),
        as_of=as_of,
        account_day=account_day,
        delay_hours=feed.delay_hours,
        delay_click_hours=feed.click_s / 3600.0,
        facts=facts,
        **log,
    )
    kept = np.ones(len(whole), bool) if keep_unreported else is_reported
    return sort_rows(keep_rows(whole, kept))


def keep_rows(logged: LoggedDecisions, kept: Bools) -> LoggedDecisions:
    """The part of the rows for which `kept` (R,) holds; names, delays and facts stay as they are."""
    return replace(logged, **{name: getattr(logged, name)[kept] for name in _BY_ROW})


def sort_rows(logged: LoggedDecisions) -> LoggedDecisions:
    """The rows by campaign, hour and segment."""
    order = np.lexsort((logged.source, logged.segment, logged.hour_start, logged.campaign))
    return replace(logged, **{name: getattr(logged, name)[order] for name in _BY_ROW})


def _assembled(
    table: pa.Table,
    cells: tuple[Ints, Ints, Ints],
    reports: ReportFigures,
    feed: FeedFigures,
) -> dict[str, Any]:
    """The columns of the log: counts from reports and the feed where the campaign has them, else its own."""
    campaign, segment, start_s = cells
    by_report = reports.reports_campaign[campaign] if len(campaign) else np.zeros(0, bool)
    by_feed = feed.feeds_campaign[campaign] if len(campaign) else np.zeros(0, bool)

    def counted(name: str) -> Floats:
        return np.where(by_report, reports.counts[name], floats(table[name], missing=0.0))

    kind = codes(table["density_kind"], DENSITY_KINDS[1:]) + 1
    return {
        "campaign": campaign,
        "segment": segment,
        "source": codes(table["source"], sorted_names(table["source"])),
        "hour_start": (start_s * 1_000_000).astype("datetime64[us]"),
        "step": ints(table["step"]),
        "bid_micros": ints(table["bid_micros"]),
        "action": floats(table["action"]),
        "density": floats(table["density"]),
        "density_kind": kind.astype(np.int8),
        "budget_left_micros": ints(table["budget_left_micros"]),
        "impressions": counted("impressions").astype(np.int64),
        "clicks": counted("clicks").astype(np.int64),
        "spend_micros": counted("spend_micros").astype(np.int64),
        "conversions": np.where(by_feed, feed.conversions, counted("conversions")),
        "value_micros": np.where(by_feed, feed.value_micros, counted("value_micros").astype(np.int64)),
    }


def _read_feed(
    store: EpisodeStore,
    rows: RowFilter,
    cells: LogCells,
    names: tuple[tuple[str, ...], tuple[str, ...]],
    as_of_s: int | None,
) -> FeedFigures:
    """A sale follows its click, so those of a window's clicks may come after it: no upper bound, the click decides."""
    later = rows.model_copy(update={"until": None})
    table = read_rows(store, TableName.CONVERSIONS, later, FEED_COLUMNS)
    needs_clicks = pc.any(pc.or_(pc.is_null(table["click_at"]), pc.is_null(table["segment"]))).as_py()
    clicks = read_rows(store, TableName.CLICKS, rows, _CLICK_COLUMNS) if needs_clicks else table.slice(0, 0)
    return feed_figures(table, clicks, cells, names, as_of_s)


def _account_days(campaign: Ints, start_s: Ints, reported: Ints, zone: str | None) -> tuple[Ints, str]:
    """The account's day of each row, ordinals of shape (R,), and where it comes from."""
    if zone is not None:
        return _days_in_zone(start_s, ZoneInfo(zone)), zone
    utc = start_s // _DAY_S + _DAY_ORDINAL_1970
    if not (reported >= 0).any():
        return utc, "UTC"
    days = reported.copy()
    for number in np.unique(campaign[reported < 0]):
        own = campaign == number
        known = own & (reported >= 0)
        if not known.any():  # reported by no segment: the clock of the account's other campaigns
            known = reported >= 0
        days[own & (reported < 0)] = _days_like(start_s[known], reported[known], start_s[own & (reported < 0)])
    return days, "reports"


def _days_like(known_s: Ints, known_days: Ints, asked_s: Ints) -> Ints:
    """Days of hours that were not reported, counted from midnight of the last day before them that was."""
    order = np.argsort(known_s, kind="stable")
    days, first = np.unique(known_days[order], return_index=True)
    begins = known_s[order][first]
    at = np.clip(np.searchsorted(begins, asked_s, side="right") - 1, 0, None)
    return np.asarray(days[at] + (asked_s - begins[at]) // _DAY_S)


def _days_in_zone(start_s: Ints, zone: ZoneInfo) -> Ints:
    distinct, place = np.unique(start_s, return_inverse=True)
    days = [datetime.fromtimestamp(second, zone).date().toordinal() for second in distinct.tolist()]
    return np.array(days, np.int64)[place.reshape(-1)]


def _spend_elsewhere(store: EpisodeStore, rows: RowFilter, reports: pa.Table, decided: Sequence[str]) -> dict[str, int]:
    """Micros that campaigns without a single decision spent, by hour reports or by movements of money."""
    moved = read_rows(store, TableName.SPEND_EVENTS, rows, _SPEND_COLUMNS)
    spend: dict[str, int] = {}
    for table, column in ((reports, "spend_micros"), (moved, "amount_micros")):
        sums = table.select(["campaign", column]).group_by("campaign").aggregate([(column, "max"), (column, "sum")])
        for row in sums.to_pylist():
            if row["campaign"] not in decided and (row[f"{column}_max"] or 0) > 0:
                spend[row["campaign"]] = max(spend.get(row["campaign"], 0), row[f"{column}_sum"])
    return dict(sorted(spend.items()))


def _instant(second: int) -> datetime | None:
    return None if second == UNKNOWN else datetime.fromtimestamp(second, UTC)
