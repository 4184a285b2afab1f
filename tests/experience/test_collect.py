"""Every step comes back whole: what an ended episode led to is its own last observation."""

import gymnasium as gym
import numpy as np
import pytest
import torch

from gaelp.errors import BadInput
from gaelp.experience.collect import Collector, open_env


def test_an_ended_episode_keeps_its_last_observation_and_the_next_begins():
    collector = Collector(open_env("CartPole-v1", 4), seed=0)
    generator = torch.Generator().manual_seed(0)
    lengths = np.zeros(4)
    ended_once = False
    for _ in range(120):
        step = collector.step(lambda obs: torch.randint(0, 2, (len(obs),), generator=generator))
        lengths += 1
        ended = (step.terminated | step.truncated).numpy()
        assert torch.equal(step.next_obs[~ended], collector.obs[~ended])
        assert step.finished_returns == tuple(lengths[ended])  # CartPole pays one a step
        if ended.any():
            ended_once = True
            assert (step.next_obs[ended, 2].abs() > 0.2).all() or (step.next_obs[ended, 0].abs() > 2.4).all()
            assert (collector.obs[ended].abs() <= 0.05).all()
        lengths[ended] = 0
    assert ended_once


def test_box_actions_are_stretched_to_the_bounds():
    torques = []

    class Spy(gym.Wrapper):
        def step(self, action):
            torques.append(float(action[0]))
            return super().step(action)

    env = open_env("Pendulum-v1", 1, wrappers=[Spy])
    collector = Collector(env, seed=0)
    for value in (-1.0, 0.0, 0.5, 3.0):
        collector.step(lambda obs, value=value: torch.full((len(obs), 1), value))
    assert torques == [-2.0, 0.0, 1.0, 2.0]


def test_other_autoreset_modes_are_refused_with_the_way_out():
    with pytest.raises(BadInput, match="SAME_STEP"):
        Collector(gym.make_vec("CartPole-v1", 2, vectorization_mode="sync"), seed=0)


def test_unbounded_actions_are_refused():
    env = open_env("CartPole-v1", 1)
    env.single_action_space = gym.spaces.Box(-np.inf, np.inf, (1,))
    with pytest.raises(BadInput, match="must be finite"):
        Collector(env, seed=0)
