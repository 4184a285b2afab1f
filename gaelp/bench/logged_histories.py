"""Histories of the local ad platform as logged decisions, without the rows of a store in between; kept in a folder.

Making rows takes three times as long as the history itself, and whoever judges policies on hundreds of histories reads
a few columns of them. A test holds the decisions against those that are read from a store.
"""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from gaelp.arrays import Floats, Ints
from gaelp.history.logged_campaigns import LogFacts, LoggedDecisions, keep_rows, sort_rows
from gaelp.sandbox.exchange_events import NEVER, Rows
from gaelp.sandbox.incumbent import SynthesisSpec, action_density
from gaelp.sandbox.spec import SandboxSpec
from gaelp.sandbox.synthesis import SynthesizedHistory, synthesize
from gaelp.sandbox.synthesis_rows import history_source

__all__ = ["cached_log", "first_days", "logged_history"]

_HOUR_TICKS, _DAY_TICKS, _TICK_S = 60, 1440, 60
_RECORDED = 1  # place of "recorded" in DENSITY_KINDS
_NOTHING_NOTICED = LogFacts(0, 0, 0, 0, 0, {}, None, "reports")
_TEXTS = ("campaign_names", "segment_names", "source_names")


def cached_log(spec: SynthesisSpec, world: SandboxSpec, cache: Path | None) -> LoggedDecisions:
    """The log of a history, from `cache` if it was made before."""
    path = None if cache is None else cache / f"{history_source(spec, world)}.npz"
    if path is not None and path.exists():
        return _read(path)
    logged = logged_history(synthesize(spec, world, simulator_points=False))
    if path is not None:
        _write(path, logged)
    return logged


def first_days(logged: LoggedDecisions, days: int) -> LoggedDecisions:
    """The decisions of a log's first days."""
    return keep_rows(logged, logged.account_day < logged.account_day.min() + days)


def logged_history(history: SynthesizedHistory) -> LoggedDecisions:
    """The decisions as `read_logged` reads them at the end of the history from the rows that it leaves in a store."""
    figures = _figures(history)
    shape = history.actions.shape
    hour, campaign, place = (index.reshape(-1) for index in np.indices(shape))
    names = [each.name for each in history.campaigns]
    segments = sorted({segment for each in history.campaigns for segment in each.segments})
    code = np.array([[segments.index(segment) for segment in each.segments] for each in history.campaigns])
    days = np.array([history.account_day(tick).toordinal() for tick in history.hour_ticks.tolist()])
    start_s = int(history.instant(0).timestamp()) + _TICK_S * history.hour_ticks
    action = history.actions[hour, campaign, place]
    nothing = np.zeros(0)
    logged = LoggedDecisions(
        campaign_names=tuple(sorted(names)),
        segment_names=tuple(segments),
        source_names=(history_source(history.spec, history.world),),
        as_of=None,
        campaign=np.array([sorted(names).index(name) for name in names])[campaign],
        segment=code[campaign, place],
        source=np.zeros(action.size, np.int64),
        account_day=days[hour],
        hour_start=(start_s[hour] * 1_000_000).astype("datetime64[us]"),
        step=hour,
        bid_micros=history.bid_micros[hour, campaign, place],
        action=action,
        density=np.array([action_density(history.spec, each) for each in action.tolist()]),
        density_kind=np.full(action.size, _RECORDED, np.int8),
        budget_left_micros=np.full(action.size, -1),
        impressions=figures.impressions[hour, campaign, place],
        clicks=figures.clicks[hour, campaign, place],
        conversions=figures.conversions[hour, campaign, place],
        spend_micros=figures.spend_micros[hour, campaign, place],
        value_micros=figures.value_micros[hour, campaign, place],
        delay_hours=nothing,
        delay_click_hours=nothing,
        facts=_NOTHING_NOTICED,
    )
    reported = _first_reading(history)[hour] <= history.end_tick
    return sort_rows(keep_rows(logged, reported))


@dataclass(frozen=True, slots=True)
class _Figures:
    """By hour, campaign and ad group, (T, C, G) each, as known at the end."""

    impressions: Ints
    clicks: Ints
    spend_micros: Ints
    conversions: Floats
    value_micros: Ints


def _figures(history: SynthesizedHistory) -> _Figures:
    events, cells = history.events, _Cells(history)
    hours = events.hours[events.hours["hour_tick"] >= history.hour_ticks[0]]
    at = cells.places(hours, "hour_tick")
    known = events.credits["tick"] <= cells.last_reading()[cells.places(events.credits, "click_tick")]
    late = cells.places(events.credits[known], "click_tick")
    sales = events.conversions[events.conversions["reported_tick"] <= history.end_tick]
    refunded = np.maximum(sales["refunded_tick"], sales["reported_tick"])
    sales = sales[(sales["refunded_tick"] == NEVER) | (refunded > history.end_tick)]
    sold = cells.places(sales, "click_tick")
    return _Figures(
        impressions=cells.total(at, hours["impressions"]),
        clicks=cells.total(at, hours["clicks"]) - cells.total(late, np.ones(len(late[0]), np.int64)),
        spend_micros=cells.total(at, hours["cost_micros"]) - cells.total(late, events.credits["cost_micros"][known]),
        conversions=cells.total(sold, np.ones(len(sales), np.int64)).astype(np.float64),
        value_micros=cells.total(sold, sales["value_micros"]),
    )


class _Cells:
    """Hours, campaigns and ad groups of a history."""

    def __init__(self, history: SynthesizedHistory) -> None:
        self._history = history
        ids = [[group.id for group in each.served.groups] for each in history.campaigns]
        self._ids, order = np.unique(np.array(ids), return_inverse=True)
        self._place = np.argsort(order.reshape(-1))

    def places(self, rows: Rows, tick: str) -> tuple[Ints, Ints, Ints]:
        """Hour, campaign and group of rows."""
        hour = np.searchsorted(self._history.hour_ticks, rows[tick], side="right") - 1
        campaign, group = np.divmod(self._place[np.searchsorted(self._ids, rows["group"])], self._groups)
        return np.asarray(hour), campaign, group

    def total(self, at: tuple[Ints, ...], amount: Ints) -> Ints:
        """Sums by hour, campaign and group."""
        sums = np.zeros(self._history.actions.shape, np.int64)
        np.add.at(sums, at, amount)
        return sums

    def last_reading(self) -> Ints:
        """When the newest report of an hour was made: a report follows each change at the next midnight of UTC."""
        history = self._history
        first = _first_reading(history)
        last = np.broadcast_to(first[:, None, None], history.actions.shape).copy()
        for rows, tick in ((history.events.credits, "tick"), (history.events.conversions, "reported_tick")):
            at = self.places(rows, "click_tick")
            reading = np.maximum(first[at[0]], -(-rows[tick] // _DAY_TICKS) * _DAY_TICKS)
            made = (reading <= history.end_tick) & (rows[tick] <= history.end_tick)
            np.maximum.at(last, tuple(index[made] for index in at), reading[made])
        return last

    @property
    def _groups(self) -> int:
        return int(self._history.actions.shape[2])


def _first_reading(history: SynthesizedHistory) -> Ints:
    """When each hour is first reported, (T,)."""
    return np.asarray(history.hour_ticks + _HOUR_TICKS * (1 + history.world.reports.lag_hours))


def _write(path: Path, logged: LoggedDecisions) -> None:
    """All columns; what was noticed while a log was read is not kept."""
    path.parent.mkdir(parents=True, exist_ok=True)
    columns: dict[str, Any] = {
        field.name: np.asarray(getattr(logged, field.name))
        for field in fields(logged)
        if field.name not in ("facts", "as_of")
    }
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb") as file:
        np.savez_compressed(file, **columns)
    unfinished.rename(path)


def _read(path: Path) -> LoggedDecisions:
    with np.load(path) as stored:
        columns: dict[str, Any] = {name: stored[name] for name in stored.files}
    columns |= {name: tuple(str(text) for text in columns[name]) for name in _TEXTS}
    return LoggedDecisions(as_of=None, facts=_NOTHING_NOTICED, **columns)
