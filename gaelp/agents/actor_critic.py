"""A policy and a critic: two separate networks, and a spread of actions that does not depend on the state."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from gaelp.agents.distributions import ActionDistribution, Categorical, DiagonalGaussian
from gaelp.agents.fast_mlp import FastMlp
from gaelp.agents.gradient_step import CHUNK_ROWS
from gaelp.agents.learner import BoxActions, Spaces
from gaelp.agents.networks import NetworkSpec, mlp

__all__ = ["ActorCritic", "FastPair", "Predicted"]

Forward = Callable[[Tensor], Tensor]

# A policy that starts near its centre explores evenly in all directions (Andrychowicz et al. 2021).
_POLICY_GAIN = 0.01


class Predicted(NamedTuple):
    """The networks' present outputs: log probabilities of the actions taken, values and entropies, all (rows,)."""

    log_probs: Tensor
    values: Tensor
    entropies: Tensor


class FastPair(NamedTuple):
    """Runs both networks, with gradients derived by hand."""

    actor: FastMlp
    critic: FastMlp


class ActorCritic(nn.Module):
    """Gives the distribution of actions and the value of observations (rows, size).

    With `fast` the gradients are derived by hand; without it autograd computes them, as a reference.
    """

    def __init__(
        self, spaces: Spaces, spec: NetworkSpec, *, log_std_start: float, fast: bool, generator: torch.Generator
    ) -> None:
        super().__init__()
        box = isinstance(spaces.actions, BoxActions)
        outputs = spaces.actions.size if isinstance(spaces.actions, BoxActions) else spaces.actions.count
        size = spaces.observation_size
        self.actor = mlp(size, outputs, spec, generator=generator, output_gain=_POLICY_GAIN)
        self.critic = mlp(size, 1, spec, generator=generator)
        self.log_std = nn.Parameter(torch.full((outputs,), log_std_start)) if box else None
        # In a tuple, so that the module does not register its parts twice.
        self.fast = FastPair(FastMlp(self.actor), FastMlp(self.critic)) if fast else None
        self._run: tuple[Forward, Forward] = self.fast or (self.actor, self.critic)

    def policy(self, obs: Tensor) -> ActionDistribution:
        """The distribution that actions are drawn from."""
        outputs = self._run[0](obs)
        return Categorical.from_logits(outputs) if self.log_std is None else DiagonalGaussian(outputs, self.log_std)

    def values(self, obs: Tensor) -> Tensor:
        """The critic's values, (rows,)."""
        return self._run[1](obs).squeeze(-1)

    def predict(self, obs: Tensor, actions: Tensor) -> Predicted:
        """Everything a loss is computed from, with gradients."""
        policy = self.policy(obs)
        return Predicted(policy.log_prob(actions), self.values(obs), policy.entropy())

    @torch.no_grad()
    def all_values(self, obs: Tensor) -> Tensor:
        """Values of observations (..., size), any number of them, without gradient."""
        rows = obs.reshape(-1, obs.shape[-1])
        return torch.cat([self.values(chunk) for chunk in torch.split(rows, CHUNK_ROWS)]).reshape(obs.shape[:-1])

    @torch.no_grad()
    def all_log_probs(self, obs: Tensor, actions: Tensor) -> Tensor:
        """Log probabilities of actions (T, N, ...) at observations (T, N, size), without gradient."""
        chunks = zip(*(torch.split(part.flatten(0, 1), CHUNK_ROWS) for part in (obs, actions)), strict=True)
        return torch.cat([self.policy(some).log_prob(taken) for some, taken in chunks]).reshape(obs.shape[:2])
