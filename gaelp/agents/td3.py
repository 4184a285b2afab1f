"""TD3 (Fujimoto et al. 2018): a deterministic policy that climbs a critic, with three remedies for overestimation.

Twin critics of which the lesser counts, targets at actions with a little noise, and a policy that moves later than its
critics.
"""

import copy

import torch
from pydantic import Field, NonNegativeFloat, PositiveInt
from torch import Tensor, nn

from gaelp.agents.acting_network import Choice
from gaelp.agents.guarded_adam import GuardedAdam
from gaelp.agents.learner import Spaces, random_streams
from gaelp.agents.networks import mlp, soft_update
from gaelp.agents.off_policy import OffPolicyLearner, StepInputs, box_size
from gaelp.agents.replay_config import OffPolicyConfig
from gaelp.agents.replay_memory import Minibatch
from gaelp.agents.schedules import ConstantSchedule, Schedule
from gaelp.agents.twin_critics import TwinCritics, twin_loss

__all__ = ["Td3", "Td3Config", "build_td3", "clipped_targets", "smoothed_actions"]

# Actions near 0 at first, where tanh is steep: an actor that starts at an end of -1..1 hardly learns.
_ACTOR_GAIN = 0.01


class Td3Config(OffPolicyConfig):
    """Settings of TD3 beside those it shares with SAC; the defaults are those of Fujimoto et al."""

    learning_rate: Schedule = ConstantSchedule(start=1e-3)
    exploration_noise: Schedule = Field(
        default=ConstantSchedule(start=0.1), description="standard deviation of the noise on actions"
    )
    target_noise: NonNegativeFloat = Field(
        default=0.2, description="standard deviation of the noise on the targets' actions"
    )
    target_noise_clip: NonNegativeFloat = Field(default=0.5, description="limit of that noise, either way")
    policy_delay: PositiveInt = Field(default=2, description="steps of the critics for one of actor and targets")


def build_td3(spaces: Spaces, config: Td3Config, *, seed: int) -> OffPolicyLearner:
    """A learner for actions in -1..1."""
    weights, exploring, learning = random_streams(seed)
    return OffPolicyLearner(Td3(spaces, config, weights), spaces, config, exploring=exploring, learning=learning)


class Td3(nn.Module):
    """Actor and critics, each with its target."""

    name = "td3"
    acts_by: Choice = "as_it_is"  # its last layer is tanh

    def __init__(self, spaces: Spaces, config: Td3Config, generator: torch.Generator) -> None:
        super().__init__()
        size = box_size(self.name, spaces)
        inputs = spaces.observation_size
        self._config = config
        body = mlp(inputs, size, config.network, generator=generator, output_gain=_ACTOR_GAIN)
        self.actor = body.append(nn.Tanh())
        self.critics = TwinCritics(
            inputs + size, config.network, generator=generator, action_gain=config.critic_action_gain
        )
        self.actor_target = copy.deepcopy(self.actor).requires_grad_(requires_grad=False)
        self.targets = copy.deepcopy(self.critics).requires_grad_(requires_grad=False)
        self.optimisers = {
            "actor": GuardedAdam(self.actor.parameters(), max_norm=config.max_gradient_norm),
            "critic": GuardedAdam(self.critics.parameters(), max_norm=config.max_gradient_norm),
        }

    @property
    def networks(self) -> nn.Module:
        """Everything that is learned, targets included."""
        return self

    def best(self, obs: Tensor) -> Tensor:
        """The policy's actions (B, A)."""
        actions: Tensor = self.actor(obs)
        return actions

    def explore(self, obs: Tensor, generator: torch.Generator, progress: float) -> Tensor:
        """The policy's actions (B, A) with noise."""
        actions = self.best(obs)
        noise = torch.randn(actions.shape, generator=generator) * self._config.exploration_noise.value(progress)
        return (actions + noise).clamp(-1, 1)

    def learn(self, batch: Minibatch, inputs: StepInputs) -> Tensor | None:
        """One step of the critics, and every `policy_delay` steps one of actor and targets."""
        targets = self._targets(batch, inputs.generator)
        values: Tensor = self.critics(batch.obs, batch.actions)
        loss = twin_loss(values, targets, batch.weights)
        if not inputs.tally.record("critic", self.optimisers["critic"].step(loss, inputs.learning_rate)):
            return None
        if (inputs.steps_made + 1) % self._config.policy_delay == 0:
            self._improve(batch.obs, inputs)
        inputs.tally.keep(values.detach(), targets)
        return (values.detach() - targets).abs().mean(0)

    @torch.no_grad()
    def _targets(self, batch: Minibatch, generator: torch.Generator) -> Tensor:
        if self._config.gamma == 0:
            return batch.rewards  # the future does not count, and computing it takes a fifth of the time
        noise = (
            torch.randn(batch.actions.shape, generator=generator, dtype=batch.actions.dtype) * self._config.target_noise
        )
        actions = smoothed_actions(self.actor_target(batch.next_obs), noise, self._config.target_noise_clip)
        return clipped_targets(batch, self.targets(batch.next_obs, actions))

    def _improve(self, obs: Tensor, inputs: StepInputs) -> None:
        """Move the actor towards what the first critic values, and both targets a little."""
        loss = -self.critics.first(obs, self.actor(obs)).mean()
        inputs.tally.record("actor", self.optimisers["actor"].step(loss, inputs.learning_rate))
        soft_update(self.actor_target, self.actor, self._config.target_rate)
        soft_update(self.targets, self.critics, self._config.target_rate)


def smoothed_actions(actions: Tensor, noise: Tensor, clip: float) -> Tensor:
    """Actions (B, A) with clipped noise, so that similar actions get similar values; still in -1..1."""
    return (actions + noise.clamp(-clip, clip)).clamp(-1, 1)


def clipped_targets(batch: Minibatch, next_values: Tensor) -> Tensor:
    """Targets of the critics (B,): reward, and the lesser of the two next values (2, B)."""
    return batch.rewards + batch.discounts * next_values.amin(0)
