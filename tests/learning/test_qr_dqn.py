"""QR-DQN learns to balance a pole and to swing up a double pendulum.

rl-zoo trains QR-DQN on CartPole-v1 for 50,000 steps (10 quantiles) and on Acrobot-v1 for 100,000 (25 quantiles;
hyperparams/qrdqn.yml, two layers of 256) and ends near 500 and -69. The bars are 475 and -100 within 1.5 times those
steps; at least three of five seeds have to meet them in 50,000 each with 8 rows, by the last policy, none being picked:
on CartPole with rl-zoo's own settings, on Acrobot with the default ones. The settings were chosen on seeds 1, 2 and 3,
which do not judge. Slow targets did not do on CartPole: of those three one or two ended at 500, others near 100, and
which of them depended on the processor. Random actions get about 22 and -500.
"""

import pytest
import torch

from gaelp.agents.learner import DiscreteActions, Spaces
from gaelp.agents.networks import NetworkSpec
from gaelp.agents.qr_dqn import QrDqnConfig, build_qr_dqn
from gaelp.agents.schedules import ConstantSchedule, LinearSchedule
from gaelp.experience.collect import Collector, open_env

JUDGING_SEEDS = (3_101_800, 58_256_312, 739_912_627, 796_512_986, 1_549_125_363)  # no setting was chosen on them
ROWS = 8
SPACES = {
    "CartPole-v1": Spaces(observation_size=4, actions=DiscreteActions(2), rows=ROWS),
    "Acrobot-v1": Spaces(observation_size=6, actions=DiscreteActions(3), rows=ROWS),
}


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


USUAL = QrDqnConfig()
AS_IN_RL_ZOO = QrDqnConfig(
    network=NetworkSpec(hidden=(256, 256)),
    quantiles=10,
    n_step=1,
    learning_rate=ConstantSchedule(start=2.3e-3),
    epsilon=LinearSchedule(start=1.0, end=0.04, until=0.16),
    batch_size=64,
    train_every=256 // ROWS,
    gradient_steps=128,
    target_every=128,
    target_rate=1.0,
)


def trained(env_id, *, steps, seed, config=USUAL):
    """A learner after `steps` steps, counted over all rows."""
    learner = build_qr_dqn(SPACES[env_id], config, seed=seed)
    collector = Collector(open_env(env_id, ROWS), seed=seed)
    for done in range(ROWS, steps + ROWS, ROWS):
        learner.observe(collector.step(lambda obs: learner.act(obs, explore=True)))
        learner.update(min(done / steps, 1.0))
    return learner


def mean_return(learner, env_id, episodes=100):
    """Of the first whole episode of each of so many rows that were not trained on; none lasts beyond 500 steps."""
    collector = Collector(open_env(env_id, episodes), seed=10_000)
    returns, running = torch.zeros(episodes), torch.ones(episodes, dtype=torch.bool)
    while running.any():
        step = collector.step(lambda obs: learner.act(obs, explore=False))
        returns += step.reward * running
        running &= ~(step.terminated | step.truncated)
    return returns.mean().item()


@pytest.mark.slow
def test_a_short_run_balances_the_pole_for_a_while():
    untrained = build_qr_dqn(SPACES["CartPole-v1"], QrDqnConfig(), seed=0)
    assert mean_return(untrained, "CartPole-v1", episodes=20) < 60
    assert mean_return(trained("CartPole-v1", steps=8_000, seed=0), "CartPole-v1", episodes=20) >= 100


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("env_id", "config", "steps", "bar"),
    [("CartPole-v1", AS_IN_RL_ZOO, 50_000, 475), ("Acrobot-v1", USUAL, 50_000, -100)],
)
def test_most_of_five_seeds_meet_the_reference_in_no_more_steps_than_the_reference(env_id, config, steps, bar):
    learners = (trained(env_id, steps=steps, seed=seed, config=config) for seed in JUDGING_SEEDS)
    returns = [mean_return(learner, env_id) for learner in learners]
    assert sum(mean >= bar for mean in returns) >= 3, returns
