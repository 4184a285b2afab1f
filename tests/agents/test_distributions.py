import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import distributions as reference

from gaelp.agents.distributions import Categorical, DiagonalGaussian


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def gaussian(rows=7, size=3, dtype=torch.float32):
    mean = torch.randn(rows, size, generator=generator(1), dtype=dtype)
    return DiagonalGaussian(mean, torch.linspace(-2.0, 1.0, size, dtype=dtype))


def categorical(rows=7, choices=5):
    logits = 3 * torch.randn(rows, choices, generator=generator(2))
    return logits, Categorical.from_logits(logits)


def close(actual, expected):
    np.testing.assert_allclose(actual.detach().numpy(), expected.detach().numpy(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("size", [1, 3])
def test_a_gaussian_has_the_densities_and_entropy_of_the_reference(size):
    ours = gaussian(size=size)
    theirs = reference.Independent(reference.Normal(ours.mean, ours.log_std.exp()), 1)
    actions = ours.sample(generator(3))
    close(ours.log_prob(actions), theirs.log_prob(actions))
    close(ours.entropy(), theirs.entropy())
    assert torch.equal(ours.mode(), ours.mean)


def test_choices_have_the_probabilities_and_entropy_of_the_reference():
    logits, ours = categorical()
    theirs = reference.Categorical(logits=logits)
    actions = ours.sample(generator(3))
    close(ours.log_prob(actions), theirs.log_prob(actions))
    close(ours.entropy(), theirs.entropy())
    assert torch.equal(ours.mode(), logits.argmax(1))


def test_gradients_are_those_of_the_reference():
    mean, log_std = gaussian().mean.requires_grad_(), gaussian().log_std.requires_grad_()
    actions = gaussian().sample(generator(3))
    ours = DiagonalGaussian(mean, log_std)
    theirs = reference.Independent(reference.Normal(mean, log_std.exp()), 1)
    for found, expected in zip(
        torch.autograd.grad((ours.log_prob(actions) + 0.1 * ours.entropy()).sum(), [mean, log_std]),
        torch.autograd.grad((theirs.log_prob(actions) + 0.1 * theirs.entropy()).sum(), [mean, log_std]),
        strict=True,
    ):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-80, 80, width=32), min_size=2, max_size=6))
def test_extreme_logits_leave_everything_finite(logits):
    ours = Categorical.from_logits(torch.tensor([logits]))
    assert ours.log_prob(ours.mode()).isfinite().all()
    assert -1e-6 <= ours.entropy().item() <= math.log(len(logits)) + 1e-6


def test_draws_have_the_mean_and_spread_they_should():
    drawn = DiagonalGaussian(torch.full((200_000, 1), 3.0), torch.tensor([math.log(0.5)])).sample(generator())
    assert drawn.mean().item() == pytest.approx(3.0, abs=0.01)
    assert drawn.std().item() == pytest.approx(0.5, abs=0.01)
    probabilities = torch.tensor([0.1, 0.6, 0.3])
    chosen = Categorical.from_logits(probabilities.log().expand(200_000, 3)).sample(generator())
    np.testing.assert_allclose(chosen.bincount().numpy() / 200_000, probabilities.numpy(), atol=0.01)


@pytest.mark.parametrize("distribution", [gaussian(), categorical()[1]], ids=["gaussian", "categorical"])
def test_draws_come_from_the_given_generator_alone(distribution):
    first = distribution.sample(generator(4))
    torch.rand(10)
    assert torch.equal(distribution.sample(generator(4)), first)
    assert not torch.equal(distribution.sample(generator(5)), first)
