import math

import pytest
import torch
from torch import nn

from gaelp.agents.guarded_adam import GuardedAdam
from gaelp.errors import BadInput


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def pair():
    return nn.Parameter(torch.tensor([3.0, 4.0])), nn.Parameter(torch.tensor(2.0))


def test_it_steps_like_the_adam_of_torch_with_clipping():
    ours, theirs = pair(), pair()
    guarded, adam = GuardedAdam(ours, max_norm=0.5), torch.optim.Adam(theirs, lr=0.1)
    for round_ in range(5):
        step = guarded.step(sum(p.square().sum() for p in ours) * round_, learning_rate=0.1)
        adam.zero_grad()
        (sum(p.square().sum() for p in theirs) * round_).backward()
        norm = nn.utils.clip_grad_norm_(theirs, 0.5)
        adam.step()
        assert step.refused_for == ""
        assert step.gradient_norm == pytest.approx(norm.item())
        for one, other in zip(ours, theirs, strict=True):
            torch.testing.assert_close(one, other)


def test_the_norm_reported_is_the_one_before_clipping():
    first, second = pair()
    step = GuardedAdam([first, second], max_norm=1.0).step(0.5 * (first.square().sum() + second.square()), 0.1)
    assert step.gradient_norm == pytest.approx(math.sqrt(9 + 16 + 4))
    assert step.loss == pytest.approx(14.5)


@pytest.mark.parametrize(
    ("loss_of", "refused_for"),
    [
        (lambda p: p.sum() * math.nan, "loss"),
        (lambda p: p.sum() * math.inf, "loss"),
        (lambda p: (p - p.detach()).sqrt().sum(), "gradient"),  # zero, with an infinite slope
        (lambda p: (p * 0).sum() + torch.where(p > 9, p / 0, p).sum(), "gradient"),  # the untaken branch gives NaN
    ],
)
def test_a_loss_or_gradient_that_is_not_finite_changes_nothing(loss_of, refused_for):
    parameter = nn.Parameter(torch.tensor([3.0, 4.0]))
    adam = GuardedAdam([parameter], max_norm=1.0)
    adam.step(parameter.square().sum(), 0.1)
    before, moments = parameter.detach().clone(), adam.state()
    assert adam.step(loss_of(parameter), 0.1).refused_for == refused_for
    assert torch.equal(parameter, before)
    assert all(torch.equal(value, moments[name]) for name, value in adam.state().items())
    assert adam.step(parameter.square().sum(), 0.1).refused_for == ""


def test_networks_the_loss_runs_through_get_no_gradient():
    through, own = nn.Linear(2, 1), nn.Linear(2, 2)
    GuardedAdam(own.parameters(), max_norm=1.0).step(through(own(torch.ones(1, 2))).sum(), 0.1)
    assert through.weight.grad is None


def test_a_restored_optimiser_goes_on_bit_for_bit_at_the_rate_it_is_given():
    (one, _), (other, _) = pair(), pair()
    first, second = GuardedAdam([one], max_norm=1.0), GuardedAdam([other], max_norm=1.0)
    first.step(one.square().sum(), 0.1)
    with torch.no_grad():
        other.copy_(one)
    second.load_state(first.state())
    for parameter, adam in ((one, first), (other, second)):
        adam.step(parameter.square().sum(), 0.05)
    assert torch.equal(one, other)


def test_the_state_of_an_unused_optimiser_is_empty_and_clears_another():
    (one, _), (other, _) = pair(), pair()
    unused, used = GuardedAdam([one], max_norm=1.0), GuardedAdam([other], max_norm=1.0)
    used.step(other.square().sum(), 0.1)
    assert unused.state() == {}
    used.load_state(unused.state())
    assert used.state() == {}


def test_moments_of_other_parameters_are_refused_and_nothing_is_changed():
    first, second = pair()
    adam, other = GuardedAdam([first], max_norm=1.0), GuardedAdam([second], max_norm=1.0)
    for optimiser, parameter in ((adam, first), (other, second)):
        optimiser.step(parameter.square().sum(), 0.1)
    before = adam.state()
    with pytest.raises(BadInput, match=r"saved 0.exp_avg is torch.float32 \(\), wanted is torch.float32 \(2,\)"):
        adam.load_state(other.state())
    assert all(torch.equal(value, before[name]) for name, value in adam.state().items())
