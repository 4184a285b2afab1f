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
    return np.uint64(stored % 2**64)


class EpisodeLog:
    """Watches batches of campaigns and hands each to `put` as it ends; `campaigns` limits it to the first ones.

    `put` gets a function that makes the tables, and their number of rows: another thread can do the work.
    """

    def __init__(self, source: EpisodeSource, put: Put, campaigns: int | None = None) -> None:
        self._source, self._put, self._most = source, put, campaigns
        self._played: PlayedEpisodes | None = None  # while a batch is played

    def begin(self, market: Market) -> None:
        """Store the episodes as running."""
        self._played = PlayedEpisodes(self._source, market, min(market.campaigns, self._most or market.campaigns))
        self._store(self._played, EpisodeState.RUNNING)

    def hour(self, market: Market, action: Action, left_micros: Ints, chosen: Floats | None) -> None:
        """Keep what the hour brought."""
        if self._played is not None:
            self._played.add(market, action, left_micros, chosen)

    def end(self, market: Market, reward: Floats | None) -> None:  # noqa: ARG002 - part of the protocol
        """Store the decisions and the episodes' figures."""
        self._end(EpisodeState.FINISHED, reward)

    def fail(self, reason: str) -> None:
        """Store the episodes being played as failed, with the hours that were played; there may be none."""
        self._end(EpisodeState.FAILED, None, reason)

    def _end(self, state: EpisodeState, reward: Floats | None, reason: str | None = None) -> None:
        played, self._played = self._played, None
        if played is not None:
            self._store(played, state, reward, reason)

    def _store(
        self, played: "PlayedEpisodes", state: EpisodeState, reward: Floats | None = None, reason: str | None = None
    ) -> None:
        kept = None if reward is None else reward.copy()
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
        """One row an hour and segment, in the order of days: that is how they are stored."""
        n, steps, segments = self._count, len(self._hours), self._segments
        at = (self._start_micros[:, None] + np.arange(steps) * _HOUR_MICROS).reshape(-1)
        order = np.argsort(at // (24 * _HOUR_MICROS), kind="stable")  # of the hours of all episodes
        episode, step = (np.repeat(part.astype(np.int32), segments) for part in np.divmod(order, steps))
        segment = np.tile(np.arange(segments, dtype=np.int32), n * steps)
        figures = {name: self._by_hour(name)[order] for name in ("bid_micros", *_SUMMED)}
        columns: dict[str, Any] = {name: values.reshape(-1) for name, values in figures.items()}
        if self._hours[0]["action"] is not None:
            columns["action"] = self._by_hour("action")[order].reshape(-1)
        if is_value(self._objective):
            scale = self._scale[order // steps]
            columns["reward"] = share_of(figures["value_micros"], scale[:, None]).reshape(-1)
        names = pa.array(self._names())
        tails = pa.array([f"/{hour}/s{number}" for hour in range(steps) for number in range(segments)])
        columns |= {
            "id": pc.binary_join_element_wise(names.take(episode), tails.take(step * segments + segment), ""),
            "at": np.repeat(at[order], segments),
            "episode": pa.DictionaryArray.from_arrays(episode, names),
            "campaign": pa.DictionaryArray.from_arrays(episode, self._campaigns()),
            "step": step,
            "segment": pa.DictionaryArray.from_arrays(segment, [f"s{number}" for number in range(segments)]),
            "budget_left_micros": np.repeat(self._by_hour("left_micros")[order], segments),
        }
        return self._table(TableName.DECISIONS, columns, n * steps * segments)

    def _by_hour(self, name: str) -> Any:
        """One figure of the hours of all episodes, (N * hours, S), or (N * hours) for a campaign's."""
        stacked = _stacked(self._hours, name)
        return stacked.reshape(-1, *stacked.shape[2:])

    def _episode_rows(
        self, state: EpisodeState, hours: Sequence[Mapping[str, Any]], reward: Floats | None, reason: str | None
    ) -> pa.Table:
        n, names = self._count, self._names()
        end = self._start_micros + len(hours) * _HOUR_MICROS
        # An episode that is resumed may fail again at another hour, and an id belongs to one time.
        key = f"{state}/{len(hours)}" if state is EpisodeState.FAILED else state.value
        columns: dict[str, Any] = {
            "id": [f"{name}/{key}" for name in names],
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
        same = np.zeros(rows, np.int32)
        columns |= {column: pa.DictionaryArray.from_arrays(same, [value]) for column, value in constant.items()}
        schema = TABLES[name].columns
        arrays = [
            _array(columns[field.name], field.type) if field.name in columns else pa.nulls(rows, field.type)
            for field in schema
        ]
        return pa.table(arrays, schema.names)


def _stacked(hours: Sequence[Mapping[str, Any]], name: str) -> Any:
    """One figure of all hours, (N, hours, S), or (N, hours) for a campaign's."""
    return np.stack([hour[name] for hour in hours], axis=1)


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    array = values if isinstance(values, pa.Array) else pa.array(values)
    return array if pa.types.is_dictionary(array.type) else array.cast(kind)
