"""A stored episode can be played again and is the same to the micro, unless something changed."""

from contextlib import closing
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from gaelp.clock import SystemClock
from gaelp.config import load_settings
from gaelp.errors import BadInput
from gaelp.phases.episode_replay import replay_episode
from gaelp.phases.run_settings import keep_settings
from gaelp.phases.runs import RunRecord, note_run
from gaelp.storage.backends import build_store
from gaelp.storage.episode_reader import StoredEpisode, find_episode, list_episodes


@pytest.fixture
def replayed(copied):
    """Replays the first episode of the run `whole` after a change to what is stored of it."""
    folder = copied.run_folder("whole")
    given = [f"home={copied.folder / 'home'}", f"market.name={copied.folder / 'tiny.yaml'}"]
    given += [f"training.agent={copied.folder / 'recipe.yaml'}", "evaluation.episodes=16"]
    loaded = load_settings(overrides=given, environ={})
    record = {"run_id": "whole", "begun_at": datetime(2026, 11, 16, tzinfo=UTC), "config": None, "overrides": ()}
    note_run(folder.run, RunRecord(**record, driver="train", driver_id="", tuned=str(copied.folder / "tuned.yaml")))
    keep_settings(folder.run, loaded)
    with closing(build_store(loaded.settings)) as store:
        name = next(row["episode"] for row in list_episodes(store) if row["policy"] != "in-training")
        stored = find_episode(store, name)

    def replay(change=lambda stored: stored):
        return replay_episode(change(stored), loaded, SystemClock())

    return replay


def test_an_episode_played_again_matches(replayed):
    report = replayed()
    assert report.matches
    assert report.decisions == 24 * 2
    assert report.differences == ()


def test_a_changed_figure_is_named(replayed):
    def change(stored):
        bids = stored.decisions["bid_micros"].to_pylist()
        bids[3] += 1
        place = stored.decisions.column_names.index("bid_micros")
        return StoredEpisode(stored.row, stored.decisions.set_column(place, "bid_micros", pa.array(bids)))

    report = replayed(change)
    assert not report.matches
    [difference] = report.differences
    assert (difference.step, difference.segment, difference.column) == (1, "s1", "bid_micros")
    assert difference.stored == difference.replayed + 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"phase": "pilot"}, "only simulated episodes have a seed"),
        ({"policy": "in-training"}, "only episodes of the policy that was judged"),
        ({"source": "gone"}, "run 'gone' is not in .*restore the run's folder"),
        ({"market": "elsewhere"}, "was played on elsewhere; run 'whole' has tiny, tiny-shifted"),
    ],
)
def test_an_episode_that_cannot_be_played_again_says_why(replayed, changes, message):
    with pytest.raises(BadInput, match=message):
        replayed(lambda stored: StoredEpisode(stored.row | changes, stored.decisions))
