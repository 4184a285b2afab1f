import math

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box
from hypothesis import given, settings
from hypothesis import strategies as st
from stable_baselines3.common.buffers import RolloutBuffer

from gaelp.errors import BadInput
from gaelp.experience.returns import Steps, gae, n_step_returns, values_after, vtrace

GAMMA, LAMBDA = 0.97, 0.9


def random_steps(seed, shape=(13, 5), ending=0.2):
    """Steps whose episodes end for both reasons, at random."""
    rng = torch.Generator().manual_seed(seed)
    rewards, values, next_values = (torch.randn(shape, generator=rng) for _ in range(3))
    ended = torch.rand(shape[:2], generator=rng) < ending
    terminated = ended & (torch.rand(shape[:2], generator=rng) < 0.5)
    return Steps(rewards, values, next_values, ended, terminated)


def each_series(steps):
    """Every environment, and segment, on its own: plain Python floats and flags."""
    series = math.prod(steps.rewards.shape[2:])
    numbers = [
        t.double().reshape(*t.shape[:2], series).tolist() for t in (steps.rewards, steps.values, steps.next_values)
    ]
    flags = [steps.ended.tolist(), steps.terminated.tolist()]
    for n in range(steps.rewards.shape[1]):
        for s in range(series):
            yield [[row[n][s] for row in rows] for rows in numbers] + [[row[n] for row in rows] for rows in flags]


def by_hand(steps, series_result):
    """The result of a plain-Python function on each series, put together as (T, N, ...) in float64."""
    columns = [series_result(*series) for series in each_series(steps)]
    return torch.tensor(columns, dtype=torch.float64).T.reshape(steps.rewards.shape)


def close(actual, expected):
    assert actual.dtype == torch.float32
    assert not actual.requires_grad
    np.testing.assert_allclose(actual.double().numpy(), expected.numpy(), rtol=1e-6, atol=1e-6)


def after(t, next_values, terminated):
    return 0.0 if terminated[t] else next_values[t]


def gae_by_hand(rewards, values, next_values, ended, terminated):
    """The definition: a discounted sum of temporal differences up to the end of the episode."""
    totals = []
    for start in range(len(rewards)):
        total = 0.0
        for t in range(start, len(rewards)):
            delta = rewards[t] + GAMMA * after(t, next_values, terminated) - values[t]
            total += (GAMMA * LAMBDA) ** (t - start) * delta
            if ended[t]:
                break
        totals.append(total)
    return totals


def return_by_hand(steps_summed):
    def one_series(rewards, values, next_values, ended, terminated):
        totals = []
        for start in range(len(rewards)):
            total, t = 0.0, start
            while True:
                total += GAMMA ** (t - start) * rewards[t]
                if ended[t] or t + 1 == len(rewards) or t + 1 - start == steps_summed:
                    break
                t += 1
            totals.append(total + GAMMA ** (t + 1 - start) * after(t, next_values, terminated))
        return totals

    return one_series


@pytest.mark.parametrize("shape", [(13, 5), (1, 3), (7, 4, 3)])
def test_gae_is_the_sum_of_temporal_differences_of_the_same_episode(shape):
    steps = random_steps(1, shape)
    advantages, targets = gae(steps, gamma=GAMMA, gae_lambda=LAMBDA)
    expected = by_hand(steps, gae_by_hand)
    close(advantages, expected)
    close(targets, expected + steps.values.double())


@pytest.mark.parametrize("n_step", [1, 2, 3, 5, 13, 99])
@pytest.mark.parametrize("shape", [(13, 5), (1, 3), (7, 4, 3)])
def test_n_step_returns_stop_after_n_steps_or_at_the_end_of_the_episode(shape, n_step):
    steps = random_steps(3, shape)
    close(n_step_returns(steps, gamma=GAMMA, n_step=n_step), by_hand(steps, return_by_hand(n_step)))


def oracle_buffer(steps):
    """stable-baselines3 takes a truncated episode as terminated, with the value of its future in the last reward."""
    (time, envs), box = steps.rewards.shape, Box(-1, 1, (1,))
    buffer = RolloutBuffer(time, box, box, "cpu", gae_lambda=LAMBDA, gamma=GAMMA, n_envs=envs)
    rewards = steps.rewards + GAMMA * steps.next_values * (steps.ended & ~steps.terminated)
    begins = torch.cat([torch.ones(1, envs, dtype=torch.bool), steps.ended[:-1]])
    nothing = np.zeros((envs, 1))
    for t in range(time):
        row = (rewards[t].numpy(), begins[t].numpy(), steps.values[t], torch.zeros(envs))
        buffer.add(nothing, nothing, *row)
    return buffer


def test_gae_equals_that_of_stable_baselines3():
    drawn = random_steps(4, (64, 8))
    following = values_after(drawn.values, drawn.next_values[-1], ended=drawn.ended, final_values=drawn.next_values)
    steps = Steps(drawn.rewards, drawn.values, following, drawn.ended, drawn.terminated)
    buffer = oracle_buffer(steps)
    buffer.compute_returns_and_advantage(steps.next_values[-1], steps.ended[-1].numpy())
    advantages, targets = gae(steps, gamma=GAMMA, gae_lambda=LAMBDA)
    scale = float(targets.abs().max())
    np.testing.assert_allclose(advantages.numpy(), buffer.advantages, rtol=0, atol=1e-6 * scale)
    np.testing.assert_allclose(targets.numpy(), buffer.returns, rtol=0, atol=1e-6 * scale)


def vtrace_by_hand(steps, log_ratios, rho_bar, c_bar):
    """Equations 1 and the policy gradient of the paper, sums and products written out."""
    ratios = iter(
        log_ratios.double().expand(steps.rewards.shape).reshape(*log_ratios.shape[:2], -1).flatten(1).T.tolist()
    )
    targets, advantages = [], []
    for rewards, values, next_values, ended, terminated in each_series(steps):
        weight = [math.exp(x) for x in next(ratios)]
        rho, c = [min(rho_bar, w) for w in weight], [min(c_bar, w) for w in weight]
        totals = []
        for start in range(len(rewards)):
            total = values[start]
            for t in range(start, len(rewards)):
                delta = rho[t] * (rewards[t] + GAMMA * after(t, next_values, terminated) - values[t])
                total += GAMMA ** (t - start) * math.prod(c[start:t]) * delta
                if ended[t]:
                    break
            totals.append(total)
        targets.append(totals)
        ahead = [
            totals[t + 1] if t + 1 < len(rewards) and not ended[t] else after(t, next_values, terminated)
            for t in range(len(rewards))
        ]
        advantages.append([rho[t] * (rewards[t] + GAMMA * ahead[t] - values[t]) for t in range(len(rewards))])
    shape = steps.rewards.shape
    return (torch.tensor(x, dtype=torch.float64).T.reshape(shape) for x in (advantages, targets))


@pytest.mark.parametrize(("rho_bar", "c_bar"), [(1.0, 1.0), (2.0, 0.5), (1e9, 1e9)])
@pytest.mark.parametrize(("shape", "ratio_shape"), [((13, 5), (13, 5)), ((1, 3), (1, 3)), ((7, 4, 3), (7, 4, 3))])
def test_vtrace_equals_the_papers_sums_and_products(shape, ratio_shape, rho_bar, c_bar):
    steps = random_steps(5, shape)
    log_ratios = 0.4 * torch.randn(ratio_shape, generator=torch.Generator().manual_seed(6))
    expected_advantages, expected_targets = vtrace_by_hand(steps, log_ratios, rho_bar, c_bar)
    advantages, targets = vtrace(steps, log_ratios, gamma=GAMMA, rho_bar=rho_bar, c_bar=c_bar)
    close(targets, expected_targets)
    close(advantages, expected_advantages)


def test_vtrace_shares_one_ratio_among_the_segments_of_an_action():
    steps = random_steps(7, (6, 4, 3))
    log_ratios = 0.4 * torch.randn(6, 4, generator=torch.Generator().manual_seed(8))
    shared = vtrace(steps, log_ratios, gamma=GAMMA)
    written_out = vtrace(steps, log_ratios.unsqueeze(2).expand(6, 4, 3), gamma=GAMMA)
    assert torch.equal(shared.targets, written_out.targets)
    assert torch.equal(shared.advantages, written_out.advantages)


def consistent(steps):
    """The same steps with the critic after a step equal to the critic before the next one, as in real experience."""
    following = values_after(steps.values, steps.next_values[-1], ended=steps.ended, final_values=steps.next_values)
    return Steps(steps.rewards, steps.values, following, steps.ended, steps.terminated)


def discounted_returns(steps, gamma=GAMMA):
    return n_step_returns(steps, gamma=gamma, n_step=len(steps.rewards))


def test_vtrace_of_the_policy_that_acted_is_the_discounted_return():
    steps = consistent(random_steps(9))
    targets = vtrace(steps, torch.zeros(13, 5), gamma=GAMMA).targets
    torch.testing.assert_close(targets, discounted_returns(steps), rtol=1e-6, atol=1e-6)


def test_gae_with_lambda_one_reaches_for_the_discounted_return_and_with_zero_for_one_step():
    steps = consistent(random_steps(10))
    full = gae(steps, gamma=GAMMA, gae_lambda=1.0).targets
    single = gae(steps, gamma=GAMMA, gae_lambda=0.0).targets
    torch.testing.assert_close(full, discounted_returns(steps), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(single, n_step_returns(steps, gamma=GAMMA, n_step=1), rtol=1e-6, atol=1e-6)


def two_steps(ended, terminated, next_values):
    column = torch.tensor([[1.0], [1.0]])
    flags = torch.tensor([[ended], [False]]), torch.tensor([[terminated], [False]])
    return Steps(column, torch.zeros(2, 1), torch.tensor(next_values).unsqueeze(1), *flags)


def test_a_truncated_episode_is_worth_its_last_observation_and_a_terminated_one_nothing():
    truncated = discounted_returns(two_steps(True, False, [10.0, 0.0]), gamma=0.5)
    terminated = discounted_returns(two_steps(True, True, [10.0, 0.0]), gamma=0.5)
    continued = discounted_returns(two_steps(False, False, [10.0, 0.0]), gamma=0.5)
    assert [truncated[0, 0], terminated[0, 0], continued[0, 0]] == [6.0, 1.0, 1.5]


@pytest.mark.parametrize("estimate", [
    lambda steps: gae(steps, gamma=GAMMA, gae_lambda=LAMBDA).targets,
    lambda steps: n_step_returns(steps, gamma=GAMMA, n_step=3),
    lambda steps: vtrace(steps, torch.zeros(2, 1), gamma=GAMMA).targets,
])  # fmt: skip
def test_the_value_after_a_terminated_episode_is_never_read(estimate):
    assert torch.isfinite(estimate(two_steps(True, True, [math.nan, 0.0]))).all()


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), cut=st.integers(0, 11))
def test_nothing_flows_back_over_the_end_of_an_episode(seed, cut):
    steps = random_steps(seed, (13, 2))
    steps.ended[cut] = True
    changed = steps.rewards.clone()
    changed[cut + 1 :] += 100
    other = Steps(changed, steps.values, steps.next_values, steps.ended, steps.terminated)
    for estimate in (
        lambda s: gae(s, gamma=GAMMA, gae_lambda=LAMBDA).targets,
        lambda s: n_step_returns(s, gamma=GAMMA, n_step=4),
        lambda s: vtrace(s, torch.zeros(13, 2), gamma=GAMMA).targets,
        lambda s: vtrace(s, torch.zeros(13, 2), gamma=GAMMA).advantages,
    ):
        assert torch.equal(estimate(steps)[: cut + 1], estimate(other)[: cut + 1])
        assert not torch.equal(estimate(steps), estimate(other))


def test_values_after_reads_final_values_only_where_an_episode_ended():
    values = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    ended = torch.tensor([[False, True], [False, False]])
    final = torch.full((2, 2), math.nan)
    final[0, 1] = 7.0
    assert values_after(values, torch.tensor([5.0, 6.0]), ended=ended, final_values=final).tolist() == [[3, 7], [5, 6]]


def test_float64_experience_keeps_its_precision():
    steps = random_steps(11)
    exact = Steps(
        *(t.double() for t in (steps.rewards, steps.values, steps.next_values)), steps.ended, steps.terminated
    )
    advantages = gae(exact, gamma=GAMMA, gae_lambda=LAMBDA).advantages
    torch.testing.assert_close(advantages, by_hand(exact, gae_by_hand), rtol=1e-13, atol=1e-13)


def test_the_inputs_are_left_as_they_were_and_carry_no_gradient_out():
    steps = random_steps(12)
    exact = Steps(
        *(t.double().requires_grad_() for t in (steps.rewards, steps.values, steps.next_values)),
        steps.ended,
        steps.terminated,
    )
    before = [t.clone() for t in (exact.rewards, exact.values, exact.next_values)]
    results = [
        *gae(exact, gamma=GAMMA, gae_lambda=LAMBDA),
        *vtrace(exact, torch.zeros(13, 5), gamma=GAMMA),
        n_step_returns(exact, gamma=GAMMA, n_step=3),
    ]
    assert not any(result.requires_grad for result in results)
    assert all(torch.equal(a, b) for a, b in zip(before, (exact.rewards, exact.values, exact.next_values), strict=True))


def test_a_step_that_is_terminated_but_not_ended_is_refused_with_its_place():
    steps = random_steps(13, ending=0.0)
    terminated = steps.terminated.clone()
    terminated[4, 2] = True
    with pytest.raises(BadInput, match=r"step 4 of environment 2 is terminated but not ended"):
        Steps(steps.rewards, steps.values, steps.next_values, steps.ended, terminated)


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        ({"values": torch.zeros(13, 1)}, r"values has shape \(13, 1\)"),
        ({"next_values": torch.zeros(13)}, r"next_values has shape \(13,\)"),
        ({"ended": torch.zeros(13, 5)}, "ended is torch.float32"),
        ({"terminated": torch.zeros(5, 13, dtype=torch.bool)}, r"terminated is torch.bool of shape \(5, 13\)"),
    ],
)
def test_tensors_that_would_broadcast_are_refused(change, seen):
    steps = random_steps(14)
    fields = {name: getattr(steps, name) for name in ("rewards", "values", "next_values", "ended", "terminated")}
    with pytest.raises(BadInput, match=seen):
        Steps(**(fields | change))


def test_numbers_outside_their_range_are_refused():
    steps = random_steps(15)
    with pytest.raises(BadInput, match=r"gamma=1\.5"):
        n_step_returns(steps, gamma=1.5, n_step=1)
    with pytest.raises(BadInput, match="gae_lambda=nan"):
        gae(steps, gamma=1.0, gae_lambda=math.nan)
    with pytest.raises(BadInput, match="n_step=0"):
        n_step_returns(steps, gamma=1.0, n_step=0)
    with pytest.raises(BadInput, match=r"c_bar=2\.0 and rho_bar=1\.0"):
        vtrace(steps, torch.zeros(13, 5), gamma=1.0, rho_bar=1.0, c_bar=2.0)
    with pytest.raises(BadInput, match=r"log_ratios has shape \(13,\)"):
        vtrace(steps, torch.zeros(13), gamma=1.0)
