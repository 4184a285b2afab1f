"""Actions are decoded as documented; what cannot be carried out is refused with its index and value."""

import numpy as np
import pytest

from gaelp.errors import ActionError, ConfigError
from gaelp.market.market import seeds_from
from gaelp.market.spaces import (
    GLOBAL_FEATURES,
    SEGMENT_FEATURES,
    ContinuousActions,
    DiscreteGrid,
    bids_from_multipliers,
    observation_size,
    observation_space,
)


@pytest.fixture
def brief(everything):
    everything.reset(seeds_from(1, 4))
    return everything.brief


def test_every_feature_is_named_once_and_described():
    for features in (GLOBAL_FEATURES, SEGMENT_FEATURES):
        names = [name for name, _ in features]
        assert len(set(names)) == len(names)
        assert all(len(text) > 5 for _, text in features)
    assert observation_size(8) == len(GLOBAL_FEATURES) + 8 * len(SEGMENT_FEATURES)
    assert observation_space(8).shape == (observation_size(8),)


def test_the_middle_of_the_range_bids_the_forecast_price_and_enters_half_the_auctions(brief):
    actions = ContinuousActions(brief.segments, brief.creatives)
    action, clipped = actions.decode(np.zeros((4, *actions.space.shape)), brief)
    level = np.exp(brief.price_forecast_log.mean(axis=1, keepdims=True))
    assert np.allclose(action.bid_micros, level, rtol=1e-3)
    assert np.array_equal(action.pace, np.full(4, 0.5))
    assert clipped == 0


def test_bounds_are_twenty_times_the_level_and_the_first_and_last_creative(brief):
    actions = ContinuousActions(brief.segments, brief.creatives)
    low, _ = actions.decode(np.full((4, *actions.space.shape), -1.0), brief)
    high, _ = actions.decode(np.full((4, *actions.space.shape), 1.0), brief)
    assert np.allclose(high.bid_micros / low.bid_micros, np.exp(6), rtol=0.02)
    assert (low.pace.max(), high.pace.min()) == (0, 1)
    assert (low.creative.max(), high.creative.min()) == (0, brief.creatives - 1)


def test_groups_share_one_multiplier(brief):
    actions = ContinuousActions(brief.segments, 1, groups=2)
    raw = np.tile([-0.5, 0.5, 1.0], (4, 1))
    bids = actions.decode(raw, brief)[0].bid_micros
    assert (bids[:, :4] == bids[:, :1]).all()
    assert (bids[:, 4:] == bids[:, -1:]).all()
    assert (bids[:, 0] < bids[:, -1]).all()


def test_out_of_bounds_is_clipped_and_counted(brief):
    actions = ContinuousActions(brief.segments, brief.creatives)
    raw = np.zeros((4, *actions.space.shape))
    raw[1, 0], raw[2, 3] = 7.0, -1.5
    action, clipped = actions.decode(raw, brief)
    assert clipped == 2
    level = np.exp(brief.price_forecast_log[1].mean())
    assert action.bid_micros[1, 0] == pytest.approx(level * np.exp(3), rel=1e-3)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_an_entry_that_is_no_number_is_refused_with_its_index(brief, value):
    actions = ContinuousActions(brief.segments, brief.creatives)
    raw = np.zeros((4, *actions.space.shape))
    raw[2, 5] = value
    with pytest.raises(ActionError, match=rf"action\[2, 5\] is {value}"):
        actions.decode(raw, brief)


def test_wrong_shape_is_refused(brief):
    with pytest.raises(ActionError, match=r"shape \(4, 2\), expected \(4, 17\)"):
        ContinuousActions(brief.segments, brief.creatives).decode(np.zeros((4, 2)), brief)


def test_more_groups_than_segments_are_refused():
    with pytest.raises(ConfigError, match="groups=9"):
        ContinuousActions(8, 1, groups=9)


def test_every_index_of_the_grid_means_another_action(brief):
    grid = DiscreteGrid(creatives=3)
    actions = set()
    for index in range(int(grid.space.n)):
        action, clipped = grid.decode(np.full(4, index), brief)
        assert clipped == 0
        assert (action.creative == action.creative[0, 0]).all()
        actions.add((int(action.bid_micros[0, 0]), float(action.pace[0]), int(action.creative[0, 0])))
    assert len(actions) == grid.space.n == 11 * 2 * 3


@pytest.mark.parametrize(("index", "message"), [(66, r"action\[1\] is 66"), (-1, r"action\[1\] is -1")])
def test_an_index_outside_the_grid_is_refused(brief, index, message):
    with pytest.raises(ActionError, match=message):
        DiscreteGrid(creatives=3).decode(np.array([0, index, 0, 0]), brief)


def test_fractional_indices_are_refused(brief):
    with pytest.raises(ActionError, match="float64"):
        DiscreteGrid().decode(np.zeros(4), brief)


def test_bids_are_whole_micros(brief):
    bids = bids_from_multipliers(np.random.default_rng(0).normal(0, 1, (4, 8)).astype(np.float32), brief)
    assert bids.dtype == np.int64
    assert (bids > 0).all()
