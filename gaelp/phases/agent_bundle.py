"""The files that are an agent, enough to play it again: what it learned, its recipe, and the rules inside.

A bundle is written after phase 1 and passed on from phase to phase; the model registry stores it.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gaelp.agents.learner import Learner
from gaelp.config.base import Frozen
from gaelp.config.load import load_model
from gaelp.config.objective import Objective
from gaelp.config.settings import Settings
from gaelp.config.write import write_models
from gaelp.errors import DataError
from gaelp.market.baselines.tuned import TunedRules
from gaelp.market.build import build_market, configured_personas
from gaelp.market.market import Market
from gaelp.market.spec import MarketSpec
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.simulation import hash_agent, of_attempt, plan_simulation
from gaelp.training.assemble import ground_of, learner_maker
from gaelp.training.checkpoint import load as load_checkpoint
from gaelp.training.market_arena import MarketArena
from gaelp.training.progress import LearnerScale
from gaelp.training.recipe import Recipe
from gaelp.training.segment_policy import SegmentPolicy

__all__ = ["BUNDLE_FILES", "Agent", "AgentRecipe", "copy_bundle", "learned_state", "load_bundle", "write_bundle"]

_CHECKPOINT, _RULES, _RECIPE = "checkpoint.safetensors", "rules.yaml", "recipe.json"
BUNDLE_FILES = (_CHECKPOINT, _RULES, _RECIPE)


class AgentRecipe(Frozen):
    """How to build the agent around its files."""

    name: str
    learned: bool  # False: the rule of the recipe, unchanged, is the agent
    recipe: Recipe
    market: MarketSpec
    objective: Objective
    seed: int


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent that can play, the market that it was trained in, and the rules that were tuned there."""

    description: AgentRecipe
    policy: SegmentPolicy
    market: Market
    tuned: TunedRules
    learner: Learner | None = None  # None: the rule, unchanged


def write_bundle(settings: Settings, result: PhaseResult, folder: Path) -> Path:
    """Copy an agent of phase 1 into a folder; returns the file that `hash_agent` hashes, as it hashed the original."""
    plan = plan_simulation(of_attempt(settings, result.attempt))
    source = result.model_file(settings.home)
    folder.mkdir(parents=True, exist_ok=True)
    if result.learned:
        shutil.copyfile(source, folder / _CHECKPOINT)
    description = AgentRecipe(
        name=result.agent,
        learned=result.learned,
        recipe=plan.recipe,
        market=plan.market.spec,
        objective=settings.objective,
        seed=plan.settings.run.seed,
    )
    write_models({folder / _RULES: plan.tuned, folder / _RECIPE: description})
    model = folder / (_CHECKPOINT if result.learned else _RULES)
    if hash_agent(model) != result.model_hash:
        raise DataError(
            f"the copy of {source} has another hash than the model that was judged ({result.model_hash[:12]}): the"
            " rules or the recipe changed since. Restore them, or begin another run"
        )
    return model


def copy_bundle(settings: Settings, result: PhaseResult, folder: Path) -> Path:
    """Copy the bundle that a phase passed on into a folder; returns the hashed file there."""
    source = result.model_file(settings.home)
    folder.mkdir(parents=True, exist_ok=True)
    for name in BUNDLE_FILES:
        if (source.parent / name).exists():
            shutil.copyfile(source.parent / name, folder / name)
    return folder / source.name


def load_bundle(folder: Path, settings: Settings) -> Agent:
    """Build the agent of a bundle; DataError names a file that is missing or from another release."""
    try:
        described = AgentRecipe.model_validate_json((folder / _RECIPE).read_bytes())
    except (OSError, ValueError) as problem:
        first = str(problem).splitlines()[0]
        raise DataError(f"{folder / _RECIPE} does not describe an agent ({first}): restore it from a copy") from problem
    tuned = load_model(TunedRules, folder / _RULES)
    market = build_market(described.market, configured_personas(settings), described.objective)
    return _agent(described, tuned, market, folder / _CHECKPOINT)


def learned_state(folder: Path, agent: Agent) -> Mapping[str, Any] | None:
    """What the agent of a bundle learned, to train it further; None for a rule."""
    if not agent.description.learned:
        return None
    state: Mapping[str, Any] = load_checkpoint(folder / _CHECKPOINT).state["learner"]
    return state


def _agent(described: AgentRecipe, tuned: TunedRules, market: Market, checkpoint: Path) -> Agent:
    recipe = described.recipe
    arena = MarketArena(recipe.arena, ground_of(market, tuned, recipe.rule), seed=described.seed, validation_seed=0)
    if not described.learned:
        return Agent(described, arena.unchanged(described.name), market, tuned, None)
    learner = learner_maker(recipe.kind, recipe.agent, arena.spaces, seed=described.seed)(LearnerScale())
    learner.load_state(load_checkpoint(checkpoint).state["learner"])
    policy = arena.policy(described.name, lambda obs: learner.act(obs, explore=False))
    return Agent(described, policy, market, tuned, learner)
