"""Adam that clips the gradient norm and makes no step where the loss or the gradient is not finite."""

import math
from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from gaelp.agents.optimizers import adam_over
from gaelp.experience.saved import SavedState, tensor_of

__all__ = ["GradientStep", "GuardedAdam"]


class GradientStep(NamedTuple):
    """The result of one minibatch; `refused_for` is empty if the step was made, else "loss" or "gradient"."""

    loss: float
    gradient_norm: float  # before clipping
    refused_for: str = ""


class GuardedAdam:
    """Adam over `parameters`; the gradient norm of each step is at most `max_norm`."""

    def __init__(self, parameters: Iterable[nn.Parameter], *, max_norm: float) -> None:
        self._parameters = list(parameters)
        self._max_norm = max_norm
        self._adam = adam_over(self._parameters)

    def step(self, loss: Tensor, learning_rate: float) -> GradientStep:
        """Make one step against the gradient of `loss`, of these parameters only."""
        value = loss.item()
        if not math.isfinite(value):
            return GradientStep(value, math.nan, "loss")
        # Not backward(): it would also compute gradients of the other networks in the loss.
        gradients = torch.autograd.grad(loss, self._parameters)
        total = get_total_norm(gradients)
        norm = total.item()
        if not math.isfinite(norm):
            return GradientStep(value, norm, "gradient")
        for parameter, gradient in zip(self._parameters, gradients, strict=True):
            parameter.grad = gradient
        if norm > self._max_norm:
            clip_grads_with_norm_(self._parameters, self._max_norm, total)
        self._adam.step(learning_rate)
        for parameter in self._parameters:
            parameter.grad = None
        return GradientStep(value, norm)

    def state(self) -> SavedState:
        """The moments of past gradients, as copies; empty before the first step."""
        return {
            f"{index}.{kind}": value.clone()
            for index, parameter in enumerate(self._parameters)
            for kind, value in self._adam.state.get(parameter, {}).items()
        }

    def checked(self, state: SavedState) -> dict[Tensor, dict[str, Tensor]]:
        """The moments in `state`, checked against these parameters and copied; nothing is changed yet."""
        return {
            parameter: {
                kind: tensor_of(state, f"{index}.{kind}", like).clone()
                for kind, like in (("step", torch.tensor(0.0)), ("exp_avg", parameter), ("exp_avg_sq", parameter))
            }
            for index, parameter in enumerate(self._parameters if state else [])
        }

    def load_state(self, state: SavedState) -> None:
        """Continue from `state`, which must come from parameters of the same shapes."""
        moments = self.checked(state)
        self._adam.state.clear()
        self._adam.state.update(moments)
