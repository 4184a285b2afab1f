"""PPO of stable-baselines3 on GAELP's environments, as the benchmark runs it beside GAELP's own.

Import this module only where the package is installed: it is optional.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium.vector import VectorEnv
from stable_baselines3 import PPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import VecEnv

from gaelp.agents.ppo import PpoConfig
from gaelp.arrays import Bools
from gaelp.market.features import FeatureMaker
from gaelp.market.market import Market
from gaelp.market.policy_state import KeptState
from gaelp.market.spaces import ContinuousActions
from gaelp.market.vector_env import AdMarketVectorEnv
from gaelp.market.view import Action, Brief, Observation
from gaelp.types import SegmentBelief

__all__ = ["DefaultRun", "JointPolicy", "Sb3Training", "VectorEnvAdapter", "ppo_like"]

_ACTIVATIONS: dict[str, type[torch.nn.Module]] = {
    "relu": torch.nn.ReLU,
    "silu": torch.nn.SiLU,
    "tanh": torch.nn.Tanh,
}


class VectorEnvAdapter(VecEnv):
    """A native vector environment with same-step autoreset, as stable-baselines3 wants to see it; nothing is copied."""

    def __init__(self, env: VectorEnv[Any, Any, Any], *, seed: int) -> None:
        self._env, self._seed = env, seed  # first: the next line asks the environment how it renders
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)
        self._nothing: list[dict[str, Any]] = [{} for _ in range(env.num_envs)]
        self._actions: npt.NDArray[Any] | None = None

    def reset(self) -> npt.NDArray[Any]:
        """Begin the episodes of the seed."""
        return np.asarray(self._env.reset(seed=self._seed)[0])

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Take the actions of the coming step."""
        self._actions = actions

    def step_wait(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Bools, list[dict[str, Any]]]:
        """Run the step; the info of a row that ended holds its last observation."""
        obs, reward, terminated, truncated, info = self._env.step(self._actions)
        ended = terminated | truncated
        infos = self._nothing
        if ended.any():
            infos = [
                {"terminal_observation": info["final_obs"][row], "TimeLimit.truncated": bool(truncated[row])}
                if ended[row]
                else {}
                for row in range(self.num_envs)
            ]
        return obs, reward, ended, infos

    def close(self) -> None:
        """Close the environment."""
        self._env.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of the environment that all rows share, once per row."""
        return [getattr(self._env, attr_name, None)] * self._count(indices)

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:  # noqa: ARG002 - signature of VecEnv
        """Set an attribute of the environment that all rows share."""
        setattr(self._env, attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Call a method of the environment once, for all rows."""
        return [getattr(self._env, method_name)(*method_args, **method_kwargs)] * self._count(indices)

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:  # noqa: ARG002 - as above
        """False for every row: nothing is wrapped."""
        return [False] * self._count(indices)

    def _count(self, indices: Any) -> int:
        return len(list(self._get_indices(indices)))


class Sb3Training:
    """A model that is trained on, update after update."""

    def __init__(self, model: PPO) -> None:
        model.set_logger(Logger(folder=None, output_formats=[]))  # its own would leave a folder for every call
        self.model = model
        self.frames_per_update = int(model.n_steps * model.n_envs)

    def update(self) -> None:
        """Collect what one update needs, and learn from it; episodes run on."""
        self.model.learn(self.frames_per_update, reset_num_timesteps=False)


def ppo_like(config: PpoConfig, env: VectorEnv[Any, Any, Any], *, seed: int) -> Sb3Training:
    """PPO with the network, minibatches, epochs and steps of one of GAELP's own, on the same environment.

    It has no normalisation of observations to do, which GAELP's own does if its config says so.
    """
    layers = list(config.network.hidden)
    frames = config.steps_per_update * env.num_envs
    model = PPO(
        "MlpPolicy",
        VectorEnvAdapter(env, seed=seed),
        n_steps=config.steps_per_update,
        batch_size=-(-frames // config.minibatches),
        n_epochs=config.epochs,
        gamma=config.gamma,
        gae_lambda=config.gae_lambda,
        learning_rate=config.learning_rate.value(0.0),
        policy_kwargs={
            "net_arch": {"pi": layers, "vf": layers},
            "activation_fn": _ACTIVATIONS[config.network.activation],
            "log_std_init": config.log_std_start,
        },
        device="cpu",
        seed=seed,
    )
    return Sb3Training(model)


class JointPolicy(KeptState):
    """Plays the likeliest actions of a model that was trained by `DefaultRun`."""

    name = "stable-baselines3 PPO"

    def __init__(self, model: PPO) -> None:
        self.model = model

    def begin(self, brief: Brief, _belief: SegmentBelief | None = None, /) -> None:
        """Start new campaigns from their brief."""
        self._brief, self._features = brief, FeatureMaker(brief)
        self._decoder = ContinuousActions(brief.segments, brief.creatives)

    def act(self, obs: Observation, /) -> Action:
        """The network's actions in the form the environment takes."""
        actions, _ = self.model.predict(self._features(obs), deterministic=True)
        return self._decoder.decode(actions, self._brief)[0]


class DefaultRun:
    """PPO with every setting at its default, on the market as Gymnasium offers it.

    That is the environment behind gaelp/AdMarket-v0: one flat vector a campaign, one reward a campaign (the project's
    own), and as the action one bid for every segment beside the pacing rate.
    """

    def __init__(self, market: Market, *, campaigns: int, seed: int) -> None:
        env = AdMarketVectorEnv(campaigns, market=market)
        model = PPO("MlpPolicy", VectorEnvAdapter(env, seed=seed), device="cpu", seed=seed)
        self._training = Sb3Training(model)

    def update(self) -> bool:
        """Run one update; always True, because training never ends by itself."""
        self._training.update()
        return True

    def policy(self) -> JointPolicy:
        """What it has learned so far."""
        return JointPolicy(self._training.model)
