"""Find algorithms by name: GAELP's own six, those of stable-baselines3, and installed third-party ones.

A third party offers an `AgentKind` by an entry point in the group `gaelp.agents`, under the kind's own name.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points, packages_distributions
from typing import Any, Generic, Literal, Protocol, TypeVar

from gaelp.agents.a2c import A2cConfig, build_a2c
from gaelp.agents.agent_failure import agent_failure, failed_line
from gaelp.agents.checked_learner import CheckedLearner
from gaelp.agents.dqn import DqnConfig, build_dqn
from gaelp.agents.learner import BoxActions, Learner, Spaces
from gaelp.agents.ppo import PpoConfig, build_ppo
from gaelp.agents.qr_dqn import QrDqnConfig, build_qr_dqn
from gaelp.agents.sac import SacConfig, build_sac
from gaelp.agents.sb3 import Sb3Config, build_sb3, is_sb3_name, sb3_actions, sb3_config_model, sb3_names, scaled_sb3
from gaelp.agents.scaling import scaled_a2c, scaled_ppo, scaled_replay
from gaelp.agents.td3 import Td3Config, build_td3
from gaelp.config.base import Frozen
from gaelp.config.suggest import nearest
from gaelp.config.validation import validated
from gaelp.errors import BadInput, ComponentMissing, ConfigError

__all__ = [
    "GROUP",
    "ActionKind",
    "AgentKind",
    "Build",
    "Scale",
    "agent_config",
    "agent_distributions",
    "agent_names",
    "find_agent",
]

GROUP = "gaelp.agents"

ActionKind = Literal["continuous", "discrete", "both"]

Config = TypeVar("Config", bound=Frozen)
Config_contra = TypeVar("Config_contra", bound=Frozen, contravariant=True)


class Build(Protocol[Config_contra]):
    """Builds a learner; BadInput if it does not take such actions."""

    def __call__(self, spaces: Spaces, config: Config_contra, /, *, seed: int) -> Learner:
        """Build a learner from these arguments and nothing else."""


class Scale(Protocol[Config]):
    """Multiplies a config's learning rate and shrinks its minibatches; Refused if they cannot shrink."""

    def __call__(self, config: Config, /, *, learning_rate: float, minibatch: float) -> Config:
        """Return the config of a learner that can load a state saved with `config`."""


@dataclass(frozen=True, slots=True)
class AgentKind(Generic[Config]):
    """An algorithm as the rest of GAELP sees it: name, config model, builder, and the actions it takes."""

    name: str
    config: type[Config]
    build: Build[Config]
    actions: ActionKind
    scale: Scale[Config]

    def takes(self, spaces: Spaces) -> bool:
        """Return whether it can act in these spaces."""
        return self.actions in ("both", "continuous" if isinstance(spaces.actions, BoxActions) else "discrete")

    def scaled(self, config: Config, *, learning_rate: float = 1.0, minibatch: float = 1.0) -> Config:
        """Return the config to resume from a saved state more cautiously, or with less memory.

        The learning-rate schedule is multiplied by `learning_rate`, and minibatches shrink to the share `minibatch`.
        """
        if not (math.isfinite(learning_rate) and learning_rate > 0 and 0 < minibatch <= 1):
            raise BadInput(
                f"learning_rate={learning_rate} and minibatch={minibatch}: allowed are a factor above 0 and a share"
                " above 0, at most 1"
            )
        return self.scale(config, learning_rate=learning_rate, minibatch=minibatch)


def find_agent(name: str) -> AgentKind[Any]:
    """Return the algorithm of this name; ConfigError if there is none, ComponentMissing if it cannot be used."""
    offered = [point for point in entry_points(group=GROUP) if point.name == name]
    if own := _OWN.get(name):
        _refuse_shadow(offered)
        return own
    if is_sb3_name(name):
        _refuse_shadow(offered)
        return _sb3_kind(name)
    if not offered:
        known = agent_names()
        raise ConfigError(
            f"there is no agent {name!r}; allowed: {', '.join(known)}, or sb3:NAME and sb3-contrib:NAME with the class"
            f" name of any other algorithm there.{nearest(name, known)} An agent of your own is"
            f" found by its entry point {GROUP!r} once its package is installed, for example with"
            f" `pip install --editable agents/{name}`."
        )
    if len(offered) > 1:
        raise ComponentMissing(f"{_sources(offered)} each offer an agent {name!r}: uninstall all but one")
    return _loaded(offered[0])


def agent_names() -> tuple[str, ...]:
    """List what find_agent knows: GAELP's own first, then third-party ones (not loaded for this), then SB3's."""
    others = sorted({point.name for point in entry_points(group=GROUP)} - _OWN.keys())
    return (*_OWN, *others, *sb3_names())


def agent_config(kind: AgentKind[Config], overrides: Mapping[str, Any]) -> Config:
    """Return an algorithm's defaults with some settings changed; ConfigError names every wrong setting."""
    return validated(kind.config, overrides, lambda _: f"agent {kind.name}")


def agent_distributions(kind: AgentKind[Any]) -> tuple[str, ...]:
    """List the installed distributions, besides GAELP's own, that an algorithm's code comes from."""
    if is_sb3_name(kind.name):
        return ("sb3-contrib", "stable-baselines3")
    top = kind.config.__module__.partition(".")[0]
    return tuple(sorted(set(packages_distributions().get(top, ())) - {"gaelp"}))


def _loaded(point: EntryPoint) -> AgentKind[Any]:
    source = f"agent {point.name!r} of {_sources([point])} ({point.value})"
    try:
        kind = point.load()
    except Exception as problem:  # whatever a third party's module raises is reported, not hidden
        line = failed_line(problem)
        raise ComponentMissing(
            f"{source} cannot be loaded, {type(problem).__name__}: {problem}{f' at {line}' if line else ''}; fix or"
            " reinstall that distribution, or choose another agent"
        ) from problem
    if not isinstance(kind, AgentKind):
        raise ComponentMissing(
            f"{source} is of type {type(kind).__name__}; allowed is an AgentKind: let the entry point name one"
        )
    if kind.name != point.name:
        raise ComponentMissing(f"{source} calls itself {kind.name!r}: give entry point and kind the same name")
    return _checked(kind)


def _checked(kind: AgentKind[Config]) -> AgentKind[Config]:
    """A third party's kind: its failures are named, and what its learners return is checked."""

    def build(spaces: Spaces, config: Config, /, *, seed: int) -> Learner:
        with agent_failure(kind.name, "build", kind.build, kind.build.__module__):
            learner = kind.build(spaces, config, seed=seed)
        return CheckedLearner(learner, spaces, kind.name)

    def scale(config: Config, /, *, learning_rate: float, minibatch: float) -> Config:
        with agent_failure(kind.name, "scale", kind.scale, kind.scale.__module__):
            return kind.scale(config, learning_rate=learning_rate, minibatch=minibatch)

    return replace(kind, build=build, scale=scale)


def _refuse_shadow(offered: list[EntryPoint]) -> None:
    """Refuse a distribution that offers an agent under a name of GAELP's own: which is meant would be unclear."""
    if offered:
        raise ComponentMissing(
            f"{_sources(offered)} offers an agent {offered[0].name!r}, which is a name of GAELP's own: uninstall it, or"
            " rename its agent"
        )


def _sources(points: list[EntryPoint]) -> str:
    names = (f"{point.dist.name} {point.dist.version}" if point.dist else "an unnamed one" for point in points)
    return "distribution " + " and ".join(sorted(names))


def _sb3_kind(name: str) -> AgentKind[Sb3Config]:
    return AgentKind(name, sb3_config_model(name), build_sb3, sb3_actions(name), scaled_sb3)


_OWN: Mapping[str, AgentKind[Any]] = {
    "a2c": AgentKind("a2c", A2cConfig, build_a2c, "both", scaled_a2c),
    "dqn": AgentKind("dqn", DqnConfig, build_dqn, "discrete", scaled_replay),
    "ppo": AgentKind("ppo", PpoConfig, build_ppo, "both", scaled_ppo),
    "qr_dqn": AgentKind("qr_dqn", QrDqnConfig, build_qr_dqn, "discrete", scaled_replay),
    "sac": AgentKind("sac", SacConfig, build_sac, "continuous", scaled_replay),
    "td3": AgentKind("td3", Td3Config, build_td3, "continuous", scaled_replay),
}
