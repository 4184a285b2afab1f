"""The settings that SAC and TD3 share, each default with its reason."""

from typing import Self

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from gaelp.agents.networks import NetworkSpec
from gaelp.agents.schedules import Constant, Schedule
from gaelp.agents.value_based_config import Priorities
from gaelp.config.base import Frozen
from gaelp.experience.value_guard import OnRefused

__all__ = ["OffPolicyConfig", "refuse_negative"]


class OffPolicyConfig(Frozen):
    """Settings of every off-policy actor-critic; without another reason a default is stable-baselines3's for SAC."""

    network: NetworkSpec = Field(
        default=NetworkSpec(hidden=(256, 256)), description="of the actor and of each critic; Haarnoja et al. 2018"
    )
    critic_action_gain: PositiveFloat = Field(
        default=1.0, description="on actions as critics see them; one over their usual spread makes small moves tell"
    )
    learning_rate: Schedule = Constant(start=3e-4)
    gamma: float = Field(default=0.99, ge=0, le=1)
    n_step: PositiveInt = Field(default=1, description="rewards summed before a target bootstraps")
    target_rate: float = Field(default=0.005, gt=0, le=1, description="share of the way a target moves, each time")
    batch_size: PositiveInt = 256
    replay_capacity: PositiveInt = Field(
        default=200_000, description="transitions; rl-zoo's for TD3, a fifth of the memory of the usual million"
    )
    priorities: Priorities | None = Field(default=None, description="none draws uniformly")
    learning_starts: PositiveInt = Field(
        default=1_000, description="transitions collected with random actions; fewer are learnt by heart"
    )
    train_every: PositiveInt = Field(default=1, description="collected steps of all rows between updates")
    gradient_steps: PositiveInt = Field(default=1, description="in each update")
    max_gradient_norm: PositiveFloat = Field(default=10.0, description="of the actor and of the critics, each apart")
    normalise_obs: bool = Field(default=False, description="off: the reference tasks are of a common scale")
    scale_rewards: bool = Field(default=False, description="off: rewards are then what the environment declares")
    reward_range: tuple[float, float] | None = Field(
        default=None, description="both ends allowed; none: all finite ones"
    )
    on_refused: OnRefused = Field(
        default="raise", description="a step outside the declared range: stop, or skip and count"
    )

    @model_validator(mode="after")
    def _rate_is_one(self) -> Self:
        refuse_negative("learning_rate", self.learning_rate)
        return self

    @model_validator(mode="after")
    def _range_is_one(self) -> Self:
        if self.reward_range and self.reward_range[0] > self.reward_range[1]:
            raise ValueError(f"reward_range={self.reward_range} is empty: give the lower end first")
        return self

    @model_validator(mode="after")
    def _replay_can_fill(self) -> Self:
        if self.learning_starts > self.replay_capacity:
            raise ValueError(
                f"learning_starts={self.learning_starts} exceeds replay_capacity={self.replay_capacity},"
                " so learning would never start: lower it or raise the capacity"
            )
        return self


def refuse_negative(name: str, schedule: Schedule) -> None:
    """Refuse a schedule that begins or ends below zero."""
    for end in (schedule.start, getattr(schedule, "end", schedule.start)):
        if end < 0:
            raise ValueError(f"{name} reaches {end}, allowed is 0 and above: change its start or end")
