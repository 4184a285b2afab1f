"""N campaigns in a Gymnasium vector environment: native batches, no Python loop, same-step autoreset."""

import operator
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from gaelp.arrays import Bools, Floats32, Uints
from gaelp.config.objective import VALUE, objective_from_text
from gaelp.errors import BadInput, ConfigError
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.market.features import FeatureMaker
from gaelp.market.market import Market, seeds_from
from gaelp.market.spaces import ContinuousActions, DiscreteGrid, observation_space

__all__ = ["AdMarketVectorEnv", "action_decoder", "episode_summary"]

Decoder = ContinuousActions | DiscreteGrid


def action_decoder(market: Market, kind: Literal["continuous", "discrete"], groups: int = 0) -> Decoder:
    """The action space of a market: continuous multipliers or a discrete grid."""
    creatives = market.spec.creatives.count
    if kind == "discrete":
        return DiscreteGrid(creatives=creatives)
    if kind == "continuous":
        return ContinuousActions(market.spec.segments, creatives, groups)
    raise ConfigError(f"actions={kind!r} is unknown: choose 'continuous' or 'discrete'")


def episode_summary(market: Market) -> dict[str, npt.NDArray[Any]]:
    """What episodes amounted to, one entry a campaign; conversions still to come are counted as pending."""
    state, meter = market.state, market.meter
    return {
        "spend_micros": state.total_cost_micros.sum(axis=1),
        "clicks": state.total_clicks.sum(axis=1),
        "conversions": state.total_conversions.sum(axis=1),
        "pending_conversions": state.pending.sum(axis=1),
        "lost_to_window": state.lost_to_window.sum(axis=1),
        "value_micros": meter.value_micros,
        "achieved_micros": meter.achieved_micros(),
        "optimum_micros": market.world.optimum_micros,
    }


class AdMarketVectorEnv(gym.vector.VectorEnv[Floats32, npt.NDArray[Any], npt.NDArray[Any]]):
    """All campaigns of a market step together; at the end of the flight the next episode begins in the same step.

    A flight that runs out is `terminated`; one cut short by `truncate_hours` is `truncated`. The last observation of an
    ended episode is in `info["final_obs"]`, what it amounted to in `info["final_info"]`.
    """

    def __init__(
        self,
        num_envs: int = 512,
        *,
        market: Market | str | Path = "cal",
        personas: str | Path = "personas",
        actions: Literal["continuous", "discrete"] = "continuous",
        groups: int = 0,
        truncate_hours: int | None = None,
        objective: str | None = None,
    ) -> None:
        """`objective` is one in words, such as profit or target_roas=2.5; a market that is given has its own."""
        if num_envs < 1:
            raise ConfigError(f"num_envs={num_envs} is too few; allowed: 1 and more. Give at least one campaign.")
        if not isinstance(market, Market):
            chosen = objective_from_text(objective) if objective else VALUE
            market = build_market(load_market_spec(market), load_persona_table(personas), chosen)
        elif objective is not None:
            raise ConfigError(f"objective={objective!r} with a market that is built: give its name, or only the market")
        if truncate_hours is not None and not 0 < truncate_hours <= market.hours:
            raise ConfigError(f"truncate_hours={truncate_hours} must lie in 1..{market.hours}, the flight's length")
        self.market = market
        self.num_envs = num_envs
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
        self._decoder = action_decoder(market, actions, groups)
        self._last_hour = truncate_hours or market.hours
        self.single_observation_space = observation_space(market.spec.segments, market.objective)
        self.single_action_space = self._decoder.space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._seed: int | list[int] | None = None
        self._episode = 0

    def reset(
        self,
        *,
        seed: int | Sequence[int] | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002 - part of Gymnasium's signature
    ) -> tuple[Floats32, dict[str, Any]]:
        """Begin the first episodes of a seed, or the next ones when no seed is given.

        One seed draws all campaigns. Of a sequence each campaign gets its own, and plays as it would alone with it.
        """
        if seed is not None:
            self._seed, self._episode = _checked_seed(seed, self.num_envs), 0
        elif self._seed is None:
            self._seed = int(np.random.SeedSequence().generate_state(1)[0])
        else:
            self._episode += 1
        return self._begin(), {}

    def _begin(self) -> Floats32:
        assert self._seed is not None  # noqa: S101  # reset sets it
        obs = self.market.reset(_campaign_seeds(self._seed, self.num_envs, self._episode))
        self._features = FeatureMaker(self.market.brief)
        return self._features(obs)

    def step(self, actions: npt.NDArray[Any]) -> tuple[Floats32, Floats32, Bools, Bools, dict[str, Any]]:
        """Run one hour for all campaigns."""
        if self._seed is None:
            raise gym.error.ResetNeeded("no episode has begun: call reset() before the first step()")
        action, clipped = self._decoder.decode(actions, self.market.brief)
        obs, outcome = self.market.step(action)
        vectors = self._features(obs)
        ended = self.market.hour >= self._last_hour
        terminated = np.full(self.num_envs, self.market.done)
        truncated = np.full(self.num_envs, ended and not self.market.done)
        info: dict[str, Any] = {"clipped": clipped}
        reward = outcome.reward.copy()
        if ended:
            everyone = np.ones(self.num_envs, np.bool_)
            info |= {"final_obs": vectors, "_final_obs": everyone}
            info |= {"final_info": episode_summary(self.market), "_final_info": everyone}
            self._episode += 1
            vectors = self._begin()
        return vectors, reward, terminated, truncated, info

    def save(self) -> dict[str, npt.NDArray[Any]]:
        """Everything needed to continue bit for bit."""
        if self._seed is None:
            raise gym.error.ResetNeeded("no episode has begun: call reset() before save()")
        place = {"env_seed": np.array(self._seed), "env_episode": np.array(self._episode)}
        return place | self.market.save()

    def restore(self, saved: dict[str, npt.NDArray[Any]]) -> Floats32:
        """Continue from `save`; returns the observation that was current then."""
        self._seed, self._episode = saved["env_seed"].tolist(), int(saved["env_episode"])
        obs = self.market.restore(saved)
        self._features = FeatureMaker(self.market.brief)
        return self._features(obs)


def _checked_seed(seed: int | Sequence[int], campaigns: int) -> int | list[int]:
    if not isinstance(seed, Sequence | np.ndarray):
        return _whole(seed)
    if len(seed) != campaigns:
        raise BadInput(f"saw {len(seed)} seeds; allowed: one, or one for each of the {campaigns} campaigns.")
    return [_whole(each) for each in seed]


def _whole(seed: object) -> int:
    # True is 1 to Python, but nobody means it as a seed.
    number = operator.index(seed) if hasattr(seed, "__index__") and not isinstance(seed, bool) else -1
    if not 0 <= number < 2**63:
        raise BadInput(f"seed {seed!r} cannot be used; allowed: a whole number from 0 to 2**63 - 1.")
    return number


def _campaign_seeds(seed: int | list[int], campaigns: int, episode: int) -> Uints:
    if isinstance(seed, int):
        return seeds_from(seed, campaigns, episode)
    return np.concatenate([seeds_from(each, 1, episode) for each in seed])
