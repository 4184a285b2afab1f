import numpy as np
import pandas as pd
import pytest

from gaelp.bench.open_bandit_trial import read_open_bandit, relative_errors, thompson_distribution
from gaelp.errors import DataError

RATES = np.array([0.2, 0.4, 0.6])


def write_log(folder, chances, seed, size=3000):
    """A log of three items at two positions; chances (items, positions) are the policy's."""
    rng = np.random.default_rng(seed)
    position = rng.integers(0, 2, size)
    item = np.array([rng.choice(3, p=chances[:, place]) for place in position])
    folder.mkdir(parents=True)
    pd.DataFrame(
        {
            "timestamp": np.arange(size),
            "item_id": item,
            "position": position + 1,
            "click": (rng.random(size) < RATES[item]).astype(int),
            "propensity_score": chances[item, position],
            "user_feature_0": rng.choice(["young", "old"], size),
        }
    ).to_csv(folder / "all.csv")
    features = {"item_id": [0, 1, 2], "item_feature_0": [0.1, 0.2, 0.3], "item_feature_1": ["a", "b", "b"]}
    pd.DataFrame(features).to_csv(folder / "item_context.csv")


def test_each_estimator_is_near_the_truth_on_a_log_that_fulfils_its_assumptions(tmp_path):
    target = np.array([[0.1, 0.5], [0.2, 0.3], [0.7, 0.2]])
    write_log(tmp_path / "random", np.full((3, 2), 1 / 3), 1)
    log = read_open_bandit(tmp_path / "random")
    truth = float(np.mean(RATES @ target))
    errors = relative_errors(log, truth, target, runs=4, inverse_penalty=100)
    assert [error.estimator for error in errors] == ["dm", "ips", "snips", "dr", "sndr", "switch-dr", "dros"]
    assert max(error.mean for error in errors) < 0.1


def test_the_features_of_an_item_leave_its_number_out(tmp_path):
    write_log(tmp_path / "random", np.full((3, 2), 1 / 3), 1)
    log = read_open_bandit(tmp_path / "random")
    assert log.item_features.tolist() == [[0, 0.1], [1, 0.2], [1, 0.3]]
    assert set(log.position) == {0, 1}


def test_items_that_are_surely_better_are_shown_first():
    shares = thompson_distribution([90.0, 50.0, 1.0], [10.0, 50.0, 99.0], 2, simulations=500, seed=1)
    assert shares.sum(axis=0) == pytest.approx([1, 1])
    assert shares[0, 0] > 0.99
    assert shares[1, 1] > 0.99


def test_a_folder_without_the_dataset_is_refused(tmp_path):
    with pytest.raises(DataError, match="holds random/ and bts/"):
        read_open_bandit(tmp_path)
