"""One guarded gradient step on all parameters at once, which share a single vector.

Parameters and gradients are views into two flat vectors: clipping and stepping are single operations, and several
processes can share the gradient in one message. A step that is not finite is never applied.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import torch
from pydantic import Field, PositiveFloat
from torch import Tensor, nn

from gaelp.agents.optimizers import Optimizer, adam_over, rmsprop_over
from gaelp.config.base import Frozen
from gaelp.errors import BadInput
from gaelp.experience.saved import SavedState, copies, tensor_of, tensors_of
from gaelp.experience.transitions import Batch

__all__ = ["CHUNK_ROWS", "AddGradient", "LossOf", "OptimizerSpec", "StepResult", "Stepper"]

LossOf = Callable[[Batch], Sequence[Tensor]]
AddGradient = Callable[[Batch, float], Sequence[Tensor]]

# Activations of so many rows stay in a core's cache: measured 1.1 times faster than 16,384 at once.
CHUNK_ROWS = 4096
_SMALL = 1e-6  # keeps the division finite when the norm is zero, as in torch's own clipping


class OptimizerSpec(Frozen):
    """How a gradient becomes a step; the learning rate is a schedule of the algorithm."""

    kind: Literal["adam", "rmsprop"] = "adam"
    epsilon: PositiveFloat = Field(default=1e-5, description="of PPO's and A2C's first code and stable-baselines3")
    decay: float = Field(default=0.99, ge=0, lt=1, description="of rmsprop's squares; Mnih et al. 2016")


class StepResult(NamedTuple):
    """The result of a step: `refused` is empty, or names what was not finite, `loss` or `gradient`."""

    refused: str
    gradient_norm: float


class Stepper:
    """Owns the parameters of a module in a single vector, their gradients in another, and the optimiser."""

    def __init__(self, module: nn.Module, spec: OptimizerSpec, *, max_gradient_norm: float) -> None:
        self._module = module
        self._max_norm = max_gradient_norm
        self._flat = nn.Parameter(torch.cat([parameter.detach().flatten() for parameter in module.parameters()]))
        self.gradient = torch.zeros_like(self._flat.data)
        self._flat.grad = self.gradient
        place = 0
        for parameter in module.parameters():
            end = place + parameter.numel()
            parameter.data = self._flat.data[place:end].view_as(parameter)
            parameter.grad = self.gradient[place:end].view_as(parameter)
            place = end
        self._optimizer = _optimizer(self._flat, spec)

    def differentiate(self, rows: Batch, loss_of: LossOf, *, pieces: int = 1) -> list[float]:
        """Compute the gradient of the mean loss over all rows; returns the means of what `loss_of` returns.

        `loss_of` takes some of the rows and returns scalars that are means over them, first the loss itself. The rows
        of one call are split into `pieces`: the same gradient up to rounding, in less memory.
        """

        def add_gradient(part: Batch, share: float) -> Sequence[Tensor]:
            figures = loss_of(part)
            torch.autograd.backward(figures[0] * share)
            return figures

        return self.accumulate(rows, add_gradient, pieces=pieces)

    def accumulate(
        self, rows: Batch, add_gradient: AddGradient, *, places: Tensor | None = None, pieces: int = 1
    ) -> list[float]:
        """`differentiate` where `add_gradient` itself adds the gradient of its rows' loss times their share of all.

        Only the rows at `places` count, if given; they are gathered part by part, while in the cache.
        """
        self.gradient.zero_()
        sums: Tensor | None = None
        count = rows.rows if places is None else len(places)
        at_once = math.ceil(min(CHUNK_ROWS, count) / pieces)
        for part in _parts(rows, at_once) if places is None else map(rows.select, torch.split(places, at_once)):
            share = part.rows / count
            figures = add_gradient(part, share)
            means = torch.stack([figure.detach() for figure in figures]) * share
            sums = means if sums is None else sums + means
        return [] if sums is None else sums.tolist()

    def step(self, loss: float, learning_rate: float) -> StepResult:
        """Apply the gradient of `loss`, clipped to the largest norm; if either is not finite, change nothing."""
        norm = torch.linalg.vector_norm(self.gradient).item()
        if not math.isfinite(loss):
            return StepResult("loss", norm)
        if not math.isfinite(norm):
            return StepResult("gradient", norm)
        if norm > self._max_norm:
            self.gradient.mul_(self._max_norm / (norm + _SMALL))
        self._optimizer.step(learning_rate)
        return StepResult("", norm)

    def state(self) -> dict[str, SavedState]:
        """Parameters by name, and the optimiser's moments, which are empty before the first step."""
        moments: SavedState = {name: value.clone() for name, value in self._optimizer.state.get(self._flat, {}).items()}
        return {"parameters": copies(self._module.state_dict()), "moments": moments}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from `state`; all of it is checked before anything is changed."""
        own = self._module.state_dict()
        parameters = tensors_of(state["parameters"], own)
        if unknown := sorted(state["parameters"].keys() - own.keys()):
            raise BadInput(f"the saved state has parameters {unknown} besides: load into a learner built alike")
        saved = state["moments"]
        wanted = {"step": torch.tensor(0.0), **{name: self._flat.data for name in saved if name != "step"}}
        moments = {name: tensor_of(saved, name, like).clone() for name, like in wanted.items()} if saved else {}
        self._module.load_state_dict(parameters)
        self._optimizer.state.clear()
        if moments:
            self._optimizer.state[self._flat] = moments


def _parts(rows: Batch, at_once: int) -> Iterator[Batch]:
    if rows.rows <= at_once:
        yield rows
        return
    for start in range(0, rows.rows, at_once):
        yield Batch({name: tensor[start : start + at_once] for name, tensor in rows.tensors.items()})


def _optimizer(flat: nn.Parameter, spec: OptimizerSpec) -> Optimizer:
    if spec.kind == "rmsprop":
        return rmsprop_over([flat], epsilon=spec.epsilon, decay=spec.decay)
    return adam_over([flat], epsilon=spec.epsilon)
