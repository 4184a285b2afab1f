"""Action values: networks that return numbers for each action, and the targets they learn from.

An action has K numbers: one, its expected return, or K quantiles of its return; their mean is the action's value.
"""

import torch
from torch import Tensor, nn

from gaelp.agents.networks import NetworkSpec, mlp

__all__ = ["ActionValues", "bellman_targets", "epsilon_greedy", "numbers_of"]


class ActionValues(nn.Module):
    """Observations (B, size) become (B, actions, K).

    A dueling network (Wang et al. 2016) splits before its last hidden layer into a stream for the state's value and one
    for each action's advantage; the mean of the advantages is subtracted, because only their differences matter.
    """

    def __init__(
        self,
        observation_size: int,
        *,
        actions: int,
        numbers: int,
        spec: NetworkSpec,
        dueling: bool,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self._numbers = numbers
        self.dueling = dueling
        self.trunk = nn.Sequential()
        before_split, stream = spec.hidden[:-1] if dueling else (), spec.hidden[-1:] if dueling else spec.hidden
        if before_split:
            hidden = spec.model_copy(update={"hidden": before_split})
            self.trunk = nn.Sequential(*list(mlp(observation_size, 1, hidden, generator=generator))[:-1])
        features = before_split[-1] if before_split else observation_size
        head = spec.model_copy(update={"hidden": stream})
        self.advantage = mlp(features, actions * numbers, head, generator=generator)
        self.value = mlp(features, numbers, head, generator=generator) if dueling else None

    def forward(self, obs: Tensor) -> Tensor:
        """The K numbers of every action, (B, actions, K)."""
        features = self.trunk(obs)
        advantage: Tensor = self.advantage(features).unflatten(1, (-1, self._numbers))
        if self.value is None:
            return advantage
        value: Tensor = self.value(features).unsqueeze(1)
        return value + advantage - advantage.mean(1, keepdim=True)


def numbers_of(actions: Tensor, outputs: Tensor) -> Tensor:
    """The numbers (B, K) of the given actions (B,), out of outputs (B, actions, K)."""
    return outputs[torch.arange(len(actions)), actions]


@torch.no_grad()
def bellman_targets(rewards: Tensor, discounts: Tensor, next_outputs: Tensor, choosing: Tensor) -> Tensor:
    """Targets (B, K) for the numbers of the actions taken: rewards (B,) plus the discounted numbers that follow.

    The best next action is the one with the highest mean in `choosing`, its numbers come from `next_outputs` (both
    (B, actions, K)): the same tensor in plain Q-learning; the online network chooses in double Q-learning (van Hasselt
    et al. 2016). `discounts` (B,) is zero where an episode terminated.
    """
    best = choosing.mean(2).argmax(1)
    return rewards.unsqueeze(1) + discounts.unsqueeze(1) * numbers_of(best, next_outputs)


def epsilon_greedy(best: Tensor, *, actions: int, epsilon: float, generator: torch.Generator) -> Tensor:
    """The best actions (B,), each replaced with probability `epsilon` by one drawn uniformly from all."""
    drawn = torch.randint(actions, best.shape, generator=generator)
    return torch.where(torch.rand(best.shape, generator=generator) < epsilon, drawn, best)
