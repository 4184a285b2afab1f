import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.errors import DataError
from gaelp.history.diagnostics import effective_sample_size
from gaelp.history.estimators import per_decision, self_normalised
from gaelp.history.intervals import student_interval
from gaelp.history.marginalised import marginalised_value

LOGGING, TARGET = 0.5, 0.7  # chance of the action that spends


def episodes(seed, count=2000, horizon=24, chance=LOGGING):
    """A budget of at most 4 units: spending earns 1 and costs a unit; a unit comes back with chance 0.4."""
    rng = np.random.default_rng(seed)
    state = np.full((count, horizon), 2)
    weight, reward = np.ones((count, horizon)), np.zeros((count, horizon))
    left = np.full(count, 2)
    for t in range(horizon):
        state[:, t] = left
        spends = rng.random(count) < chance
        weight[:, t] = np.where(spends, TARGET / LOGGING, (1 - TARGET) / (1 - LOGGING))
        reward[:, t] = spends & (left > 0)
        left = np.clip(left - (spends & (left > 0)) + (rng.random(count) < 0.4), 0, 4)
    return state, weight, reward


def test_a_long_horizon_is_estimated_where_products_of_weights_fail():
    truth = episodes(99, count=40_000, chance=TARGET)[2].sum(axis=1).mean()
    log = episodes(1)
    interval = student_interval(marginalised_value(*log), confidence=0.999)
    assert interval.lower < truth < interval.upper
    products = student_interval(per_decision(log[2], log[1]), confidence=0.999)
    assert interval.upper - interval.lower < (products.upper - products.lower) / 5
    assert effective_sample_size(log[1].prod(axis=1)) < 150


@given(seed=st.integers(0, 2**32 - 1))
def test_weights_of_one_give_exactly_the_logged_mean(seed):
    state, weight, reward = episodes(seed, count=20, horizon=5)
    estimate = marginalised_value(state, np.ones_like(weight), reward)
    assert estimate.value == pytest.approx(reward.sum(axis=1).mean(), abs=1e-9)


@given(seed=st.integers(0, 2**32 - 1))
def test_contributions_average_to_the_plug_in_value_of_the_chain(seed):
    state, weight, reward = episodes(seed, count=30, horizon=4)
    shares, value = np.bincount(state[:, 0], minlength=5) / 30, 0.0
    for t in range(4):
        after = np.zeros(5)
        for s in set(state[:, t]):
            here = state[:, t] == s
            total = weight[here, t].sum()
            value += shares[s] * np.sum(weight[here, t] * reward[here, t]) / total
            if t < 3:
                for n in range(5):
                    after[n] += shares[s] * weight[here & (state[:, t + 1] == n), t].sum() / total
        shares = after
    assert marginalised_value(state, weight, reward).value == pytest.approx(value, abs=1e-9)


def test_one_decision_in_one_state_is_self_normalised_weighting():
    state, weight, reward = episodes(3, horizon=1)
    plain = self_normalised(reward[:, 0], weight[:, 0])
    chain = marginalised_value(state, weight, reward)
    assert chain.value == pytest.approx(plain.value)
    assert chain.contributions == pytest.approx(plain.contributions)


@pytest.mark.parametrize(
    ("state", "message"), [([[0.5]], "whole numbers"), ([[-1.0]], "whole numbers"), ([[np.nan]], "missing")]
)
def test_states_must_be_counted(state, message):
    with pytest.raises(DataError, match=message):
        marginalised_value(state, [[1.0]], [[1.0]])


def test_episodes_must_be_in_rows():
    with pytest.raises(DataError, match="episodes in rows"):
        marginalised_value([0.0], [1.0], [1.0])
