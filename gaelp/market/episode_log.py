"""Record played episodes as rows of the stored tables: what N campaigns decided hour by hour, and what it brought."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gaelp.arrays import Floats, Ints
from gaelp.config.objective import is_value
from gaelp.market.market import Market
from gaelp.market.reward import reward as share_of
from gaelp.market.view import Action
from gaelp.storage.schema import TABLES, EpisodeState, TableName
from gaelp.types import Phase

__all__ = ["EpisodeLog", "EpisodeSource", "EpisodeWatcher", "monday_before", "seed_of"]

Put = Callable[[Mapping[TableName, pa.Table]], None]

_HOUR_MICROS = 3_600_000_000
_SUMMED = ("impressions", "clicks", "conversions", "spend_micros", "value_micros")


class EpisodeWatcher(Protocol):
    """Is called while N campaigns are played, from launch to the last hour."""

    def begin(self, market: Market) -> None:
        """The market was reset."""
        ...

    def hour(self, market: Market, action: Action, left_micros: Ints, chosen: Floats | None) -> None:
        """An hour was run: the action, the budget (N,) before it, and what a network chose (N, S), if one did."""
        ...

    def end(self, market: Market, reward: Floats | None) -> None:
        """The last hour was run; `reward` (N,) is the whole episode's, None where it is not known."""
        ...


@dataclass(frozen=True, slots=True)
class EpisodeSource:
    """Who plays, and in which week: the market's clock runs from a Monday on."""

    source: str  # the run and its attempt
    policy: str  # the version of the policy
    week: date
    part: str = ""  # in names of episodes, where one seed is played more than once


def monday_before(moment: datetime) -> date:
    """The Monday of a moment's week."""
    day = moment.astimezone(UTC).date()
    return day - timedelta(days=day.weekday())


def seed_of(stored: int) -> np.uint64:
    """The seed of a stored episode: the table has whole numbers with a sign, the market has none with one."""
    return np.array([stored], np.int64).view(np.uint64)[0]


class EpisodeLog:
    """Watches batches of campaigns and hands each to `put` as it ends; `campaigns` limits it to the first ones."""

    def __init__(self, source: EpisodeSource, put: Put, campaigns: int | None = None) -> None:
        self._source, self._put, self._most = source, put, campaigns

    def begin(self, market: Market) -> None:
        """Store the episodes as running."""
        self._count = min(market.campaigns, self._most or market.campaigns)
        self._hours: list[dict[str, Any]] = []
        self._names = self._episode_names(market)
        monday = datetime.combine(self._source.week, time(), UTC)
        start = market.world.start_hour_of_week[: self._count].astype(np.int64) * _HOUR_MICROS
        self._start_micros = start + int(monday.timestamp()) * 1_000_000
        self._put({TableName.EPISODES: self._episode_rows(market, EpisodeState.RUNNING, None)})

    def _episode_names(self, market: Market) -> list[str]:
        source = self._source
        part = f"{source.part}/" if source.part else ""
        head = f"{source.source}/{part}{market.spec.name}/{source.policy}"
        return [f"{head}/{seed:016x}" for seed in market.seeds[: self._count]]

    def hour(self, market: Market, action: Action, left_micros: Ints, chosen: Floats | None) -> None:
        """Copy what the hour brought: the market overwrites its arrays."""
        n, state = self._count, market.state
        self._hours.append(
            {
                "bid_micros": np.maximum(action.bid_micros[:n], 0),
                "action": None if chosen is None else np.array(chosen[:n], np.float64),
                "left_micros": left_micros[:n].copy(),
                "impressions": state.impressions[:n].copy(),
                "clicks": state.clicks[:n].copy(),
                "conversions": state.conversions[:n].astype(np.float64),
                "spend_micros": state.cost_micros[:n].copy(),
                "value_micros": np.rint(state.value_micros[:n]).astype(np.int64),
            }
        )

    def end(self, market: Market, reward: Floats | None) -> None:
        """Store the decisions and the episodes' figures."""
        episodes = self._episode_rows(market, EpisodeState.FINISHED, reward)
        self._put({TableName.EPISODES: episodes, TableName.DECISIONS: self._decision_rows(market)})
        self._hours = []

    def fail(self, market: Market, reason: str) -> None:
        """Store the episodes as failed, with the hours that were played."""
        rows = {TableName.EPISODES: self._episode_rows(market, EpisodeState.FAILED, None, reason)}
        self._put(rows | ({TableName.DECISIONS: self._decision_rows(market)} if self._hours else {}))

    def _stacked(self, name: str) -> Any:
        """One figure of all hours, (N, hours, S)."""
        return np.stack([hour[name] for hour in self._hours], axis=1)

    def _decision_rows(self, market: Market) -> pa.Table:
        n, steps, segments = self._count, len(self._hours), market.spec.segments
        episode = pa.array(np.repeat(np.arange(n, dtype=np.int32), steps * segments))
        names = pc.take(pa.array(self._names), episode)
        steps_of = np.tile(np.repeat(np.arange(steps, dtype=np.int32), segments), n)
        tails = [f"/{step}/s{segment}" for step in range(steps) for segment in range(segments)]
        shared = np.tile(np.arange(steps * segments, dtype=np.int32), n)
        figures = {name: self._stacked(name) for name in ("bid_micros", *_SUMMED)}
        columns: dict[str, Any] = {name: values.reshape(-1) for name, values in figures.items()}
        if self._hours[0]["action"] is not None:
            columns["action"] = self._stacked("action").reshape(-1)
        if is_value(market.objective):
            share = share_of(figures["value_micros"], market.meter.scale_micros[:n, None, None])
            columns["reward"] = share.reshape(-1)
        columns |= {
            "id": pc.binary_join_element_wise(names, pc.take(pa.array(tails), pa.array(shared)), ""),
            "at": np.repeat(self._start_micros, steps * segments) + steps_of.astype(np.int64) * _HOUR_MICROS,
            "episode": names,
            "campaign": pc.take(self._campaigns(market), episode),
            "step": steps_of,
            "segment": pc.take(pa.array([f"s{segment}" for segment in range(segments)]), pa.array(shared % segments)),
            "budget_left_micros": np.repeat(self._stacked("left_micros").reshape(-1), segments),
        }
        return self._table(TableName.DECISIONS, columns, n * steps * segments)

    def _episode_rows(
        self, market: Market, state: EpisodeState, reward: Floats | None, reason: str | None = None
    ) -> pa.Table:
        n, steps = self._count, len(self._hours)
        running = state is EpisodeState.RUNNING
        end = self._start_micros if running else self._start_micros + steps * _HOUR_MICROS
        columns: dict[str, Any] = {
            "id": [f"{name}/{state}" for name in self._names],
            "at": end,
            "campaign": self._campaigns(market),
            "episode": self._names,
            "state": [state.value] * n,
            "reason": pa.array([reason] * n, pa.string()),
            "market": [market.spec.name] * n,
            "objective": [market.objective.key] * n,
            "seed": market.seeds[:n].view(np.int64),
            "started_at": self._start_micros,
            "ended_at": pa.nulls(n) if running else end,
            "steps": np.full(n, steps, np.int32),
            "budget_micros": market.world.budget_micros[:n],
            "reward": pa.nulls(n) if reward is None else np.asarray(reward[:n], np.float64),
        }
        if self._hours:
            columns |= {name: self._stacked(name).sum(axis=(1, 2)) for name in _SUMMED}
        return self._table(TableName.EPISODES, columns, n)

    def _campaigns(self, market: Market) -> pa.Array:
        return pa.array([f"{market.spec.name}-{seed:016x}" for seed in market.seeds[: self._count]])

    def _table(self, name: TableName, columns: dict[str, Any], rows: int) -> pa.Table:
        constant = {"phase": Phase.SIMULATION.value, "source": self._source.source, "policy": self._source.policy}
        columns |= {column: pa.repeat(value, rows) for column, value in constant.items()}
        schema = TABLES[name].columns
        arrays = [
            _array(columns[field.name], field.type) if field.name in columns else pa.nulls(rows, field.type)
            for field in schema
        ]
        return pa.table(arrays, schema=schema)


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    array = values if isinstance(values, pa.Array) else pa.array(values)
    return array.cast(kind)
