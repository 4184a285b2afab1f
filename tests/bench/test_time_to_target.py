"""A race ends at the target, at the cap or when nothing more comes, and times training alone."""

import math
import time

import pytest

from gaelp.bench.time_to_target import (
    Duel,
    Finish,
    OwnRun,
    RaceSpec,
    ValidationJudge,
    half_way,
    run_race,
    sb3_recipe,
    seconds_ratio,
)
from gaelp.market.baselines.tuned import load_tuned
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.training.recipe import load_recipe

UPDATE_SECONDS = 0.01


class Climber:
    """Gets better by a tenth with every update."""

    def __init__(self, updates=100):
        self._left, self._reward = updates, 0.0

    def update(self):
        time.sleep(UPDATE_SECONDS)
        self._reward += 0.1
        self._left -= 1
        return self._left > 0

    def policy(self):
        return self._reward


def judged(reward):
    time.sleep(10 * UPDATE_SECONDS)
    return reward


def test_a_race_ends_at_the_first_look_that_shows_the_target_and_judging_is_not_timed():
    reported = []
    finish = run_race(Climber(), judged, 0.45, RaceSpec(cap_seconds=60, look_every_seconds=0), reported.append)
    assert finish.reached
    assert [round(look.reward, 1) for look in reported] == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert finish.curve == tuple(reported)
    assert 5 * UPDATE_SECONDS <= finish.seconds < 5 * 5 * UPDATE_SECONDS
    assert finish.cpu_seconds < finish.seconds


def test_a_race_is_given_up_at_the_cap_after_a_last_look():
    finish = run_race(Climber(), judged, 99.0, RaceSpec(cap_seconds=4 * UPDATE_SECONDS, look_every_seconds=60))
    assert not finish.reached
    assert len(finish.curve) == 1
    assert finish.seconds >= 4 * UPDATE_SECONDS


def test_a_runner_that_comes_to_its_end_is_judged_once_more():
    finish = run_race(Climber(updates=3), judged, 99.0, RaceSpec(cap_seconds=60, look_every_seconds=60))
    assert (finish.reached, finish.best_reward) == (False, pytest.approx(0.3))


def ended(seconds, *, reached=True):
    return Finish(reached=reached, seconds=seconds, cpu_seconds=seconds / 2, best_reward=0.8, curve=())


def test_the_ratio_is_of_the_peer_to_our_median_run():
    ours = (ended(10), ended(40), ended(20))
    assert seconds_ratio(ours, ended(200), 600) == 10
    assert seconds_ratio(ours, ended(200), 600, cpu=True) == 10
    assert seconds_ratio(ours, ended(604, reached=False), 600) == 30


def test_without_most_of_our_runs_at_the_target_there_is_no_ratio():
    late = ended(5, reached=False)
    assert seconds_ratio((ended(10), late, late), ended(200), 600) is None
    assert seconds_ratio((ended(10), ended(20), late), ended(200), 600) == 10


def duel(ours, sb3):
    return Duel(seed=1, ours=ours, sb3=sb3)


def test_a_duel_is_decided_by_their_seconds_over_ours_or_by_who_arrived():
    assert duel(ended(10), ended(25)).ratio() == 2.5
    assert duel(ended(10), ended(25, reached=False)).ratio() == math.inf
    assert duel(ended(10, reached=False), ended(25)).ratio() == 0
    assert duel(ended(10, reached=False), ended(25, reached=False)).ratio() == 1


def test_the_peer_in_the_same_arena_has_every_setting_of_ours():
    pytest.importorskip("stable_baselines3")
    ours = load_recipe("ppo-plain")
    peer = sb3_recipe(ours)
    assert (peer.arena, peer.loop, peer.rule) == (ours.arena, ours.loop, ours.rule)
    assert peer.agent.learning_rate == ours.agent.learning_rate
    arguments = peer.agent.arguments
    assert (arguments["n_steps"], arguments["n_epochs"], arguments["gamma"]) == (72, 6, 0)
    assert arguments["batch_size"] == 72 * 512 // 4
    assert arguments["policy_kwargs"]["net_arch"] == {"pi": [48, 48], "vf": [48, 48]}
    assert not ours.agent.normalise_obs  # which the peer has not


@pytest.fixture(scope="module")
def market():
    return build_market(load_market_spec("signals"), load_persona_table("personas"))


def test_half_way_lies_between_the_constant_bid_and_the_optimum(market):
    constant, target = half_way(ValidationJudge(market, episodes=16, seed=1), load_tuned(market))
    assert 0.4 < constant < 0.75
    assert target == pytest.approx((constant + 1) / 2)


def test_the_plain_recipe_has_no_heuristic_inside_and_learns_round_by_round(market):
    recipe = load_recipe("ppo-plain")
    assert recipe.rule == "none"
    arena = recipe.arena.model_copy(update={"rows": 64})
    tiny = recipe.model_copy(update={"arena": arena, "loop": recipe.loop.model_copy(update={"rounds": 4})})
    run = OwnRun(tiny, market, load_tuned(market), seed=1)
    judge = ValidationJudge(build_market(market.spec, market.personas), episodes=32, seed=1)
    first = judge(run.policy())
    assert [run.update() for _ in range(4)] == [True, True, True, False]
    assert judge(run.policy()) > first + 0.005
    folder = run.folder
    assert folder.exists()
    run.close()
    assert not folder.exists()
