from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.errors import BadInput
from gaelp.market.campaign_rows import join, join_states, rows_by_value, take, take_state
from gaelp.market.market import seeds_from
from gaelp.market.view import Action


@pytest.fixture
def market(everything, random_action):
    """Six campaigns after three hours."""
    everything.reset(seeds_from(1, 6))
    for _ in range(3):
        everything.step(random_action(everything, np.random.default_rng(0)))
    return everything


def arrays_of(batch):
    return {name: value for name in batch.__slots__ if isinstance(value := getattr(batch, name), np.ndarray)}


@pytest.mark.parametrize("part", ["brief", "observation", "action"])
def test_what_was_taken_apart_joins_to_the_same(market, random_action, part):
    action = random_action(market, np.random.default_rng(1))
    batch = {"brief": market.brief, "observation": market.observe(), "action": action}[part]
    order = [4, 1, 0, 2, 5, 3]
    joined = join([take(batch, order[:2]), take(batch, order[2:3]), take(batch, order[3:])])
    again = take(joined, np.argsort(order))
    for name, array in arrays_of(batch).items():
        np.testing.assert_array_equal(getattr(again, name), array, strict=True)


def test_what_is_taken_is_a_copy(market):
    obs = market.observe()
    before = take(obs, [2])
    left = before.left_micros.copy()
    obs.left_micros[2] -= 1
    np.testing.assert_array_equal(before.left_micros, left)


def test_campaigns_of_markets_whose_flights_differ_in_length_join(make_market):
    briefs = []
    for days in (1, 3):
        market = make_market(days=days)
        market.reset(seeds_from(1, 2))
        briefs.append(market.brief)
    assert join(briefs).hours.tolist() == [24, 24, 72, 72]


@pytest.mark.parametrize("change", [{"click_rate": 0.5}, {"creatives": 2}, {"activity": np.ones((3, 168), np.float32)}])
def test_campaigns_that_do_not_share_their_tables_cannot_be_joined(market, change):
    with pytest.raises(BadInput, match=rf"Brief.{next(iter(change))} differs between the batches"):
        join([market.brief, replace(market.brief, **change)])


def test_landscapes_are_compared_by_what_they_hold(make_market, landscapes):
    first, second, other = (make_market(price=price) for price in ({}, {}, {"steepness": 2.0}))
    for market in (first, second, other):
        market.reset(seeds_from(1, 2))
    assert join([first.brief, second.brief]).campaigns == 4
    with pytest.raises(BadInput, match=r"Brief.landscapes differs"):
        join([first.brief, other.brief])


def test_parts_of_different_kinds_cannot_be_joined():
    bids = np.ones((2, 3), np.int64)
    with pytest.raises(BadInput, match="only some of the batches have pace"):
        join([Action(bids), Action(bids, pace=np.ones(2, np.float32))])
    with pytest.raises(BadInput, match=r"bid_micros is int64 of shape \(campaigns, 3\) and .* \(campaigns, 4\)"):
        join([Action(bids), Action(np.ones((2, 4), np.int64))])
    with pytest.raises(BadInput, match="only some of the batches have b"):
        join_states([{"a": bids}, {"a": bids, "b": bids}])
    with pytest.raises(BadInput, match="0 batches to join"):
        join_states([])


def test_states_are_taken_and_joined_like_campaigns():
    state = {"price_log": np.arange(4.0), "values.known_sum": np.arange(8.0).reshape(4, 2)}
    joined = join_states([take_state(state, [3]), take_state(state, [0, 1, 2])])
    for name, array in state.items():
        np.testing.assert_array_equal(joined[name], array[[3, 0, 1, 2]])


@given(st.lists(st.integers(0, 3), min_size=1, max_size=20).map(np.array))
def test_every_row_is_listed_once_with_the_value_it_holds(values):
    groups = list(rows_by_value(values))
    assert sorted(np.concatenate([rows for _, rows in groups])) == list(range(len(values)))
    for value, rows in groups:
        assert (values[rows] == value).all()
