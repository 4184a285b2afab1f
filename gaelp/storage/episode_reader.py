"""Read stored episodes: list them, find one by its name, and sum its decisions hour by hour."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from gaelp.errors import BadInput
from gaelp.storage.schema import EpisodeState, TableName, empty_table
from gaelp.storage.sealed_store import withheld_note
from gaelp.storage.store import EpisodeStore, RowFilter

__all__ = ["HourSums", "StoredEpisode", "find_episode", "hour_sums", "list_episodes"]

_LISTED = 8  # names in an error message


@dataclass(frozen=True, slots=True)
class StoredEpisode:
    """The last state of an episode, and its decisions sorted by step and segment."""

    row: dict[str, Any]
    decisions: pa.Table

    @property
    def name(self) -> str:
        """The episode's name."""
        return str(self.row["episode"])


class HourSums(NamedTuple):
    """One hour of an episode over all segments."""

    step: int
    at: datetime
    budget_left_micros: int | None
    mean_bid_micros: float
    impressions: int
    clicks: int
    conversions: float
    spend_micros: int
    value_micros: int
    reward: float | None


def list_episodes(store: EpisodeStore, rows: RowFilter | None = None) -> Iterator[dict[str, Any]]:
    """Yield the last state of each episode, in the order in which they are stored.

    An episode that failed and was played to its end when the run was resumed has ended.
    """
    states: dict[str, dict[str, Any]] = {}
    for table in store.scan(TableName.EPISODES, rows):
        for row in table.to_pylist():
            known = states.get(row["episode"])
            if known is None or _is_later(row, known):
                states[row["episode"]] = row
    yield from states.values()


def _is_later(row: dict[str, Any], known: dict[str, Any]) -> bool:
    return (_rank(row), row["at"]) > (_rank(known), known["at"])


def _rank(row: dict[str, Any]) -> int:
    return {EpisodeState.RUNNING: 0, EpisodeState.FAILED: 1}.get(row["state"], 2)


def find_episode(store: EpisodeStore, name: str) -> StoredEpisode:
    """Return the episode of this name, or the only one whose name contains it."""
    names = {str(value) for table in store.scan(TableName.EPISODES, columns=["episode"]) for value in _column(table)}
    matches = [name] if name in names else sorted(episode for episode in names if name in episode)
    if len(matches) != 1:
        listed = ", ".join(matches[:_LISTED]) or ", ".join(sorted(names)[:_LISTED]) or "none"
        number = f"{len(matches)} of {len(names)} stored episodes contain" if matches else "no stored episode contains"
        note = withheld_note(store)
        raise BadInput(
            f"{number} {name!r}: give the name of one, as `gaelp data episodes list` prints it, such as {listed}"
            f"{'' if note is None else '. ' + note}"
        )
    [row] = [row for row in list_episodes(store) if row["episode"] == matches[0]]
    return StoredEpisode(row, _decisions(store, row))


def _column(table: pa.Table) -> Sequence[str]:
    values: Sequence[str] = table.column("episode").to_pylist()
    return values


def _decisions(store: EpisodeStore, row: dict[str, Any]) -> pa.Table:
    until = row["ended_at"] + timedelta(microseconds=1) if row["ended_at"] else None
    wanted = RowFilter(
        since=row["started_at"],
        until=until,
        sources=(row["source"],),
        campaigns=(row["campaign"],),
    )
    tables = [
        table.filter(pc.equal(table.column("episode"), row["episode"]))
        for table in store.scan(TableName.DECISIONS, wanted)
    ]
    joined = pa.concat_tables([empty_table(TableName.DECISIONS), *tables])
    return joined.sort_by([("step", "ascending"), ("segment", "ascending")])


def hour_sums(decisions: pa.Table) -> list[HourSums]:
    """Sum the decisions of an episode over its segments, hour by hour."""
    hours: dict[int, list[dict[str, Any]]] = {}
    for row in decisions.to_pylist():
        hours.setdefault(row["step"], []).append(row)
    return [_hour(step, rows) for step, rows in sorted(hours.items())]


def _hour(step: int, rows: Sequence[dict[str, Any]]) -> HourSums:
    rewards = [row["reward"] for row in rows if row["reward"] is not None]
    return HourSums(
        step=step,
        at=rows[0]["at"],
        budget_left_micros=rows[0]["budget_left_micros"],
        mean_bid_micros=sum(row["bid_micros"] for row in rows) / len(rows),
        impressions=_sum(rows, "impressions"),
        clicks=_sum(rows, "clicks"),
        conversions=float(sum(row["conversions"] or 0.0 for row in rows)),
        spend_micros=_sum(rows, "spend_micros"),
        value_micros=_sum(rows, "value_micros"),
        reward=sum(rewards) if rewards else None,
    )


def _sum(rows: Sequence[dict[str, Any]], column: str) -> int:
    return sum(row[column] or 0 for row in rows)
