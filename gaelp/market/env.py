"""One campaign as a plain Gymnasium environment, registered as gaelp/AdMarket-v0."""

from pathlib import Path
from typing import Any, Literal

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from gaelp.arrays import Floats32
from gaelp.market.market import Market
from gaelp.market.vector_env import AdMarketVectorEnv

__all__ = ["AdMarketEnv"]


class AdMarketEnv(gym.Env[Floats32, npt.NDArray[Any]]):
    """A single campaign: the vector environment with one campaign in it, without autoreset."""

    metadata = {"render_modes": []}  # noqa: RUF012 - declared by Gymnasium as an instance variable

    def __init__(
        self,
        *,
        market: Market | str | Path = "cal",
        personas: str | Path = "personas",
        actions: Literal["continuous", "discrete"] = "continuous",
        groups: int = 0,
        truncate_hours: int | None = None,
        objective: str | None = None,
    ) -> None:
        self._batch = AdMarketVectorEnv(
            1,
            market=market,
            personas=personas,
            actions=actions,
            groups=groups,
            truncate_hours=truncate_hours,
            objective=objective,
        )
        self._over = False
        self.observation_space = self._batch.single_observation_space
        self.action_space = self._batch.single_action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats32, dict[str, Any]]:
        """Begin an episode; the same seed gives the same episode."""
        super().reset(seed=seed)
        chosen = seed if seed is not None else int(self.np_random.integers(2**32))
        vectors, info = self._batch.reset(seed=chosen, options=options)
        self._over = False
        return vectors[0], info

    def step(self, action: npt.NDArray[Any]) -> tuple[Floats32, float, bool, bool, dict[str, Any]]:
        """Run one hour; after the last one the environment has to be reset first."""
        if self._over:
            raise gym.error.ResetNeeded("the episode is over: call reset() before the next step()")
        vectors, reward, terminated, truncated, info = self._batch.step(np.asarray(action)[None])
        self._over = ended = bool(terminated[0] or truncated[0])
        last = info["final_obs"][0] if ended else vectors[0]
        step_info = {"clipped": info["clipped"]}
        if ended:
            step_info |= {name: value[0].item() for name, value in info["final_info"].items()}
        return last, float(reward[0]), bool(terminated[0]), bool(truncated[0]), step_info
