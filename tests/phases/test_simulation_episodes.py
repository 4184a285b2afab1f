"""Phase 1 leaves its episodes in the store: all that judged the agent, and a sample of those trained on."""

from collections import Counter
from contextlib import closing

import pytest

from gaelp.market.episode_log import EpisodeLog
from gaelp.phases import simulation_episodes
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.simulation_episodes import source_of
from gaelp.storage.backends import build_store
from gaelp.storage.episode_reader import list_episodes
from gaelp.storage.schema import TableName
from gaelp.storage.spill import spilled_batches
from gaelp.types import Phase, RunId


def stored(place):
    with closing(build_store(place.settings())) as store:
        rows = Counter[TableName]()
        for part in store.describe():
            rows[part.table] += part.rows
        return list(list_episodes(store)), rows


def test_every_held_out_episode_is_stored_with_every_decision(whole):
    episodes, _ = stored(whole.place)
    judged = [row for row in episodes if row["policy"] != "in-training"]
    assert {(row["market"], row["state"], row["source"]) for row in judged} == {
        ("tiny", "finished", "whole"),
        ("tiny-shifted", "finished", "whole"),
    }
    assert len(judged) == 2 * 16
    mean = sum(row["reward"] for row in judged if row["market"] == "tiny") / 16
    assert mean == pytest.approx(whole.result.metrics["reward"], rel=1e-5)


def test_a_sample_of_training_episodes_is_stored(place):
    place.recipe(loop={"rounds": 11, "validate_every": 11})
    place.run("longer")
    episodes, _ = stored(place)
    sampled = [row for row in episodes if row["policy"] == "in-training"]
    assert {row["episode"].split("/")[1] for row in sampled} == {"round-0", "round-10"}
    assert len(sampled) == 2 * 8
    assert all(row["state"] == "finished" for row in sampled)


def test_a_run_that_is_judged_again_stores_nothing_twice(copied):
    _, before = stored(copied)
    copied.run_folder("whole").details.unlink()
    copied.run("whole")
    _, after = stored(copied)
    assert after == before


def test_a_store_that_is_broken_stops_no_training_and_loses_nothing(place, monkeypatch):
    class Broken:
        def append(self, batch):
            raise OSError("the disk is gone")

        def close(self):
            pass

    with monkeypatch.context() as patched:
        patched.setattr(simulation_episodes, "build_store", lambda settings: Broken())
        result = place.run("spilled")
    assert result.metrics["episodes"] == 16
    spill = place.folder / "home" / "episodes" / "spill" / "simulation"
    assert spilled_batches(spill)
    place.run("next")
    assert spilled_batches(spill) == []
    episodes, _ = stored(place)
    assert {row["source"] for row in episodes} == {"spilled", "next"}


def broken_off_at(monkeypatch, call, problem):
    """Let the so many-th hour of the market that somebody watches fail."""
    hour, calls = EpisodeLog.hour, []

    def fail(self, *args):
        calls.append(hour(self, *args))
        if len(calls) == call:
            raise problem

    monkeypatch.setattr(EpisodeLog, "hour", fail)


def test_episodes_that_an_error_ends_are_stored_as_failed_with_the_reason_until_the_run_is_resumed(
    place, monkeypatch, whole
):
    with monkeypatch.context() as patched:
        broken_off_at(patched, 5, ValueError("the network returned NaN"))
        with pytest.raises(ValueError, match="NaN"):
            place.run("whole")
    episodes, rows = stored(place)
    assert {(row["state"], row["reason"], row["steps"]) for row in episodes} == {
        ("failed", "ValueError: the network returned NaN", 5)
    }
    assert len(episodes) == 8
    assert rows[TableName.DECISIONS] == 8 * 5 * 2
    place.run("whole")
    episodes, rows = stored(place)
    assert {row["state"] for row in episodes} == {"finished"}
    assert rows[TableName.DECISIONS] == stored(whole.place)[1][TableName.DECISIONS]


def test_held_out_episodes_that_ctrl_c_ends_are_stored_as_failed(place, monkeypatch):
    with monkeypatch.context() as patched:
        broken_off_at(patched, 24 + 3, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            place.run("stopped")
    episodes, _ = stored(place)
    failed = [row for row in episodes if row["state"] == "failed"]
    assert {(row["market"], row["reason"], row["steps"]) for row in failed} == {("tiny", "KeyboardInterrupt", 3)}
    assert len(failed) == 16


def test_a_later_attempt_is_a_source_of_its_own(tmp_path):
    run = RunFolder(tmp_path, RunId("r"))
    assert [source_of(run.phase(Phase.SIMULATION, attempt)) for attempt in (1, 2)] == ["r", "r/2"]
