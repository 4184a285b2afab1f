"""Training further begins with what was learned, keeps only what is proven, and resumes after an interruption."""

from datetime import UTC, datetime

import pytest

from gaelp.clock import ManualClock
from gaelp.errors import Refused
from gaelp.training.assemble import learner_maker
from gaelp.training.checkpoint import load
from gaelp.training.fine_tuning import TrainingPlace, fine_tune
from gaelp.training.manifest import parameter_hash
from gaelp.training.market_arena import MarketArena
from gaelp.training.progress import LearnerScale
from gaelp.training.recipe import Recipe
from gaelp.training.reports import Resumed, RoundDone, Saved, Validated
from gaelp.training.state_tree import tensors_in

RECIPE = Recipe.model_validate(
    {
        "algorithm": "ppo",
        "settings": {"network": {"hidden": [8]}, "steps_per_update": 24, "gamma": 0, "gae_lambda": 0},
        "rule": "mpc",
        "arena": {"rows": 12, "validation_episodes": 8},
        "loop": {"rounds": 2},
    }
)


def place_in(folder, seed=3):
    return TrainingPlace(folder, ManualClock(datetime(2026, 11, 18, tzinfo=UTC)), seed=seed, validation_seed=5)


def fresh_state(ground):
    arena = MarketArena(RECIPE.arena, ground, seed=1, validation_seed=2)
    return learner_maker(RECIPE.kind, RECIPE.agent, arena.spaces, seed=77)(LearnerScale()).state()


def first_saved(tmp_path, ground, start):
    """The parameters of the checkpoint before the first round."""
    reports = []
    fine_tune(RECIPE, ground, start, place_in(tmp_path), on_report=reports.append)
    assert sum(isinstance(report, RoundDone) for report in reports) == 2
    assert any(isinstance(report, Validated) for report in reports)
    saved = [report.path for report in reports if isinstance(report, Saved)]
    return parameter_hash(tensors_in(load(saved[0]).state["learner"]["parameters"]))


def test_training_further_begins_with_what_was_learned(tmp_path, make_ground):
    ground = make_ground(2)
    start = fresh_state(ground)
    assert first_saved(tmp_path / "a", ground, start) == parameter_hash(tensors_in(start["parameters"]))
    assert first_saved(tmp_path / "b", ground, None) != parameter_hash(tensors_in(start["parameters"]))


def test_what_is_not_proven_to_be_better_is_not_kept(tmp_path, make_ground):
    """Two rounds of a tiny network prove nothing on eight episodes."""
    ground = make_ground(2)
    result = fine_tune(RECIPE, ground, fresh_state(ground), place_in(tmp_path))
    assert (result.checkpoint, result.lead, result.rounds) == (None, None, 2)
    assert result.policy.name == "agent as it was"
    assert fine_tune(RECIPE, ground, None, place_in(tmp_path / "b")).policy.name == "the rule inside"


def test_a_second_call_resumes_and_another_beginning_is_refused(tmp_path, make_ground):
    ground = make_ground(2)
    start = fresh_state(ground)
    fine_tune(RECIPE, ground, start, place_in(tmp_path))
    reports = []
    fine_tune(RECIPE, ground, start, place_in(tmp_path), on_report=reports.append)
    assert isinstance(reports[0], Resumed)
    assert not any(isinstance(report, RoundDone) for report in reports)
    with pytest.raises(Refused, match="another folder"):
        fine_tune(RECIPE, ground, None, place_in(tmp_path))
