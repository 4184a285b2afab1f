"""Settings of learners that replay: what all share and what each family adds, with the reason for each default."""

from typing import Self

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from gaelp.agents.networks import NetworkSpec
from gaelp.agents.schedules import ConstantSchedule, LinearSchedule, Schedule, refuse_negative
from gaelp.config.base import Frozen
from gaelp.experience.value_guard import OnRefused

__all__ = ["OffPolicyConfig", "Priorities", "ReplayConfig", "ValueBasedConfig"]


class Priorities(Frozen):
    """Prioritized replay, with the values of Schaul et al. 2016 for the proportional variant."""

    alpha: float = Field(default=0.6, ge=0, le=1, description="0 draws uniformly, 1 in proportion to the error")
    beta_start: float = Field(
        default=0.4, ge=0, le=1, description="how much of the bias is corrected at first; 1 at the end"
    )


class ReplayConfig(Frozen):
    """Settings of every learner that replays; without another reason a default is stable-baselines3's for SAC."""

    network: NetworkSpec = Field(
        default=NetworkSpec(hidden=(256, 256)), description="of the actor and of each critic; Haarnoja et al. 2018"
    )
    learning_rate: Schedule = ConstantSchedule(start=3e-4)
    gamma: float = Field(default=0.99, ge=0, le=1)
    n_step: PositiveInt = Field(default=1, description="rewards summed before a target bootstraps")
    target_rate: float = Field(default=0.005, gt=0, le=1, description="share of the way a target moves; 1 copies")
    batch_size: PositiveInt = 256
    replay_capacity: PositiveInt = Field(
        default=200_000, description="transitions; rl-zoo's for TD3, a fifth of the memory of the usual million"
    )
    priorities: Priorities | None = Field(default=None, description="none draws uniformly")
    learning_starts: PositiveInt = Field(
        default=1_000, description="transitions; fewer would be overfitted. SAC and TD3 act at random until then"
    )
    train_every: PositiveInt = Field(default=1, description="collected steps of all rows between updates")
    gradient_steps: PositiveInt = Field(default=1, description="in each update")
    max_gradient_norm: PositiveFloat = Field(default=10.0, description="of the actor and of each critic separately")
    normalise_obs: bool = Field(default=False, description="off: the reference tasks are of a common scale")
    scale_rewards: bool = Field(default=False, description="off: rewards stay as the environment returns them")
    reward_range: tuple[float, float] | None = Field(
        default=None, description="both ends allowed; none: all finite ones"
    )
    on_refused: OnRefused = Field(
        default="raise", description="a step outside the declared range: stop, or skip and count"
    )

    @model_validator(mode="after")
    def _values_fit_together(self) -> Self:
        refuse_negative(self)
        if self.reward_range and self.reward_range[0] > self.reward_range[1]:
            raise ValueError(f"reward_range={self.reward_range} is empty: give the lower end first")
        if self.learning_starts > self.replay_capacity:
            raise ValueError(
                f"learning_starts={self.learning_starts} exceeds replay_capacity={self.replay_capacity},"
                " so learning would never start: lower it or raise the capacity"
            )
        return self


class ValueBasedConfig(ReplayConfig):
    """What DQN and QR-DQN share.

    Where no other reason is given, a default was measured: together these bring DQN and QR-DQN, on 8 rows, past 475 on
    CartPole-v1 and past -100 on Acrobot-v1 within half to all of the steps that rl-zoo's tuned settings take
    (tests/learning); QR-DQN on CartPole-v1 only with rl-zoo's own settings, hard targets and n_step=1 among them.
    """

    network: NetworkSpec = NetworkSpec(hidden=(128, 128))
    learning_rate: Schedule = LinearSchedule(start=1e-3, end=1e-4)
    n_step: PositiveInt = Field(default=3, description="Hessel et al. 2018")
    target_rate: float = Field(default=0.01, gt=0, le=1, description="share of the way; 1 copies: a hard target")
    batch_size: PositiveInt = 128
    replay_capacity: PositiveInt = Field(default=100_000, description="transitions; rl-zoo")
    train_every: PositiveInt = 4
    gradient_steps: PositiveInt = Field(default=16, description="in each update: one for two transitions at 8 rows")
    double: bool = Field(
        default=False,
        description="the online network chooses the next action, against overestimation; with the slow targets here it"
        " halved the speed on CartPole-v1",
    )
    dueling: bool = Field(default=False, description="meant for many similar actions; the reference tasks have 2 and 3")
    epsilon: Schedule = LinearSchedule(start=1.0, end=0.02, until=0.2)
    target_every: PositiveInt = Field(default=1, description="gradient steps between moves of the target network")
    huber_threshold: PositiveFloat = Field(default=1.0, description="errors beyond it count linearly; Mnih et al. 2015")

    @model_validator(mode="after")
    def _epsilon_is_a_share(self) -> Self:
        if (most := max(self.epsilon.ends)) > 1:
            raise ValueError(f"epsilon reaches {most}, allowed is 0..1: change its start or end")
        return self


class OffPolicyConfig(ReplayConfig):
    """What SAC and TD3 share."""

    critic_action_gain: PositiveFloat = Field(
        default=1.0,
        description="factor on actions as input of critics; 1 / their usual spread makes small changes count",
    )
