"""A recipe: all choices for training an agent on markets, in one file of configs/agents/."""

from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from gaelp.agents.catalog import AgentKind, agent_config, find_agent
from gaelp.config.base import Frozen
from gaelp.config.load import load_model
from gaelp.errors import ConfigError
from gaelp.training.loop import LoopSpec
from gaelp.training.market_arena import MarketArenaSpec

__all__ = ["BEST_RULE", "NO_RULE", "Recipe", "load_recipe"]

NO_RULE = "none"  # the learner starts from the price level instead of a tuned rule's bid
BEST_RULE = "best"  # the learner starts from the rule that does best on the validation episodes


class Recipe(Frozen):
    """Algorithm, what it starts from, how markets become rows, and how long to train."""

    algorithm: str = Field(description="a name that `find_agent` knows")
    settings: dict[str, Any] = Field(default={}, description="of the algorithm, where they differ from its defaults")
    rule: str = Field(
        default="mpc",
        description="the tuned rule inside; `best` takes the one that does best on the validation episodes among those"
        " that know no more than the agent; `none` starts without a heuristic",
    )
    arena: MarketArenaSpec
    loop: LoopSpec

    @property
    def kind(self) -> AgentKind[Any]:
        """The algorithm."""
        return find_agent(self.algorithm)

    @property
    def agent(self) -> Any:
        """The algorithm's configuration."""
        return agent_config(self.kind, self.settings)

    @model_validator(mode="after")
    def _algorithm_and_actions_fit(self) -> Self:
        try:
            kind, _ = self.kind, self.agent  # wrong settings fail here, not after minutes
        except ConfigError as problem:
            raise ValueError(str(problem)) from problem  # whoever loads a file adds its name and line
        actions = self.arena.residual.actions
        if kind.actions not in ("both", actions):
            raise ValueError(
                f"{self.algorithm} takes {kind.actions} actions, arena.residual.actions is {actions}: change one"
            )
        return self

    def with_rule(self, rule: str) -> Self:
        """The same recipe around another rule."""
        return self.model_copy(update={"rule": rule})

    def with_rounds(self, rounds: int | None) -> Self:
        """The same recipe for a shorter or longer run."""
        if rounds is None:
            return self
        return self.model_copy(update={"loop": self.loop.model_copy(update={"rounds": rounds})})


def load_recipe(path_or_name: str | Path) -> Recipe:
    """A recipe by its name in configs/agents or by path; ConfigError names what is wrong."""
    return load_model(Recipe, path_or_name, "agents")
