import numpy as np
import pytest

from gaelp.errors import DataError
from gaelp.history.fitted_q import fitted_q_evaluation

DISCOUNT = 0.9


def chain(seed=1, size=20_000):
    """Three states in a ring; action 1 moves on and earns the state's number, action 0 stays and earns nothing."""
    rng = np.random.default_rng(seed)
    state, action = rng.integers(0, 3, size), rng.integers(0, 2, size)
    reward = action * state + 0.1 * rng.standard_normal(size)
    following = (state + action) % 3
    return state, action, reward, following


def one_hot(state, action):
    return np.eye(6)[state * 2 + action]


def always_moving():
    """V(s) of the policy that always moves: s + 0.9 V(s + 1)."""
    moves = np.roll(np.eye(3), 1, axis=1)
    return np.linalg.solve(np.eye(3) - DISCOUNT * moves, np.arange(3))


def fitted(**options):
    state, action, reward, following = chain()
    moving = np.ones_like(state)
    done = np.zeros(len(state))
    first = one_hot(np.arange(3), np.ones(3, int))
    return fitted_q_evaluation(
        one_hot(state, action), reward, one_hot(following, moving), done, first, **{"ridge": 1e-9, **options}
    )


def test_the_value_of_another_policy_is_found_in_a_chain():
    result = fitted(discount=DISCOUNT, iterations=500)
    assert result.settled
    assert result.value.contributions == pytest.approx(always_moving(), abs=0.1)
    assert result.value.value == pytest.approx(always_moving().mean(), abs=0.1)


def test_it_says_when_it_has_not_settled_and_is_the_same_every_time():
    early = fitted(discount=DISCOUNT, iterations=3)
    assert not early.settled
    assert early.iterations == 3
    assert (fitted(discount=DISCOUNT).coefficients == fitted(discount=DISCOUNT).coefficients).all()


def test_the_end_of_an_episode_ends_its_value():
    features = np.ones((4, 1))
    ended = fitted_q_evaluation(features, np.full(4, 2.0), features, np.ones(4), features[:1], ridge=1e-12)
    assert ended.value.value == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": np.ones((2, 1))}, "one row for each"),
        ({"initial_features": np.ones((1, 2))}, "at least one row of 1 columns"),
        ({"next_features": np.full((3, 1), np.nan)}, "hold NaN"),
        ({"reward": [1.0, np.nan, 1.0]}, "reward has 1 missing"),
    ],
)
def test_what_cannot_be_fitted_is_refused(change, message):
    arrays = {"features": np.ones((3, 1)), "reward": np.ones(3), "next_features": np.ones((3, 1))}
    arrays |= {"done": np.zeros(3), "initial_features": np.ones((1, 1))}
    with pytest.raises(DataError, match=message):
        fitted_q_evaluation(**(arrays | change))


@pytest.mark.parametrize("options", [{"discount": 1.5}, {"ridge": 0.0}])
def test_settings_outside_their_range_are_refused(options):
    with pytest.raises(DataError, match=r"between 0 and 1|above 0"):
        fitted(**options)


def test_a_fit_that_grows_without_end_is_refused():
    features = np.ones((3, 1))
    with pytest.raises(DataError, match="diverges"):
        fitted_q_evaluation(features, np.ones(3), 9 * features, np.zeros(3), features[:1], iterations=2000)
