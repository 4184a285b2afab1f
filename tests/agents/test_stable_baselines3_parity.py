"""A whole update of PPO and A2C, from collected steps to new parameters, equals that of stable-baselines3."""

import gymnasium as gym
import numpy as np
import pytest
import stable_baselines3
import torch
from stable_baselines3.common.logger import configure
from stable_baselines3.common.vec_env import DummyVecEnv

from gaelp.agents.a2c import A2cConfig, build_a2c
from gaelp.agents.gradient_step import OptimizerSpec
from gaelp.agents.learner import BoxActions, DiscreteActions, Spaces
from gaelp.agents.networks import NetworkSpec
from gaelp.agents.ppo import PpoConfig, build_ppo
from gaelp.agents.schedules import ConstantSchedule
from gaelp.experience.collect import Step

ROWS, SIZE, LENGTH, GAMMA, LAMBDA = 6, 5, 16, 0.97, 0.9
SPACES = {"box": Spaces(SIZE, BoxActions(2), ROWS), "choice": Spaces(SIZE, DiscreteActions(3), ROWS)}
SHARED = {
    "network": NetworkSpec(hidden=(16, 12)),
    "steps_per_update": LENGTH,
    "gamma": GAMMA,
    "gae_lambda": LAMBDA,
    "learning_rate": ConstantSchedule(start=3e-3),
    "entropy_weight": ConstantSchedule(start=0.02),
}
ONE_MINIBATCH = SHARED | {"minibatches": 1}  # whose order does not matter


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Still(gym.Env):
    """An environment only for its spaces."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (SIZE,), np.float32)

    def __init__(self, actions):
        self.action_space = (
            gym.spaces.Box(-1, 1, (actions.size,), np.float32)
            if isinstance(actions, BoxActions)
            else gym.spaces.Discrete(actions.count)
        )


def reference(make, learner, actions, **options):
    """An algorithm of stable-baselines3 with the learner's settings and weights."""
    config = learner.config
    model = make(
        "MlpPolicy",
        DummyVecEnv([lambda: Still(actions)] * ROWS),
        n_steps=LENGTH,
        gamma=GAMMA,
        gae_lambda=LAMBDA,
        learning_rate=config.learning_rate.start,
        ent_coef=config.entropy_weight.start,
        device="cpu",
        policy_kwargs={"activation_fn": torch.nn.ReLU, "net_arch": list(config.network.hidden)},
        **options,
    )
    model.set_logger(configure(None, []))
    model.policy.load_state_dict(renamed(learner.networks.state_dict()))
    return model


def reference_ppo(learner, actions, **options):
    config = learner.config
    given = {"batch_size": ROWS * LENGTH, "n_epochs": config.epochs, "clip_range_vf": config.value_clip}
    return reference(stable_baselines3.PPO, learner, actions, target_kl=config.target_kl, **given, **options)


NAMES = {
    "actor.0": "mlp_extractor.policy_net.0",
    "actor.2": "mlp_extractor.policy_net.2",
    "actor.4": "action_net",
    "critic.0": "mlp_extractor.value_net.0",
    "critic.2": "mlp_extractor.value_net.2",
    "critic.4": "value_net",
}


def renamed(parameters):
    """Our parameters under the names of stable-baselines3."""
    split = {name: name.rpartition(".") for name in parameters}
    return {
        f"{NAMES[layer]}.{part}" if layer else part: parameters[name].clone()
        for name, (layer, _, part) in split.items()
    }


def collect(learner, length=LENGTH):
    """Steps with ends of both kinds, and what the learner remembered of them."""
    rng = torch.Generator().manual_seed(3)
    obs, steps = torch.randn(ROWS, SIZE, generator=rng), []
    for _ in range(length):
        action = learner.act(obs, explore=True)
        led_to, first = torch.randn(2, ROWS, SIZE, generator=rng)
        terminated, truncated = torch.rand(2, ROWS, generator=rng) < 0.1
        reward = torch.randn(ROWS, generator=rng)
        steps.append(Step(obs, action, reward, led_to, terminated, truncated, ()))
        learner.observe(steps[-1])
        obs = torch.where((terminated | truncated).unsqueeze(1), first, led_to)
    return steps, learner.state()["collection"]["steps"], obs


def fill(model, steps, remembered, obs_after):
    """Put the same steps into stable-baselines3's buffer, the way its own collection does."""
    starts, buffer = np.ones(ROWS, bool), model.rollout_buffer
    value = model.policy.predict_values
    with torch.no_grad():
        for at, step in enumerate(steps):
            final = value(step.next_obs).squeeze(1) * (step.truncated & ~step.terminated)
            actions = remembered["actions"][at].reshape(ROWS, -1).numpy()
            reward = (step.reward + GAMMA * final).numpy()
            log_probs = remembered["log_probs"][at]
            buffer.add(step.obs.numpy(), actions, reward, starts, value(step.obs), log_probs)
            starts = (step.terminated | step.truncated).numpy()
        buffer.compute_returns_and_advantage(last_values=value(obs_after), dones=starts)


def assert_same_parameters(learner, model):
    expected = model.policy.state_dict()
    for name, tensor in renamed(learner.networks.state_dict()).items():
        torch.testing.assert_close(tensor, expected[name], rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("options", [{}, {"value_clip": 0.1}, {"epochs": 4}, {"normalise_advantages": False}])
def test_an_update_of_ppo(space, options):
    spaces = SPACES[space]
    learner = build_ppo(spaces, PpoConfig(**(ONE_MINIBATCH | {"epochs": 1} | options)), seed=0)
    model = reference_ppo(learner, spaces.actions, normalize_advantage=learner.config.normalise_advantages)
    fill(model, *collect(learner))
    model.train()
    metrics, theirs = learner.update(0.0).metrics, model.logger.name_to_value
    assert metrics["policy_loss"] == pytest.approx(theirs["train/policy_gradient_loss"], abs=1e-6)
    assert metrics["value_loss"] == pytest.approx(theirs["train/value_loss"], rel=1e-6, abs=1e-6)
    assert metrics["entropy"] == pytest.approx(-theirs["train/entropy_loss"], rel=1e-6)
    assert metrics["clip_fraction"] == pytest.approx(theirs["train/clip_fraction"], abs=1e-6)
    assert metrics["explained_variance"] == pytest.approx(theirs["train/explained_variance"], abs=1e-5)
    assert_same_parameters(learner, model)


def test_an_update_of_ppo_that_the_divergence_ends():
    spaces = SPACES["box"]
    learner = build_ppo(spaces, PpoConfig(**ONE_MINIBATCH, epochs=20, target_kl=1e-3), seed=0)
    model = reference_ppo(learner, spaces.actions)
    fill(model, *collect(learner))
    model.train()
    update = learner.update(0.0)
    assert 1 < update.gradient_steps < 20
    assert update.metrics["epochs"] == update.gradient_steps + 1
    assert update.metrics["approx_kl_max"] > 1.5e-3
    assert_same_parameters(learner, model)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("rmsprop", [True, False])
@pytest.mark.parametrize("normalise", [True, False])
def test_an_update_of_a2c(space, rmsprop, normalise):
    spaces = SPACES[space]
    optimizer = OptimizerSpec(kind="rmsprop" if rmsprop else "adam")
    config = A2cConfig(**SHARED, optimizer=optimizer, normalise_advantages=normalise)
    learner = build_a2c(spaces, config, seed=0)
    options = {"use_rms_prop": rmsprop, "normalize_advantage": normalise}
    model = reference(stable_baselines3.A2C, learner, spaces.actions, **options)
    if not rmsprop:
        model.policy.optimizer = torch.optim.Adam(model.policy.parameters(), lr=3e-3, eps=1e-5)
    fill(model, *collect(learner))
    model.train()
    metrics, theirs = learner.update(0.0).metrics, model.logger.name_to_value
    assert metrics["policy_loss"] == pytest.approx(theirs["train/policy_loss"], abs=1e-6)
    assert metrics["value_loss"] == pytest.approx(theirs["train/value_loss"], rel=1e-6, abs=1e-6)
    assert metrics["entropy"] == pytest.approx(-theirs["train/entropy_loss"], rel=1e-6)
    assert_same_parameters(learner, model)
