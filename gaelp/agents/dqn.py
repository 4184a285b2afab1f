"""DQN (Mnih et al. 2015): learn what each action returns, by Huber loss; double and dueling by configuration."""

from functools import partial

from torch import Tensor
from torch.nn.functional import huber_loss

from gaelp.agents.learner import Spaces
from gaelp.agents.replay_config import ValueBasedConfig
from gaelp.agents.value_based import RowLosses, ValueLearner, ValueLoss

__all__ = ["DqnConfig", "build_dqn", "td_losses"]


class DqnConfig(ValueBasedConfig):
    """DQN has no setting of its own beside those that all value-based algorithms share."""


def build_dqn(spaces: Spaces, config: DqnConfig, *, seed: int) -> ValueLearner:
    """A learner with one number per action: its expected return."""
    losses = partial(td_losses, threshold=config.huber_threshold)
    return ValueLearner(spaces, config, ValueLoss(name="dqn", numbers=1, losses=losses), seed=seed)


def td_losses(predicted: Tensor, target: Tensor, *, threshold: float) -> RowLosses:
    """The Huber loss of (B, 1) predictions and targets: squared below `threshold`, linear above.

    The priority is the absolute error, as in Schaul et al. 2016.
    """
    losses = huber_loss(predicted, target, reduction="none", delta=threshold).squeeze(1)
    return RowLosses(losses, (target - predicted.detach()).abs().squeeze(1))
