import numpy as np
import pytest

from gaelp.errors import DataError
from gaelp.history.model_calibration import calibration_bins


def clicks_of(seed=1, size=20_000):
    rng = np.random.default_rng(seed)
    truth = rng.uniform(1, 4, size)
    clicks = rng.poisson(2, size)
    return truth, clicks, 10 * rng.poisson(clicks * truth / 10), np.arange(size) // 100


def test_a_right_model_is_within_its_interval_in_nearly_every_tenth():
    truth, clicks, value, clusters = clicks_of()
    bins = calibration_bins(truth, clicks, value, clusters)
    assert len(bins) == 10
    assert sum(each.lower_95 <= 1 <= each.upper_95 for each in bins) >= 8
    assert sum(each.clicks for each in bins) == clicks.sum()
    assert [each.clicks for each in bins] == pytest.approx([clicks.sum() / 10] * 10, rel=0.05)


def test_a_model_that_overrates_its_best_clicks_is_seen_there():
    truth, clicks, value, clusters = clicks_of()
    bins = calibration_bins(np.where(truth > 3, 1.5 * truth, truth), clicks, value, clusters)
    assert bins[-1].upper_95 < 0.85
    assert bins[0].lower_95 < 1 < bins[0].upper_95


def test_equal_predictions_stay_in_one_group():
    _, clicks, value, clusters = clicks_of()
    assert len(calibration_bins(np.full(len(clicks), 2.5), clicks, value, clusters)) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 1.0], [0.0, 0.0], [0.0, 0.0], [0, 1]), "no clicks"),
        (([0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0, 1]), "predicted value of 0"),
        (([1.0, 1.0], [1.0, 1.0], [0.0, 1.0], [0]), "one label for each"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, message):
    with pytest.raises(DataError, match=message):
        calibration_bins(*arguments)
