"""Train an agent further on another market, or a new one with the same budget, and keep what is proven to be better."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gaelp.agents.learner import Learner
from gaelp.clock import Clock
from gaelp.config.base import Frozen
from gaelp.config.fingerprint import fingerprint
from gaelp.errors import Refused
from gaelp.market.baselines.tuned import market_fingerprint
from gaelp.training.assemble import learner_maker
from gaelp.training.checkpoint_folder import CheckpointFolder
from gaelp.training.loop import MakeLearner, TrainingLoop
from gaelp.training.manifest import parameter_hash
from gaelp.training.market_arena import Ground, MarketArena
from gaelp.training.progress import LearnerScale
from gaelp.training.recipe import Recipe
from gaelp.training.reports import TrainingReport, TrainingStopped
from gaelp.training.scores import Score, score
from gaelp.training.segment_policy import SegmentPolicy
from gaelp.training.state_tree import tensors_in

__all__ = ["FINE_TUNED_RATE", "FineTuned", "TrainedState", "TrainingPlace", "fine_tune"]

FINE_TUNED_RATE = 0.25  # of the recipe's learning rate: the first steps of a new agent would undo what was learned

TrainedState = Mapping[str, Any]  # of a learner, as a checkpoint holds it


@dataclass(frozen=True, slots=True)
class TrainingPlace:
    """Where checkpoints are kept, and the seeds of training and of validation."""

    folder: Path
    clock: Clock
    seed: int
    validation_seed: int


@dataclass(frozen=True, slots=True)
class FineTuned:
    """What came of the rounds: the policy to keep, and how it did against the one that training began with."""

    policy: SegmentPolicy
    checkpoint: Path | None  # None: no checkpoint was better, so what training began with is kept
    lead: Score | None  # of the checkpoint over the beginning, on the validation episodes; None without a checkpoint
    rounds: int
    stopped: str


class _Identity(Frozen):
    """Everything that determines the trained parameters."""

    recipe: Recipe
    market: str
    start: str | None
    seed: int
    validation_seed: int


def fine_tune(
    recipe: Recipe,
    ground: Ground,
    start: TrainedState | None,
    place: TrainingPlace,
    *,
    on_report: Callable[[TrainingReport], None] = lambda _: None,
) -> FineTuned:
    """Train for the rounds of the recipe on a market, beginning with `start`, or from scratch if it is None.

    A checkpoint replaces what training began with only if it is better on the validation episodes beyond luck; from
    scratch, that is the rule inside. Interrupted, it resumes from the checkpoints in its folder.
    """
    arena = MarketArena(recipe.arena, ground, seed=place.seed, validation_seed=place.validation_seed)
    make = _maker(recipe, arena, start, place.seed)
    begun = arena.unchanged("the rule inside") if start is None else _policy(arena, "agent as it was", make)
    checkpoints = CheckpointFolder(place.folder, config_hash=_identity(recipe, ground, start, place), clock=place.clock)
    stopped = _trained(TrainingLoop(make, arena, recipe.loop, checkpoints), on_report)
    kept = FineTuned(begun, None, None, stopped.round, stopped.detail)
    if stopped.best is None:
        return kept
    best: TrainedState = checkpoints.load(stopped.best).state["learner"]
    policy = _policy(arena, "from scratch" if start is None else "fine-tuned", make, best)
    lead = score(arena.validate_policy(policy), arena.validate_policy(begun), looks=recipe.loop.looks)
    if not lead.proven:
        return kept
    return FineTuned(policy, stopped.best, lead, stopped.round, stopped.detail)


def _identity(recipe: Recipe, ground: Ground, start: TrainedState | None, place: TrainingPlace) -> str:
    began_with = None if start is None else parameter_hash(tensors_in(start))
    return fingerprint(
        _Identity(
            recipe=recipe,
            market=market_fingerprint(ground.market),
            start=began_with,
            seed=place.seed,
            validation_seed=place.validation_seed,
        )
    )


def _maker(recipe: Recipe, arena: MarketArena, start: TrainedState | None, seed: int) -> MakeLearner:
    fresh = learner_maker(recipe.kind, recipe.agent, arena.spaces, seed=seed)
    if start is None:
        return fresh

    def continued(scale: LearnerScale) -> Learner:
        learner = fresh(scale.model_copy(update={"learning_rate": scale.learning_rate * FINE_TUNED_RATE}))
        learner.load_state(start)
        return learner

    return continued


def _trained(loop: TrainingLoop, on_report: Callable[[TrainingReport], None]) -> TrainingStopped:
    report: TrainingReport | None = None
    for report in loop.run():
        on_report(report)
    if not isinstance(report, TrainingStopped):
        raise TypeError(f"the last report is a {type(report).__name__}, not TrainingStopped")
    if report.kind == "guardrail":
        raise Refused(f"a guardrail stopped training: {report.detail}. Lower the learning rate or the rounds")
    return report


def _policy(arena: MarketArena, name: str, make: MakeLearner, state: TrainedState | None = None) -> SegmentPolicy:
    learner = make(LearnerScale())
    if state is not None:
        learner.load_state(state)
    return arena.policy(name, lambda obs: learner.act(obs, explore=False))
