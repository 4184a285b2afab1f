"""A synthesized history as rows of the store: what an advertiser would have of it."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from gaelp.arrays import Ints
from gaelp.importing.segment_hours import SegmentHour, hour_report_table
from gaelp.sandbox.exchange_events import NEVER
from gaelp.sandbox.incumbent import POLICY, SynthesisSpec, action_density, history_tag
from gaelp.sandbox.spec import SandboxSpec
from gaelp.sandbox.synthesis import SynthesizedHistory
from gaelp.storage.schema import TABLES, TableName
from gaelp.types import Phase

__all__ = ["history_source", "history_tables"]

SHARE_FLOOR, FLOOR_READS = 0.1, 0.0999  # impression shares below a tenth read as 0.0999
_HOUR_TICKS, _DAY_TICKS = 60, 1440
_SHARE_DELAY_TICKS = 12 * _HOUR_TICKS  # after the end of the day
_PHASE = Phase.HISTORY


def history_source(spec: SynthesisSpec, world: SandboxSpec) -> str:
    """The name under which the rows are stored: the same for the same specs."""
    tag = history_tag(spec, world)
    return f"synthesize-{spec.weeks}-weeks-{spec.campaigns}-campaigns-seed-{spec.seed}-{tag}"


def history_tables(
    history: SynthesizedHistory, *, floor_shares: bool = True, only: Collection[TableName] | None = None
) -> dict[TableName, pa.Table]:
    """Rows of the store's schema, as far as everything was known at the end of the history; `only` some tables."""
    cells = _Cells(history)
    source = history_source(history.spec, history.world)

    def table(name: TableName) -> pa.Table:
        if name is TableName.HOUR_REPORTS:
            return hour_report_table(_hour_reports(history, cells), phase=_PHASE, source=source, policy=POLICY)
        return _table(history, name, rows[name])

    rows: dict[TableName, Iterator[dict[str, Any]]] = {
        TableName.EPISODES: _episodes(history, cells),
        TableName.DECISIONS: _decisions(history, cells),
        TableName.HOUR_REPORTS: iter(()),
        TableName.IMPRESSION_SHARES: _shares(history, cells, floor_shares=floor_shares),
        TableName.CLICKS: _clicks(history),
        TableName.CONVERSIONS: _conversions(history),
        TableName.SPEND_EVENTS: _spend_events(history, cells),
        TableName.BID_SIMULATIONS: _points(history),
    }
    return {name: table(name) for name in rows if only is None or name in only}


@dataclass(frozen=True, slots=True)
class _Change:
    """What a later event changes in the report of an hour."""

    tick: int  # when the platform knows of it
    clicks: int
    spend_micros: int
    conversions: int
    value_micros: int


class _Cells:
    """Totals by hour, campaign and group, shape (T, C, G) each, and what changes them later."""

    def __init__(self, history: SynthesizedHistory) -> None:
        self._history = history
        self._group = {
            group.id: (number, place)
            for number, campaign in enumerate(history.campaigns)
            for place, group in enumerate(campaign.served.groups)
        }
        shape = history.bid_micros.shape
        hours = history.events.hours
        kept = hours[hours["hour_tick"] >= history.hour_ticks[0]]
        place = self.places(kept, kept["hour_tick"])
        self.totals: dict[str, Ints] = {}
        for name in ("eligible", "impressions", "clicks", "cost_micros"):
            self.totals[name] = np.zeros(shape, np.int64)
            np.add.at(self.totals[name], place, kept[name])
        self.changes = self._changes()

    def places(self, rows: Any, ticks: Ints) -> tuple[Ints, Ints, Ints]:
        """Hour, campaign and group of rows."""
        hour = np.searchsorted(self._history.hour_ticks, ticks, side="right") - 1
        groups = np.array([self._group[int(group)] for group in rows["group"]], np.int64).reshape(-1, 2)
        return hour, groups[:, 0], groups[:, 1]

    def _changes(self) -> dict[tuple[int, int, int], list[_Change]]:
        changes: dict[tuple[int, int, int], list[_Change]] = defaultdict(list)
        events = self._history.events
        for place, row in zip(_keys(self, events.credits), events.credits, strict=True):
            changes[place].append(_Change(int(row["tick"]), -1, -int(row["cost_micros"]), 0, 0))
        for place, row in zip(_keys(self, events.conversions), events.conversions, strict=True):
            changes[place].append(_Change(int(row["reported_tick"]), 0, 0, 1, int(row["value_micros"])))
        return changes


def _keys(cells: _Cells, rows: Any) -> Iterator[tuple[int, int, int]]:
    hour, campaign, group = cells.places(rows, rows["click_tick"])
    return zip(hour.tolist(), campaign.tolist(), group.tolist(), strict=True)


def _table(history: SynthesizedHistory, name: TableName, rows: Iterator[dict[str, Any]]) -> pa.Table:
    same = {"phase": _PHASE.value, "source": history_source(history.spec, history.world), "policy": POLICY}
    account = {"account": history.world.customer_ids[0]} if "account" in TABLES[name].columns.names else {}
    return pa.Table.from_pylist([{**same, **account, **row} for row in rows], schema=TABLES[name].columns)


def _positions(history: SynthesizedHistory) -> Iterator[tuple[int, int, int, int]]:
    """Hour, its tick, campaign and group of every cell."""
    for hour, tick in enumerate(history.hour_ticks.tolist()):
        for number, campaign in enumerate(history.campaigns):
            for place in range(len(campaign.segments)):
                yield hour, tick, number, place


def _final(history: SynthesizedHistory, cells: _Cells, position: tuple[int, int, int]) -> dict[str, Any]:
    """The figures of a cell as known at the end."""
    known = [change for change in cells.changes.get(position, ()) if change.tick <= history.end_tick]
    return {
        "impressions": int(cells.totals["impressions"][position]),
        "clicks": int(cells.totals["clicks"][position]) + sum(change.clicks for change in known),
        "spend_micros": int(cells.totals["cost_micros"][position]) + sum(change.spend_micros for change in known),
        "conversions": float(sum(change.conversions for change in known)),
        "value_micros": sum(change.value_micros for change in known),
    }


def _episode_name(history: SynthesizedHistory, number: int) -> str:
    return f"{history_source(history.spec, history.world)}/{history.campaigns[number].name}"


def _episodes(history: SynthesizedHistory, cells: _Cells) -> Iterator[dict[str, Any]]:
    for number, campaign in enumerate(history.campaigns):
        sums: dict[str, Any] = defaultdict(int)
        for hour in range(len(history.hour_ticks)):
            for place in range(len(campaign.segments)):
                for key, value in _final(history, cells, (hour, number, place)).items():
                    sums[key] += value
        name = _episode_name(history, number)
        end = history.instant(history.end_tick)
        yield {
            "id": f"{name}/finished",
            "at": end,
            "campaign": campaign.name,
            "episode": name,
            "state": "finished",
            "market": f"sandbox, world seed {history.world.seed}",
            "objective": "value",
            "seed": history.spec.seed,
            "started_at": history.instant(int(history.hour_ticks[0])),
            "ended_at": end,
            "steps": len(history.hour_ticks),
            "budget_micros": (campaign.served.daily_micros or 0) * history.spec.weeks * 7,
            **sums,
        }


def _decisions(history: SynthesizedHistory, cells: _Cells) -> Iterator[dict[str, Any]]:
    left = _budget_left(history, cells)
    for hour, tick, number, place in _positions(history):
        campaign = history.campaigns[number]
        action = float(history.actions[hour, number, place])
        name = _episode_name(history, number)
        yield {
            "id": f"{name}/{hour}/{place}",
            "at": history.instant(tick),
            "campaign": campaign.name,
            "episode": name,
            "step": hour,
            "segment": campaign.segments[place],
            "bid_micros": int(history.bid_micros[hour, number, place]),
            "action": action,
            "density": action_density(history.spec, action),
            "density_kind": "recorded",
            "budget_left_micros": int(left[hour, number]),
            **_final(history, cells, (hour, number, place)),
        }


def _budget_left(history: SynthesizedHistory, cells: _Cells) -> Ints:
    """Of the account day's budget before each hour, shape (T, C); 0 where the platform has spent more than that."""
    spent = cells.totals["cost_micros"].sum(axis=2)
    days = np.array([history.account_day(tick).toordinal() for tick in history.hour_ticks.tolist()])
    left = np.zeros(spent.shape, np.int64)
    for day in np.unique(days):
        inside = days == day
        before = np.cumsum(spent[inside], axis=0) - spent[inside]
        left[inside] = np.array([campaign.served.daily_micros for campaign in history.campaigns]) - before
    return np.maximum(left, 0)


def _hour_reports(history: SynthesizedHistory, cells: _Cells) -> Iterator[SegmentHour]:
    """Each hour when it was first reported, and again on each later day on which it had changed."""
    lag = history.world.reports.lag_hours * _HOUR_TICKS
    for hour, tick, number, place in _positions(history):
        first = tick + _HOUR_TICKS + lag
        if first > history.end_tick:
            continue
        position = (hour, number, place)
        changes = [change for change in cells.changes.get(position, ()) if change.tick <= history.end_tick]
        readings = sorted({max(first, -(-change.tick // _DAY_TICKS) * _DAY_TICKS) for change in changes} | {first})
        for revision, reading in enumerate(each for each in readings if each <= history.end_tick):
            known = [change for change in changes if change.tick <= reading]
            yield SegmentHour(
                account=history.world.customer_ids[0],
                campaign=history.campaigns[number].name,
                segment=history.campaigns[number].segments[place],
                start=history.instant(tick),
                account_day=history.account_day(tick),
                revision=revision,
                reported_at=history.instant(reading),
                bid_micros=int(history.bid_micros[position]),
                impression_share=None,  # absent by hour
                impressions=int(cells.totals["impressions"][position]),
                clicks=int(cells.totals["clicks"][position]) + sum(change.clicks for change in known),
                conversions=float(sum(change.conversions for change in known)),
                spend_micros=int(cells.totals["cost_micros"][position]) + sum(change.spend_micros for change in known),
                value_micros=sum(change.value_micros for change in known),
            )


def _shares(history: SynthesizedHistory, cells: _Cells, *, floor_shares: bool) -> Iterator[dict[str, Any]]:
    days = np.array([history.account_day(tick).toordinal() for tick in history.hour_ticks.tolist()])
    starts = np.append(history.hour_ticks, history.end_tick)
    for day in np.unique(days):
        inside = np.flatnonzero(days == day)
        asked = int(starts[inside[-1] + 1]) + _SHARE_DELAY_TICKS
        won, possible = (cells.totals[name][inside].sum(axis=0) for name in ("impressions", "eligible"))
        for number, place in np.argwhere(possible > 0).tolist() if asked <= history.end_tick else ():
            share = round(float(won[number, place] / possible[number, place]), 4)
            campaign = history.campaigns[number]
            start = int(history.hour_ticks[inside[0]])
            yield {
                "id": f"{campaign.name}/{campaign.segments[place]}/{history.account_day(start)}/0",
                "at": history.instant(start),
                "campaign": campaign.name,
                "segment": campaign.segments[place],
                "account_day": history.account_day(start),
                "revision": 0,
                "reported_at": history.instant(asked),
                "impression_share": FLOOR_READS if floor_shares and share < SHARE_FLOOR else share,
            }


def _of_group(history: SynthesizedHistory) -> Mapping[int, tuple[str, str]]:
    """Campaign and segment of each ad group."""
    return {
        group.id: (campaign.name, segment)
        for campaign in history.campaigns
        for group, segment in zip(campaign.served.groups, campaign.segments, strict=True)
    }


def _clicks(history: SynthesizedHistory) -> Iterator[dict[str, Any]]:
    names = _of_group(history)
    for row in history.events.clicks:
        campaign, segment = names[int(row["group"])]
        yield {
            "id": f"{campaign}/{row['id']}",
            "at": history.instant(int(row["tick"])),
            "campaign": campaign,
            "segment": segment,
            "cost_micros": int(row["cost_micros"]),
        }


def _conversions(history: SynthesizedHistory) -> Iterator[dict[str, Any]]:
    """Sales as they were reported; a refund is a revision of value 0, which only the advertiser's own feed has."""
    names = _of_group(history)
    for row in history.events.conversions:
        campaign, segment = names[int(row["group"])]
        reports = [(int(row["reported_tick"]), int(row["value_micros"]))]
        if int(row["refunded_tick"]) != NEVER:
            reports.append((max(int(row["refunded_tick"]), reports[0][0]), 0))
        for revision, (tick, value_micros) in enumerate(reports):
            if tick <= history.end_tick:
                yield {
                    "id": f"{campaign}/{row['id']}/{revision}",
                    "at": history.instant(int(row["tick"])),
                    "campaign": campaign,
                    "conversion": f"{campaign}/{row['id']}",
                    "revision": revision,
                    "segment": segment,
                    "click": f"{campaign}/{row['click']}",
                    "click_at": history.instant(int(row["click_tick"])),
                    "reported_at": history.instant(tick),
                    "value_micros": value_micros,
                }


def _spend_events(history: SynthesizedHistory, cells: _Cells) -> Iterator[dict[str, Any]]:
    """A charge for each campaign hour with cost, and a credit for each invalid click, at the click, reported later."""
    cost = cells.totals["cost_micros"].sum(axis=2)
    lag = history.world.reports.lag_hours * _HOUR_TICKS
    for hour, number in np.argwhere(cost > 0).tolist():
        tick = int(history.hour_ticks[hour])
        campaign = history.campaigns[number].name
        yield {
            "id": f"{campaign}/{hour}/charge",
            "at": history.instant(tick),
            "campaign": campaign,
            "account_day": history.account_day(tick),
            "kind": "charge",
            "amount_micros": int(cost[hour, number]),
            "reported_at": history.instant(tick + _HOUR_TICKS + lag),
        }
    names = _of_group(history)
    for row in history.events.credits:
        if int(row["tick"]) <= history.end_tick:
            campaign = names[int(row["group"])][0]
            yield {
                "id": f"{campaign}/{row['click']}/credit",
                "at": history.instant(int(row["click_tick"])),
                "campaign": campaign,
                "account_day": history.account_day(int(row["click_tick"])),
                "kind": "credit",
                "amount_micros": -int(row["cost_micros"]),
                "reported_at": history.instant(int(row["tick"])),
            }


def _points(history: SynthesizedHistory) -> Iterator[dict[str, Any]]:
    for simulated in history.points:
        campaign, point = history.campaigns[simulated.campaign], simulated.point
        segment, asked = campaign.segments[simulated.group], history.instant(simulated.asked_tick)
        yield {
            "id": f"{campaign.name}/{segment}/{simulated.last_day}/{point.bid_micros}",
            "at": asked,
            "campaign": campaign.name,
            "segment": segment,
            "period_start": simulated.first_day,
            "period_end": simulated.last_day,
            "reported_at": asked,
            "bid_micros": point.bid_micros,
            "impressions": point.impressions,
            "clicks": point.clicks,
            "conversions": point.conversions,
            "spend_micros": point.cost_micros,
            "value_micros": point.value_micros,
        }
