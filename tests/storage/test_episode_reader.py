"""Stored episodes are found by name, and the last state counts."""

from contextlib import closing
from datetime import timedelta

import pytest

from gaelp.errors import BadInput
from gaelp.storage.conformance_rows import episode_batch
from gaelp.storage.duckdb_store import DuckDbStore
from gaelp.storage.episode_reader import find_episode, hour_sums, list_episodes
from gaelp.storage.schema import TableName


@pytest.fixture
def store(tmp_path):
    store = DuckDbStore(tmp_path)
    batch = episode_batch(3)
    store.append(batch)
    running = [
        row | {"id": f"{row['episode']}/running", "state": "running", "at": row["started_at"], "ended_at": None}
        for row in batch[TableName.EPISODES].to_pylist()
    ]
    table = batch[TableName.EPISODES]
    store.append({TableName.EPISODES: type(table).from_pylist(running, schema=table.schema)})
    return store


def test_an_episode_is_listed_once_with_its_last_state(store):
    assert [(row["episode"], row["state"]) for row in list_episodes(store)] == [
        (f"run-1/{number}", "finished") for number in range(3)
    ]


@pytest.mark.parametrize("finished", [True, False])
def test_an_episode_that_failed_twice_has_failed_unless_it_was_played_to_its_end(tmp_path, finished):
    batch = episode_batch(1)
    table = batch[TableName.EPISODES]
    end = table.to_pylist()[0]
    failed = [
        end | {"id": f"failed/{hours}", "state": "failed", "at": end["started_at"] + timedelta(hours=hours)}
        for hours in (3, 1)
    ]
    with closing(DuckDbStore(tmp_path)) as store:
        if finished:
            store.append(batch)
        store.append({TableName.EPISODES: type(table).from_pylist(failed, schema=table.schema)})
        [row] = list_episodes(store)
    assert row["id"] == ("run-1/0/finished" if finished else "failed/3")


def test_an_episode_is_found_by_a_part_of_its_name_with_its_own_decisions(store):
    episode = find_episode(store, "1/2")
    assert episode.name == "run-1/2"
    assert episode.decisions["id"].to_pylist() == [f"run-1/2/{step}/a" for step in range(4)]
    assert [hour.mean_bid_micros for hour in hour_sums(episode.decisions)] == [250_000, 250_001, 250_002, 250_003]


def test_a_name_that_is_not_clear_lists_the_candidates(store):
    with pytest.raises(BadInput, match=r"3 of 3 stored episodes contain 'run-1'.*run-1/0, run-1/1, run-1/2"):
        find_episode(store, "run-1")
