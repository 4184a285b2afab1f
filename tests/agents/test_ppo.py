from itertools import pairwise

import gymnasium as gym
import numpy as np
import pytest
import stable_baselines3
import torch
from stable_baselines3.common.logger import configure
from stable_baselines3.common.vec_env import DummyVecEnv

from gaelp.agents.actor_critic import Predicted
from gaelp.agents.distributions import DiagonalGaussian
from gaelp.agents.learner import BoxActions, Spaces
from gaelp.agents.networks import NetworkSpec
from gaelp.agents.on_policy import with_normalised_advantages
from gaelp.agents.ppo import (
    PpoConfig,
    PpoWeights,
    VTrace,
    build_ppo,
    gaussian_ppo_loss,
    ppo_loss,
    vtrace_credit,
)
from gaelp.agents.schedules import LinearSchedule
from gaelp.agents.value_figures import explained_variance
from gaelp.errors import BadInput
from gaelp.experience.collect import Step
from gaelp.experience.returns import Steps, gae, vtrace
from gaelp.experience.transitions import Batch

ROWS, SIZE, LENGTH = 4, 3, 8
SPACES = Spaces(SIZE, BoxActions(1), ROWS)
SMALL = {"network": NetworkSpec(hidden=(16,)), "steps_per_update": LENGTH}


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Still(gym.Env):
    """An environment only for its spaces."""

    observation_space = gym.spaces.Box(-1, 1, (SIZE,), np.float32)
    action_space = gym.spaces.Box(-1, 1, (1,), np.float32)


def drawn_rows(seed=0, rows=400):
    """Rows whose policy has moved since collection, far enough for every branch of the loss."""
    rng = torch.Generator().manual_seed(seed)
    log_probs, before, values, advantages, targets, now = torch.randn(6, rows, generator=rng)
    entropies = torch.rand(rows, generator=rng)
    batch = Batch({"log_probs": log_probs, "values": before, "advantages": advantages, "targets": targets})
    predicted = (log_probs + 0.3 * now, before + 0.3 * values, entropies)
    return Predicted(*(tensor.requires_grad_() for tensor in predicted)), batch


class Given:
    """Replaces stable-baselines3's policy: returns given outputs for the rows."""

    def __init__(self, predicted):
        self.predicted, self.loss = predicted, None
        self.optimizer = self

    def evaluate_actions(self, *_):
        return self.predicted.values, self.predicted.log_probs, self.predicted.entropies

    def set_training_mode(self, mode):
        pass

    def parameters(self):
        return list(self.predicted)

    def zero_grad(self):
        for tensor in self.predicted:
            tensor.grad = None

    def step(self):
        pass

    param_groups = ()


@pytest.mark.parametrize("clip_range", [0.05, 0.2])
@pytest.mark.parametrize("value_clip", [None, 0.15])
@pytest.mark.parametrize("entropy_weight", [0.0, 0.03])
def test_the_loss_on_the_same_tensors_is_that_of_stable_baselines3(clip_range, value_clip, entropy_weight):
    predicted, rows = drawn_rows()
    options = {"clip_range": clip_range, "clip_range_vf": value_clip, "ent_coef": entropy_weight, "vf_coef": 0.7}
    model = stable_baselines3.PPO(
        "MlpPolicy", DummyVecEnv([Still]), n_steps=400, batch_size=400, n_epochs=1,
        max_grad_norm=1e9, device="cpu", **options,
    )  # fmt: skip
    model.set_logger(configure(None, []))
    model.policy = Given(predicted)
    buffer = model.rollout_buffer
    for theirs, ours in {
        "log_probs": "log_probs",
        "values": "values",
        "advantages": "advantages",
        "returns": "targets",
    }.items():
        getattr(buffer, theirs)[:, 0] = rows[ours].numpy()
    buffer.full = True
    buffer.get = lambda _: iter([buffer._get_samples(np.arange(400))])
    model.train()
    gradients = [tensor.grad.clone() if tensor.grad is not None else None for tensor in predicted]

    weights = PpoWeights(clip_range, entropy_weight, 0.7, value_clip)
    loss = ppo_loss(predicted, with_normalised_advantages(rows), weights)
    logged = model.logger.name_to_value
    assert loss.loss.item() == pytest.approx(logged["train/loss"], abs=1e-6)
    assert loss.policy_loss.item() == pytest.approx(logged["train/policy_gradient_loss"], abs=1e-6)
    assert loss.value_loss.item() == pytest.approx(logged["train/value_loss"], abs=1e-6)
    assert loss.entropy.item() == pytest.approx(-logged["train/entropy_loss"], abs=1e-6)
    assert loss.approx_kl.item() == pytest.approx(logged["train/approx_kl"], abs=1e-6)
    assert loss.clip_fraction.item() == pytest.approx(logged["train/clip_fraction"], abs=1e-6)
    for tensor in predicted:
        tensor.grad = None
    loss.loss.backward()
    for tensor, expected in zip(predicted, gradients, strict=True):
        actual = torch.zeros(400) if tensor.grad is None else tensor.grad
        torch.testing.assert_close(actual, expected, rtol=0, atol=1e-6)


def random_steps(ending=0.2):
    rng = torch.Generator().manual_seed(0)
    rewards, values, next_values, log_ratios = torch.randn(4, 20, 5, generator=rng)
    ended = torch.rand(20, 5, generator=rng) < ending
    terminated = ended & (torch.rand(20, 5, generator=rng) < 0.5)
    # The critic at what a step led to is its value one step later, unless the episode ended.
    next_values[:-1] = torch.where(ended[:-1], next_values[:-1], values[1:])
    return Steps(rewards, values, next_values, ended, terminated), 0.3 * log_ratios


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("entropy_weight", [0.0, 0.03])
def test_the_gradients_derived_by_hand_are_those_of_autograd(size, entropy_weight):
    _, rows = drawn_rows()
    rng = torch.Generator().manual_seed(1)
    mean, actions = torch.randn(2, rows.rows, size, generator=rng)
    log_std, values = torch.linspace(-0.5, 0.3, size), torch.randn(rows.rows, generator=rng)
    leaves = [tensor.requires_grad_() for tensor in (mean, log_std, values)]
    policy = DiagonalGaussian(mean, log_std)
    moved = policy.log_prob(actions).detach() + 0.3 * torch.randn(rows.rows, generator=rng)
    rows = Batch({**rows.tensors, "actions": actions, "log_probs": moved})
    weights = PpoWeights(clip_range=0.2, entropy_weight=entropy_weight, value_weight=0.7)
    expected = ppo_loss(Predicted(policy.log_prob(actions), values, policy.entropy()), rows, weights)
    actual, gradients = gaussian_ppo_loss(policy, values, rows, weights)
    assert 0.1 < actual.clip_fraction < 0.9
    torch.testing.assert_close(torch.stack(actual), torch.stack(expected), rtol=1e-5, atol=1e-6)
    for ours, theirs in zip(gradients, torch.autograd.grad(expected.loss, leaves), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("further", [{}, {"value_clip": 0.1}])
def test_an_update_with_fast_gradients_is_that_of_autograd(further):
    after = []
    for fast in (True, False):
        learner = build_ppo(SPACES, PpoConfig(**SMALL, **further, fast_gradients=fast), seed=0)
        rng = torch.Generator().manual_seed(0)
        ended, obs = torch.zeros(ROWS, dtype=torch.bool), torch.randn(LENGTH + 1, ROWS, SIZE, generator=rng)
        for now, then in pairwise(obs):
            action = learner.act(now, explore=True)
            learner.observe(Step(now, action, now.sum(1) * action[:, 0], then, ended, ended, ()))
        metrics = learner.update(0.0).metrics
        after.append((metrics, learner.state()["parameters"]))
    (actual, moved), (expected, reference) = after
    assert actual == pytest.approx(expected, rel=1e-3, abs=1e-5)
    for name, tensor in moved.items():
        torch.testing.assert_close(tensor, reference[name], rtol=1e-4, atol=1e-5)


def test_vtrace_credit_is_vtrace_without_the_weight_that_the_surrogate_brings():
    steps, log_ratios = random_steps()
    spec = VTrace(rho_bar=1.1, c_bar=0.9)
    ours = vtrace_credit(steps, log_ratios, spec, gamma=0.9)
    theirs = vtrace(steps, log_ratios, gamma=0.9, rho_bar=1.1, c_bar=0.9)
    assert torch.equal(ours.targets, theirs.targets)
    weighted = ours.advantages * log_ratios.exp().clamp(max=1.1)
    torch.testing.assert_close(weighted, theirs.advantages, rtol=1e-5, atol=1e-6)


def test_vtrace_of_a_policy_that_has_not_moved_has_the_targets_of_gae():
    steps, log_ratios = random_steps()
    still = vtrace_credit(steps, torch.zeros_like(log_ratios), VTrace(c_bar=0.95), gamma=0.9)
    torch.testing.assert_close(still.targets, gae(steps, gamma=0.9, gae_lambda=0.95).targets, rtol=1e-5, atol=1e-6)


def collect(learner):
    rng = torch.Generator().manual_seed(3)
    obs = torch.randn(ROWS, SIZE, generator=rng)
    for _ in range(LENGTH):
        action, led_to = learner.act(obs, explore=True), torch.randn(ROWS, SIZE, generator=rng)
        flags = torch.zeros(2, ROWS, dtype=torch.bool)
        learner.observe(Step(obs, action, torch.randn(ROWS, generator=rng), led_to, *flags, ()))
        obs = led_to
    return learner.state()["collection"]


def test_vtrace_corrects_for_a_policy_that_moved_since_it_acted():
    learner = build_ppo(SPACES, PpoConfig(**SMALL, epochs=1, vtrace=VTrace()), seed=0)
    kept = collect(learner)
    with torch.no_grad():
        learner.networks.actor[-1].bias += 0.7
        obs = torch.cat([kept["steps"]["obs"], kept["next_obs"].unsqueeze(0)])
        values = learner.networks.all_values(obs)
        moved = learner.networks.all_log_probs(obs[:-1], kept["steps"]["actions"]) - kept["steps"]["log_probs"]
    never = torch.zeros(LENGTH, ROWS, dtype=torch.bool)
    steps = Steps(kept["steps"]["rewards"], values[:-1], values[1:], never, never)
    corrected = vtrace(steps, moved, gamma=0.99, rho_bar=1.0, c_bar=0.95).targets
    uncorrected = gae(steps, gamma=0.99, gae_lambda=0.95).targets
    actual = learner.update(0.0).metrics["explained_variance"]
    assert actual == pytest.approx(explained_variance(steps.values, corrected), abs=1e-5)
    assert actual != pytest.approx(explained_variance(steps.values, uncorrected), abs=1e-3)


@pytest.mark.parametrize(("epochs", "alike"), [(1, True), (3, False)])
def test_every_epoch_of_vtrace_sees_the_policy_as_it_is_then(epochs, alike):
    ends = []
    for changes in ({}, {"vtrace": VTrace(c_bar=0.95)}):
        config = PpoConfig(**SMALL, epochs=epochs, minibatches=1, max_gradient_norm=1e9, **changes)
        learner = build_ppo(SPACES, config, seed=0)
        collect(learner)
        learner.update(0.0)
        ends.append(torch.cat([tensor.flatten() for tensor in learner.networks.critic.state_dict().values()]))
    # While the policy has not moved the critic learns the same from both.
    assert torch.allclose(*ends, rtol=0, atol=1e-6) == alike


def test_all_rows_are_learnt_from_in_every_epoch():
    learner = build_ppo(SPACES, PpoConfig(**SMALL, epochs=5, minibatches=3), seed=0)
    collect(learner)
    update = learner.update(0.0)
    assert update.gradient_steps == 15
    assert update.metrics["epochs"] == 5


def test_a_divergence_past_its_limit_ends_the_update():
    limited, free = (
        build_ppo(SPACES, PpoConfig(**SMALL, epochs=10, target_kl=target), seed=0) for target in (1e-4, None)
    )
    for learner in (limited, free):
        collect(learner)
    stopped, whole = limited.update(0.0), free.update(0.0)
    assert 1 <= stopped.gradient_steps < whole.gradient_steps == 40
    assert stopped.metrics["approx_kl_max"] > 1.5e-4


def test_the_clip_range_follows_its_schedule():
    learner = build_ppo(SPACES, PpoConfig(**SMALL, clip_range=LinearSchedule(start=0.2, end=0.0)), seed=0)
    for progress, expected in ((0.0, 0.2), (0.5, 0.1), (1.0, 0.0)):
        collect(learner)
        assert learner.update(progress).metrics["clip_range"] == pytest.approx(expected)


def test_more_minibatches_than_rows_are_refused():
    with pytest.raises(BadInput, match="minibatches=33 cannot share the 32 rows"):
        build_ppo(SPACES, PpoConfig(**SMALL, minibatches=33), seed=0)


def test_traces_longer_than_their_weights_are_refused():
    with pytest.raises(ValueError, match=r"c_bar=2.0 exceeds rho_bar=1.0"):
        VTrace(c_bar=2.0)
