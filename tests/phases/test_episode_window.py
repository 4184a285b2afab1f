"""Runs judged on the same episodes have the same window, others do not."""

import json

import pytest

from gaelp.phases.episode_window import episode_window
from gaelp.phases.run_folder import RunFolder
from gaelp.types import Phase


@pytest.fixture
def begun(tmp_path):
    def make(run_id, market="m", algorithm="ppo", seed=7):
        folder = RunFolder(tmp_path, run_id).phase(Phase.SIMULATION)
        folder.path.mkdir(parents=True)
        identity = {"market": market, "seed": seed, "recipe": {"algorithm": algorithm}}
        folder.identity.write_text(json.dumps(identity), encoding="utf-8")
        return folder

    return make


def test_market_algorithm_and_evaluation_seed_make_the_window(begun):
    window = episode_window(begun("first"), 1009)
    assert episode_window(begun("second", seed=8), 1009) == window  # the seed of training draws no evaluation episode
    others = [(begun("a", market="n"), 1009), (begun("b", algorithm="sac"), 1009), (begun("c"), 1010)]
    assert window not in {episode_window(folder, seed) for folder, seed in others}
