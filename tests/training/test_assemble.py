"""From a recipe and a market to a run that is ready: the learner fits the rows, and guardrails can scale it down."""

from datetime import UTC, datetime

import numpy as np
import pytest
import torch

from gaelp.clock import ManualClock
from gaelp.config.places import names_in
from gaelp.errors import DataError
from gaelp.market.baselines.catalog import CATALOG
from gaelp.market.baselines.episodes import play, validation_seeds
from gaelp.market.baselines.tuned import load_tuned
from gaelp.market.build import build_market, load_market_spec
from gaelp.training.assemble import RunPlace, assemble, learner_maker, task_grounds, with_chosen_rule
from gaelp.training.curriculum_spec import load_curriculum
from gaelp.training.market_arena import MarketArena
from gaelp.training.progress import LearnerScale
from gaelp.training.recipe import BEST_RULE, NO_RULE, Recipe, load_recipe
from gaelp.training.reports import RoundDone, TrainingStopped

SMALL = {"network": {"hidden": [4]}, "steps_per_update": 24}


def small_recipe(**given):
    values = {"algorithm": "ppo", "settings": SMALL, "arena": {"rows": 8, "validation_episodes": 4}}
    return Recipe.model_validate(values | {"loop": {"rounds": 2, "validate_every": 1}} | given)


@pytest.fixture
def place(tmp_path):
    return RunPlace(tmp_path, "ab" * 32, ManualClock(datetime(2026, 1, 1, tzinfo=UTC)))


def maker(recipe, arena, seed):
    return learner_maker(recipe.kind, recipe.agent, arena.spaces, seed=seed)


def test_a_recipe_and_a_market_make_a_run_that_ends(ground, place):
    training = assemble(small_recipe(), ground, seed=1, validation_seed=2, place=place)
    reports = list(training.loop.run())
    assert [report.round for report in reports if isinstance(report, RoundDone)] == [1, 2]
    assert isinstance(reports[-1], TrainingStopped)
    assert training.folder.paths[-1].parent == place.folder
    assert training.arena.spaces.rows == 8


@pytest.mark.parametrize("name", names_in("agents"))
def test_the_learner_of_every_recipe_acts_in_its_rows(name, ground):
    recipe = load_recipe(name)
    arena = MarketArena(recipe.arena, ground, seed=1, validation_seed=2)
    learner = maker(recipe, arena, 3)(LearnerScale())
    collector = arena.begin(0).collector
    step = collector.step(lambda obs: learner.act(obs, explore=True))
    assert len(step.action) == recipe.arena.rows


def test_the_same_seed_builds_the_same_learner_and_another_one_another(ground):
    recipe = small_recipe()
    arena = MarketArena(recipe.arena, ground, seed=1, validation_seed=2)
    obs = arena.begin(0).collector.obs
    one, same, other = (maker(recipe, arena, seed)(LearnerScale()).act(obs, explore=False) for seed in (5, 5, 6))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_guardrails_scale_the_learning_rate_and_the_state_still_fits(ground):
    recipe = small_recipe(settings=SMALL | {"learning_rate": {"kind": "linear", "start": 0.01, "end": 0.01}})
    arena = MarketArena(recipe.arena, ground, seed=1, validation_seed=2)
    make = maker(recipe, arena, 5)
    whole, halved = make(LearnerScale()), make(LearnerScale(learning_rate=0.5))
    halved.load_state(whole.state())
    obs = arena.begin(0).collector.obs
    assert torch.equal(whole.act(obs, explore=False), halved.act(obs, explore=False))
    for learner in (whole, halved):
        collector = arena.begin(0).collector
        for _ in range(24):
            learner.observe(collector.step(lambda obs, learner=learner: learner.act(obs, explore=True)))
            learner.update(0.5)
    assert not torch.equal(whole.act(obs, explore=False), halved.act(obs, explore=False))


def test_a_guardrail_that_breaks_in_the_middle_of_a_flight_stops_the_run_with_its_name(ground, place):
    never = {"metric": "value_loss", "at_most": -1, "response": "stop", "why": "to see it break"}
    loop = {"rounds": 2, "guardrails": {"rules": {"never": never}}}
    recipe = small_recipe(settings=SMALL | {"steps_per_update": 8}, loop=loop)
    *_, stopped = assemble(recipe, ground, seed=1, validation_seed=2, place=place).loop.run()
    assert (stopped.kind, stopped.round, stopped.best) == ("guardrail", 0, None)
    assert "to see it break" in stopped.detail


def test_every_task_of_a_curriculum_is_bid_in_by_the_rule_tuned_for_its_market(personas):
    spec = load_curriculum("quick")
    grounds = task_grounds(spec, personas, "mpc")
    assert list(grounds) == ["calm-tiny", "cal-tiny"]
    for task in spec.tasks:
        ground = grounds[task.name]
        assert (ground.market.spec.name, ground.market.spec.segments, ground.market.hours) == (task.name, 2, 24)
        assert 0.5 < play(ground.market, ground.rule(), validation_seeds(1, 16)).reward.mean() < 1
    assert {ground.rule().name for ground in task_grounds(spec, personas, NO_RULE).values()} == {"price level"}


def test_a_rule_that_no_task_has_is_told_before_anything_is_trained(personas):
    with pytest.raises(DataError, match="no tuned bidder 'magic' for market 'calm'"):
        task_grounds(load_curriculum("quick"), personas, "magic")


def test_the_tasks_of_every_shipped_curriculum_have_markets_and_tuned_rules(personas):
    for name in names_in("curriculum"):
        spec = load_curriculum(name)
        assert list(task_grounds(spec, personas, "mpc")) == [task.name for task in spec.tasks]


def test_the_tuned_parameters_are_used_and_not_the_defaults(personas):
    tiny = task_grounds(load_curriculum("quick"), personas, "mcpc")["calm-tiny"]
    tuned = load_tuned(build_market(load_market_spec("calm"), personas)).build("mcpc")
    default = next(kind for kind in CATALOG if kind.key == "mcpc").build({})
    rewards = [play(tiny.market, rule, validation_seeds(1, 4)).reward for rule in (tiny.rule(), tuned, default)]
    assert np.array_equal(rewards[0], rewards[1])
    assert not np.array_equal(rewards[0], rewards[2])


def with_scores(tuned, **scores):
    """Tuned rules of which only these are left, with other scores."""
    kept = {key: tuned.bidders[key].model_copy(update={"score": score}) for key, score in scores.items()}
    return tuned.model_copy(update={"bidders": kept})


@pytest.fixture
def calm(personas):
    market = build_market(load_market_spec("calm"), personas)
    return market, load_tuned(market)


def test_the_rule_to_start_from_is_the_best_on_the_validation_episodes_and_not_the_best_when_tuned(calm):
    market, tuned = calm
    close = with_scores(tuned, mcpc=0.901, mpc=0.9)
    chosen = with_chosen_rule(small_recipe(rule=BEST_RULE), market, close, validation_seed=3)
    assert chosen == small_recipe(rule="mpc")


def test_a_rule_that_knows_more_than_the_agent_is_not_chosen_and_one_far_behind_is_not_played(calm):
    market, tuned = calm
    rules = with_scores(tuned, lin=0.9, mcpc=0.8, **{"mpc-informed": 0.99})
    assert with_chosen_rule(small_recipe(rule=BEST_RULE), market, rules, validation_seed=3).rule == "lin"


@pytest.mark.parametrize("rule", [NO_RULE, "pid"])
def test_a_rule_that_is_named_stays(calm, rule):
    assert with_chosen_rule(small_recipe(rule=rule), *calm, validation_seed=3).rule == rule
