"""A market as an environment for one learner shared by all segments: a row per segment, a residual on a rule's bid.

The action of a row moves its bid up or down against what the rule would bid; with zeros the rule is played unchanged.
The training reward of a row is its own part of the value minus what its spend was worth elsewhere: (value - price of
money x cost) / optimum. That price is a share of what more money would have been worth, and no less than what the
objective asks for; only training may know it.
"""

from typing import Any, Literal, Self

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from pydantic import Field, PositiveFloat, model_validator

from gaelp.arrays import Bools, Floats, Floats32, Ints
from gaelp.config.base import Frozen
from gaelp.config.objective import VALUE, Objective, is_value
from gaelp.market.baselines.episodes import training_seeds
from gaelp.market.episode_log import EpisodeWatcher
from gaelp.market.features import FeatureMaker
from gaelp.market.market import Market
from gaelp.market.remaining_price import RemainingPrices
from gaelp.market.reward import reward
from gaelp.market.spaces import FEATURE_LIMIT, SEGMENT_FEATURES, global_size
from gaelp.market.view import Action, Brief, Observation
from gaelp.market.world import DAY_HOURS
from gaelp.types import Policy

__all__ = ["EXTRA_FEATURES", "ResidualSpec", "SegmentEnv", "SegmentFeatures", "moved", "residuals", "row_space"]

MarketPolicy = Policy[Brief, Observation, Action]

EXTRA_FEATURES: tuple[tuple[str, str], ...] = (
    ("rule_bid", "log of the rule's bid over the running price level"),
    ("rule_lead", "log of the rule's bid over the mean of its bids"),
    ("last_residual", "the residual of the last hour"),
)
_REWARD_SCALE = 20.0  # a flight's rewards then add up to a few units a segment, which suits the usual learning rates


class ResidualSpec(Frozen):
    """How the actions of rows change bids, and the price of spend in their training reward."""

    scale: PositiveFloat = Field(
        default=0.6, le=4, description="log bid at an action of 1; three times that at the bounds"
    )  # at 4 a bid moves by e^12 at most, so that no bid in micros is too large for a whole number
    centred: bool = Field(
        default=False, description="residuals of a campaign average to zero in every hour: the rule keeps the pace"
    )
    budget_price: Literal["flight", "remaining"] = Field(
        default="remaining", description="what spend is charged: the optimum's price, or that of what is left this hour"
    )
    budget_price_share: float = Field(default=0.9, ge=0, le=2, description="share of that price charged in training")
    actions: Literal["continuous", "discrete"] = "continuous"
    choices: int = Field(default=9, ge=3, le=51, description="number of residuals for discrete learners, odd")

    @model_validator(mode="after")
    def _the_middle_is_nothing(self) -> Self:
        if self.choices % 2 == 0:
            raise ValueError(f"choices={self.choices} has no middle one that leaves the rule alone: give an odd number")
        return self


def row_space(spec: ResidualSpec) -> gym.Space[Any]:
    """The action space of one row."""
    if spec.actions == "discrete":
        return gym.spaces.Discrete(spec.choices)
    return gym.spaces.Box(-1.0, 1.0, (1,), np.float32)


def moved(rule: Action, change: Floats) -> Action:
    """The rule's action with every bid moved by a log change of shape (N, S)."""
    return Action(np.rint(rule.bid_micros * np.exp(change)).astype(np.int64), rule.pace, rule.creative)


def residuals(spec: ResidualSpec, actions: npt.NDArray[Any], shape: tuple[int, ...]) -> Floats:
    """Log bid changes of shape (N, S) from the rows' actions."""
    if spec.actions == "discrete":
        unit = 2.0 * np.asarray(actions, np.float64) / (spec.choices - 1) - 1.0
    else:
        unit = np.clip(np.asarray(actions, np.float64), -1.0, 1.0)
    change = 3.0 * spec.scale * unit.reshape(shape)
    return np.asarray(change - change.mean(axis=1, keepdims=True) if spec.centred else change)


class SegmentFeatures:
    """Rows of observations for one batch of episodes: campaign, segment, and what the rule would do."""

    @staticmethod
    def size(objective: Objective = VALUE) -> int:
        """How many features a row has."""
        return global_size(objective) + len(SEGMENT_FEATURES) + len(EXTRA_FEATURES)

    def __init__(self, brief: Brief) -> None:
        self._maker = FeatureMaker(brief)

    def __call__(self, obs: Observation, rule_bid_micros: Ints, last: Floats) -> Floats32:
        """Vectors of shape (N * S, size)."""
        bid_log = np.log(np.maximum(rule_bid_micros, 1))
        lead = bid_log - bid_log.mean(axis=1, keepdims=True)
        extra = np.stack([bid_log - obs.price_level_log, lead, last])
        rows = self._maker.by_segment(obs, extra)
        return rows.reshape(-1, rows.shape[-1])


class SegmentEnv(gym.vector.VectorEnv[Floats32, npt.NDArray[Any], npt.NDArray[Any]]):
    """N campaigns x S segments as N * S rows of a vector environment with same-step autoreset."""

    def __init__(self, market: Market, rule: MarketPolicy, spec: ResidualSpec, *, campaigns: int) -> None:
        self.market, self.rule, self.residual = market, rule, spec
        self.campaigns = campaigns
        self.num_envs = campaigns * market.spec.segments
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
        bounds = (-FEATURE_LIMIT, FEATURE_LIMIT)
        self.single_observation_space = gym.spaces.Box(*bounds, (SegmentFeatures.size(market.objective),), np.float32)
        self.single_action_space = row_space(spec)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._seed, self._batch = 0, 0
        # The project's reward, the mean over the campaigns of each batch that ended.
        self.finished_rewards: list[float] = []
        self.watcher: EpisodeWatcher | None = None  # of the first batch of episodes

    def reset(
        self,
        *,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002 - part of Gymnasium's signature
    ) -> tuple[Floats32, dict[str, Any]]:
        """Begin the first training episodes of a seed, or the next ones when no seed is given."""
        self._seed, self._batch = (seed, 0) if seed is not None else (self._seed, self._batch + 1)
        return self._begin(), {}

    def _begin(self) -> Floats32:
        obs = self.market.reset(training_seeds(self._seed, self.campaigns, self._batch))
        self.rule.begin(self.market.brief)
        self._features = SegmentFeatures(self.market.brief)
        self._remaining = RemainingPrices(self.market.world, self.market.landscapes)
        self._last = np.zeros((self.campaigns, self.market.spec.segments))
        self.episode_reward = np.zeros(self.campaigns)
        if self.watcher:
            self.watcher.begin(self.market)
        return self._look(obs)

    def _look(self, obs: Observation) -> Floats32:
        self._base = self.rule.act(obs)
        return self._features(obs, self._base.bid_micros, self._last)

    def step(self, actions: npt.NDArray[Any]) -> tuple[Floats32, Floats32, Bools, Bools, dict[str, Any]]:
        """Run one hour; rewards are per row and for training only, `info["market_reward"]` is the project's reward."""
        base, price_log = self._base, self._price_log()
        self._last = residuals(self.residual, actions, base.bid_micros.shape)
        action, left_micros = moved(base, self._last), self.market.state.left_micros.copy()
        obs, outcome = self.market.step(action)
        reward = self._row_rewards(outcome.value_micros, self.market.state.cost_micros, price_log)
        self.episode_reward += outcome.reward
        ended = self.market.done
        if self.watcher:
            self._watch(self.watcher, action, left_micros)
        info: dict[str, Any] = {}
        if ended:
            flags = np.ones(self.num_envs, np.bool_)
            final = self._features(obs, base.bid_micros, self._last)
            info = {"final_obs": final, "_final_obs": flags, "market_reward": self.episode_reward}
            self.finished_rewards.append(float(self.episode_reward.mean()))
            self._batch += 1
        rows = self._begin() if ended else self._look(obs)
        return rows, reward, np.full(self.num_envs, ended), np.zeros(self.num_envs, np.bool_), info

    def _watch(self, watcher: EpisodeWatcher, action: Action, left_micros: Ints) -> None:
        watcher.hour(self.market, action, left_micros, self._last)
        if self.market.done:
            watcher.end(self.market, self.episode_reward)
            self.watcher = None

    def _price_log(self) -> Floats:
        """Log price of budget in the coming hour, (N,)."""
        market, state = self.market, self.market.state
        if self.residual.budget_price == "remaining":
            return self._remaining(market.hour, state.left_micros, state.day_left_micros)
        return np.asarray(market.world.budget_price_log[:, market.hour // DAY_HOURS])

    def _row_rewards(self, value_micros: Floats, cost_micros: Ints, price_log: Floats) -> Floats32:
        price = self.residual.budget_price_share * np.exp(price_log)[:, None]
        if not is_value(self.market.objective):
            price = np.maximum(price, np.exp(self.market.world.objective_price_log)[:, None])
        surplus = reward(value_micros - price * cost_micros, self.market.meter.scale_micros[:, None])
        return np.asarray(_REWARD_SCALE * surplus.reshape(-1), dtype=np.float32)
