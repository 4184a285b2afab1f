"""Figures of logged hours as known at a moment: newest report of each hour, newest revision of each conversion."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from gaelp.arrays import Bools, Floats, Ints
from gaelp.history.log_tables import UNKNOWN, LogCells, codes, floats, ints, seconds

__all__ = ["FEED_COLUMNS", "REPORT_COLUMNS", "FeedFigures", "ReportFigures", "feed_figures", "report_figures"]

REPORT_COLUMNS = (
    *("at", "campaign", "segment", "account_day", "revision", "reported_at"),
    *("impressions", "clicks", "conversions", "spend_micros", "value_micros"),
)
FEED_COLUMNS = (
    *("at", "campaign", "conversion", "revision", "segment", "click", "click_at", "reported_at", "value_micros"),
)
_COUNTS = ("impressions", "clicks", "conversions", "spend_micros", "value_micros")
_DAY_ORDINAL_1970 = 719_163


@dataclass(frozen=True, slots=True)
class ReportFigures:
    """Figures of hour reports beside R logged rows, and the account's day of each row that has any report."""

    reports_campaign: Bools  # (C,) whether the campaign is reported by segment at all, now or later
    is_known: Bools  # (R,) whether the hour was reported by then
    account_day: Ints  # (R,) ordinal, UNKNOWN without a report
    counts: dict[str, Floats]  # (R,) each, 0 where not known
    latest_s: int  # when the newest report used was made, UNKNOWN without one
    before_their_hour: int  # reports made before the hour that they are about


@dataclass(frozen=True, slots=True)
class FeedFigures:
    """Conversions of a sales feed beside R logged rows, at the hour of the click."""

    feeds_campaign: Bools  # (C,) whether any conversion of the campaign was reported by then
    conversions: Floats  # (R,)
    value_micros: Ints  # (R,)
    unmatched: int  # conversions whose click belongs to no logged row
    latest_s: int
    before_their_click: int  # conversions reported before their click
    delay_hours: Floats  # (n,) of first reports of matched conversions: from click to report
    click_s: Ints  # (n,) when their clicks were


def report_figures(
    table: pa.Table, cells: LogCells, names: tuple[tuple[str, ...], tuple[str, ...]], as_of_s: int | None
) -> ReportFigures:
    """Join hour reports: of each hour the last revision that was made by `as_of_s` (None: whenever)."""
    campaign, segment = codes(table["campaign"], names[0]), codes(table["segment"], names[1])
    start_s, made_s = seconds(table["at"]), seconds(table["reported_at"])
    by_segment = np.zeros(len(names[0]), bool)
    by_segment[campaign[(campaign >= 0) & (segment >= 0)]] = True
    cell = cells.exact(campaign, segment, start_s)
    account_day = np.full(len(cells.keys), UNKNOWN, np.int64)
    account_day[cell[cell >= 0]] = _ordinals(table)[cell >= 0]
    kept = _newest(cell, ints(table["revision"]), made_s, as_of_s)
    is_known = np.zeros(len(cells.keys), bool)
    is_known[cell[kept]] = True
    counts = {}
    for name in _COUNTS:
        by_cell = np.zeros(len(cells.keys))
        by_cell[cell[kept]] = floats(table[name], missing=0.0)[kept]
        counts[name] = by_cell[cells.of_row]
    return ReportFigures(
        reports_campaign=by_segment,
        is_known=is_known[cells.of_row],
        account_day=account_day[cells.of_row],
        counts=counts,
        latest_s=int(made_s[kept].max(initial=UNKNOWN)),
        before_their_hour=int((made_s < start_s).sum()),
    )


def feed_figures(
    table: pa.Table,
    clicks: pa.Table,
    cells: LogCells,
    names: tuple[tuple[str, ...], tuple[str, ...]],
    as_of_s: int | None,
) -> FeedFigures:
    """Join conversions to the hour of their click: the last revision made by `as_of_s`; one refunded counts as none."""
    campaign = codes(table["campaign"], names[0])
    click_s, segment = _clicks(table, clicks, names[1])
    made_s, revision = seconds(table["reported_at"]), ints(table["revision"])
    value = ints(table["value_micros"])
    conversion = np.asarray(table["conversion"].combine_chunks().indices) if table.num_rows else np.zeros(0, np.int64)
    newest = _newest(conversion.astype(np.int64), revision, made_s, as_of_s)
    cell = cells.containing(campaign, segment, click_s)
    matched = newest[(cell[newest] >= 0) & (click_s[newest] >= 0)]
    refunded = (value[matched] == 0) & (revision[matched] > 0)
    size = len(cells.keys)
    feeds = np.zeros(len(names[0]), bool)
    feeds[campaign[newest[campaign[newest] >= 0]]] = True
    first = np.flatnonzero((revision == 0) & (cell >= 0) & (click_s >= 0) & _by_then(made_s, as_of_s))
    return FeedFigures(
        feeds_campaign=feeds,
        conversions=np.bincount(cell[matched], ~refunded, size).astype(np.float64)[cells.of_row],
        value_micros=_sums(cell[matched], value[matched], size)[cells.of_row],
        unmatched=len(newest) - len(matched),
        latest_s=int(made_s[matched].max(initial=UNKNOWN)),
        before_their_click=int(((made_s < click_s) & (click_s >= 0)).sum()),
        delay_hours=(made_s[first] - click_s[first]) / 3600.0,
        click_s=click_s[first],
    )


def _newest(key: Ints, revision: Ints, made_s: Ints, as_of_s: int | None) -> Ints:
    """Of each key the place of its last revision that was made in time, shape (n,); keys below 0 have none."""
    places = np.flatnonzero((key >= 0) & _by_then(made_s, as_of_s))
    order = places[np.lexsort((made_s[places], revision[places], key[places]))]
    is_last = np.append(key[order][1:] != key[order][:-1], True)[: len(order)]
    return np.asarray(order[is_last], np.int64)


def _by_then(made_s: Ints, as_of_s: int | None) -> Bools:
    return np.ones(len(made_s), bool) if as_of_s is None else made_s <= as_of_s


def _clicks(table: pa.Table, clicks: pa.Table, segments: tuple[str, ...]) -> tuple[Ints, Ints]:
    """Time and segment of each conversion's click: as the feed has them, else those of the click it names."""
    click_s, segment = seconds(table["click_at"]), codes(table["segment"], segments)
    if not clicks.num_rows or not ((click_s < 0) | (segment < 0)).any():
        return click_s, segment
    ids = clicks["id"].combine_chunks().dictionary.to_pylist()  # an id is unique, so places are rows
    order = np.asarray(clicks["id"].combine_chunks().indices)
    place_of = np.full(len(ids), UNKNOWN, np.int64)
    place_of[order] = np.arange(len(order))
    named = codes(table["click"], ids)
    place = np.where(named >= 0, place_of[named], UNKNOWN)
    known_s, known_segment = seconds(clicks["at"]), codes(clicks["segment"], segments)
    click_s = np.where((click_s < 0) & (place >= 0), known_s[place], click_s)
    return click_s, np.where((segment < 0) & (place >= 0), known_segment[place], segment)


def _sums(cell: Ints, value: Ints, size: int) -> Ints:
    """Exact sums of whole numbers by cell."""
    sums = np.zeros(size, np.int64)
    np.add.at(sums, cell, value)
    return sums


def _ordinals(table: pa.Table) -> Ints:
    return ints(table["account_day"].cast(pa.int32())) + _DAY_ORDINAL_1970
