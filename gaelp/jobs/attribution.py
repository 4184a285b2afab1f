"""Join clicks with the conversions that they brought, in windows of event time, with revisions and late reports.

A conversion belongs to the click that it names, or else to the last click of its campaign (and segment, if it has one)
before it. It counts if it happened within the window after the click and was reported within the allowed lateness after
that window. The newest revision up to `as_of` counts, so that running the job again corrects earlier rows.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import AwareDatetime, Field

from gaelp.arrays import Ints
from gaelp.config.base import Frozen
from gaelp.jobs.screening import ScreenedRows, join_tables, keep_newest, keep_valid
from gaelp.storage.schema import TABLES, TableName

__all__ = ["ATTRIBUTED_CLICKS", "AttributionSettings", "attribute"]

_TIME = pa.timestamp("us", tz="UTC")
_NONE = -1

ATTRIBUTED_CLICKS = pa.schema(
    [
        *((name, pa.string()) for name in ("click", "phase", "source", "campaign", "policy", "segment")),
        ("at", _TIME),
        ("cost_micros", pa.int64()),
        ("conversions", pa.int64()),
        ("value_micros", pa.int64()),
        ("first_converted_at", _TIME),
        ("last_reported_at", _TIME),
        ("is_final", pa.bool_()),
    ]
)
"""One row a click; `is_final` once no report can change it any more."""


class AttributionSettings(Frozen):
    """The window of event time after a click, and how late a report may be; `as_of` is what was known then."""

    window_days: int = Field(default=30, ge=1, le=365)
    lateness_days: int = Field(default=7, ge=0, le=365, description="days after the window in which reports count")
    as_of: AwareDatetime

    @property
    def window(self) -> timedelta:
        """The window of event time."""
        return timedelta(days=self.window_days)

    @property
    def lateness(self) -> timedelta:
        """How long after the window a report counts."""
        return timedelta(days=self.lateness_days)


def attribute(
    clicks: Sequence[pa.Table], conversions: Sequence[pa.Table], settings: AttributionSettings
) -> ScreenedRows:
    """All clicks up to `as_of` with what they brought; conversions that count nowhere are dead letters."""
    clicked = _screened(TableName.CLICKS, clicks, "at", settings.as_of)
    reported = _screened(TableName.CONVERSIONS, conversions, "reported_at", settings.as_of)
    ordered = keep_newest(clicked.valid, ("id",), ()).sort_by(
        [("campaign", "ascending"), ("at", "ascending"), ("id", "ascending")]
    )
    newest = keep_newest(
        reported.valid, ("campaign", "conversion"), [("revision", "descending"), ("reported_at", "descending")]
    )
    places = _places(ordered, newest)
    problems = _unattributable(ordered, newest, places, settings)
    joined = keep_valid(TableName.CONVERSIONS, newest, problems)
    usable = ~np.logical_or.reduce([np.asarray(mask) for mask in problems.values()])
    rows = _with_conversions(ordered, joined.valid, places[usable], settings)
    return ScreenedRows(rows, pa.concat_tables([clicked.dead, reported.dead, joined.dead]))


def _screened(name: TableName, tables: Sequence[pa.Table], known_at: str, as_of: datetime) -> ScreenedRows:
    table = join_tables(tables, TABLES[name].columns)
    table = table.filter(pc.fill_null(pc.less_equal(table.column(known_at), pa.scalar(as_of, _TIME)), True))
    problems = {f"{column} is missing": pc.is_null(table.column(column)) for column in TABLES[name].required}
    money = "cost_micros" if name is TableName.CLICKS else "value_micros"
    problems[f"{money} is negative"] = pc.less(table.column(money), 0)
    if name is TableName.CONVERSIONS:
        problems["reported before it happened"] = pc.less(table.column("reported_at"), table.column("at"))
    return keep_valid(name, table, problems)


def _places(clicks: pa.Table, conversions: pa.Table) -> Ints:
    """For each conversion the row of its click; -1 if there is none."""
    ids = {click: row for row, click in enumerate(clicks.column("id").to_pylist())}
    named = conversions.column("click").to_pylist()
    places = np.array([_NONE if name is None else ids.get(name, _NONE) for name in named], np.int64)
    open_rows = np.flatnonzero([name is None for name in named])
    if len(open_rows) and clicks.num_rows:
        places[open_rows] = _last_clicks(clicks, conversions.take(pa.array(open_rows)))
    return places


def _last_clicks(clicks: pa.Table, conversions: pa.Table) -> Ints:
    """The last click of the same campaign, and segment if it is known, at or before each conversion."""
    rows: dict[tuple[str, str | None], list[int]] = {}
    for row, (campaign, segment) in enumerate(
        zip(clicks.column("campaign").to_pylist(), clicks.column("segment").to_pylist(), strict=True)
    ):
        rows.setdefault((campaign, None), []).append(row)
        if segment is not None:
            rows.setdefault((campaign, segment), []).append(row)
    click_times = _microseconds(clicks.column("at"))
    indexed = {key: np.array(numbers) for key, numbers in rows.items()}
    places = np.full(conversions.num_rows, _NONE, np.int64)
    keys = zip(conversions.column("campaign").to_pylist(), conversions.column("segment").to_pylist(), strict=True)
    for number, (key, at) in enumerate(zip(keys, _microseconds(conversions.column("at")), strict=True)):
        candidates = indexed.get(key)
        if candidates is not None:
            before = int(np.searchsorted(click_times[candidates], at, side="right"))
            places[number] = candidates[before - 1] if before else _NONE
    return places


def _unattributable(
    clicks: pa.Table, conversions: pa.Table, places: Ints, settings: AttributionSettings
) -> dict[str, pa.Array]:
    has_click = places != _NONE
    click_times = _microseconds(clicks.column("at")) if clicks.num_rows else np.zeros(1, np.int64)
    clicked = click_times[np.maximum(places, 0)]
    after = _microseconds(conversions.column("at")) - clicked
    window = settings.window // timedelta(microseconds=1)
    latest = clicked + window + settings.lateness // timedelta(microseconds=1)
    return {
        "no click before it in its campaign": pa.array(~has_click),
        "happened before its click": pa.array(has_click & (after < 0)),
        f"more than {settings.window_days} days after its click": pa.array(has_click & (after > window)),
        f"reported more than {settings.lateness_days} days after the window": pa.array(
            has_click & (_microseconds(conversions.column("reported_at")) > latest)
        ),
    }


def _with_conversions(clicks: pa.Table, conversions: pa.Table, places: Ints, settings: AttributionSettings) -> pa.Table:
    credited = pa.table(
        {
            "row": places,
            "value_micros": conversions.column("value_micros"),
            "at": conversions.column("at"),
            "reported_at": conversions.column("reported_at"),
        }
    )
    sums = credited.group_by("row", use_threads=False).aggregate(
        [([], "count_all"), ("value_micros", "sum"), ("at", "min"), ("reported_at", "max")]
    )
    rows = sums.column("row").to_numpy()
    counts, values = np.zeros(clicks.num_rows, np.int64), np.zeros(clicks.num_rows, np.int64)
    counts[rows], values[rows] = sums.column("count_all").to_numpy(), sums.column("value_micros_sum").to_numpy()
    place_of = np.full(clicks.num_rows, _NONE, np.int64)
    place_of[rows] = np.arange(len(rows))
    index = pa.array(place_of, mask=place_of == _NONE)
    settled = pa.scalar(settings.as_of - settings.window - settings.lateness, _TIME)
    columns = {
        "click": clicks.column("id"),
        "conversions": pa.array(counts),
        "value_micros": pa.array(values),
        "first_converted_at": sums.column("at_min").take(index),
        "last_reported_at": sums.column("reported_at_max").take(index),
        "is_final": pc.less(clicks.column("at"), settled),
    }
    arrays = [columns[name] if name in columns else clicks.column(name) for name in ATTRIBUTED_CLICKS.names]
    return pa.table(arrays, schema=ATTRIBUTED_CLICKS)


def _microseconds(times: pa.ChunkedArray) -> Ints:
    values: Ints = times.cast(pa.int64()).to_numpy()
    return values
