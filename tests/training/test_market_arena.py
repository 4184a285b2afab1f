"""Markets as an arena: rows are segments of campaigns, and what chooses a checkpoint neither trains nor judges it."""

import math

import numpy as np
import pytest
import torch

from gaelp.agents.learner import BoxActions, DiscreteActions
from gaelp.config.objective import Objective
from gaelp.errors import ConfigError, DataError
from gaelp.market.baselines.catalog import CATALOG, CONSTANT
from gaelp.market.baselines.episodes import held_out_seeds, play, training_seeds, validation_seeds
from gaelp.market.build import build_market
from gaelp.training.arena import round_seed
from gaelp.training.assemble import task_grounds
from gaelp.training.curriculum_spec import load_curriculum
from gaelp.training.market_arena import Ground, MarketArena, MarketArenaSpec
from gaelp.training.segment_env import SegmentFeatures


def arena_of(ground, *, seed=3, curriculum=None, tasks=None, **spec):
    given = MarketArenaSpec.model_validate({"rows": 12, "validation_episodes": 6} | spec)
    return MarketArena(given, ground, seed=seed, validation_seed=9, curriculum=curriculum, tasks=tasks)


@pytest.fixture(scope="module")
def quick(personas):
    """The curriculum `quick` with its markets."""
    spec = load_curriculum("quick")
    return spec, task_grounds(spec, personas, "mpc")


def nothing(obs):
    return torch.zeros(len(obs), 1)


def very_high(obs):
    return torch.ones(len(obs), 1)


def first_obs(arena, number):
    return arena.begin(number).collector.obs


@pytest.mark.parametrize(
    ("residual", "actions"),
    [({}, BoxActions(1)), ({"actions": "discrete", "choices": 5}, DiscreteActions(5))],
    ids=["continuous", "discrete"],
)
def test_rows_are_campaigns_times_segments(make_ground, residual, actions):
    for segments in (2, 3):
        arena = arena_of(make_ground(segments), residual=residual)
        collector = arena.begin(0).collector
        assert collector.env.campaigns == 12 // segments
        assert collector.obs.shape == (12, SegmentFeatures.size()) == (12, arena.spaces.observation_size)
        assert (arena.spaces.actions, arena.spaces.rows) == (actions, 12)


@pytest.mark.parametrize(("rows", "works"), [(7, 6), (11, 9), (1, 3)])
def test_rows_that_cannot_be_shared_are_refused_with_a_number_that_works(make_ground, rows, works):
    with pytest.raises(ConfigError, match=f"rows={rows} .*3 segments.*'tiny'.*multiple of 3, such as {works}$"):
        arena_of(make_ground(3), rows=rows)
    arena_of(make_ground(3), rows=works)


def test_the_number_that_works_works_for_every_task_of_a_curriculum(make_ground, quick):
    spec, _ = quick
    tasks = {"calm-tiny": make_ground(3, name="three"), "cal-tiny": make_ground(4, name="four")}
    with pytest.raises(ConfigError, match=r"rows=32 .*3 segments of market 'three'.*multiple of 12, such as 24$"):
        arena_of(make_ground(2), rows=32, curriculum=spec, tasks=tasks)
    arena_of(make_ground(2), rows=24, curriculum=spec, tasks=tasks)


def test_a_round_is_whole_flights_and_tells_their_mean_reward(ground):
    played = arena_of(ground, flights_per_round=2).begin(0)
    assert (played.task, played.steps) == ("tiny", 48)
    ended = [played.collector.step(nothing).terminated.all() for _ in range(played.steps)]
    assert [hour for hour, end in enumerate(ended, 1) if end] == [24, 48]
    seed = round_seed(3, 0)
    expected = [play(ground.market, ground.rule(), training_seeds(seed, 6, batch)).reward.mean() for batch in (0, 1)]
    assert played.reward() == pytest.approx(np.mean(expected), abs=1e-6)


def test_a_round_that_is_broken_off_before_a_flight_ended_has_no_reward(ground):
    played = arena_of(ground).begin(0)
    played.collector.step(nothing)
    assert math.isnan(played.reward())


def test_the_same_round_of_the_same_run_begins_alike_and_every_other_one_differently(ground):
    arena = arena_of(ground)
    first = first_obs(arena, 5)
    arena.validate(very_high)
    assert torch.equal(first_obs(arena, 5), first)
    assert torch.equal(first_obs(arena_of(ground), 5), first)
    assert not torch.equal(first_obs(arena, 6), first)
    assert not torch.equal(first_obs(arena_of(ground, seed=4), 5), first)


def test_the_reference_is_the_rule_on_the_validation_episodes(ground):
    expected = play(ground.market, ground.rule(), validation_seeds(9, 6)).reward
    assert np.array_equal(arena_of(ground).reference(), expected)


@pytest.mark.parametrize("actions", ["continuous", "discrete"])
def test_the_rule_left_unchanged_is_the_rule_under_another_name(ground, actions):
    arena = arena_of(ground, residual={"actions": actions})
    policy = arena.unchanged("agent")
    assert policy.name == "agent"
    assert np.array_equal(play(ground.market, policy, validation_seeds(9, 6)).reward, arena.reference())


def test_a_policy_is_validated_with_what_it_does_and_on_the_same_episodes_each_time(ground):
    arena = arena_of(ground)
    assert np.array_equal(arena.validate(nothing), arena.reference())
    assert (arena.validate(very_high) < arena.reference()).all()
    assert np.array_equal(arena.validate(very_high), arena.validate(very_high))
    played = play(ground.market, arena.policy("agent", very_high), validation_seeds(9, 6)).reward
    assert np.array_equal(arena.validate(very_high), played)


def test_figures_measure_rewards_against_the_rule_and_the_constant_bid_in_the_same_episodes(make_ground):
    ground = make_ground()
    constant = play(ground.market, CONSTANT.build({}), validation_seeds(9, 6)).reward
    arena = arena_of(Ground(ground.market, ground.rule, lambda: CONSTANT.build({})))
    rule = arena.reference()
    figures = arena.figures(rule)
    assert figures["lead_over_rule"] == pytest.approx(0, abs=1e-12)
    assert figures["lead_over_rule_lower_95"] == pytest.approx(0, abs=1e-12)
    assert figures["lead_over_constant"] == pytest.approx(rule.mean() / constant.mean() - 1)
    assert figures["headroom_share"] == pytest.approx((rule - constant).mean() / (1 - constant.mean()))
    for name in ("lead_over_constant", "headroom_share"):
        assert figures[f"{name}_lower_95"] < figures[name]
    assert arena.figures(rule * 1.1)["lead_over_rule"] == pytest.approx(0.1)
    assert arena_of(ground).figures(rule).keys() == {"lead_over_rule", "lead_over_rule_lower_95"}


def test_headroom_for_profit_is_not_blurred_by_campaigns_of_different_size(make_ground):
    value = make_ground().market
    market = build_market(value.spec, value.personas, Objective(kind="profit"))
    kinds = {kind.key: kind for kind in CATALOG}
    arena = arena_of(Ground(market, kinds["mpc"].build, CONSTANT.build), validation_episodes=120)
    figures = arena.figures(arena.reference())
    played = [play(market, kinds[key].build(), validation_seeds(9, 120)) for key in ("mpc", "constant")]
    columns = [played[0].achieved_micros, played[1].achieved_micros, played[0].optimum_micros]
    agent, constant, optimum = (column.sum() for column in columns)
    assert figures["headroom_share"] == pytest.approx((agent - constant) / (optimum - constant))
    draws = np.random.default_rng(0).integers(0, 120, (2000, 120))
    agent, constant, optimum = (column[draws].sum(axis=1) for column in columns)
    half = figures["headroom_share"] - figures["headroom_share_lower_95"]
    assert half == pytest.approx(1.96 * ((agent - constant) / (optimum - constant)).std(), rel=0.25)


def test_more_validation_episodes_than_fit_at_once_are_played_in_parts(ground):
    rewards = arena_of(ground, validation_episodes=300).reference()
    assert rewards.shape == (300,)
    few = arena_of(ground, validation_episodes=6).reference()
    assert np.allclose(rewards[:6], few, atol=1e-9)


@pytest.mark.parametrize("seed", [0, 7, 1009])
def test_validation_episodes_are_never_trained_on_nor_those_of_the_final_evaluation(seed):
    trained = {int(drawn) for number in range(20) for drawn in training_seeds(round_seed(seed, number), 500)}
    trained |= {int(drawn) for batch in range(5) for drawn in training_seeds(seed, 500, batch)}
    validation = {int(drawn) for drawn in validation_seeds(seed, 5000)}
    final = {int(drawn) for drawn in held_out_seeds(seed, 5000)}
    assert len(validation) == len(final) == 5000
    assert not validation & final
    assert not (validation | final) & trained


def test_without_a_curriculum_there_is_nothing_to_remember(ground):
    arena = arena_of(ground)
    assert (arena.record(nothing), arena.statuses(), arena.state()) == ({}, {}, {})
    arena.load_state({})


def test_a_task_that_is_mastered_unlocks_the_next_one(ground, quick):
    spec, tasks = quick
    arena = arena_of(ground, curriculum=spec, tasks=tasks)
    assert arena.statuses() == {"calm-tiny": "training", "cal-tiny": "locked"}
    assert {arena.begin(number).task for number in range(10)} == {"calm-tiny"}
    figures = arena.record(nothing)
    assert figures.keys() == {"task_calm-tiny"}
    assert 0.5 <= figures["task_calm-tiny"] < 1
    assert arena.statuses() == {"calm-tiny": "mastered", "cal-tiny": "training"}
    assert {arena.begin(number).task for number in range(20)} == {"calm-tiny", "cal-tiny"}
    assert arena.record(nothing).keys() == {"task_calm-tiny", "task_cal-tiny"}


def test_a_policy_that_hardly_bids_masters_nothing(ground, quick):
    spec, tasks = quick
    arena = arena_of(ground, curriculum=spec, tasks=tasks, residual={"scale": 3})
    arena.record(lambda obs: torch.full((len(obs), 1), -1.0))
    assert arena.statuses() == {"calm-tiny": "training", "cal-tiny": "locked"}


def test_how_far_a_curriculum_has_come_survives_saving(ground, quick):
    spec, tasks = quick
    before, after = (arena_of(ground, curriculum=spec, tasks=tasks) for _ in range(2))
    before.record(nothing)
    after.load_state(before.state())
    assert after.statuses() == before.statuses()
    assert after.state() == before.state()
    assert [after.begin(number).task for number in range(20)] == [before.begin(number).task for number in range(20)]
    assert torch.equal(first_obs(after, 7), first_obs(before, 7))
    with pytest.raises(DataError, match="curriculum"):
        after.load_state({"tasks": [], "version": 99})


def test_tasks_with_other_segments_keep_the_number_of_rows_and_the_target_is_still_what_is_judged(make_ground, quick):
    spec, _ = quick
    target = make_ground(4, name="target")
    tasks = {"calm-tiny": make_ground(2, name="two"), "cal-tiny": make_ground(3, name="three")}
    arena = arena_of(target, curriculum=spec, tasks=tasks)
    arena.record(nothing)
    campaigns = {}
    for number in range(20):
        played = arena.begin(number)
        assert played.collector.obs.shape == (12, arena.spaces.observation_size)
        campaigns[played.task] = played.collector.env.campaigns
    assert campaigns == {"calm-tiny": 6, "cal-tiny": 4}
    expected = play(target.market, target.rule(), validation_seeds(9, 6)).reward
    assert np.array_equal(arena.validate(nothing), expected)


def test_every_use_gets_a_rule_of_its_own(ground):
    made = []

    def rule():
        made.append(ground.rule())
        return made[-1]

    arena = arena_of(Ground(ground.market, rule))
    arena.begin(0), arena.policy("a", nothing), arena.reference(), arena.validate(nothing)
    assert len({id(drawn) for drawn in made}) == 4
