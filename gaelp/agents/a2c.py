"""A2C, advantage actor-critic (Mnih et al. 2016, synchronous): one gradient step per collection."""

from typing import ClassVar, NamedTuple

from pydantic import Field, PositiveInt
from torch import Tensor
from torch.nn.functional import mse_loss

from gaelp.agents.actor_critic import Predicted
from gaelp.agents.collection import Collected
from gaelp.agents.gradient_step import CHUNK_ROWS, OptimizerSpec
from gaelp.agents.learner import Spaces, Update
from gaelp.agents.on_policy import (
    OnPolicyConfig,
    OnPolicyLearner,
    Tally,
    with_normalised_advantages,
)
from gaelp.agents.schedules import ConstantSchedule, Schedule
from gaelp.agents.value_figures import explained_variance
from gaelp.errors import BadInput
from gaelp.experience.returns import Credit, Steps, gae, n_step_returns
from gaelp.experience.transitions import Batch

__all__ = ["A2c", "A2cConfig", "A2cLoss", "a2c_loss", "build_a2c"]


class A2cConfig(OnPolicyConfig):
    """Settings of A2C."""

    steps_per_update: PositiveInt = Field(default=5, description="as in the paper")
    n_step: PositiveInt | None = Field(
        default=None, description="rewards summed before a target bootstraps; none: GAE with gae_lambda"
    )
    gae_lambda: float = Field(default=1.0, ge=0, le=1, description="1 sums all rewards of the collection, as the paper")
    learning_rate: Schedule = ConstantSchedule(start=7e-4)
    optimizer: OptimizerSpec = Field(default=OptimizerSpec(kind="rmsprop"), description="as in the paper")
    normalise_advantages: bool = Field(
        default=False, description="off: a collection is too small to estimate their scale"
    )
    pieces: PositiveInt = Field(
        default=1, description="parts in which rows are processed: the same step, in less memory"
    )


class A2cLoss(NamedTuple):
    """Means over rows: the loss and its parts."""

    loss: Tensor
    policy_loss: Tensor
    value_loss: Tensor
    entropy: Tensor


def a2c_loss(predicted: Predicted, rows: Batch, *, value_weight: float, entropy_weight: float) -> A2cLoss:
    """The policy gradient's surrogate, the critic's squared error and the entropy bonus.

    `rows` holds advantages and targets.
    """
    policy_loss = -(rows["advantages"] * predicted.log_probs).mean()
    value_loss = mse_loss(predicted.values, rows["targets"])
    entropy = predicted.entropies.mean()
    loss = policy_loss + value_weight * value_loss
    if entropy_weight:
        loss = loss - entropy_weight * entropy
    return A2cLoss(loss, policy_loss, value_loss, entropy)


class A2c(OnPolicyLearner):
    """Learns by one gradient step from all rows of each collection."""

    name: ClassVar[str] = "a2c"

    def __init__(self, spaces: Spaces, config: A2cConfig, *, seed: int) -> None:
        if config.pieces > (rows := min(CHUNK_ROWS, spaces.rows * config.steps_per_update)):
            raise BadInput(
                f"pieces={config.pieces} cannot share the {rows} rows that are processed at once: lower it, or free"
                " memory elsewhere, such as in the network or the number of rows"
            )
        super().__init__(spaces, config, seed=seed)
        self.config = config

    def _learn(self, collected: Collected, progress: float) -> Update:
        config, tally = self.config, Tally(A2cLoss._fields)
        rate, entropy_weight = config.learning_rate.value(progress), config.entropy_weight.value(progress)
        steps = collected.valued(self.networks)
        credit = self._credit(steps)
        rows = collected.rows(steps, credit)
        ready = with_normalised_advantages(rows) if config.normalise_advantages else rows
        figures = self._stepper.differentiate(
            ready, lambda part: self._loss(part, entropy_weight), pieces=config.pieces
        )
        tally.add(figures, self._stepper.step(figures[0], rate))
        return tally.update(
            explained_variance=explained_variance(steps.values, credit.targets),
            learning_rate=rate,
            entropy_weight=entropy_weight,
            value_abs_mean=steps.values.abs().mean().item(),
            **self._action_spread(),
        )

    def _credit(self, steps: Steps) -> Credit:
        if self.config.n_step is None:
            return gae(steps, gamma=self.config.gamma, gae_lambda=self.config.gae_lambda)
        targets = n_step_returns(steps, gamma=self.config.gamma, n_step=self.config.n_step)
        return Credit(targets - steps.values, targets)

    def _loss(self, rows: Batch, entropy_weight: float) -> A2cLoss:
        predicted = self.networks.predict(rows["obs"], rows["actions"])
        return a2c_loss(predicted, rows, value_weight=self.config.value_weight, entropy_weight=entropy_weight)


def build_a2c(spaces: Spaces, config: A2cConfig, *, seed: int) -> A2c:
    """An A2C learner for continuous or discrete actions."""
    return A2c(spaces, config, seed=seed)
