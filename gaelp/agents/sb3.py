"""Algorithms of stable-baselines3 and sb3-contrib by name, such as sb3:PPO and sb3-contrib:TQC, and their settings.

Both packages are optional and imported only once one of their algorithms is asked for.
"""

import inspect
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from pydantic import Field, JsonValue, PositiveFloat, create_model, model_validator

from gaelp.agents.learner import Learner, Spaces
from gaelp.agents.scaling import changed, scaled_schedule, shrunk
from gaelp.agents.schedules import ConstantSchedule, Schedule
from gaelp.config.base import Frozen
from gaelp.config.suggest import nearest
from gaelp.errors import ComponentMissing, ConfigError, Refused

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm

__all__ = [
    "NOT_FOR_USERS",
    "Sb3Config",
    "build_sb3",
    "is_sb3_name",
    "sb3_actions",
    "sb3_class",
    "sb3_config_model",
    "sb3_names",
    "scaled_sb3",
]

_PACKAGES = {"sb3": "stable_baselines3", "sb3-contrib": "sb3_contrib"}
# The algorithms in GAELP's tests, by the actions they take; others are assumed to take both.
_ACTIONS: dict[str, Literal["continuous", "discrete", "both"]] = {
    "sb3:A2C": "both",
    "sb3:DDPG": "continuous",
    "sb3:DQN": "discrete",
    "sb3:PPO": "both",
    "sb3:SAC": "continuous",
    "sb3:TD3": "continuous",
    "sb3-contrib:CrossQ": "continuous",
    "sb3-contrib:QRDQN": "discrete",
    "sb3-contrib:TQC": "continuous",
    "sb3-contrib:TRPO": "both",
}
NOT_FOR_USERS = {
    "device": "the adapter runs on the CPU",
    "env": "the adapter provides it",
    "learning_rate": "set learning_rate beside arguments, as a schedule",
    "action_noise": "set action_noise beside arguments, as a standard deviation",
    "optimize_memory_usage": "it mixes up episodes that are reset from outside",
    "policy": "set policy beside arguments",
    "seed": "the learner has one",
    "use_sde": "its noise is not saved, so a run could not resume",
    "sde_sample_freq": "it belongs to use_sde",
    "use_sde_at_warmup": "it belongs to use_sde",
    "_init_setup_model": "a model that is not set up cannot act",
}


class Sb3Config(Frozen):
    """Settings of any algorithm of stable-baselines3; what is not named keeps the default it has there."""

    algorithm: str = Field(description="such as sb3:PPO: the package and the class")
    policy: str = Field(default="MlpPolicy", description="observations are vectors here")
    learning_rate: Schedule | None = Field(default=None, description="none: the algorithm's own default")
    action_noise: PositiveFloat | None = Field(
        default=None,
        description="standard deviation, for continuous actions; TD3 and DDPG need it to explore, 0.1 is usual",
    )
    arguments: dict[str, JsonValue] = Field(
        default={},
        description="of the class, by name; in policy_kwargs, activation_fn and optimizer_class are names of torch's",
    )

    @model_validator(mode="after")
    def _arguments_are_free(self) -> Self:
        for name in self.arguments:
            if name in NOT_FOR_USERS:
                raise ValueError(f"arguments.{name} cannot be set: {NOT_FOR_USERS[name]}")
            if name.endswith(("_buffer_class", "_buffer_kwargs")):
                raise ValueError(f"arguments.{name} cannot be set: the adapter fills and saves the usual buffers only")
        if not isinstance(self.arguments.get("train_freq", 1), int):
            raise ValueError(  # noqa: TRY004 - pydantic reports this kind
                f"arguments.train_freq={self.arguments['train_freq']} is not allowed: give a number of steps;"
                " episodes of many rows do not end together"
            )
        return self


def is_sb3_name(name: str) -> bool:
    """Whether a name is of an algorithm of stable-baselines3 or sb3-contrib, known or not."""
    return name.partition(":")[0] in _PACKAGES and ":" in name


def sb3_names() -> tuple[str, ...]:
    """The algorithms in GAELP's tests whose packages are installed."""
    present = {prefix for prefix, package in _PACKAGES.items() if find_spec(package)}
    return tuple(name for name in _ACTIONS if name.partition(":")[0] in present)


def sb3_actions(name: str) -> Literal["continuous", "discrete", "both"]:
    """Which actions an algorithm takes, as far as is known beforehand."""
    return _ACTIONS.get(name, "both")


@cache
def sb3_config_model(name: str) -> type[Sb3Config]:
    """The settings of one algorithm, with its name fixed; ConfigError if there is no such algorithm."""
    sb3_class(name)
    fixed: Any = (Literal[name], name)
    return cast("type[Sb3Config]", create_model("Sb3Config", __base__=Sb3Config, __module__=__name__, algorithm=fixed))


def sb3_class(name: str) -> "type[BaseAlgorithm]":
    """The class behind a name; ConfigError if there is none, ComponentMissing if its package is not installed."""
    prefix, _, class_name = name.partition(":")
    package = _imported(name, _PACKAGES[prefix])
    algorithm = getattr(package, class_name, None)
    algorithms = _imported(name, "stable_baselines3.common.base_class").BaseAlgorithm
    if isinstance(algorithm, type) and issubclass(algorithm, algorithms):
        return algorithm
    known = [each for each, kind in vars(package).items() if isinstance(kind, type) and issubclass(kind, algorithms)]
    raise ConfigError(
        f"{_PACKAGES[prefix]} has no algorithm {class_name!r}; allowed: {', '.join(sorted(known))}."
        f"{nearest(class_name, known)}"
    )


def build_sb3(spaces: Spaces, config: Sb3Config, *, seed: int) -> Learner:
    """A learner around the algorithm; BadInput if it cannot run in GAELP's loop or refuses its settings."""
    algorithm = sb3_class(config.algorithm)
    build: Any = _imported(config.algorithm, "gaelp.agents.sb3_learner").build_learner
    learner: Learner = build(algorithm, spaces, config, seed=seed)
    return learner


def scaled_sb3(config: Sb3Config, *, learning_rate: float, minibatch: float) -> Sb3Config:
    """The learning rate times a factor; the minibatch shrinks, for those that have one."""
    rate = config.learning_rate or ConstantSchedule(start=float(_default(config, "learning_rate")))
    arguments = dict(config.arguments)
    if minibatch < 1:
        size = arguments.get("batch_size", _default(config, "batch_size"))
        if not isinstance(size, int):
            raise Refused(f"{config.algorithm} has no batch_size to shrink: lower n_steps or the number of rows")
        arguments["batch_size"] = shrunk(size, minibatch, at_least=2)
    return changed(config, learning_rate=scaled_schedule(rate, learning_rate), arguments=arguments)


def _default(config: Sb3Config, argument: str) -> Any:
    """The algorithm's default of an argument; None if it has no such argument."""
    parameter = inspect.signature(sb3_class(config.algorithm)).parameters.get(argument)
    return parameter.default if parameter else None


def _imported(name: str, module: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as problem:
        raise ComponentMissing(
            f"{name} needs {problem.name}, which is not installed: install GAELP with its extra bench"
            " (pip install 'gaelp[bench]'), or choose one of GAELP's own agents"
        ) from problem
