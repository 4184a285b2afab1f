"""The policy that a simulation chose: the best checkpoint, or the rule it started from if none did better."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gaelp.config.fingerprint import fingerprint
from gaelp.errors import DataError
from gaelp.market.baselines.tuned import TunedRules
from gaelp.training.assemble import MarketTraining
from gaelp.training.manifest import parameter_hash
from gaelp.training.recipe import Recipe
from gaelp.training.segment_policy import SegmentPolicy

__all__ = ["chosen_policy", "hash_of_chosen", "policy_version"]


def chosen_policy(recipe: Recipe, training: MarketTraining, best: Path | None) -> SegmentPolicy:
    """Return the policy of the best checkpoint, or the rule itself if no checkpoint did better."""
    if best is None:
        return training.arena.unchanged(f"agent ({recipe.rule} unchanged)")
    learner = training.loop.learner
    learner.load_state(_best_state(training, best))
    return training.arena.policy(f"agent ({recipe.algorithm})", lambda obs: learner.act(obs, explore=False))


def hash_of_chosen(tuned: TunedRules, training: MarketTraining, best: Path | None) -> str:
    """Return the hash of what the chosen policy has learned, or of the tuned rules."""
    return fingerprint(tuned) if best is None else parameter_hash(training.loop.parameters_in(best))


def policy_version(recipe: Recipe, model_hash: str, *, learned: bool) -> str:
    """What stored episodes call the policy: the algorithm, or the rule that is the agent, and the hash of its model."""
    return f"{recipe.algorithm if learned else recipe.rule}-{model_hash[:12]}"


def _best_state(training: MarketTraining, best: Path) -> Mapping[str, Any]:
    try:
        state: Mapping[str, Any] = training.folder.load(best).state["learner"]
    except DataError as problem:
        raise DataError(
            f"the best checkpoint cannot be judged, and no other replaces it: {problem} Restore it from a copy, or"
            " begin another --run with the same options, which gives an identical agent."
        ) from problem
    return state
