"""Turn steps of N environments into n-step transitions that do not cross the end of an episode."""

from collections.abc import Mapping

import torch
from torch import Tensor

from gaelp.errors import BadInput
from gaelp.experience.saved import SavedState, below, expect_same, integer_of, prefixed, tensor_of
from gaelp.experience.value_guard import FieldSpec

__all__ = ["NStepWindow"]


class NStepWindow:
    """Holds the transitions that still wait for rewards, at most n - 1 an environment.

    A transition is complete after n steps, or with the last step of its episode: the target of a learner is
    `rewards + discounts * value(next_obs)`. `discounts` is gamma to the number of steps summed, zero where the episode
    terminated; a truncated episode keeps it and so is bootstrapped from its last observation.
    """

    def __init__(self, fields: Mapping[str, FieldSpec], *, envs: int, n_step: int, gamma: float) -> None:
        if envs < 1 or n_step < 1 or not 0 <= gamma <= 1:
            raise BadInput(
                f"envs={envs}, n_step={n_step}, gamma={gamma}: allowed are envs >= 1, n_step >= 1, gamma in 0..1"
            )
        self.n_step = n_step
        self._envs = envs
        self._gamma = gamma
        slots = torch.arange(n_step)
        ages = (slots.unsqueeze(1) - slots) % n_step
        # By the current slot: gamma to the age of each slot, and the slots from the oldest to the current one.
        self._gammas = torch.tensor(gamma, dtype=torch.float64).pow(ages)
        self._orders = (slots.unsqueeze(1) + 1 + slots) % n_step
        # Row `slot` of the tensors below holds steps begun `age` pushes ago; each push opens the next row, around n.
        self._slot = 0
        self._alive = torch.zeros(n_step, envs, dtype=torch.bool)
        self._first = {
            name: torch.zeros(n_step, envs, *spec.shape, dtype=spec.dtype)
            for name, spec in fields.items()
            if name != "rewards"
        }
        self._returns = torch.zeros(n_step, envs, *fields["rewards"].shape, dtype=torch.float64)
        self._return_dtype = fields["rewards"].dtype
        self._next_obs = torch.zeros(envs, *fields["obs"].shape, dtype=fields["obs"].dtype)

    def push(self, step: Mapping[str, Tensor], refused: Tensor | None = None) -> dict[str, Tensor]:
        """Take one step of all environments; returns the transitions it completes, oldest first.

        A refused step is left out: transitions that wait in its environment are cut before it and bootstrapped there.
        """
        if self.n_step == 1:
            return self._single(step, refused)
        cut = {} if refused is None else self.cut(refused)
        self._begin(step, refused)
        done = self._alive & step["ended"]
        oldest = (self._slot + 1) % self.n_step
        done[oldest] |= self._alive[oldest]
        after = self._gamma * self._gammas[self._slot].unsqueeze(1) * ~step["terminated"]
        completed = self._emit(done, step["next_obs"], after)
        self._next_obs.copy_(step["next_obs"])
        self._slot = oldest
        return {name: torch.cat([cut[name], rows]) for name, rows in completed.items()} if cut else completed

    def cut(self, envs: Tensor) -> dict[str, Tensor]:
        """Complete what waits in the environments marked in `envs` (N,), as if truncated at their last step."""
        summed = self._gammas[self._slot].unsqueeze(1).expand(-1, self._envs)
        return self._emit(self._alive & envs, self._next_obs, summed)

    def _single(self, step: Mapping[str, Tensor], refused: Tensor | None) -> dict[str, Tensor]:
        """With n = 1 nothing waits."""
        rows = {name: step[name] for name in (*self._first, "rewards", "next_obs")}
        rows["discounts"] = (~step["terminated"]).float().mul_(self._gamma)
        return rows if refused is None else {name: tensor[~refused] for name, tensor in rows.items()}

    def _begin(self, step: Mapping[str, Tensor], refused: Tensor | None) -> None:
        """Open the current slot and add the new rewards to every slot that waits."""
        for name, tensor in self._first.items():
            tensor[self._slot] = step[name]
        self._returns[self._slot] = 0
        self._alive[self._slot] = True if refused is None else ~refused
        rewards = step["rewards"].double()
        if refused is not None:
            rewards = rewards.masked_fill(refused.reshape(-1, *[1] * (rewards.ndim - 1)), 0.0)
        self._returns.addcmul_(self._gammas[self._slot].reshape(-1, *[1] * rewards.ndim), rewards)

    def _emit(self, done: Tensor, next_obs: Tensor, discounts: Tensor) -> dict[str, Tensor]:
        """Take out the waiting transitions marked in `done` (n, N)."""
        order = self._orders[self._slot]
        rank, env = done[order].nonzero(as_tuple=True)
        slot = order[rank]
        self._alive[slot, env] = False
        rows = {name: tensor[slot, env] for name, tensor in self._first.items()}
        rows["rewards"] = self._returns[slot, env].to(self._return_dtype)
        rows["next_obs"] = next_obs[env]
        rows["discounts"] = discounts[slot, env].float()
        return rows

    def state(self) -> SavedState:
        """Everything that waits, as copies."""
        settings: SavedState = {"envs": self._envs, "n_step": self.n_step, "gamma": self._gamma, "slot": self._slot}
        return settings | prefixed("waiting", {name: tensor.clone() for name, tensor in self._waiting().items()})

    def load_state(self, state: SavedState) -> None:
        """Continue from `state`, which must come from a window with the same settings."""
        expect_same(state, envs=self._envs, n_step=self.n_step, gamma=self._gamma)
        saved = below("waiting", state)
        loaded = {name: tensor_of(saved, name, tensor) for name, tensor in self._waiting().items()}
        self._slot = integer_of(state, "slot", at_most=self.n_step - 1)
        for name, tensor in self._waiting().items():
            tensor.copy_(loaded[name])

    def _waiting(self) -> dict[str, Tensor]:
        own = {"alive": self._alive, "returns": self._returns, "next_obs": self._next_obs}
        return own | {f"first.{name}": tensor for name, tensor in self._first.items()}
