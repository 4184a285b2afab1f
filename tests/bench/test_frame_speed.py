"""The benchmark of training counts what it says it counts, and alternates between both sides."""

import time

import numpy as np
import pytest
import torch

from gaelp.agents.learner import BoxActions, Spaces
from gaelp.agents.networks import NetworkSpec
from gaelp.agents.ppo import PpoConfig
from gaelp.bench.frame_speed import OwnTraining, compare_frames, matmul_limit, matmul_share, update_operations
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.training.price_level_rule import PriceLevelRule
from gaelp.training.segment_env import ResidualSpec, SegmentEnv

CONFIG = PpoConfig(network=NetworkSpec(hidden=(8, 4)), steps_per_update=6, epochs=3, minibatches=2)


class Spinner:
    """Takes a known CPU time for every update, and records the order."""

    frames_per_update = 100

    def __init__(self, name, seconds, order):
        self._name, self._seconds, self._turns = name, seconds, order

    def update(self):
        self._turns.append(self._name)
        until = time.process_time() + self._seconds
        while time.process_time() < until:
            pass


def test_both_sides_take_turns_and_the_faster_one_has_the_higher_ratio():
    order, lines = [], []
    quick, slow = Spinner("ours", 0.004, order), Spinner("peer", 0.012, order)
    speed = compare_frames(quick, slow, repetitions=3, updates=2, report=lines.append)
    assert order == ["ours", "peer", *["ours", "ours", "peer", "peer"] * 3]
    assert speed.ratio == pytest.approx(3.0, rel=0.25)
    assert speed.ours_per_s == pytest.approx(100 / 0.004, rel=0.25)
    assert len(lines) == len(speed.ratios) == 3


def test_without_a_peer_there_is_a_speed_and_no_ratio():
    speed = compare_frames(Spinner("ours", 0.001, []), None, repetitions=2, updates=1)
    assert speed.ours_per_s > 0
    assert (speed.peer_per_s, speed.ratio, speed.ratios) == (None, None, ())


def test_operations_of_an_update_are_those_counted_by_hand():
    actor = 2 * (5 * 8 + 8 * 4 + 4 * 2) * 2 + 2 * (8 * 4 + 4 * 2)
    critic = 2 * (5 * 8 + 8 * 4 + 4 * 1) * 2 + 2 * (8 * 4 + 4 * 1)
    assert update_operations(CONFIG, Spaces(5, BoxActions(2), 7)) == 7 * 6 * 3 * (actor + critic)


def test_wide_layers_come_nearer_to_the_limit_of_the_machine_than_narrow_ones():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        assert matmul_limit((256, 256), 256, seconds=0.05) > 2 * matmul_limit((4, 4), 256, seconds=0.05)
    finally:
        torch.set_num_threads(before)


@pytest.fixture
def env():
    market = build_market(load_market_spec("calm"), load_persona_table("personas"))
    return SegmentEnv(market, PriceLevelRule(), ResidualSpec(), campaigns=4)


def test_own_training_learns_once_an_update_and_stays_below_the_limit(env):
    training = OwnTraining(CONFIG, env, seed=1)
    before = training._learner.networks.state_dict()["actor.0.weight"].clone()
    training.update()
    training.update()
    assert training.frames_per_update == 6 * env.num_envs
    assert len(training.learning_seconds) == 2
    assert not torch.equal(before, training._learner.networks.state_dict()["actor.0.weight"])
    share = matmul_share(training, seconds=0.02)
    assert 0 < share.fraction < 1
    assert share.fraction == pytest.approx(share.attained_flops / share.limit_flops)
    assert share.attained_flops * np.median(training.learning_seconds) == pytest.approx(share.operations_per_update)
