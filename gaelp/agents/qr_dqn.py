"""QR-DQN (Dabney et al. 2018): learn quantiles of what each action returns, by quantile Huber loss."""

from functools import partial

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import huber_loss

from gaelp.agents.learner import Spaces
from gaelp.agents.replay_config import ValueBasedConfig
from gaelp.agents.value_based import RowLosses, ValueLearner, ValueLoss

__all__ = ["QrDqnConfig", "build_qr_dqn", "quantile_losses", "quantile_midpoints"]


class QrDqnConfig(ValueBasedConfig):
    """The settings of all value-based algorithms, and the number of quantiles of a return."""

    quantiles: int = Field(default=25, ge=2, le=1000, description="tuned for Acrobot-v1 in rl-zoo; the paper has 200")


def build_qr_dqn(spaces: Spaces, config: QrDqnConfig, *, seed: int) -> ValueLearner:
    """A learner with `quantiles` numbers per action: equally likely values of its return."""
    losses = partial(quantile_losses, midpoints=quantile_midpoints(config.quantiles), threshold=config.huber_threshold)
    return ValueLearner(spaces, config, ValueLoss(name="qr_dqn", numbers=config.quantiles, losses=losses), seed=seed)


def quantile_midpoints(count: int) -> Tensor:
    """The shares (count,) whose quantiles describe a distribution best: the middles of `count` equal parts of 0..1."""
    return (torch.arange(count) + 0.5) / count


def quantile_losses(predicted: Tensor, target: Tensor, *, midpoints: Tensor, threshold: float) -> RowLosses:
    """The quantile Huber loss of predicted (B, K) and target (B, M) quantiles: summed over K, the mean over M.

    A target below the predicted quantile of share p weighs 1 - p, one above it p. The priority is the loss itself, as
    Rainbow (Hessel et al. 2018) does with its own distributional loss.
    """
    errors = target.unsqueeze(1) - predicted.unsqueeze(2)
    weights = (midpoints.unsqueeze(1) - (errors.detach() < 0).to(midpoints.dtype)).abs()
    sizes = huber_loss(errors, torch.zeros_like(errors), reduction="none", delta=threshold)
    losses = (weights * sizes).mean(2).sum(1) / threshold
    return RowLosses(losses, losses.detach())
