"""N campaigns as one Gymnasium vector environment: native batches, no Python loop, same-step autoreset."""

from pathlib import Path
from typing import Any, Literal

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from gaelp.errors import ConfigError
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.market.features import FeatureMaker
from gaelp.market.market import Market, seeds_from
from gaelp.market.spaces import ContinuousActions, DiscreteGrid, observation_space

__all__ = ["AdMarketVectorEnv", "action_decoder", "episode_summary"]

Singles = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
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
    """What episodes amounted to, one entry a campaign; conversions still to come are not lost from sight."""
    state = market.state
    return {
        "spend_micros": state.total_cost_micros.sum(axis=1),
        "clicks": state.total_clicks.sum(axis=1),
        "conversions": state.total_conversions.sum(axis=1),
        "pending_conversions": state.pending.sum(axis=1),
        "lost_to_window": state.lost_to_window.sum(axis=1),
        "optimum_micros": market.world.optimum_micros,
    }


class AdMarketVectorEnv(gym.vector.VectorEnv[Singles, npt.NDArray[Any], npt.NDArray[Any]]):
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
    ) -> None:
        if not isinstance(market, Market):
            market = build_market(load_market_spec(market), load_persona_table(personas))
        if truncate_hours is not None and not 0 < truncate_hours <= market.hours:
            raise ConfigError(f"truncate_hours={truncate_hours} must lie in 1..{market.hours}, the flight's length")
        self.market = market
        self.num_envs = num_envs
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
        self._decoder = action_decoder(market, actions, groups)
        self._last_hour = truncate_hours or market.hours
        self.single_observation_space = observation_space(market.spec.segments)
        self.single_action_space = self._decoder.space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._seed: int | None = None
        self._episode = 0

    def reset(
        self,
        *,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002 - part of Gymnasium's signature
    ) -> tuple[Singles, dict[str, Any]]:
        """Begin the first episodes of a seed, or the next ones when no seed is given."""
        if seed is not None:
            self._seed, self._episode = seed, 0
        elif self._seed is None:
            self._seed = int(np.random.SeedSequence().generate_state(1)[0])
        else:
            self._episode += 1
        return self._begin(), {}

    def _begin(self) -> Singles:
        assert self._seed is not None  # noqa: S101  # reset sets it
        obs = self.market.reset(seeds_from(self._seed, self.num_envs, self._episode))
        self._features = FeatureMaker(self.market.brief)
        return self._features(obs)

    def step(self, actions: npt.NDArray[Any]) -> tuple[Singles, Singles, Flags, Flags, dict[str, Any]]:
        """Run one hour for all campaigns."""
        action, clipped = self._decoder.decode(actions, self.market.brief)
        obs, outcome = self.market.step(action)
        vectors = self._features(obs)
        ended = obs.hour >= self._last_hour
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
        place = {"env_seed": np.array(self._seed), "env_episode": np.array(self._episode)}
        return place | self.market.save()

    def restore(self, saved: dict[str, npt.NDArray[Any]]) -> Singles:
        """Continue from `save`; returns the observation that was current then."""
        self._seed, self._episode = int(saved["env_seed"]), int(saved["env_episode"])
        obs = self.market.restore(saved)
        self._features = FeatureMaker(self.market.brief)
        return self._features(obs)
