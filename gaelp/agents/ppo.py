"""PPO, proximal policy optimisation (Schulman et al. 2017): several cautious passes over each collection."""

import math
from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Self

import torch
from pydantic import Field, PositiveFloat, PositiveInt, model_validator
from torch import Tensor
from torch.nn.functional import mse_loss

from gaelp.agents.actor_critic import Predicted
from gaelp.agents.collection import Collected
from gaelp.agents.distributions import DiagonalGaussian
from gaelp.agents.fast_mlp import add_to_gradient
from gaelp.agents.gradient_step import OptimizerSpec
from gaelp.agents.learner import Spaces, Update
from gaelp.agents.on_policy import (
    OnPolicyConfig,
    OnPolicyLearner,
    Tally,
    with_normalised_advantages,
)
from gaelp.agents.schedules import ConstantSchedule, LinearSchedule, Schedule
from gaelp.agents.value_figures import explained_variance
from gaelp.config.base import Frozen
from gaelp.errors import BadInput
from gaelp.experience.returns import Credit, Steps, gae, values_after, vtrace
from gaelp.experience.transitions import Batch

__all__ = [
    "LossGradients",
    "Ppo",
    "PpoConfig",
    "PpoLoss",
    "PpoWeights",
    "VTrace",
    "build_ppo",
    "gaussian_ppo_loss",
    "ppo_loss",
    "vtrace_credit",
]

_KL_SLACK = 1.5  # the divergence of a minibatch may exceed its target by this factor, as in OpenAI's Spinning Up


class PpoLoss(NamedTuple):
    """Means over rows: the loss, its parts, how far the policy has moved, and how often its ratio was clipped."""

    loss: Tensor
    policy_loss: Tensor
    value_loss: Tensor
    entropy: Tensor
    approx_kl: Tensor
    clip_fraction: Tensor


_LOSS, _KL = (PpoLoss._fields.index(name) for name in ("loss", "approx_kl"))


class VTrace(Frozen):
    """Correct targets and advantages for how far the policy has moved, before each pass over the collection."""

    rho_bar: PositiveFloat = Field(default=1.0, description="Espeholt et al. 2018")
    c_bar: PositiveFloat = Field(default=0.95, description="where the policy has not moved it acts as gae_lambda does")

    @model_validator(mode="after")
    def _traces_are_shorter(self) -> Self:
        if self.c_bar > self.rho_bar:
            raise ValueError(f"c_bar={self.c_bar} exceeds rho_bar={self.rho_bar}: lower c_bar")
        return self


class PpoConfig(OnPolicyConfig):
    """Settings of PPO, for many rows at once: few passes over large minibatches, which this code does fastest."""

    steps_per_update: PositiveInt = Field(default=128, description="as in the paper, for Atari")
    learning_rate: Schedule = Field(
        default=LinearSchedule(start=1e-3, end=1e-4),
        description="rl-zoo's for the reference tasks, falling as in the paper",
    )
    optimizer: OptimizerSpec = OptimizerSpec(kind="adam")
    epochs: PositiveInt = Field(default=3, description="the paper's for Atari, and enough on the market")
    minibatches: PositiveInt = Field(default=4, description="in each epoch; the paper's for Atari")
    clip_range: Schedule = Field(
        default=ConstantSchedule(start=0.2), description="of the probability ratio; the paper's best"
    )
    value_clip: PositiveFloat | None = Field(
        default=None, description="how far a value may move in one update; none: it did not help, Andrychowicz 2021"
    )
    normalise_advantages: bool = Field(
        default=True, description="in each minibatch, so that the scale of rewards does not matter"
    )
    target_kl: PositiveFloat | None = Field(
        default=None, description="an update ends once the divergence of a minibatch exceeds 1.5 of it; none: never"
    )
    vtrace: VTrace | None = Field(default=None, description="none: GAE, once a collection")


class PpoWeights(NamedTuple):
    """The weights of the loss at a moment of training."""

    clip_range: float
    entropy_weight: float
    value_weight: float
    value_clip: float | None = None


def ppo_loss(predicted: Predicted, rows: Batch, weights: PpoWeights) -> PpoLoss:
    """The clipped surrogate, the critic's squared error and the entropy bonus.

    `rows` holds advantages, targets, and log_probs and values as they were at collection.
    """
    log_ratio, advantages = predicted.log_probs - rows["log_probs"], rows["advantages"]
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - weights.clip_range, 1 + weights.clip_range)
    policy_loss = -torch.min(ratio * advantages, clipped * advantages).mean()
    values, before = predicted.values, rows["values"]
    if weights.value_clip is not None:
        values = before + (values - before).clamp(-weights.value_clip, weights.value_clip)
    value_loss = mse_loss(values, rows["targets"])
    entropy = predicted.entropies.mean()
    loss = policy_loss + weights.value_weight * value_loss
    if weights.entropy_weight:
        loss = loss - weights.entropy_weight * entropy
    with torch.no_grad():
        approx_kl = (log_ratio.expm1() - log_ratio).mean()  # Schulman's estimate: unbiased and never negative
        clip_fraction = (clipped != ratio).float().mean()
    return PpoLoss(loss, policy_loss, value_loss, entropy, approx_kl, clip_fraction)


class LossGradients(NamedTuple):
    """Gradients of the loss by mean (rows, size) and log_std (size,) of a Gaussian policy and by the values (rows,)."""

    mean: Tensor
    log_std: Tensor
    values: Tensor


@torch.no_grad()
def gaussian_ppo_loss(
    policy: DiagonalGaussian, values: Tensor, rows: Batch, weights: PpoWeights
) -> tuple[PpoLoss, LossGradients]:
    """`ppo_loss` of a Gaussian policy and its gradients derived by hand, both up to rounding; values are not clipped.

    With d = (action - mean) / std, the log probability has the gradients d / std to the mean and d^2 - 1 to log_std.
    The surrogate has the gradient ratio * advantage to the log probability, and none where the clipped one is smaller.
    """
    distance, count = policy.distance(rows["actions"]), rows.rows
    log_ratio = policy.log_prob_at(distance).sub_(rows["log_probs"])
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - weights.clip_range, 1 + weights.clip_range)
    free, bound = ratio * rows["advantages"], clipped * rows["advantages"]
    policy_loss = -torch.min(free, bound).mean()
    error = values - rows["targets"]
    value_loss = error.dot(error) / count
    entropy = policy.entropy()[0]
    loss = policy_loss + weights.value_weight * value_loss - weights.entropy_weight * entropy
    approx_kl = (log_ratio.expm1() - log_ratio).mean()
    clip_fraction = (clipped != ratio).float().mean()

    to_log_prob = free.masked_fill_(free > bound, 0.0).mul_(-1 / count).unsqueeze(1)
    to_log_std = (distance.square() - 1).mul_(to_log_prob).sum(0) - weights.entropy_weight
    to_mean = distance.mul_(torch.exp(-policy.log_std)).mul_(to_log_prob)
    to_values = error.mul_(2 * weights.value_weight / count)
    figures = PpoLoss(loss, policy_loss, value_loss, entropy, approx_kl, clip_fraction)
    return figures, LossGradients(to_mean, to_log_std, to_values)


def vtrace_credit(steps: Steps, log_ratios: Tensor, spec: VTrace, *, gamma: float) -> Credit:
    """V-trace targets, and advantages against them without V-trace's weight: the surrogate's ratio is that weight."""
    targets = vtrace(steps, log_ratios, gamma=gamma, rho_bar=spec.rho_bar, c_bar=spec.c_bar).targets
    after = values_after(targets, steps.next_values[-1], ended=steps.ended, final_values=steps.next_values)
    future = after.masked_fill(steps.terminated, 0.0)
    return Credit(steps.rewards + gamma * future - steps.values, targets)


class Ppo(OnPolicyLearner):
    """Learns by several epochs of minibatches from each collection."""

    name: ClassVar[str] = "ppo"

    def __init__(self, spaces: Spaces, config: PpoConfig, *, seed: int) -> None:
        if config.minibatches > (rows := spaces.rows * config.steps_per_update):
            raise BadInput(
                f"minibatches={config.minibatches} cannot share the {rows} rows of a collection:"
                " lower it, or collect more steps or rows"
            )
        super().__init__(spaces, config, seed=seed)
        self.config = config
        self._kl_limit = _KL_SLACK * config.target_kl if config.target_kl else math.inf

    def _learn(self, collected: Collected, progress: float) -> Update:
        config, tally = self.config, Tally(PpoLoss._fields)
        rate, clip_range = config.learning_rate.value(progress), config.clip_range.value(progress)
        entropy_weight = config.entropy_weight.value(progress)
        weights = PpoWeights(clip_range, entropy_weight, config.value_weight, config.value_clip)
        steps = collected.valued(self.networks)
        credit = gae(steps, gamma=config.gamma, gae_lambda=config.gae_lambda)
        largest_kl, epochs = 0.0, 0
        while epochs < config.epochs and largest_kl <= self._kl_limit:
            epochs += 1
            if config.vtrace:
                credit = self._corrected(collected, config.vtrace)
            largest_kl = max(largest_kl, self._epoch(collected.rows(steps, credit), weights, rate, tally))
        return tally.update(
            approx_kl_max=largest_kl,
            epochs=epochs,
            explained_variance=explained_variance(steps.values, credit.targets),
            learning_rate=rate,
            clip_range=clip_range,
            entropy_weight=entropy_weight,
            value_abs_mean=steps.values.abs().mean().item(),
            **self._action_spread(),
        )

    def _epoch(self, rows: Batch, weights: PpoWeights, rate: float, tally: Tally) -> float:
        """One pass over all rows, which ends early past the limit of the divergence; returns the largest divergence."""
        largest_kl = 0.0
        shares = rows.shares(self.config.minibatches, self._shuffling)
        ready = _normalised_within(rows, shares) if self.config.normalise_advantages else rows
        for places in shares:
            figures = self._stepper.accumulate(
                ready, lambda part, share: self._add_gradient(part, weights, share), places=places
            )
            largest_kl = max(largest_kl, figures[_KL])
            if largest_kl > self._kl_limit:
                break
            tally.add(figures, self._stepper.step(figures[_LOSS], rate))
        return largest_kl

    def _add_gradient(self, rows: Batch, weights: PpoWeights, share: float) -> PpoLoss:
        """Add the gradient of the rows' loss times `share`: by hand where it is derived, else autograd's."""
        fast, log_std = self.networks.fast, self.networks.log_std
        if fast is None or log_std is None or weights.value_clip is not None:
            figures = ppo_loss(self.networks.predict(rows["obs"], rows["actions"]), rows, weights)
            torch.autograd.backward(figures.loss * share)
            return figures
        acted, valued = fast.actor.trace(rows["obs"]), fast.critic.trace(rows["obs"])
        policy, values = DiagonalGaussian(acted.outputs, log_std), valued.outputs.squeeze(-1)
        figures, to = gaussian_ppo_loss(policy, values, rows, weights)
        fast.actor.add_gradient(acted, to.mean * share)
        fast.critic.add_gradient(valued, (to.values * share).unsqueeze(-1))
        add_to_gradient(log_std, to.log_std * share)
        return figures

    def _corrected(self, collected: Collected, spec: VTrace) -> Credit:
        """Targets and advantages for the policy and the critic as they are now."""
        now = self.networks.all_log_probs(collected.obs[:-1], collected.actions)
        return vtrace_credit(collected.valued(self.networks), now - collected.log_probs, spec, gamma=self.config.gamma)


def _normalised_within(rows: Batch, shares: Sequence[Tensor]) -> Batch:
    """The rows with the advantages of each minibatch normalised among themselves."""
    advantages = rows["advantages"].clone()
    for places in shares:
        own = Batch({"advantages": advantages[places]})
        advantages[places] = with_normalised_advantages(own)["advantages"]
    return Batch({**rows.tensors, "advantages": advantages})


def build_ppo(spaces: Spaces, config: PpoConfig, *, seed: int) -> Ppo:
    """A PPO learner for continuous or discrete actions."""
    return Ppo(spaces, config, seed=seed)
