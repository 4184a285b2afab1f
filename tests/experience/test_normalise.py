import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from gaelp.errors import BadInput, Refused
from gaelp.experience.normalise import ObservationNormaliser, RewardScaler, RunningMoments

ROWS = arrays.arrays(np.float32, st.tuples(st.integers(1, 30), st.just(3)), elements=st.floats(-1000, 1000, width=32))


def moments_of(*parts):
    moments = RunningMoments((3,))
    for part in parts:
        moments.observe(torch.as_tensor(part))
    return moments


def agree(moments, values):
    scale = 1 + np.abs(values).max()
    np.testing.assert_allclose(moments.mean, values.astype(np.float64).mean(0), rtol=0, atol=1e-12 * scale)
    np.testing.assert_allclose(moments.variance, values.astype(np.float64).var(0), rtol=0, atol=1e-12 * scale**2)
    assert moments.count == len(values)


@settings(max_examples=60, deadline=None)
@given(st.lists(ROWS, min_size=1, max_size=6))
def test_batches_seen_one_after_the_other_equal_the_whole(parts):
    agree(moments_of(*parts), np.concatenate(parts))


def test_a_large_mean_does_not_swallow_a_small_variance():
    values = torch.tensor([1e8, 1e8 + 8, 1e8 + 16], dtype=torch.float64)
    moments = RunningMoments()
    for value in values:
        moments.observe(value)
    assert float(moments.variance) == pytest.approx(float(values.var(correction=0)), rel=1e-9)


def test_observing_nothing_changes_nothing(same_state):
    moments = moments_of(np.ones((2, 3), np.float32))
    before = moments.state()
    moments.observe(torch.empty(0, 3))
    same_state(before, moments.state())


def test_all_leading_dimensions_count_as_rows():
    values = torch.randn(4, 5, 3, generator=torch.Generator().manual_seed(0))
    agree(moments_of(values), values.reshape(20, 3).numpy())


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_refused_by_its_place_and_leaves_no_trace(wrong, same_state):
    moments = moments_of(np.ones((2, 3), np.float32))
    before = moments.state()
    values = torch.zeros(4, 3)
    values[2, 1] = wrong
    with pytest.raises(Refused, match=rf"values\[2, 1\] is {wrong}"):
        moments.observe(values)
    same_state(before, moments.state())


def test_observations_come_out_with_mean_zero_and_variance_one():
    obs = torch.randn(2000, 3, generator=torch.Generator().manual_seed(0)) * torch.tensor([0.1, 1.0, 50.0]) + 7
    normaliser = ObservationNormaliser((3,))
    normaliser.observe(obs)
    scaled = normaliser(obs)
    exact = obs.double()
    expected = (exact - exact.mean(0)) / (exact.var(0, correction=0) + 1e-8).sqrt()
    torch.testing.assert_close(scaled, expected.float(), rtol=1e-5, atol=1e-5)
    assert normaliser(obs.reshape(20, 100, 3)).shape == (20, 100, 3)


def test_before_anything_was_seen_observations_pass_unchanged_but_for_the_clip():
    assert ObservationNormaliser((2,), clip=5.0)(torch.tensor([1.5, -77.0])).tolist() == [1.5, -5.0]


def test_the_observations_given_are_left_as_they_were():
    normaliser = ObservationNormaliser((2,))
    obs = torch.tensor([[3.0, 4.0], [5.0, 6.0]])
    normaliser.observe(obs)
    normaliser(obs)
    assert obs.tolist() == [[3, 4], [5, 6]]


def test_values_far_out_are_clipped():
    normaliser = ObservationNormaliser((1,), clip=3.0)
    normaliser.observe(torch.tensor([[-1.0], [1.0]]))
    assert normaliser(torch.tensor([[1e6], [-1e6], [2.0]])).squeeze(1).tolist() == pytest.approx([3.0, -3.0, 2.0])


def test_a_frozen_normaliser_keeps_its_scale_until_it_is_unfrozen(same_state):
    normaliser = ObservationNormaliser((1,))
    normaliser.observe(torch.tensor([[-1.0], [1.0]]))
    normaliser.freeze()
    before = normaliser.state()
    normaliser.observe(torch.full((50, 1), 100.0))
    same_state(before, normaliser.state())
    normaliser.unfreeze()
    normaliser.observe(torch.full((50, 1), 100.0))
    assert normaliser.moments.count == 52


def test_a_normaliser_resumes_bit_for_bit(stored, same_state):
    obs = torch.randn(100, 3, generator=torch.Generator().manual_seed(2))
    normaliser, resumed = ObservationNormaliser((3,)), ObservationNormaliser((3,))
    normaliser.observe(obs[:37])
    normaliser.freeze()
    resumed.load_state(stored(normaliser.state()))
    assert torch.equal(resumed(obs), normaliser(obs))
    for part in (normaliser, resumed):
        part.unfreeze()
        part.observe(obs[37:])
    same_state(normaliser.state(), resumed.state())


def running_sums_by_hand(rewards, ended, gamma):
    """Every running sum of every series, in plain Python."""
    sums = []
    for n in range(rewards.shape[1]):
        for s in range(math.prod(rewards.shape[2:])):
            running = 0.0
            for t in range(rewards.shape[0]):
                running = gamma * running + float(rewards[t, n].reshape(-1)[s])
                sums.append(running)
                if ended[t, n]:
                    running = 0.0
    return np.array(sums)


@pytest.mark.parametrize("shape", [(5,), (5, 3)])
def test_rewards_are_divided_by_the_deviation_of_their_running_sum(shape):
    rng = torch.Generator().manual_seed(3)
    rewards, ended = torch.rand(40, *shape, generator=rng) * 9, torch.rand(40, 5, generator=rng) < 0.1
    scaler = RewardScaler(shape, gamma=0.9)
    scaler.observe(rewards[:13], ended[:13])
    scaler.observe(rewards[13:], ended[13:])
    deviation = running_sums_by_hand(rewards, ended, 0.9).std()
    torch.testing.assert_close(scaler(rewards), (rewards.double() / deviation).float(), rtol=1e-6, atol=1e-6)


def test_scaled_rewards_keep_their_sign_and_zero_and_are_clipped():
    scaler = RewardScaler((1,), gamma=0.0, clip=2.0)
    scaler.observe(torch.tensor([[-1.0], [1.0]]), torch.zeros(2, 1, dtype=torch.bool))
    assert scaler(torch.tensor([-1.0, 0.0, 0.5, 99.0])).tolist() == pytest.approx([-1.0, 0.0, 0.5, 2.0])


def test_a_frozen_scaler_keeps_its_scale_and_starts_its_sums_anew_when_unfrozen():
    scaler = RewardScaler((1,), gamma=1.0)
    never = torch.zeros(2, 1, dtype=torch.bool)
    scaler.observe(torch.tensor([[1.0], [2.0]]), never)
    scaler.freeze()
    scaler.observe(torch.tensor([[50.0], [50.0]]), never)
    assert float(scaler.moments.mean) == 2.0
    scaler.unfreeze()
    scaler.observe(torch.tensor([[5.0]]), never[:1])
    assert float(scaler.moments.mean) == pytest.approx((1 + 3 + 5) / 3)


def test_a_refused_reward_leaves_the_scaler_as_it_was(same_state):
    scaler = RewardScaler((1,), gamma=1.0)
    before = scaler.state()
    with pytest.raises(Refused, match="nan"):
        scaler.observe(torch.tensor([[1.0], [math.nan]]), torch.zeros(2, 1, dtype=torch.bool))
    same_state(before, scaler.state())


def test_a_scaler_resumes_bit_for_bit_in_the_middle_of_episodes(stored, same_state):
    rng = torch.Generator().manual_seed(4)
    rewards, ended = torch.rand(40, 5, generator=rng), torch.rand(40, 5, generator=rng) < 0.1
    scaler, resumed = RewardScaler((5,), gamma=0.9), RewardScaler((5,), gamma=0.9)
    scaler.observe(rewards[:20], ended[:20])
    resumed.load_state(stored(scaler.state()))
    for part in (scaler, resumed):
        part.observe(rewards[20:], ended[20:])
    same_state(scaler.state(), resumed.state())


def test_what_does_not_fit_is_refused():
    with pytest.raises(BadInput, match=r"do not end in \(3,\)"):
        RunningMoments((3,)).observe(torch.zeros(4, 2))
    with pytest.raises(BadInput, match="clip=0"):
        ObservationNormaliser((3,), clip=0)
    with pytest.raises(BadInput, match="gamma=2"):
        RewardScaler((3,), gamma=2)
    with pytest.raises(BadInput, match=r"wanted are \(T, 3\) and \(T, 3\)"):
        RewardScaler((3,), gamma=1).observe(torch.zeros(4, 3), torch.zeros(4, 1, dtype=torch.bool))
    with pytest.raises(BadInput, match=r"saved clip is 10\.0, here it is 5"):
        ObservationNormaliser((3,), clip=5.0).load_state(ObservationNormaliser((3,)).state())
    with pytest.raises(BadInput, match=r"saved mean is torch\.float64 \(2,\)"):
        RunningMoments((3,)).load_state(RunningMoments((2,)).state())


def test_a_cut_starts_the_sums_anew_and_keeps_the_scale():
    scaler = RewardScaler((2,), gamma=0.5)
    none = torch.zeros(1, 2, dtype=torch.bool)
    scaler.observe(torch.tensor([[1.0, 3.0]]), none)
    scaler.cut()
    scaler.observe(torch.tensor([[2.0, 4.0]]), none)
    assert scaler.moments.mean.item() == (1 + 3 + 2 + 4) / 4
    assert scaler.moments.count == 4
