import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.bench import rowwise_estimators as rowwise
from gaelp.errors import DataError
from gaelp.history import estimators

SEEDS = st.integers(0, 2**32 - 1)


def drawn(seed, size=40):
    rng = np.random.default_rng(seed)
    reward, predicted, target = rng.normal(1, 1, (3, size))
    return reward, rng.lognormal(0, 0.7, size), predicted, target


def every(reward, weight, predicted, target):
    return {
        "ips": estimators.inverse_propensity(reward, weight),
        "clipped": estimators.clipped_inverse_propensity(reward, weight, weight_max=1.2),
        "snips": estimators.self_normalised(reward, weight),
        "dr": estimators.doubly_robust(reward, weight, predicted, target),
        "sndr": estimators.self_normalised_doubly_robust(reward, weight, predicted, target),
        "switch": estimators.switch_doubly_robust(reward, weight, predicted, target, switch_at=1.2),
        "dros": estimators.shrunk_doubly_robust(reward, weight, predicted, target, shrinkage=2.0),
    }


@given(seed=SEEDS)
def test_vectorised_estimates_equal_the_row_by_row_reference(seed):
    reward, weight, predicted, target = drawn(seed)
    rows = [column.tolist() for column in (reward, weight, predicted, target)]
    reference = {
        "ips": rowwise.rowwise_inverse_propensity(*rows[:2]),
        "clipped": rowwise.rowwise_clipped(*rows[:2], 1.2),
        "snips": rowwise.rowwise_self_normalised(*rows[:2]),
        "dr": rowwise.rowwise_doubly_robust(*rows),
        "sndr": rowwise.rowwise_self_normalised_doubly_robust(*rows),
        "switch": rowwise.rowwise_switch(*rows, 1.2),
        "dros": rowwise.rowwise_shrunk(*rows, 2.0),
    }
    values = {name: estimate.value for name, estimate in every(reward, weight, predicted, target).items()}
    assert values == pytest.approx(reference, rel=1e-9, abs=1e-9)


@given(seed=SEEDS)
def test_contributions_average_to_the_value(seed):
    for estimate in every(*drawn(seed)).values():
        assert estimate.contributions.shape == (40,)
        assert estimate.contributions.mean() == pytest.approx(estimate.value, abs=1e-9)
        assert estimate.influence.sum() == pytest.approx(0, abs=1e-9)


@given(seed=SEEDS)
def test_influence_is_the_effect_of_counting_a_row_once_more(seed):
    step = 1e-6
    for estimate in every(*drawn(seed)).values():
        more = estimate.formula.combine(estimate.sums + step * estimate.columns[7])
        assert (float(more) - estimate.value) / step == pytest.approx(estimate.influence[7], rel=1e-3, abs=1e-6)


@given(seed=SEEDS)
def test_the_logging_policy_itself_gets_exactly_its_logged_mean(seed):
    reward, _, predicted, _ = drawn(seed)
    same = np.ones_like(reward)
    for name, estimate in every(reward, same, predicted, predicted).items():
        shrunk = 2 / 3 if name == "dros" else 1.0
        expected = np.mean(predicted + shrunk * (reward - predicted)) if name == "dros" else reward.mean()
        assert estimate.value == pytest.approx(expected, abs=1e-12)


@given(seed=SEEDS, scale=st.floats(0.01, 100))
def test_scaling_all_weights_leaves_self_normalised_estimates_unchanged(seed, scale):
    reward, weight, predicted, target = drawn(seed)
    for make in (
        lambda w: estimators.self_normalised(reward, w),
        lambda w: estimators.self_normalised_doubly_robust(reward, w, predicted, target),
    ):
        assert make(weight * scale).value == pytest.approx(make(weight).value, rel=1e-9, abs=1e-9)


def test_doubly_robust_with_a_perfect_model_is_the_truth_whatever_the_weights():
    rng = np.random.default_rng(5)
    context = rng.normal(size=200)
    action = rng.integers(0, 2, 200)
    expected = 2 + context * action
    target = 2 + context * 0.8
    wrong_weights = rng.lognormal(0, 2, 200)
    for make in (estimators.doubly_robust, estimators.self_normalised_doubly_robust):
        assert make(expected, wrong_weights, expected, target).value == pytest.approx(target.mean(), abs=1e-12)


def test_the_limits_of_switch_and_shrinkage_are_the_model_and_doubly_robust():
    columns = drawn(3)
    model = estimators.direct_method(columns[3]).value
    robust = estimators.doubly_robust(*columns).value
    assert estimators.switch_doubly_robust(*columns, switch_at=0).value == pytest.approx(model)
    assert estimators.switch_doubly_robust(*columns, switch_at=np.inf).value == pytest.approx(robust)
    assert estimators.shrunk_doubly_robust(*columns, shrinkage=0).value == pytest.approx(model)
    assert estimators.shrunk_doubly_robust(*columns, shrinkage=np.inf).value == pytest.approx(robust)
    assert estimators.shrunk_doubly_robust(*columns, shrinkage=1e12).value == pytest.approx(robust, rel=1e-6)


@given(seed=SEEDS, discount=st.floats(0.5, 1))
def test_per_decision_weights_multiply_only_up_to_the_reward(seed, discount):
    rng = np.random.default_rng(seed)
    reward, weight = rng.normal(size=(6, 4)), rng.lognormal(0, 0.5, (6, 4))
    value = estimators.per_decision(reward, weight, discount=discount).value
    assert value == pytest.approx(rowwise.rowwise_per_decision(reward.tolist(), weight.tolist(), discount), abs=1e-9)


def test_per_decision_needs_trajectories():
    with pytest.raises(DataError, match="trajectories, decisions"):
        estimators.per_decision([1.0], [1.0])


def test_clipped_contributions_have_limits_only_where_rewards_have():
    clipped = estimators.clipped_inverse_propensity
    assert clipped([0.0, 2.0], [3.0, 9.0], weight_max=5, reward_max=2).limits == (0.0, 10.0)
    assert clipped([0.0, 2.0], [3.0, 9.0], weight_max=5).limits is None
    for reward in ([-1.0, 2.0], [0.0, 2.1]):
        with pytest.raises(DataError, match="not between 0 and 2"):
            clipped(reward, [3.0, 9.0], weight_max=5, reward_max=2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: estimators.inverse_propensity([1.0], [-1.0]), "negative"),
        (lambda: estimators.self_normalised([1.0], [0.0]), "0 everywhere"),
        (lambda: estimators.doubly_robust([1.0], [1.0], [np.nan], [1.0]), "predicted has 1 missing"),
        (lambda: estimators.doubly_robust([1.0], [1.0], [1.0, 2.0], [1.0]), "shapes differ"),
        (lambda: estimators.direct_method([]), "empty"),
        (lambda: estimators.clipped_inverse_propensity([1.0], [1.0], weight_max=0), "above 0"),
        (lambda: estimators.switch_doubly_robust([1.0], [1.0], [1.0], [1.0], switch_at=-1), "at least 0"),
        (lambda: estimators.shrunk_doubly_robust([1.0], [1.0], [1.0], [1.0], shrinkage=np.nan), "at least 0"),
        (lambda: estimators.per_decision([[1.0]], [[1.0]], discount=1.1), "between 0 and 1"),
    ],
)
def test_what_cannot_be_estimated_is_refused(make, message):
    with pytest.raises(DataError, match=message):
        make()
