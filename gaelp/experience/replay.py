"""Uniform replay of n-step transitions: a preallocated ring that N environments fill and a learner samples."""

from collections.abc import Mapping
from typing import Protocol

import torch
from torch import Tensor

from gaelp.errors import BadInput
from gaelp.experience.n_step import NStepWindow
from gaelp.experience.saved import SavedState, below, expect_same, integer_of, prefixed, tensor_of
from gaelp.experience.transitions import Batch
from gaelp.experience.value_guard import FieldSpec, OnRefused, ValueGuard

__all__ = ["ReplayBuffer", "ReplaySource"]

_FLAG = FieldSpec(dtype=torch.bool)


class ReplaySource(Protocol):
    """What a learner needs of a replay buffer, uniform or prioritized."""

    @property
    def size(self) -> int:
        """Transitions that can be sampled."""

    def add(self, step: Mapping[str, Tensor]) -> Tensor:
        """Take one step of all environments; returns the places of the transitions it completed."""

    def cut(self) -> Tensor:
        """Complete what waits for more steps: environments are about to be reset from outside."""

    def sample(self, rows: int, generator: torch.Generator, progress: float) -> Batch:
        """Transitions with their `indices` and importance `weights`; `progress` is the share of training done."""

    def update_priorities(self, indices: Tensor, errors: Tensor) -> None:
        """Set the priorities of sampled transitions from the learner's errors."""

    def state(self) -> SavedState:
        """Everything needed to continue bit for bit."""

    def load_state(self, state: SavedState) -> None:
        """Continue from `state`."""


class ReplayBuffer:
    """The last `capacity` transitions, the oldest overwritten first.

    `fields` declares what a step holds beside its flags: at least `obs`, `actions` and `rewards`; further fields are
    stored with them, as they were at the first of the n steps. `next_obs` has the spec of `obs`. A step with a
    value outside its declared range is refused or left out, by `on_refused`.
    """

    def __init__(
        self,
        fields: Mapping[str, FieldSpec],
        *,
        capacity: int,
        envs: int,
        gamma: float,
        n_step: int = 1,
        on_refused: OnRefused = "raise",
    ) -> None:
        _refuse_bad_fields(fields)
        if capacity < envs * n_step:
            raise BadInput(
                f"capacity={capacity} is less than one step can complete, envs * n_step = {envs * n_step}: raise it"
            )
        self.capacity = capacity
        self.size = 0
        self._envs = envs
        self._position = 0
        self._window = NStepWindow(fields, envs=envs, n_step=n_step, gamma=gamma)
        self._given = {**fields, "next_obs": fields["obs"], "ended": _FLAG, "terminated": _FLAG}
        self._guard = ValueGuard(self._given, on_refused)
        stored = {**fields, "next_obs": fields["obs"], "discounts": FieldSpec()}
        self._stored = {name: torch.zeros(capacity, *spec.shape, dtype=spec.dtype) for name, spec in stored.items()}

    @property
    def refused_steps(self) -> int:
        """Steps that were left out because of their values."""
        return self._guard.refused_rows

    @property
    def last_refusal(self) -> str:
        """Place and value of the last refused step, empty if there was none."""
        return self._guard.last_refusal

    @torch.no_grad()
    def add(self, step: Mapping[str, Tensor]) -> Tensor:
        """Take one step of all N environments, each tensor (N, ...); returns the places written, in order.

        Where an episode ended, `next_obs` is its last observation. `ended` is terminated or truncated.
        """
        self._refuse_misfit(step)
        rows = self._window.push(step, self._guard.check(step))
        return self._write(rows)

    def cut(self) -> Tensor:
        """Complete what waits for more steps, before environments are reset from outside; returns the places written.

        The last step of each environment then counts as truncated.
        """
        return self._write(self._window.cut(torch.ones(self._envs, dtype=torch.bool)))

    def sample(self, rows: int, generator: torch.Generator, progress: float = 0.0) -> Batch:  # noqa: ARG002 - see Replay
        """Draw uniformly with replacement; every weight is one."""
        if not self.size:
            raise BadInput("the replay buffer is empty: add steps before sampling")
        indices = torch.randint(self.size, (rows,), generator=generator)
        return self.gather(indices, torch.ones(rows))

    def gather(self, indices: Tensor, weights: Tensor) -> Batch:
        """Copies of the transitions at `indices`: their fields, `next_obs`, `discounts`, `indices` and `weights`."""
        rows = {name: tensor.index_select(0, indices) for name, tensor in self._stored.items()}
        return Batch(rows | {"indices": indices, "weights": weights})

    def update_priorities(self, indices: Tensor, errors: Tensor) -> None:
        """Every transition stays equally likely."""

    def state(self) -> SavedState:
        """Contents, position, counts and what waits for more steps, as copies."""
        own: SavedState = {"capacity": self.capacity, "size": self.size, "position": self._position}
        stored = {name: tensor[: self.size].clone() for name, tensor in self._stored.items()}
        parts = prefixed("window", self._window.state()) | prefixed("guard", self._guard.state())
        return own | prefixed("stored", stored) | parts

    def load_state(self, state: SavedState) -> None:
        """Continue from `state`, which must come from a buffer with the same settings."""
        expect_same(state, capacity=self.capacity)
        size = integer_of(state, "size", at_most=self.capacity)
        position = integer_of(state, "position", at_most=self.capacity - 1)
        saved = below("stored", state)
        loaded = {name: tensor_of(saved, name, tensor[:size]) for name, tensor in self._stored.items()}
        self._window.load_state(below("window", state))
        self._guard.load_state(below("guard", state))
        self.size, self._position = size, position
        for name, tensor in self._stored.items():
            tensor[:size] = loaded[name]

    def _refuse_misfit(self, step: Mapping[str, Tensor]) -> None:
        if step.keys() != self._given.keys():
            raise BadInput(f"a step has {sorted(step)}, wanted is {sorted(self._given)}: give these and no others")
        if wrong := {name: tuple(t.shape) for name, t in step.items() if t.shape[:1] != (self._envs,)}:
            raise BadInput(f"shapes {wrong} do not begin with envs={self._envs}: give one row an environment")
        if bool((step["terminated"] & ~step["ended"]).any()):
            raise BadInput("a row is terminated but not ended: ended must be terminated | truncated")

    def _write(self, rows: Mapping[str, Tensor]) -> Tensor:
        """Write at the position, wrapping around the end of the ring."""
        count = len(rows["discounts"])
        places = torch.arange(self._position, self._position + count) % self.capacity
        for name, tensor in self._stored.items():
            tensor.index_copy_(0, places, rows[name])
        self._position = (self._position + count) % self.capacity
        self.size = min(self.size + count, self.capacity)
        return places


def _refuse_bad_fields(fields: Mapping[str, FieldSpec]) -> None:
    if missing := {"obs", "actions", "rewards"} - fields.keys():
        raise BadInput(f"fields lacks {sorted(missing)}: declare them")
    if taken := {"next_obs", "discounts", "ended", "terminated", "indices", "weights"} & fields.keys():
        raise BadInput(f"fields names {sorted(taken)}, which the buffer adds itself: remove them or choose other names")
    if not fields["rewards"].dtype.is_floating_point:
        raise BadInput(f"rewards is declared as {fields['rewards'].dtype}: declare a floating point type")
