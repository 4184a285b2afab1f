import pytest
import torch
from stable_baselines3.common.utils import polyak_update
from torch.nn.functional import mse_loss

from gaelp.agents.networks import NetworkSpec, mlp, soft_update
from gaelp.agents.twin_critics import TwinCritics, twin_loss


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def critics_and_plain(spec):
    """Critics, and the two perceptrons drawn from the same seed, which are the reference."""
    critics = TwinCritics(5, spec, generator=torch.Generator().manual_seed(3))
    generator = torch.Generator().manual_seed(3)
    return critics, [mlp(5, 1, spec, generator=generator) for _ in range(2)]


@pytest.mark.parametrize("hidden", [(), (7,), (16, 8), (8, 8, 8)])
@pytest.mark.parametrize("activation", ["relu", "silu", "tanh"])
def test_the_batched_pass_equals_two_plain_perceptrons(hidden, activation):
    critics, plain = critics_and_plain(NetworkSpec(hidden=hidden, activation=activation))
    obs, actions = torch.randn(33, 3), torch.randn(33, 2)
    wanted = torch.stack([critic(torch.cat([obs, actions], 1)).squeeze(1) for critic in plain])
    torch.testing.assert_close(critics(obs, actions), wanted, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(critics.first(obs, actions), wanted[0], rtol=1e-6, atol=1e-6)
    assert sum(p.numel() for p in critics.parameters()) == sum(
        p.numel() for critic in plain for p in critic.parameters()
    )


def test_a_gain_is_put_on_actions_alone():
    spec, obs, actions = NetworkSpec(hidden=(16, 8)), torch.randn(33, 3), torch.randn(33, 2)
    plain, _ = critics_and_plain(spec)
    scaled = TwinCritics(5, spec, generator=torch.Generator().manual_seed(3), action_gain=5.0)
    assert torch.equal(scaled(obs, actions), plain(obs, 5.0 * actions))
    assert torch.equal(scaled.first(obs, actions), plain.first(obs, 5.0 * actions))


def test_its_gradients_equal_those_of_two_plain_perceptrons():
    critics, plain = critics_and_plain(NetworkSpec(hidden=(16, 8)))
    obs, actions, targets = torch.randn(33, 3), torch.randn(33, 2), torch.randn(33)
    twin_loss(critics(obs, actions), targets, torch.ones(33)).backward()
    for index, critic in enumerate(plain):
        mse_loss(critic(torch.cat([obs, actions], 1)).squeeze(1), targets).backward()
        for layer, number in ((critic[0], 0), (critic[2], 1), (critic[4], 2)):
            torch.testing.assert_close(critics.weights[number].grad[index], layer.weight.grad.T, rtol=1e-5, atol=1e-6)
            torch.testing.assert_close(critics.biases[number].grad[index, 0], layer.bias.grad, rtol=1e-5, atol=1e-6)


def test_the_two_critics_start_with_different_opinions():
    values = critics_and_plain(NetworkSpec())[0](torch.randn(9, 3), torch.randn(9, 2))
    assert (values[0] != values[1]).all()


def test_an_importance_weight_counts_as_often_as_it_says():
    values, targets = torch.randn(2, 3), torch.randn(3)
    once_more = torch.tensor([0, 1, 1, 2])
    weighted = 3 * twin_loss(values, targets, torch.tensor([1.0, 2.0, 1.0]))
    repeated = 4 * twin_loss(values[:, once_more], targets[once_more], torch.ones(4))
    torch.testing.assert_close(weighted, repeated)


def test_a_soft_update_moves_as_that_of_stable_baselines():
    spec = NetworkSpec(hidden=(8,))
    source, target, theirs = (TwinCritics(5, spec, generator=torch.Generator().manual_seed(s)) for s in (1, 2, 2))
    soft_update(target, source, 0.3)
    polyak_update(source.parameters(), theirs.parameters(), 0.3)
    for ours, wanted in zip(target.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(ours, wanted, rtol=1e-6, atol=1e-7)
    soft_update(target, source, 1.0)
    assert all(torch.equal(ours, wanted) for ours, wanted in zip(target.parameters(), source.parameters(), strict=True))
