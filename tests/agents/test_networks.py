import torch
from torch import nn

from gaelp.agents.networks import NetworkSpec, mlp, soft_update


def network(seed):
    return mlp(3, 2, NetworkSpec(hidden=(4,), activation="tanh"), generator=torch.Generator().manual_seed(seed))


def test_a_perceptron_has_the_layers_of_its_spec_and_orthogonal_weights_from_its_generator():
    net = network(0)
    assert [type(layer) for layer in net] == [nn.Linear, nn.Tanh, nn.Linear]
    torch.testing.assert_close(net[2].weight @ net[2].weight.T, torch.eye(2), rtol=0, atol=1e-6)
    assert torch.equal(net[0].weight, network(0)[0].weight)
    assert not torch.equal(net[0].weight, network(1)[0].weight)


def test_a_target_moves_by_the_rate_towards_its_source():
    target, source = network(0), network(1)
    before = target[0].weight.clone()
    soft_update(target, source, 0.25)
    torch.testing.assert_close(target[0].weight, 0.75 * before + 0.25 * source[0].weight)
