"""Any Gymnasium environment that learners can act in is an arena; another one is refused with the way out."""

import math
from functools import partial

import gymnasium as gym
import numpy as np
import pytest
import torch

from gaelp.agents.learner import BoxActions, DiscreteActions
from gaelp.errors import BadInput
from gaelp.experience.collect import open_env
from gaelp.market.registration import ENVIRONMENT_ID
from gaelp.training.arena import GymArena


class Odd(gym.Env):
    """Ends at once; its spaces are given."""

    def __init__(self, obs=None, actions=None):
        self.observation_space = obs or gym.spaces.Box(-1, 1, (2,), np.float32)
        self.action_space = actions or gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), 1.0, True, False, {}


@pytest.fixture
def odd():
    """Registers an environment with odd spaces for one test."""
    names = []

    def register(**spaces):
        names.append(f"Odd{len(names)}-v0")
        gym.register(names[-1], lambda: Odd(**spaces))
        return names[-1]

    yield register
    for name in names:
        del gym.registry[name]


def pole(seed=3):
    return GymArena("CartPole-v1", rows=4, steps_per_round=16, seed=seed, episodes=3)


def test_the_spaces_are_those_of_one_row():
    assert (pole().spaces.observation_size, pole().spaces.actions, pole().spaces.rows) == (4, DiscreteActions(2), 4)
    pendulum = GymArena("Pendulum-v1", rows=2, steps_per_round=8, seed=1)
    assert (pendulum.spaces.observation_size, pendulum.spaces.actions) == (3, BoxActions(1))


@pytest.mark.parametrize(
    "spaces",
    [
        {"obs": gym.spaces.Tuple((gym.spaces.Discrete(3), gym.spaces.Discrete(2)))},
        {"obs": gym.spaces.Dict({"price": gym.spaces.Box(0, 1, (1,))}), "actions": gym.spaces.Box(-1, 1, (1,))},
        {"actions": gym.spaces.Box(-1, 1, (2, 2))},
        {"actions": gym.spaces.MultiDiscrete([2, 3])},
        {"actions": gym.spaces.MultiBinary(3)},
        {"actions": gym.spaces.Discrete(3, start=1)},
    ],
    ids=["tuple", "dict", "matrix", "several choices", "bits", "counted from 1"],
)
def test_spaces_that_no_learner_knows_are_refused(odd, spaces):
    with pytest.raises(BadInput, match="Wrap the environment"):
        GymArena(odd(**spaces), rows=2, steps_per_round=4, seed=1)


def test_a_round_depends_on_its_number_and_the_seed_alone():
    arena = pole()
    first = arena.begin(5).collector.obs
    other = arena.begin(6).collector.obs
    assert torch.equal(pole().begin(5).collector.obs, first)
    assert not torch.equal(other, first)
    assert not torch.equal(pole(seed=4).begin(5).collector.obs, first)
    assert (arena.begin(5).task, arena.begin(5).steps) == ("CartPole-v1", 16)


def test_validation_gives_one_whole_return_a_row_from_the_same_seeds_each_time():
    arena = pole()
    returns = arena.validate(lambda obs: torch.zeros(len(obs), dtype=torch.int64))
    assert returns.shape == (3,)
    assert ((returns >= 8) & (returns <= 11)).all()  # a pole pushed one way falls within eleven steps
    assert np.array_equal(arena.validate(lambda obs: torch.zeros(len(obs), dtype=torch.int64)), returns)


def test_a_native_vector_environment_is_opened_by_a_function():
    opened = []

    def market(count):
        opened.append(count)
        return gym.make_vec(ENVIRONMENT_ID, count, market="calm")

    arena = GymArena(market, rows=3, steps_per_round=4, seed=1, episodes=2)
    middle = torch.zeros(3, arena.spaces.actions.size)
    played = arena.begin(0)
    steps = [played.collector.step(lambda obs: middle) for _ in range(played.steps)]
    assert (played.task, steps[0].obs.shape[0]) == (ENVIRONMENT_ID, 3)
    rewards = arena.validate(lambda obs: middle[:2])
    assert rewards.shape == (2,)
    assert ((rewards >= 0) & (rewards <= 1.001)).all()
    assert opened == [3, 2]


def test_an_environment_with_another_number_of_rows_is_refused():
    with pytest.raises(BadInput, match="4 rows were asked for, the environment has 2"):
        GymArena(lambda count: open_env("CartPole-v1", 2), rows=4, steps_per_round=8, seed=1)


@pytest.mark.parametrize("numbers", [{"rows": 0}, {"steps_per_round": 0}, {"episodes": 1}])
def test_numbers_that_leave_nothing_to_do_are_refused(numbers):
    with pytest.raises(BadInput, match="too small"):
        GymArena("CartPole-v1", **{"rows": 2, "steps_per_round": 4, "seed": 1} | numbers)


class Endless(gym.Env):
    """Never ends; its rewards are given."""

    observation_space = gym.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, reward=1.0):
        self._reward = reward

    def reset(self, *, seed=None, options=None):
        return np.zeros(2, np.float32), {}

    def step(self, action):
        return np.zeros(2, np.float32), self._reward, False, False, {}


@pytest.mark.parametrize(
    ("reward", "message"),
    [(math.nan, "reward of row 0 is nan"), (1.0, "2 of 2 validation episodes .* did not end within 50 steps")],
)
def test_validation_ends_also_where_the_environment_does_not(monkeypatch, reward, message):
    monkeypatch.setattr("gaelp.training.arena._EPISODE_STEPS_MAX", 50)

    def opened(count):
        return gym.vector.SyncVectorEnv(
            [partial(Endless, reward)] * count, autoreset_mode=gym.vector.AutoresetMode.SAME_STEP
        )

    arena = GymArena(opened, rows=2, steps_per_round=4, seed=1, episodes=2)
    with pytest.raises(BadInput, match=message):
        arena.validate(lambda obs: torch.zeros(len(obs), dtype=torch.int64))


def test_there_is_nothing_to_compare_with_and_nothing_to_remember():
    arena = pole()
    assert arena.reference() is None
    assert (arena.record(lambda obs: obs), arena.state(), arena.figures(np.ones(3))) == ({}, {}, {})
