"""A2C learns to balance a pole.

rl-zoo trains A2C on CartPole-v1 for 500,000 steps with 8 rows and the defaults of stable-baselines3, tanh among them
(hyperparams/a2c.yml), and ends near 500. The bar is 475 within 1.5 times those steps; here it is met in as many with
the same settings and a learning rate that falls to zero, without which the last policy is a matter of luck. With ReLU
both libraries are slower and less steady. The last policy is judged, none being picked. Random actions get about 22.
"""

import pytest
import torch

from gaelp.agents.a2c import A2cConfig, build_a2c
from gaelp.agents.learner import DiscreteActions, Spaces
from gaelp.agents.networks import NetworkSpec
from gaelp.agents.schedules import LinearSchedule
from gaelp.experience.collect import Collector, open_env

JUDGING_SEEDS = (3_101_800, 58_256_312, 739_912_627, 796_512_986, 1_549_125_363)  # no setting was chosen on them
ROWS = 8
POLE = Spaces(observation_size=4, actions=DiscreteActions(2), rows=ROWS)
CONFIG = A2cConfig(network=NetworkSpec(activation="tanh"), learning_rate=LinearSchedule(start=7e-4, end=0.0))


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def trained(*, steps, seed):
    """A learner after `steps` steps, counted over all rows."""
    learner = build_a2c(POLE, CONFIG, seed=seed)
    collector = Collector(open_env("CartPole-v1", ROWS), seed=seed)
    for done in range(ROWS, steps + ROWS, ROWS):
        learner.observe(collector.step(lambda obs: learner.act(obs, explore=True)))
        learner.update(min(done / steps, 1.0))
    return learner


def mean_return(learner, episodes=100):
    """Of the first whole episode of each of so many rows that were not trained on; none lasts beyond 500 steps."""
    collector = Collector(open_env("CartPole-v1", episodes), seed=10_000)
    returns, running = torch.zeros(episodes), torch.ones(episodes, dtype=torch.bool)
    while running.any():
        step = collector.step(lambda obs: learner.act(obs, explore=False))
        returns += step.reward * running
        running &= ~(step.terminated | step.truncated)
    return returns.mean().item()


def test_a_short_run_balances_the_pole_for_a_while():
    assert mean_return(build_a2c(POLE, CONFIG, seed=0), episodes=20) < 60
    assert mean_return(trained(steps=40_000, seed=1), episodes=20) >= 150


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_most_of_five_seeds_meet_the_reference_in_the_reference_steps():
    returns = [mean_return(trained(steps=500_000, seed=seed)) for seed in JUDGING_SEEDS]
    assert sum(mean >= 475 for mean in returns) >= 3, returns
