import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from sb3_contrib.common.utils import quantile_huber_loss

from gaelp.agents.learner import DiscreteActions, Spaces
from gaelp.agents.qr_dqn import QrDqnConfig, build_qr_dqn, quantile_losses, quantile_midpoints


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 20),
    quantiles=st.integers(1, 30),
    targets=st.integers(1, 30),
    spread=st.sampled_from([0.1, 1.0, 30.0]),
    seed=st.integers(0, 1000),
)
def test_the_loss_equals_sb3_contribs(rows, quantiles, targets, spread, seed):
    generator = torch.Generator().manual_seed(seed)
    predicted = spread * torch.randn(rows, quantiles, generator=generator, dtype=torch.float64)
    target = spread * torch.randn(rows, targets, generator=generator, dtype=torch.float64)
    reference = quantile_huber_loss(predicted, target, sum_over_quantiles=True)
    actual = quantile_losses(predicted, target, midpoints=quantile_midpoints(quantiles), threshold=1.0).losses.mean()
    torch.testing.assert_close(actual, reference, rtol=1e-6, atol=1e-6)


def test_the_gradient_equals_sb3_contribs():
    torch.manual_seed(0)
    predicted, target = torch.randn(64, 25, requires_grad=True), 2 * torch.randn(64, 25)
    [reference] = torch.autograd.grad(quantile_huber_loss(predicted, target), predicted)
    rows = quantile_losses(predicted, target, midpoints=quantile_midpoints(25), threshold=1.0)
    [actual] = torch.autograd.grad(rows.losses.mean(), predicted)
    torch.testing.assert_close(actual, reference, rtol=1e-6, atol=1e-6)


def by_hand(predicted, target, threshold):
    """Dabney et al. 2018, equation 10, one pair at a time."""
    total = 0.0
    for place, quantile in enumerate(predicted):
        share = (place + 0.5) / len(predicted)
        for value in target:
            error = value - quantile
            size = abs(error)
            huber = size**2 / 2 if size <= threshold else threshold * (size - threshold / 2)
            total += abs(share - (error < 0)) * huber / threshold / len(target)
    return total


@pytest.mark.parametrize("threshold", [0.3, 1.0, 4.0])
def test_the_loss_equals_a_float64_hand_computation_at_any_threshold(threshold):
    rng = np.random.default_rng(0)
    predicted, target = rng.normal(size=(16, 7)), 2 * rng.normal(size=(16, 5))
    rows = quantile_losses(
        torch.tensor(predicted), torch.tensor(target), midpoints=quantile_midpoints(7), threshold=threshold
    )
    wanted = [by_hand(*pair, threshold) for pair in zip(predicted, target, strict=True)]
    np.testing.assert_allclose(rows.losses.numpy(), wanted, rtol=1e-6)


def test_the_loss_is_least_at_the_quantiles_of_the_target():
    samples = torch.linspace(0, 1, 1001).expand(1, -1) * 10
    predicted = torch.full((1, 4), 5.0, requires_grad=True)
    optimizer = torch.optim.Adam([predicted], lr=0.05)
    for _ in range(600):
        optimizer.zero_grad()
        quantile_losses(predicted, samples, midpoints=quantile_midpoints(4), threshold=0.01).losses.sum().backward()
        optimizer.step()
    torch.testing.assert_close(predicted.detach(), torch.tensor([[1.25, 3.75, 6.25, 8.75]]), rtol=0, atol=0.1)


def test_a_row_is_seen_again_the_sooner_the_larger_its_loss():
    predicted, target = torch.zeros(2, 5, requires_grad=True), torch.tensor([[0.1] * 5, [3.0] * 5])
    rows = quantile_losses(predicted, target, midpoints=quantile_midpoints(5), threshold=1.0)
    assert torch.equal(rows.priorities, rows.losses.detach())
    assert not rows.priorities.requires_grad
    assert rows.priorities[1] > rows.priorities[0]


def test_the_value_of_an_action_is_the_mean_of_its_quantiles():
    learner = build_qr_dqn(Spaces(2, DiscreteActions(2), 1), QrDqnConfig(quantiles=2), seed=0)
    with torch.no_grad():
        for parameter in learner.online.parameters():
            parameter.zero_()
        learner.online.advantage[-1].bias.copy_(torch.tensor([0.0, 10.0, 6.0, 7.0]))
    assert learner.act(torch.zeros(3, 2), explore=False).tolist() == [1, 1, 1]


@pytest.mark.parametrize("quantiles", [0, 1, 1001])
def test_a_distribution_needs_at_least_two_quantiles(quantiles):
    with pytest.raises(ValidationError, match="quantiles"):
        QrDqnConfig(quantiles=quantiles)
