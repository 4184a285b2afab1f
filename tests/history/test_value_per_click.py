import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.errors import DataError
from gaelp.history.value_per_click import campaign_time_folds, cross_fitted_value_per_click, indicator_features


def rows(seed=1, size=4000):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 4, size)
    clicks = rng.poisson(3, size)
    value = 20 * rng.poisson(clicks * np.array([0.05, 0.1, 0.15, 0.2])[group])
    return group, clicks, value


def test_predictions_approach_the_value_of_a_click_in_each_group():
    group, clicks, value = rows()
    predicted = cross_fitted_value_per_click(indicator_features(group), clicks, value, np.arange(4000) % 3)
    assert [predicted[group == each].mean() for each in range(4)] == pytest.approx([1, 2, 3, 4], abs=0.35)


def test_a_row_has_no_part_in_its_own_prediction():
    group, clicks, value = rows()
    folds = np.arange(4000) % 3
    before = cross_fitted_value_per_click(indicator_features(group), clicks, value, folds)
    changed = value.copy()
    changed[folds == 1] += 1000
    after = cross_fitted_value_per_click(indicator_features(group), clicks, changed, folds)
    assert (before[folds == 1] == after[folds == 1]).all()
    assert (before[folds != 1] < after[folds != 1]).all()


def test_a_group_with_few_clicks_stays_near_the_mean():
    group = np.array([0] * 500 + [1] * 2)
    clicks, value = np.ones(502), np.append(np.ones(500), [100.0, 100.0])
    predicted = cross_fitted_value_per_click(indicator_features(group), clicks, value, np.arange(502) % 2, ridge=50)
    assert predicted[-1] < 10


@given(seed=st.integers(0, 2**32 - 1), folds=st.integers(2, 4), block=st.integers(1, 5))
def test_a_block_of_days_of_a_campaign_is_in_one_fold(seed, folds, block):
    rng = np.random.default_rng(seed)
    campaign, day = rng.integers(0, 5, 400), rng.integers(0, 40, 400)
    assigned = campaign_time_folds(campaign, day, folds=folds, block_days=block)
    first = day.min()
    for key in {(c, (d - first) // block) for c, d in zip(campaign, day, strict=True)}:
        inside = (campaign == key[0]) & ((day - first) // block == key[1])
        assert len(set(assigned[inside])) == 1
    assert set(assigned) == set(range(folds))


def test_no_fold_holds_the_same_weeks_of_all_campaigns():
    campaign, day = np.repeat(np.arange(3), 21), np.tile(np.arange(21), 3)
    first_week = campaign_time_folds(campaign, day)[day < 7].reshape(3, 7)
    assert len(set(first_week[:, 0])) == 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: campaign_time_folds([1, 1], [0, 1], folds=1), "at least 2"),
        (lambda: campaign_time_folds([1, 1], [0, 1], block_days=0), "at least one day"),
        (lambda: campaign_time_folds([1, 1], [0, 1], folds=3), "only 1 of 3 folds"),
        (lambda: cross_fitted_value_per_click([[1.0]], [1.0], [1.0], [0]), "one fold"),
        (lambda: cross_fitted_value_per_click([[1.0]], [1.0], [1.0], [0], ridge=0), "above 0"),
        (lambda: cross_fitted_value_per_click([[np.nan], [1.0]], [1.0, 1.0], [1.0, 1.0], [0, 1]), "finite row"),
        (lambda: cross_fitted_value_per_click([[1.0], [1.0]], [0.0, 1.0], [0.0, 1.0], [0, 1]), "no clicks"),
    ],
)
def test_what_cannot_be_learned_is_refused(make, message):
    with pytest.raises(DataError, match=message):
        make()
