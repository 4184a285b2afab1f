import math

import pytest
import torch
from torch import nn

from gaelp.agents import gradient_step
from gaelp.agents.gradient_step import OptimizerSpec, Stepper
from gaelp.errors import BadInput
from gaelp.experience.transitions import Batch


def module():
    net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.normal_(generator=generator)
    return net


def batch(rows=50):
    generator = torch.Generator().manual_seed(1)
    return Batch({"x": torch.randn(rows, 4, generator=generator), "y": torch.randn(rows, generator=generator)})


def squared_error(net):
    def loss_of(rows):
        error = (net(rows["x"]).squeeze(1) - rows["y"]).square().mean()
        return error, rows["y"].mean()

    return loss_of


def parameters(net):
    return torch.cat([parameter.detach().flatten() for parameter in net.parameters()])


def reference_steps(spec, steps, max_norm):
    net = module()
    make = {"adam": torch.optim.Adam, "rmsprop": torch.optim.RMSprop}[spec.kind]
    optimizer = make(net.parameters(), lr=0.01, eps=spec.epsilon)
    for _ in range(steps):
        optimizer.zero_grad()
        squared_error(net)(batch())[0].backward()
        nn.utils.clip_grad_norm_(net.parameters(), max_norm)
        optimizer.step()
    return parameters(net)


@pytest.mark.parametrize("kind", ["adam", "rmsprop"])
@pytest.mark.parametrize("max_norm", [0.1, 1e6])
def test_steps_are_those_of_torch_with_its_own_clipping(kind, max_norm):
    spec, net = OptimizerSpec(kind=kind), module()
    stepper = Stepper(net, spec, max_gradient_norm=max_norm)
    for _ in range(5):
        loss, _ = stepper.differentiate(batch(), squared_error(net))
        assert stepper.step(loss, 0.01).refused == ""
    torch.testing.assert_close(parameters(net), reference_steps(spec, 5, max_norm), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("part_rows", [1, 7, 25, 50])
def test_the_size_of_the_parts_changes_neither_gradient_nor_figures(monkeypatch, part_rows):
    net = module()
    stepper = Stepper(net, OptimizerSpec(), max_gradient_norm=1.0)
    whole = stepper.differentiate(batch(), squared_error(net))
    gradient = stepper.gradient.clone()
    monkeypatch.setattr(gradient_step, "CHUNK_ROWS", part_rows)
    assert stepper.differentiate(batch(), squared_error(net)) == pytest.approx(whole, rel=1e-5)
    torch.testing.assert_close(stepper.gradient, gradient, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("chunk_rows", "pieces", "most"), [(4096, 1, 50), (4096, 4, 13), (20, 1, 20), (20, 4, 5)])
def test_pieces_cut_what_would_be_taken_at_once_and_change_nothing_else(monkeypatch, chunk_rows, pieces, most):
    monkeypatch.setattr(gradient_step, "CHUNK_ROWS", chunk_rows)
    net, taken = module(), []
    stepper = Stepper(net, OptimizerSpec(), max_gradient_norm=1.0)
    whole = stepper.differentiate(batch(), squared_error(net))
    gradient, loss_of = stepper.gradient.clone(), squared_error(net)
    cut = stepper.differentiate(batch(), lambda part: taken.append(part.rows) or loss_of(part), pieces=pieces)
    assert (max(taken), sum(taken)) == (most, 50)
    assert cut == pytest.approx(whole, rel=1e-5)
    torch.testing.assert_close(stepper.gradient, gradient, rtol=1e-5, atol=1e-6)


def test_the_norm_reported_is_the_one_before_clipping():
    net = module()
    stepper = Stepper(net, OptimizerSpec(), max_gradient_norm=1e-3)
    loss, _ = stepper.differentiate(batch(), squared_error(net))
    norm = stepper.gradient.norm().item()
    assert norm > 1e-2
    assert stepper.step(loss, 0.01).gradient_norm == pytest.approx(norm)
    assert stepper.gradient.norm().item() == pytest.approx(1e-3, rel=1e-2)


@pytest.mark.parametrize(
    ("loss", "gradient", "refused"),
    [
        (math.nan, 0.0, "loss"),
        (math.inf, 0.0, "loss"),
        (1.0, math.nan, "gradient"),
        (1.0, -math.inf, "gradient"),
        (1.0, 1e30, "gradient"),  # finite, but its norm is not
    ],
)
def test_what_is_not_finite_is_never_applied(loss, gradient, refused):
    net = module()
    stepper = Stepper(net, OptimizerSpec(), max_gradient_norm=1.0)
    stepper.differentiate(batch(), squared_error(net))
    stepper.gradient[3] = gradient
    before, state = parameters(net), stepper.state()["moments"]
    assert stepper.step(loss, 0.01).refused == refused
    assert torch.equal(parameters(net), before)
    assert stepper.state()["moments"] == state == {}


@pytest.mark.parametrize("kind", ["adam", "rmsprop"])
@pytest.mark.parametrize("steps_before", [0, 3])
def test_a_restored_stepper_goes_on_bit_for_bit(kind, steps_before):
    net, other = module(), module()
    with torch.no_grad():
        other[0].weight.zero_()
    first, second = (Stepper(each, OptimizerSpec(kind=kind), max_gradient_norm=1.0) for each in (net, other))

    def learn(stepper, net):
        loss, _ = stepper.differentiate(batch(), squared_error(net))
        stepper.step(loss, 0.01)

    for _ in range(steps_before):
        learn(first, net)
    learn(second, other)
    second.load_state(first.state())
    for _ in range(3):
        learn(first, net)
        learn(second, other)
    assert torch.equal(parameters(net), parameters(other))


def test_a_state_of_another_network_is_refused_and_nothing_changes():
    net = module()
    stepper = Stepper(net, OptimizerSpec(), max_gradient_norm=1.0)
    before = parameters(net)
    good = stepper.state()
    extra = {**good, "parameters": {**good["parameters"], "4.weight": torch.zeros(1)}}
    fewer = {**good, "parameters": {"0.weight": good["parameters"]["0.weight"] + 1}}
    other = {**good, "moments": {"step": torch.tensor(1.0), "exp_avg": torch.zeros(3)}}
    for bad in (extra, fewer, other):
        with pytest.raises(BadInput):
            stepper.load_state(bad)
    assert torch.equal(parameters(net), before)


def test_the_rows_at_some_places_count_alone_however_many_parts_they_are_gathered_in(monkeypatch):
    monkeypatch.setattr(gradient_step, "CHUNK_ROWS", 7)  # 20 places: parts of 7, 7 and 6
    places = torch.randperm(50, generator=torch.Generator().manual_seed(2))[:20]
    net = module()
    stepper = Stepper(net, OptimizerSpec(kind="adam"), max_gradient_norm=1e6)
    loss_of = squared_error(net)

    def add_gradient(part, share):
        figures = loss_of(part)
        torch.autograd.backward(figures[0] * share)
        return figures

    figures = stepper.accumulate(batch(), add_gradient, places=places)
    actual = stepper.gradient.clone()
    expected = stepper.differentiate(batch().select(places), loss_of)
    torch.testing.assert_close(actual, stepper.gradient)
    assert figures == pytest.approx(expected)
