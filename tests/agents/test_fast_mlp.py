import pytest
import torch
from torch import nn

from gaelp.agents.fast_mlp import FastMlp
from gaelp.agents.networks import NetworkSpec, mlp
from gaelp.errors import BadInput


def network(activation, hidden, *, double=False):
    made = mlp(5, 3, NetworkSpec(hidden=hidden, activation=activation), generator=torch.Generator().manual_seed(0))
    return made.double() if double else made


def gradients(run, parameters, inputs):
    weights = torch.linspace(-1, 1, 3 * len(inputs)).reshape(-1, 3)
    return torch.autograd.grad((run(inputs) * weights).sum(), [inputs, *parameters])


@pytest.mark.parametrize("activation", ["relu", "silu", "tanh"])
@pytest.mark.parametrize("hidden", [(), (7,), (64, 64), (9, 8, 7)])
def test_outputs_and_gradients_are_those_of_autograd(activation, hidden):
    net = network(activation, hidden)
    inputs = torch.randn(200, 5, generator=torch.Generator().manual_seed(1), requires_grad=True)
    torch.testing.assert_close(FastMlp(net)(inputs), net(inputs), rtol=1e-6, atol=1e-6)
    actual = gradients(FastMlp(net), net.parameters(), inputs)
    expected = gradients(net, net.parameters(), inputs)
    for ours, theirs in zip(actual, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("activation", ["relu", "silu", "tanh"])
def test_gradients_are_those_of_finite_differences(activation):
    net = network(activation, (6, 4), double=True)
    inputs = torch.randn(8, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1), requires_grad=True)
    run = FastMlp(net)
    assert torch.autograd.gradcheck(lambda given, *_: run(given), (inputs, *net.parameters()))


@pytest.mark.parametrize("activation", ["relu", "silu", "tanh"])
@pytest.mark.parametrize("hidden", [(), (9, 8)])
def test_gradients_without_autograd_are_added_to_those_there_are(activation, hidden):
    net, inputs = network(activation, hidden), torch.randn(20, 5, generator=torch.Generator().manual_seed(1))
    weights = torch.linspace(-1, 1, 60).reshape(-1, 3)
    run = FastMlp(net)
    for times in (1, 2):
        trace = run.trace(inputs)
        torch.testing.assert_close(trace.outputs, net(inputs))
        run.add_gradient(trace, weights.clone())
        expected = torch.autograd.grad((net(inputs) * weights).sum(), list(net.parameters()))
        for parameter, once in zip(net.parameters(), expected, strict=True):
            torch.testing.assert_close(parameter.grad, once * times, rtol=1e-5, atol=1e-5)


def test_inputs_that_need_no_gradient_are_left_as_they_are():
    net = network("relu", (7,))
    inputs = torch.randn(4, 5)
    before = inputs.clone()
    FastMlp(net)(inputs).sum().backward()
    assert torch.equal(inputs, before)
    assert inputs.grad is None


def test_it_follows_what_the_network_learns():
    net = network("relu", (7,))
    run, inputs = FastMlp(net), torch.ones(1, 5)
    with torch.no_grad():
        net[0].weight.mul_(2)
        assert torch.equal(run(inputs), net(inputs))


@pytest.mark.parametrize(
    "other",
    [
        nn.Sequential(nn.Linear(2, 2), nn.GELU(), nn.Linear(2, 2)),
        nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2)),
        nn.Sequential(nn.ReLU(), nn.Linear(2, 2)),
        nn.Sequential(nn.Linear(2, 2), nn.ReLU()),
        nn.Sequential(nn.Linear(2, 2, bias=False)),
    ],
)
def test_a_network_of_another_make_is_refused(other):
    with pytest.raises(BadInput, match="use the network itself"):
        FastMlp(other)
