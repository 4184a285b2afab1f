"""SAC (Haarnoja et al. 2018): learn actions that are both good and varied, from replayed experience.

Twin critics, a squashed Gaussian as policy, and a temperature that is itself learned so that the policy keeps a target
entropy. The critics learn the value of an action together with the entropy to come.
"""

import copy
import math
from typing import Literal

import torch
from pydantic import Field, PositiveFloat
from torch import Tensor, nn

from gaelp.agents.acting_network import Choice
from gaelp.agents.guarded_adam import GuardedAdam
from gaelp.agents.learner import Spaces, random_streams
from gaelp.agents.networks import mlp, soft_update
from gaelp.agents.off_policy import OffPolicyLearner, StepInputs, box_size
from gaelp.agents.replay_config import OffPolicyConfig
from gaelp.agents.replay_memory import Minibatch
from gaelp.agents.squashed import LOG_STD_HIGH, LOG_STD_LOW, Draw, draw_squashed, mean_and_log_std
from gaelp.agents.twin_critics import TwinCritics, twin_loss

__all__ = ["Sac", "SacConfig", "actor_loss", "build_sac", "soft_targets", "temperature_loss"]

# Means near 0 and standard deviations near 1 at first: all of -1..1 is tried, and a residual action starts at zero.
_ACTOR_GAIN = 0.01


class SacConfig(OffPolicyConfig):
    """Settings of SAC beside those it shares with TD3."""

    temperature: PositiveFloat = Field(default=1.0, description="weight of the entropy at first; stable-baselines3")
    learn_temperature: bool = Field(default=True, description="a fixed one has to be tuned to the scale of rewards")
    target_entropy: float | None = Field(
        default=None, description="nats of an action; none: minus its size, as Haarnoja et al. 2018 propose"
    )
    log_std_low: float = Field(
        default=LOG_STD_LOW,
        ge=LOG_STD_LOW,
        lt=LOG_STD_HIGH,
        description="least log spread before tanh: with less, noise hides the effect of a change of the action",
    )
    climbs: Literal["lesser", "averaged"] = Field(
        default="lesser",
        description="what the actor climbs: the lesser critic, or the mean of the targets, which follow noise less",
    )


def build_sac(spaces: Spaces, config: SacConfig, *, seed: int) -> OffPolicyLearner:
    """A learner for actions in -1..1."""
    weights, exploring, learning = random_streams(seed)
    return OffPolicyLearner(Sac(spaces, config, weights), spaces, config, exploring=exploring, learning=learning)


class Sac(nn.Module):
    """Actor, critics with their targets, and temperature; one gradient step moves them all."""

    name = "sac"
    acts_by: Choice = "tanh_of_means"

    def __init__(self, spaces: Spaces, config: SacConfig, generator: torch.Generator) -> None:
        super().__init__()
        size = box_size(self.name, spaces)
        inputs = spaces.observation_size
        self._config = config
        self._target_entropy = -float(size) if config.target_entropy is None else config.target_entropy
        self.actor = mlp(inputs, 2 * size, config.network, generator=generator, output_gain=_ACTOR_GAIN)
        self.critics = TwinCritics(
            inputs + size, config.network, generator=generator, action_gain=config.critic_action_gain
        )
        self.targets = copy.deepcopy(self.critics).requires_grad_(requires_grad=False)
        self.log_temperature = nn.Parameter(torch.tensor(math.log(config.temperature)))
        self.optimisers = {
            "actor": GuardedAdam(self.actor.parameters(), max_norm=config.max_gradient_norm),
            "critic": GuardedAdam(self.critics.parameters(), max_norm=config.max_gradient_norm),
            "temperature": GuardedAdam([self.log_temperature], max_norm=config.max_gradient_norm),
        }

    @property
    def networks(self) -> nn.Module:
        """Everything that is learned, targets included."""
        return self

    def best(self, obs: Tensor) -> Tensor:
        """The mean actions of the policy (B, A)."""
        return torch.tanh(mean_and_log_std(self.actor(obs))[0])

    def explore(self, obs: Tensor, generator: torch.Generator, progress: float) -> Tensor:  # noqa: ARG002 - OffPolicyAlgorithm
        """Actions (B, A) drawn from the policy."""
        return self.draw(obs, generator).actions

    def draw(self, obs: Tensor, generator: torch.Generator) -> Draw:
        """Actions drawn from the policy, with their log probabilities."""
        mean, log_std = mean_and_log_std(self.actor(obs), self._config.log_std_low)
        return draw_squashed(mean, log_std, torch.randn(mean.shape, generator=generator, dtype=mean.dtype))

    def learn(self, batch: Minibatch, inputs: StepInputs) -> Tensor | None:
        """One step of critics, actor, temperature and targets; all see the temperature from before it."""
        temperature = self.log_temperature.detach().exp()
        drawn = self.draw(batch.obs, inputs.generator)
        targets = self._targets(batch, temperature, inputs.generator)
        values: Tensor = self.critics(batch.obs, batch.actions)
        # Half, so that the gradient of a squared error is the error itself.
        loss = 0.5 * twin_loss(values, targets, batch.weights)
        if not inputs.tally.record("critic", self.optimisers["critic"].step(loss, inputs.learning_rate)):
            return None
        self._improve(batch.obs, drawn, temperature, inputs)
        soft_update(self.targets, self.critics, self._config.target_rate)
        inputs.tally.keep(values.detach(), targets)
        inputs.tally.note(_policy_figures(drawn, temperature))
        return (values.detach() - targets).abs().mean(0)

    @torch.no_grad()
    def _targets(self, batch: Minibatch, temperature: Tensor, generator: torch.Generator) -> Tensor:
        if self._config.gamma == 0:
            return batch.rewards  # the future does not count, and computing it takes a fifth of the time
        following = self.draw(batch.next_obs, generator)
        next_values = self.targets(batch.next_obs, following.actions)
        return soft_targets(batch, next_values, following.log_probs, temperature)

    def _improve(self, obs: Tensor, drawn: Draw, temperature: Tensor, inputs: StepInputs) -> None:
        """Move the actor towards what the critics value, and the temperature towards the target entropy."""
        loss = actor_loss(self._values(obs, drawn.actions), drawn.log_probs, temperature)
        inputs.tally.record("actor", self.optimisers["actor"].step(loss, inputs.learning_rate))
        if self._config.learn_temperature:
            loss = temperature_loss(self.log_temperature, drawn.log_probs, self._target_entropy)
            inputs.tally.record("temperature", self.optimisers["temperature"].step(loss, inputs.learning_rate))

    def _values(self, obs: Tensor, actions: Tensor) -> Tensor:
        """The values that the actor climbs: those of both critics (2, B), or the mean of their targets (1, B)."""
        averaged = self._config.climbs == "averaged"
        values: Tensor = (self.targets if averaged else self.critics)(obs, actions)
        return values.mean(0, keepdim=True) if averaged else values


def soft_targets(batch: Minibatch, next_values: Tensor, next_log_probs: Tensor, temperature: Tensor) -> Tensor:
    """Targets of the critics (B,): reward, and the lesser next value (2, B) with the entropy (B,) gained there."""
    return batch.rewards + batch.discounts * (next_values.amin(0) - temperature * next_log_probs)


def actor_loss(values: Tensor, log_probs: Tensor, temperature: Tensor) -> Tensor:
    """Minus the value of drawn actions, the least of (K, B), minus their entropy bonus."""
    return (temperature * log_probs - values.amin(0)).mean()


def _policy_figures(drawn: Draw, temperature: Tensor) -> dict[str, float]:
    """Entropy and temperature of the policy; `action_std` is its mean spread before tanh."""
    return {
        "temperature": temperature.item(),
        "entropy": -drawn.log_probs.mean().item(),
        "action_std": drawn.std.detach().mean().item(),
    }


def temperature_loss(log_temperature: Tensor, log_probs: Tensor, target_entropy: float) -> Tensor:
    """Falls as the temperature rises while the entropy is below its target, and the other way round."""
    return -log_temperature * (log_probs.detach() + target_entropy).mean()
