import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from stable_baselines3.common.distributions import SquashedDiagGaussianDistribution

from gaelp.agents.squashed import draw_squashed, log_tanh_slope, mean_and_log_std


def parameters(rows=512, size=3):
    """Such that no draw passes 8 before squashing: further out tanh itself keeps too few digits for a reference."""
    generator = torch.Generator().manual_seed(0)
    mean, log_std, noise = torch.randn(3, rows, size, generator=generator, dtype=torch.float64)
    return mean, 0.3 * log_std - 0.5, noise


@pytest.mark.parametrize("size", [1, 3])
def test_the_log_probability_is_that_of_stable_baselines_without_its_epsilon(size):
    mean, log_std, noise = parameters(size=size)
    drawn = draw_squashed(mean, log_std, noise)
    theirs = SquashedDiagGaussianDistribution(size, epsilon=0.0).proba_distribution(mean, log_std)
    wanted = theirs.log_prob(drawn.actions, gaussian_actions=mean + log_std.exp() * noise)
    torch.testing.assert_close(drawn.log_probs, wanted, rtol=1e-6, atol=1e-6)


def test_with_its_epsilon_stable_baselines_differs_by_no_more_than_the_epsilon_explains():
    mean, log_std, noise = parameters()
    drawn = draw_squashed(mean, log_std, noise)
    theirs = SquashedDiagGaussianDistribution(3).proba_distribution(mean, log_std)
    difference = drawn.log_probs - theirs.log_prob(drawn.actions, gaussian_actions=mean + log_std.exp() * noise)
    explained = torch.log1p(1e-6 / (1 - drawn.actions**2)).sum(1)
    torch.testing.assert_close(difference, explained, rtol=1e-4, atol=1e-9)


def test_in_float32_the_log_probability_keeps_six_digits():
    mean, log_std, noise = parameters()
    exact = draw_squashed(mean, log_std, noise).log_probs
    single = draw_squashed(mean.float(), log_std.float(), noise.float()).log_probs
    torch.testing.assert_close(single.double(), exact, rtol=2e-6, atol=2e-6)


def test_the_density_of_one_action_sums_to_one():
    mean, log_std = torch.tensor([[0.4]], dtype=torch.float64), torch.tensor([[-0.3]], dtype=torch.float64)
    actions = torch.linspace(-1, 1, 200_001, dtype=torch.float64)[1:-1].unsqueeze(1)
    noise = (torch.atanh(actions) - mean) / log_std.exp()
    density = draw_squashed(mean.expand_as(noise), log_std.expand_as(noise), noise).log_probs.exp()
    assert float(torch.trapezoid(density, actions[:, 0])) == pytest.approx(1.0, abs=1e-6)


@given(st.floats(-300, 300))
def test_the_slope_of_tanh_is_exact_and_finite_where_tanh_rounds_to_one(before):
    # cosh overflows nowhere in this range, and log(1 - tanh(x)^2) = -2 log cosh(x).
    wanted = -2 * math.log(math.cosh(before))
    actual = log_tanh_slope(torch.tensor(before, dtype=torch.float64)).item()
    assert actual == pytest.approx(wanted, rel=1e-9, abs=1e-9)
    assert math.isfinite(log_tanh_slope(torch.tensor(before)).item())


def test_gradients_flow_into_mean_and_spread_as_finite_differences_say():
    mean, log_std, noise = parameters(rows=4, size=2)
    mean.requires_grad_(True)
    log_std.requires_grad_(True)

    def total(mean, log_std):
        drawn = draw_squashed(mean, log_std, noise)
        return drawn.actions.sum(), drawn.log_probs.sum()

    assert torch.autograd.gradcheck(total, (mean, log_std))


def test_the_two_heads_are_split_and_the_spread_is_kept_in_bounds():
    mean, log_std = mean_and_log_std(torch.tensor([[1.0, -9.0, 50.0, -50.0]]))
    np.testing.assert_array_equal(mean.numpy(), [[1.0, -9.0]])
    np.testing.assert_array_equal(log_std.numpy(), [[2.0, -20.0]])


def test_the_least_spread_can_be_raised():
    _, log_std = mean_and_log_std(torch.tensor([[0.0, 0.0, -1.5, -1.7]]), -1.6)
    torch.testing.assert_close(log_std, torch.tensor([[-1.5, -1.6]]))
