import pytest
import torch

from gaelp.agents import actor_critic
from gaelp.agents.actor_critic import ActorCritic
from gaelp.agents.distributions import Categorical, DiagonalGaussian
from gaelp.agents.learner import BoxActions, DiscreteActions, Spaces
from gaelp.agents.networks import NetworkSpec

BOX, CHOICE = BoxActions(2), DiscreteActions(3)


def networks(actions, *, fast=True, seed=0):
    return ActorCritic(
        Spaces(5, actions, rows=4),
        NetworkSpec(hidden=(16, 16)),
        log_std_start=-0.7,
        fast=fast,
        generator=torch.Generator().manual_seed(seed),
    )


def observations(*shape):
    return torch.randn(*shape, 5, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(("actions", "kind"), [(BOX, DiagonalGaussian), (CHOICE, Categorical)])
def test_the_policy_fits_the_actions(actions, kind):
    policy = networks(actions).policy(observations(6))
    assert isinstance(policy, kind)
    drawn = policy.sample(torch.Generator().manual_seed(0))
    assert drawn.shape == ((6, 2) if actions is BOX else (6,))
    assert drawn.dtype == (torch.float32 if actions is BOX else torch.int64)


def test_a_new_policy_prefers_nothing():
    obs = observations(100)
    assert networks(CHOICE).policy(obs).log_probs.exp().sub(1 / 3).abs().max() < 0.02
    gaussian = networks(BOX).policy(obs)
    assert gaussian.mean.abs().max() < 0.1
    assert torch.equal(gaussian.log_std, torch.full((2,), -0.7))


def test_actor_and_critic_share_no_parameter():
    made = networks(BOX)
    assert len(list(made.parameters())) == 6 + 6 + 1
    made.values(observations(3)).sum().backward()
    assert all(parameter.grad is None for parameter in (*made.actor.parameters(), made.log_std))


@pytest.mark.parametrize("actions", [BOX, CHOICE])
def test_by_hand_or_by_autograd_is_the_same_network(actions):
    fast, plain = networks(actions), networks(actions, fast=False)
    assert fast.state_dict().keys() == plain.state_dict().keys()
    obs = observations(50)
    taken = fast.policy(obs).sample(torch.Generator().manual_seed(0))
    for ours, reference in zip(fast.predict(obs, taken), plain.predict(obs, taken), strict=True):
        torch.testing.assert_close(ours, reference, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("actions", [BOX, CHOICE])
def test_many_rows_are_valued_in_parts_without_gradient(monkeypatch, actions):
    made, obs = networks(actions), observations(7, 4)
    taken = made.policy(obs.flatten(0, 1)).sample(torch.Generator().manual_seed(0)).unflatten(0, (7, 4))
    expected = made.predict(obs.flatten(0, 1), taken.flatten(0, 1))
    monkeypatch.setattr(actor_critic, "CHUNK_ROWS", 3)
    values, log_probs = made.all_values(obs), made.all_log_probs(obs, taken)
    assert not values.requires_grad
    assert not log_probs.requires_grad
    torch.testing.assert_close(values, expected.values.detach().reshape(7, 4), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(log_probs, expected.log_probs.detach().reshape(7, 4), rtol=1e-6, atol=1e-6)
