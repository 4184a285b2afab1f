"""Assemble a training run: markets and their rules, the arena, the learner, and the loop."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gaelp.agents.catalog import AgentKind
from gaelp.agents.learner import Learner, Spaces
from gaelp.checks import Goal
from gaelp.clock import Clock
from gaelp.config.objective import VALUE, Objective
from gaelp.market.baselines.bids import Bidder
from gaelp.market.baselines.episodes import play, validation_seeds
from gaelp.market.baselines.tuned import TunedRules, load_tuned
from gaelp.market.build import build_market, load_market_spec
from gaelp.market.market import Market
from gaelp.market.personas import PersonaTable
from gaelp.training.checkpoint_folder import CheckpointFolder
from gaelp.training.curriculum_spec import CurriculumSpec
from gaelp.training.loop import MakeLearner, TrainingLoop
from gaelp.training.market_arena import Ground, MarketArena, WatchRound
from gaelp.training.price_level_rule import PriceLevelRule
from gaelp.training.progress import LearnerScale
from gaelp.training.recipe import BEST_RULE, NO_RULE, Recipe
from gaelp.training.task_market import build_tasks

__all__ = [
    "MarketTraining",
    "RunPlace",
    "assemble",
    "ground_of",
    "learner_maker",
    "task_grounds",
    "with_chosen_rule",
]

_CLOSE_SCORES = 0.01  # rules that did so much worse than the best when they were tuned are not played again


class RunPlace(NamedTuple):
    """Where a run keeps its checkpoints, and what identifies its configuration."""

    folder: Path
    config_hash: str
    clock: Clock


class MarketTraining(NamedTuple):
    """A loop that is ready to run, with its arena and its checkpoints."""

    loop: TrainingLoop
    arena: MarketArena
    folder: CheckpointFolder


def assemble(
    recipe: Recipe,
    target: Ground,
    *,
    seed: int,
    validation_seed: int,
    place: RunPlace,
    curriculum: tuple[CurriculumSpec, Mapping[str, Ground]] | None = None,
    goals: tuple[Goal, ...] = (),
    watch_round: WatchRound | None = None,
) -> MarketTraining:
    """A training run of a recipe on a market, or along a curriculum towards it."""
    spec, tasks = curriculum or (None, {})
    arena = MarketArena(
        recipe.arena,
        target,
        seed=seed,
        validation_seed=validation_seed,
        curriculum=spec,
        tasks=tasks,
        watch_round=watch_round,
    )
    folder = CheckpointFolder(place.folder, config_hash=place.config_hash, clock=place.clock)
    make = learner_maker(recipe.kind, recipe.agent, arena.spaces, seed=seed)
    loop = TrainingLoop(make, arena, recipe.loop, folder, goals=goals)
    return MarketTraining(loop, arena, folder)


def learner_maker(kind: AgentKind[Any], config: Any, spaces: Spaces, *, seed: int) -> MakeLearner:
    """Returns what builds a learner, with learning rate and minibatch scaled as guardrails ask."""

    def make(scale: LearnerScale) -> Learner:
        scaled = kind.scaled(config, learning_rate=scale.learning_rate, minibatch=scale.minibatch)
        return kind.build(spaces, scaled, seed=seed)

    return make


def with_chosen_rule(recipe: Recipe, market: Market, tuned: TunedRules, *, validation_seed: int) -> Recipe:
    """The recipe with the name of a rule where it says `best`: the best uninformed one on the validation episodes."""
    if recipe.rule != BEST_RULE:
        return recipe
    scores = {kind.key: tuned.bidders[kind.key].score for kind in tuned.kinds if not kind.informed}
    close = [key for key, score in scores.items() if score >= max(scores.values()) - _CLOSE_SCORES]
    if len(close) == 1:
        return recipe.with_rule(close[0])
    seeds = validation_seeds(validation_seed, recipe.arena.validation_episodes)
    rewards = {key: play(market, tuned.build(key), seeds).reward.mean() for key in close}
    return recipe.with_rule(max(close, key=lambda key: rewards[key]))


def ground_of(market: Market, tuned: TunedRules, rule: str) -> Ground:
    """A market with the rule of a recipe, as it was tuned there."""

    def build() -> Bidder:
        return PriceLevelRule() if rule == NO_RULE else tuned.build(rule)

    build()  # fail now if the rule is unknown
    return Ground(market, build, tuned.constant)


def task_grounds(
    spec: CurriculumSpec, personas: PersonaTable, rule: str, objective: Objective = VALUE
) -> dict[str, Ground]:
    """Every task's market; its rule is the one tuned for the market file that the task changes."""
    grounds = {}
    for task, market_spec in zip(spec.tasks, build_tasks(spec).values(), strict=True):
        base = build_market(load_market_spec(task.market), personas, objective)
        market = build_market(market_spec, personas, objective)
        grounds[task.name] = ground_of(market, load_tuned(base), rule)
    return grounds
