"""Prioritized replay (Schaul et al. 2016, proportional): transitions with larger errors are drawn more often."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from gaelp.arrays import Ints
from gaelp.errors import BadInput
from gaelp.experience.replay import ReplayBuffer
from gaelp.experience.saved import SavedState, below, expect_same, number_of, prefixed, tensor_of
from gaelp.experience.sum_tree import SumTree
from gaelp.experience.transitions import Batch
from gaelp.experience.value_guard import FieldSpec, OnRefused, ValueGuard

__all__ = ["PrioritizedReplay"]

# Keeps the probability of a transition without error above zero.
_SMALLEST_ERROR = 1e-6


class PrioritizedReplay:
    """A replay buffer drawn from with probability proportional to (|error| + 1e-6) ** alpha.

    New transitions get the largest priority so far, so each is soon drawn once. Importance weights
    (size * probability) ** -beta, divided by the largest of the sample, undo the bias; beta runs from `beta_start` to 1
    with the progress of training.
    """

    def __init__(
        self, buffer: ReplayBuffer, *, alpha: float = 0.6, beta_start: float = 0.4, on_refused: OnRefused = "raise"
    ) -> None:
        if not (0 <= alpha <= 1 and 0 <= beta_start <= 1):
            raise BadInput(f"alpha={alpha} and beta_start={beta_start} must lie in 0..1")
        if buffer.size:
            raise BadInput(f"the buffer holds {buffer.size} transitions without priority: give an empty one")
        self._buffer = buffer
        self._alpha = alpha
        self._beta_start = beta_start
        self._tree = SumTree(buffer.capacity)
        self._largest = 1.0
        self._guard = ValueGuard({"errors": FieldSpec()}, on_refused)

    @property
    def size(self) -> int:
        """Transitions that can be sampled."""
        return self._buffer.size

    @property
    def refused_steps(self) -> int:
        """Steps that were left out because of their values."""
        return self._buffer.refused_steps

    @property
    def refused_errors(self) -> int:
        """Errors that were left out because they were not finite."""
        return self._guard.refused_rows

    def add(self, step: Mapping[str, Tensor]) -> Tensor:
        """Take one step of all environments; returns the places of the transitions it completed."""
        return self._begin(self._buffer.add(step))

    def cut(self) -> Tensor:
        """Complete what waits for more steps, before environments are reset from outside; returns the places."""
        return self._begin(self._buffer.cut())

    def _begin(self, places: Tensor) -> Tensor:
        self._tree.set(places.numpy(), np.full(len(places), self._largest))
        return places

    def sample(self, rows: int, generator: torch.Generator, progress: float) -> Batch:
        """Draw one transition from each of `rows` equal shares of the total priority."""
        if not self.size:
            raise BadInput("the replay buffer is empty: add steps before sampling")
        if not 0 <= progress <= 1:
            raise BadInput(f"progress={progress} must lie in 0..1: give the share of training done")
        shares = (torch.arange(rows) + torch.rand(rows, generator=generator, dtype=torch.float64)) / rows
        indices = self._tree.find(shares.numpy() * self._tree.total)
        return self._buffer.gather(torch.from_numpy(indices), self._weights(indices, progress))

    def _weights(self, indices: Ints, progress: float) -> Tensor:
        beta = self._beta_start + (1 - self._beta_start) * progress
        weights = (self._tree.get(indices) / self._tree.total * self.size) ** -beta
        return torch.from_numpy(weights / weights.max()).float()

    @torch.no_grad()
    def update_priorities(self, indices: Tensor, errors: Tensor) -> None:
        """Set the priorities of sampled transitions from their errors (K,), before more steps are added.

        An error that is not finite is refused, or leaves the old priority in place and is counted.
        """
        if indices.shape != errors.shape or (len(indices) and int(indices.max()) >= self.size):
            raise BadInput(
                f"indices {tuple(indices.shape)} and errors {tuple(errors.shape)} must have one shape,"
                f" and indices lie below {self.size}: give those that were sampled"
            )
        refused = self._guard.check({"errors": errors})
        if refused is not None:
            indices, errors = indices[~refused], errors[~refused]
        priorities = (errors.abs().double() + _SMALLEST_ERROR).pow(self._alpha).numpy()
        self._tree.set(indices.numpy(), priorities)
        self._largest = max(self._largest, float(priorities.max(initial=0.0)))

    def state(self) -> SavedState:
        """The buffer and the priorities, as copies."""
        leaves = torch.from_numpy(self._tree.get(np.arange(self.size)))
        own: SavedState = {
            "alpha": self._alpha,
            "beta_start": self._beta_start,
            "largest": self._largest,
            "leaves": leaves,
        }
        return own | prefixed("buffer", self._buffer.state()) | prefixed("guard", self._guard.state())

    def load_state(self, state: SavedState) -> None:
        """Continue from `state`, which must come from a buffer with the same settings."""
        expect_same(state, alpha=self._alpha, beta_start=self._beta_start)
        largest = number_of(state, "largest")
        self._buffer.load_state(below("buffer", state))
        leaves = tensor_of(state, "leaves", torch.empty(self.size, dtype=torch.float64))
        self._guard.load_state(below("guard", state))
        self._largest = largest
        self._tree = SumTree(self._buffer.capacity)
        self._tree.set(np.arange(self.size), leaves.numpy())
