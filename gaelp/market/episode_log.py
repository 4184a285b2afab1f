"""Record played episodes as rows of the stored tables: what N campaigns decided hour by hour, and what it brought."""

from collections.abc import Callable, Mapping, Sequence
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

__all__ = ["EpisodeLog", "EpisodeSource", "EpisodeWatcher", "PlayedEpisodes", "monday_before", "seed_of"]

Put = Callable[[Callable[[], Mapping[TableName, pa.Table]], int], None]

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
    """Watches batches of campaigns and hands each to `put` as it ends; `campaigns` limits it to the first ones.

    `put` gets a function that makes the tables, and their number of rows: another thread can do the work.
    """

    def __init__(self, source: EpisodeSource, put: Put, campaigns: int | None = None) -> None:
        self._source, self._put, self._most = source, put, campaigns

    def begin(self, market: Market) -> None:
        """Store the episodes as running."""
        self._played = PlayedEpisodes(self._source, market, min(market.campaigns, self._most or market.campaigns))
        self._store(EpisodeState.RUNNING)

    def hour(self, market: Market, action: Action, left_micros: Ints, chosen: Floats | None) -> None:
        """Keep what the hour brought."""
        self._played.add(market, action, left_micros, chosen)

    def end(self, market: Market, reward: Floats | None) -> None:  # noqa: ARG002 - part of the protocol
        """Store the decisions and the episodes' figures."""
        self._store(EpisodeState.FINISHED, reward)

    def fail(self, reason: str) -> None:
        """Store the episodes as failed, with the hours that were played."""
        self._store(EpisodeState.FAILED, None, reason)

    def _store(self, state: EpisodeState, reward: Floats | None = None, reason: str | None = None) -> None:
        played, kept = self._played, None if reward is None else reward.copy()
        self._put(lambda: played.tables(state, kept, reason), played.rows)


class PlayedEpisodes:
    """What N campaigns decided and got so far, with copies of everything that the market overwrites."""

    def __init__(self, source: EpisodeSource, market: Market, campaigns: int) -> None:
        self._source, self._count, self._segments = source, campaigns, market.spec.segments
        self._market, self._objective = market.spec.name, market.objective
        self._seeds, self._budget = market.seeds[:campaigns].copy(), market.world.budget_micros[:campaigns].copy()
        self._scale = market.meter.scale_micros[:campaigns].copy()
        monday = int(datetime.combine(source.week, time(), UTC).timestamp()) * 1_000_000
        self._start_micros = market.world.start_hour_of_week[:campaigns].astype(np.int64) * _HOUR_MICROS + monday
        self._hours: list[dict[str, Any]] = []

    @property
    def rows(self) -> int:
        """How many rows the tables have now."""
        return self._count * (1 + len(self._hours) * self._segments)

    def add(self, market: Market, action: Action, left_micros: Ints, chosen: Floats | None) -> None:
        """Copy what an hour brought."""
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

    def tables(self, state: EpisodeState, reward: Floats | None, reason: str | None) -> dict[TableName, pa.Table]:
        """The rows of the episodes in this state; their decisions once they have ended."""
        if state is EpisodeState.RUNNING:
            return {TableName.EPISODES: self._episode_rows(state, [], None, reason)}
        episodes = self._episode_rows(state, self._hours, reward, reason)
        decisions = {TableName.DECISIONS: self._decision_rows()} if self._hours else {}
        return {TableName.EPISODES: episodes, **decisions}

    def _names(self) -> list[str]:
        source = self._source
        part = f"{source.part}/" if source.part else ""
        head = f"{source.source}/{part}{self._market}/{source.policy}"
        return [f"{head}/{seed:016x}" for seed in self._seeds]

    def _campaigns(self) -> list[str]:
        return [f"{self._market}-{seed:016x}" for seed in self._seeds]

    def _decision_rows(self) -> pa.Table:
        n, steps, segments = self._count, len(self._hours), self._segments
        episode = pa.array(np.repeat(np.arange(n, dtype=np.int32), steps * segments))
        names = pc.take(pa.array(self._names()), episode)
        step = np.tile(np.repeat(np.arange(steps, dtype=np.int32), segments), n)
        tails = pa.array([f"/{hour}/s{segment}" for hour in range(steps) for segment in range(segments)])
        place = np.tile(np.arange(steps * segments, dtype=np.int32), n)
        figures = {name: _stacked(self._hours, name) for name in ("bid_micros", *_SUMMED)}
        columns: dict[str, Any] = {name: values.reshape(-1) for name, values in figures.items()}
        if self._hours[0]["action"] is not None:
            columns["action"] = _stacked(self._hours, "action").reshape(-1)
        if is_value(self._objective):
            columns["reward"] = share_of(figures["value_micros"], self._scale[:, None, None]).reshape(-1)
        columns |= {
            "id": pc.binary_join_element_wise(names, pc.take(tails, pa.array(place)), ""),
            "at": np.repeat(self._start_micros, steps * segments) + step.astype(np.int64) * _HOUR_MICROS,
            "episode": names,
            "campaign": pc.take(pa.array(self._campaigns()), episode),
            "step": step,
            "segment": pc.take(pa.array([f"s{number}" for number in range(segments)]), pa.array(place % segments)),
            "budget_left_micros": np.repeat(_stacked(self._hours, "left_micros").reshape(-1), segments),
        }
        return self._table(TableName.DECISIONS, columns, n * steps * segments)

    def _episode_rows(
        self, state: EpisodeState, hours: Sequence[Mapping[str, Any]], reward: Floats | None, reason: str | None
    ) -> pa.Table:
        n, names = self._count, self._names()
        end = self._start_micros + len(hours) * _HOUR_MICROS
        columns: dict[str, Any] = {
            "id": [f"{name}/{state}" for name in names],
            "at": end,
            "campaign": self._campaigns(),
            "episode": names,
            "state": [state.value] * n,
            "reason": pa.array([reason] * n, pa.string()),
            "market": [self._market] * n,
            "objective": [self._objective.key] * n,
            "seed": self._seeds.view(np.int64),
            "started_at": self._start_micros,
            "ended_at": pa.nulls(n) if state is EpisodeState.RUNNING else end,
            "steps": np.full(n, len(hours), np.int32),
            "budget_micros": self._budget,
            "reward": pa.nulls(n) if reward is None else np.asarray(reward[:n], np.float64),
        }
        if hours:
            columns |= {name: _stacked(hours, name).sum(axis=(1, 2)) for name in _SUMMED}
        return self._table(TableName.EPISODES, columns, n)

    def _table(self, name: TableName, columns: dict[str, Any], rows: int) -> pa.Table:
        constant = {"phase": Phase.SIMULATION.value, "source": self._source.source, "policy": self._source.policy}
        columns |= {column: pa.repeat(value, rows) for column, value in constant.items()}
        schema = TABLES[name].columns
        arrays = [
            _array(columns[field.name], field.type) if field.name in columns else pa.nulls(rows, field.type)
            for field in schema
        ]
        return pa.table(arrays, schema=schema)


def _stacked(hours: Sequence[Mapping[str, Any]], name: str) -> Any:
    """One figure of all hours, (N, hours, S), or (N, hours) for a campaign's."""
    return np.stack([hour[name] for hour in hours], axis=1)


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    array = values if isinstance(values, pa.Array) else pa.array(values)
    return array.cast(kind)
