"""The gradient of a perceptron derived by hand: what autograd computes, with fewer passes over memory.

Autograd fills the output with the bias before each product and keeps a layer before and after its activation. Here both
happen in place, and on the way back each gradient overwrites the one before. `NetworkSpec` names the activations.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from gaelp.errors import BadInput

__all__ = ["FastMlp"]

_ops = torch.ops.aten


class _Activation:
    """An activation in place, and the gradient through it in place."""

    def __init__(self, apply: Callable[[Tensor], Tensor], back: Callable[[Tensor, Tensor], object]) -> None:
        self.apply, self.back = apply, back


# SiLU's gradient needs what stood before it, so that one is kept and only the result is new.
_ACTIVATIONS: dict[type[nn.Module], _Activation] = {
    nn.ReLU: _Activation(
        torch.relu_, lambda grad, out: _ops.threshold_backward.grad_input(grad, out, 0, grad_input=grad)
    ),
    nn.Tanh: _Activation(torch.tanh_, lambda grad, out: _ops.tanh_backward.grad_input(grad, out, grad_input=grad)),
    nn.SiLU: _Activation(
        torch.nn.functional.silu, lambda grad, into: _ops.silu_backward.grad_input(grad, into, grad_input=grad)
    ),
}


class FastMlp:
    """Runs a network made by `mlp`; results and gradients are those of the network itself, up to rounding.

    The parameters stay the network's own: what is learnt through one is seen by the other.
    """

    def __init__(self, network: nn.Sequential) -> None:
        linear, between = list(network)[::2], list(network)[1::2]
        kinds = {type(layer) for layer in between} or {nn.ReLU}
        whole = len(linear) > len(between) and all(type(layer) is nn.Linear for layer in linear)
        if not whole or len(kinds) > 1 or kinds - _ACTIVATIONS.keys() or any(layer.bias is None for layer in linear):
            raise BadInput(
                f"cannot run {network}: wanted are linear layers with bias and one kind of activation between them,"
                f" of {', '.join(kind.__name__ for kind in _ACTIVATIONS)}; use the network itself"
            )
        self._activation = _ACTIVATIONS[kinds.pop()]
        self._parameters = [tensor for layer in linear for tensor in (layer.weight, layer.bias)]

    def __call__(self, inputs: Tensor) -> Tensor:
        """Outputs (rows, outputs) for inputs (rows, inputs)."""
        run: Callable[..., Tensor] = _Perceptron.apply  # which torch leaves untyped
        return run(inputs, self._activation, *self._parameters)


class _Perceptron(torch.autograd.Function):
    """Weights and biases alternate in `parameters`."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, activation: _Activation, *parameters: Tensor) -> Tensor:
        fed, before, weights = [inputs], [], parameters[::2]
        for weight, bias in zip(weights, parameters[1::2], strict=True):
            before.append(torch.mm(fed[-1], weight.t()).add_(bias))
            if len(before) < len(weights):
                fed.append(activation.apply(before[-1]))
        ctx.activation, ctx.layers = activation, len(weights)
        ctx.save_for_backward(*fed, *before[:-1], *weights)
        return before[-1]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        fed, before, weights = _cut(ctx.saved_tensors, (ctx.layers, ctx.layers - 1, ctx.layers))
        found: list[Tensor | None] = []
        for layer in reversed(range(ctx.layers)):
            found += [gradient.sum(0), torch.mm(gradient.t(), fed[layer])]
            if layer:
                gradient = torch.mm(gradient, weights[layer])
                ctx.activation.back(gradient, before[layer - 1])
        to_inputs = torch.mm(gradient, weights[0]) if ctx.needs_input_grad[0] else None
        return to_inputs, None, *reversed(found)


def _cut(tensors: Sequence[Tensor], sizes: tuple[int, ...]) -> list[Sequence[Tensor]]:
    starts = [sum(sizes[:place]) for place in range(len(sizes))]
    return [tensors[start : start + size] for start, size in zip(starts, sizes, strict=True)]
