"""Adam and RMSprop, computed by torch's functions without its optimizer classes, bit for bit the same.

The classes import torch's compiler at their first use. Nothing here is compiled, and the import takes four seconds at
the start of every training.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.adam import adam
from torch.optim.rmsprop import rmsprop

__all__ = ["Optimizer", "adam_over", "rmsprop_over"]


class Optimizer:
    """Parameters and the moments of their past gradients, by name; there are no moments before the first step."""

    def __init__(
        self, parameters: Iterable[nn.Parameter], moment_names: tuple[str, ...], update: Callable[..., None]
    ) -> None:
        self.parameters = list(parameters)
        self.state: dict[Tensor, dict[str, Tensor]] = {}
        self._moment_names = moment_names
        self._update = update

    @torch.no_grad()
    def step(self, learning_rate: float) -> None:
        """Make one step against the gradients of all parameters."""
        for parameter in self.parameters:
            if parameter not in self.state:
                moments = {name: torch.zeros_like(parameter) for name in self._moment_names}
                self.state[parameter] = {"step": torch.zeros((), dtype=torch.float32)} | moments
        gradients = [parameter.grad for parameter in self.parameters]
        moment_lists = [self._moments(name) for name in self._moment_names]
        # Lists for what neither uses: Adam's largest squares; the average gradients and the momentum of RMSprop.
        unused: list[list[Tensor]] = [[] for _ in range(3 - len(moment_lists))]
        self._update([*self.parameters], gradients, *moment_lists, *unused, self._moments("step"), lr=learning_rate)

    def _moments(self, name: str) -> list[Tensor]:
        return [self.state[parameter][name] for parameter in self.parameters]


def adam_over(parameters: Iterable[nn.Parameter], *, epsilon: float = 1e-8) -> Optimizer:
    """Adam (Kingma and Ba 2015), fused: one call for all tensors, which takes up to a third less CPU time."""
    fixed: dict[str, Any] = {"beta1": 0.9, "beta2": 0.999, "weight_decay": 0.0, "amsgrad": False, "maximize": False}
    return Optimizer(parameters, ("exp_avg", "exp_avg_sq"), partial(adam, fused=True, eps=epsilon, **fixed))


def rmsprop_over(parameters: Iterable[nn.Parameter], *, epsilon: float, decay: float) -> Optimizer:
    """RMSprop; `decay` is the share of the mean square that a step keeps."""
    fixed: dict[str, Any] = {"weight_decay": 0.0, "momentum": 0.0, "centered": False}
    return Optimizer(parameters, ("square_avg",), partial(rmsprop, foreach=False, eps=epsilon, alpha=decay, **fixed))
