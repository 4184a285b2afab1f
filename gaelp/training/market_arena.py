"""Training in markets: segment by segment around a rule, on one market or along a curriculum, judged on one market."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from pydantic import Field, PositiveInt

from gaelp.agents.learner import BoxActions, DiscreteActions, Spaces
from gaelp.arrays import Floats
from gaelp.config.base import Frozen
from gaelp.errors import ConfigError
from gaelp.experience.collect import Act, Collector
from gaelp.market.baselines.bids import Bidder
from gaelp.market.baselines.compare import campaign_figures, headroom, lead
from gaelp.market.baselines.episodes import Played, join_played, play, validation_seeds
from gaelp.market.episode_log import EpisodeWatcher
from gaelp.market.market import Market
from gaelp.market.reward import optimum_share
from gaelp.training import curriculum as progress_of
from gaelp.training.arena import Rewards, Round, round_seed
from gaelp.training.curriculum_spec import CurriculumSpec
from gaelp.training.mixing import choose
from gaelp.training.segment_env import ResidualSpec, SegmentEnv, SegmentFeatures
from gaelp.training.segment_policy import SegmentPolicy

__all__ = ["Ground", "MarketArena", "MarketArenaSpec", "WatchRound"]

WatchRound = Callable[[int], EpisodeWatcher | None]  # by the number of a training round; None: not watched

_BATCH_EPISODES = 256  # played at once: bounds memory
_TASK_EPISODES = 64  # to evaluate one task of a curriculum


@dataclass(frozen=True, slots=True)
class Ground:
    """A market to train on, and the rule that bids there before anything is learned."""

    market: Market
    rule: Callable[[], Bidder]
    constant: Callable[[], Bidder] | None = None  # the bid that headroom is measured from


class MarketArenaSpec(Frozen):
    """How markets are turned into rows, and how many episodes are played."""

    residual: ResidualSpec = ResidualSpec()
    rows: PositiveInt = Field(description="campaigns times segments that are played in parallel")
    flights_per_round: PositiveInt = Field(default=1, description="whole episodes that every row plays in a round")
    validation_episodes: int = Field(default=512, ge=2)


class MarketArena:
    """Rows are the segments of campaigns; `target` is judged, and trained on unless a curriculum says otherwise."""

    def __init__(
        self,
        spec: MarketArenaSpec,
        target: Ground,
        *,
        seed: int,
        validation_seed: int,
        curriculum: CurriculumSpec | None = None,
        tasks: Mapping[str, Ground] | None = None,
        watch_round: WatchRound | None = None,
    ) -> None:
        self._spec, self._target, self._seed = spec, target, seed
        self._validation_seed = validation_seed
        self._tasks = dict(tasks or {})
        self._watch_round = watch_round
        self._rule_played: Played | None = None
        self._constant_rewards: Rewards | None = None
        self._curriculum = curriculum
        self._reached = progress_of.start(curriculum) if curriculum else None
        _check_rows(spec.rows, [ground.market for ground in (target, *self._tasks.values())])
        residual = spec.residual
        discrete = residual.actions == "discrete"
        actions = DiscreteActions(residual.choices) if discrete else BoxActions(1)
        self._spaces = Spaces(SegmentFeatures.size(target.market.objective), actions, spec.rows)

    @property
    def spaces(self) -> Spaces:
        """What the learner is built for."""
        return self._spaces

    def begin(self, number: int) -> Round:
        """Begin whole flights of the market, or of the task that the curriculum draws for this round."""
        task, ground = self._drawn(number)
        campaigns = self._spec.rows // ground.market.spec.segments
        env = SegmentEnv(ground.market, ground.rule(), self._spec.residual, campaigns=campaigns)
        env.watcher = self._watch_round(number) if self._watch_round else None
        collector = Collector(env, seed=round_seed(self._seed, number))
        steps = ground.market.hours * self._spec.flights_per_round
        return Round(task, collector, steps, lambda: _mean(env.finished_rewards))

    def _drawn(self, number: int) -> tuple[str, Ground]:
        if self._curriculum is None or self._reached is None:
            return self._target.market.spec.name, self._target
        rng = np.random.default_rng((self._seed, number))
        name = choose(self._curriculum, self._reached, rng)
        return name, self._tasks[name]

    def validate(self, act: Act) -> Rewards:
        """Rewards on the validation episodes of the target."""
        return self._play(self._learned(self._target, act), self._target.market).reward

    def validate_policy(self, policy: Bidder) -> Rewards:
        """Rewards of any policy on the validation episodes of the target."""
        return self._play(policy, self._target.market).reward

    def figures(self, rewards: Rewards) -> Mapping[str, float]:
        """The figures of the first gate, measured against the rule inside the agent."""
        campaigns = campaign_figures(rewards, self.reference(), self._by_rule().launch)
        estimates = {
            "lead_over_rule": lead(rewards, self.reference()),
            "success_rate": campaigns.success_rate,
            "ruined_share": campaigns.ruined_share,
        }
        constant = self._constant()
        if constant is not None:
            estimates["lead_over_constant"] = lead(rewards, constant)
            estimates["headroom_share"] = headroom(rewards, constant, self._optimum_shares())
        values = {name: estimate.value for name, estimate in estimates.items()}
        values |= {f"{name}_lower_95": estimate.lower_95 for name, estimate in estimates.items()}
        return values | {"worst_group_lead": campaigns.worst_group_lead}

    def reference(self) -> Rewards:
        """Rewards of the rule on the validation episodes, without a residual."""
        return self._by_rule().reward

    def _by_rule(self) -> Played:
        if self._rule_played is None:
            self._rule_played = self._play(self._target.rule(), self._target.market)
        return self._rule_played

    def _optimum_shares(self) -> Floats | None:
        played = self._by_rule()
        return optimum_share(self._target.market.objective, played.optimum_micros, played.budget_micros)

    def _constant(self) -> Rewards | None:
        if self._constant_rewards is None and self._target.constant is not None:
            self._constant_rewards = self._play(self._target.constant(), self._target.market).reward
        return self._constant_rewards

    def policy(self, name: str, act: Act) -> SegmentPolicy:
        """The learned policy for the target market."""
        return SegmentPolicy(name, self._target.rule(), self._spec.residual, act)

    def unchanged(self, name: str) -> SegmentPolicy:
        """The rule itself, under another name: every residual is zero."""
        residual = self._spec.residual
        middle = residual.choices // 2
        discrete = residual.actions == "discrete"
        return self.policy(name, lambda obs: torch.full((len(obs),), middle) if discrete else torch.zeros(len(obs), 1))

    def record(self, act: Act) -> Mapping[str, float]:
        """Evaluate every unlocked task of the curriculum and record the result there."""
        if self._curriculum is None or self._reached is None:
            return {}
        names = progress_of.unlocked(self._curriculum, self._reached)
        rewards = {name: self._task_reward(self._tasks[name], act) for name in names}
        self._reached = progress_of.record_all(self._curriculum, self._reached, rewards)
        return {f"task_{name}": reward for name, reward in rewards.items()}

    def statuses(self) -> dict[str, str]:
        """The status of every task of the curriculum; empty without one."""
        if self._curriculum is None or self._reached is None:
            return {}
        return dict(progress_of.statuses(self._curriculum, self._reached))

    def state(self) -> dict[str, Any]:
        """How far the curriculum has come."""
        return {} if self._reached is None else progress_of.save(self._reached)

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from `state`."""
        if self._curriculum is not None:
            self._reached = progress_of.load(self._curriculum, state)

    def _task_reward(self, ground: Ground, act: Act) -> float:
        return float(self._play(self._learned(ground, act), ground.market, _TASK_EPISODES).reward.mean())

    def _learned(self, ground: Ground, act: Act) -> SegmentPolicy:
        return SegmentPolicy("in training", ground.rule(), self._spec.residual, act)

    def _play(self, policy: Bidder, market: Market, episodes: int | None = None) -> Played:
        episodes = episodes or self._spec.validation_episodes
        seeds = validation_seeds(self._validation_seed, episodes)
        parts = [seeds[start : start + _BATCH_EPISODES] for start in range(0, episodes, _BATCH_EPISODES)]
        return join_played([play(market, policy, part) for part in parts], market.objective)


def _mean(rewards: Sequence[float]) -> float:
    """NaN where a guardrail ended the round before its first flight did."""
    return math.fsum(rewards) / len(rewards) if rewards else math.nan


def _check_rows(rows: int, markets: Sequence[Market]) -> None:
    fits = math.lcm(*(market.spec.segments for market in markets))
    for market in markets:
        if rows % market.spec.segments:
            raise ConfigError(
                f"rows={rows} cannot be shared by the {market.spec.segments} segments of market {market.spec.name!r}:"
                f" give a multiple of {fits}, such as {max(rows // fits, 1) * fits}"
            )
