"""Distributions of actions: a diagonal Gaussian for continuous ones, a categorical for discrete ones.

Both hold one distribution per row. Draws come from a given generator; probabilities carry gradients to the network.
"""

import math
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

__all__ = ["ActionDistribution", "Categorical", "DiagonalGaussian"]

_LOG_SQRT_TAU = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True, slots=True, eq=False)
class DiagonalGaussian:
    """Independent normal numbers: `mean` (rows, size); `log_std` (size,) is the same in every state."""

    mean: Tensor
    log_std: Tensor

    def sample(self, generator: torch.Generator) -> Tensor:
        """Actions (rows, size), not limited to any range."""
        noise = torch.randn(self.mean.shape, generator=generator, dtype=self.mean.dtype)
        return torch.addcmul(self.mean, noise, self.log_std.exp())

    def mode(self) -> Tensor:
        """The likeliest actions (rows, size)."""
        return self.mean

    def log_prob(self, actions: Tensor) -> Tensor:
        """Log densities (rows,) of actions (rows, size)."""
        return self.log_prob_at(self.distance(actions))

    def distance(self, actions: Tensor) -> Tensor:
        """How many standard deviations actions (rows, size) lie from the mean."""
        return (actions - self.mean) * torch.exp(-self.log_std)

    def log_prob_at(self, distance: Tensor) -> Tensor:
        """Log densities (rows,) of actions at that distance."""
        return distance.square().sum(-1) * -0.5 - (self.log_std.sum() + self.log_std.numel() * _LOG_SQRT_TAU)

    def entropy(self) -> Tensor:
        """In nats, (rows,): the same number for every row, as the spread does not depend on the state."""
        entropy = self.log_std.sum() + self.log_std.numel() * (0.5 + _LOG_SQRT_TAU)
        return entropy.expand(self.mean.shape[:-1])


@dataclass(frozen=True, slots=True, eq=False)
class Categorical:
    """One of several choices: `log_probs` (rows, choices), the logarithms of probabilities that add up to one."""

    log_probs: Tensor

    @classmethod
    def from_logits(cls, logits: Tensor) -> Self:
        """Choices whose probabilities are in proportion to exp(logits), (rows, choices)."""
        return cls(logits.log_softmax(-1))

    def sample(self, generator: torch.Generator) -> Tensor:
        """Choices (rows,)."""
        return torch.multinomial(self.log_probs.exp(), 1, generator=generator).squeeze(-1)

    def mode(self) -> Tensor:
        """The likeliest choices (rows,)."""
        return self.log_probs.argmax(-1)

    def log_prob(self, actions: Tensor) -> Tensor:
        """Log probabilities (rows,) of choices (rows,)."""
        return self.log_probs.gather(-1, actions.unsqueeze(-1)).squeeze(-1)

    def entropy(self) -> Tensor:
        """In nats, (rows,)."""
        return -(self.log_probs.exp() * self.log_probs).sum(-1)


ActionDistribution = DiagonalGaussian | Categorical
