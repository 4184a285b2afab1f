"""Streaming into a store never loses a row, however slow or broken the store is."""

import threading

import pytest

from gaelp.errors import DataError, GaelpError
from gaelp.storage.conformance_rows import episode_batch
from gaelp.storage.duckdb_store import DuckDbStore
from gaelp.storage.episode_recorder import EpisodeRecorder, RecorderLimits
from gaelp.storage.schema import TableName
from gaelp.storage.spill import spilled_batches


class SlowStore:
    """Takes no row before it is allowed to, and fails as often as it is asked to."""

    def __init__(self, store, failures=0):
        self.store, self.failures, self.appends = store, failures, 0
        self.may_append = threading.Event()

    def append(self, batch):
        self.may_append.wait(20)
        self.appends += 1
        if self.failures:
            self.failures -= 1
            raise OSError("no space left on device")
        return self.store.append(batch)


@pytest.fixture
def stored(tmp_path):
    return DuckDbStore(tmp_path / "episodes")


def rows_in(store):
    return sum(part.rows for part in store.describe())


def test_batches_are_joined_and_stored(stored, tmp_path):
    slow = SlowStore(stored)
    with EpisodeRecorder(slow, tmp_path / "spill") as recorder:
        for number in range(20):
            recorder.put(episode_batch(1, first=number))
        slow.may_append.set()
    assert rows_in(stored) == recorder.figures.stored == 100
    assert slow.appends <= 3
    assert recorder.figures.queued == recorder.figures.spilled == 0


def test_batches_with_dictionary_encoded_text_are_joined_with_plain_ones(stored, tmp_path):
    slow = SlowStore(stored)
    with EpisodeRecorder(slow, tmp_path / "spill") as recorder:
        for number in range(4):
            batch = episode_batch(1, first=number)
            recorder.put(
                {name: encoded(table, "policy", "source") if number % 2 else table for name, table in batch.items()}
            )
        slow.may_append.set()
    assert recorder.figures.stored == 20
    assert recorder.figures.spilled == 0
    [policies] = [set(table["policy"].to_pylist()) for table in stored.scan(TableName.EPISODES)]
    assert policies == {"mpc@1"}


def encoded(table, *columns):
    for column in columns:
        place = table.column_names.index(column)
        table = table.set_column(place, column, table.column(column).dictionary_encode())
    return table


def test_a_slow_store_slows_the_producer_then_spills_and_nothing_is_lost(stored, tmp_path):
    slow = SlowStore(stored)
    limits = RecorderLimits(queued_rows=12, written_rows=5, wait_seconds=0.05, idle_seconds=0.0)
    with EpisodeRecorder(slow, tmp_path / "spill", limits) as recorder:
        for number in range(6):
            recorder.put(episode_batch(1, first=number))
        assert recorder.figures.spilled > 0
        assert recorder.figures.waited_seconds > 0.05
        assert len(spilled_batches(tmp_path / "spill")) == recorder.figures.spilled
        slow.may_append.set()
    assert rows_in(stored) == 30
    assert spilled_batches(tmp_path / "spill") == []


def test_a_store_that_fails_once_gets_its_rows_at_the_end(stored, tmp_path):
    failing = SlowStore(stored, failures=1)
    failing.may_append.set()
    with EpisodeRecorder(failing, tmp_path / "spill") as recorder:
        recorder.put(episode_batch(3))
    assert rows_in(stored) == recorder.figures.stored == 15


def test_what_a_broken_store_did_not_take_is_stored_by_the_next_recorder(stored, tmp_path):
    failing = SlowStore(stored, failures=100)
    failing.may_append.set()
    recorder = EpisodeRecorder(failing, tmp_path / "spill")
    recorder.put(episode_batch(3))
    with pytest.raises(GaelpError, match=r"1 batches of episodes are not in the store but in .*no space left"):
        recorder.close()
    EpisodeRecorder(stored, tmp_path / "spill").close()
    assert rows_in(stored) == 15


def test_an_error_of_the_producer_is_not_hidden_by_one_of_the_store(stored, tmp_path):
    failing = SlowStore(stored, failures=100)
    failing.may_append.set()

    def produce():
        with EpisodeRecorder(failing, tmp_path / "spill") as recorder:
            recorder.put(episode_batch(1))
            raise KeyError("a fault of the producer")

    with pytest.raises(KeyError):
        produce()
    assert len(spilled_batches(tmp_path / "spill")) == 1


def test_rows_that_do_not_fit_are_kept_and_reported(stored, tmp_path):
    batch = episode_batch(1)
    wrong = {TableName.DECISIONS: batch[TableName.DECISIONS].drop_columns(["segment"])}
    recorder = EpisodeRecorder(stored, tmp_path / "spill")
    recorder.put(wrong)
    with pytest.raises(GaelpError, match="column segment") as problem:
        recorder.close()
    assert isinstance(problem.value.__cause__, DataError)
