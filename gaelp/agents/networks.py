"""The networks of all algorithms: multi-layer perceptrons with a named activation and orthogonal weights."""

import math
from itertools import pairwise
from typing import Literal

import torch
from pydantic import Field, PositiveInt
from torch import nn

from gaelp.config.base import Frozen

__all__ = ["Activation", "NetworkSpec", "mlp", "soft_update"]

Activation = Literal["relu", "silu", "tanh"]

# tanh costs twenty times a ReLU on this kind of batch, so it is never the default.
_ACTIVATIONS: dict[Activation, type[nn.Module]] = {"relu": nn.ReLU, "silu": nn.SiLU, "tanh": nn.Tanh}


class NetworkSpec(Frozen):
    """Width and activation of the hidden layers."""

    hidden: tuple[PositiveInt, ...] = Field(default=(64, 64), max_length=8)
    activation: Activation = "relu"


def mlp(
    inputs: int, outputs: int, spec: NetworkSpec, *, generator: torch.Generator, output_gain: float = 1.0
) -> nn.Sequential:
    """A perceptron with orthogonal weights drawn from `generator`; `output_gain` scales the last layer."""
    sizes = (inputs, *spec.hidden, outputs)
    layers: list[nn.Module] = []
    for index, (fan_in, fan_out) in enumerate(pairwise(sizes)):
        last = index == len(sizes) - 2
        layers.append(_linear(fan_in, fan_out, output_gain if last else math.sqrt(2.0), generator))
        if not last:
            layers.append(_ACTIVATIONS[spec.activation]())
    return nn.Sequential(*layers)


def _linear(fan_in: int, fan_out: int, gain: float, generator: torch.Generator) -> nn.Linear:
    layer = nn.Linear(fan_in, fan_out)
    with torch.no_grad():
        nn.init.orthogonal_(layer.weight, gain, generator=generator)
        layer.bias.zero_()
    return layer


@torch.no_grad()
def soft_update(targets: nn.Module, sources: nn.Module, rate: float) -> None:
    """Move every parameter of `targets` by `rate` of the way to its counterpart in `sources`."""
    for target, source in zip(targets.parameters(), sources.parameters(), strict=True):
        target.lerp_(source, rate)
