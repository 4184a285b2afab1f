import numpy as np
import pytest
import torch
from torch.nn.functional import smooth_l1_loss

from gaelp.agents.dqn import DqnConfig, build_dqn, td_losses
from gaelp.agents.learner import DiscreteActions, Spaces
from gaelp.agents.networks import NetworkSpec
from gaelp.experience.collect import Step


@pytest.mark.parametrize("threshold", [0.5, 1.0, 3.0])
def test_the_loss_equals_a_float64_hand_computation(threshold):
    rng = np.random.default_rng(0)
    predicted, target = 3 * rng.normal(size=(2, 256, 1))
    size = np.abs(target - predicted)[:, 0]
    wanted = np.where(size <= threshold, size**2 / 2, threshold * (size - threshold / 2))
    inputs = [torch.tensor(array, dtype=torch.float32) for array in (predicted, target)]
    rows = td_losses(*inputs, threshold=threshold)
    np.testing.assert_allclose(rows.losses.numpy(), wanted, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(rows.priorities.numpy(), size, rtol=1e-6, atol=1e-6)


def test_at_the_default_threshold_the_loss_is_stable_baselines_smooth_l1():
    torch.manual_seed(0)
    predicted, target = 2 * torch.randn(64, 1), 2 * torch.randn(64, 1)
    rows = td_losses(predicted, target, threshold=DqnConfig().huber_threshold)
    torch.testing.assert_close(rows.losses.mean(), smooth_l1_loss(predicted, target), rtol=1e-6, atol=1e-6)


def layers(state, network):
    """Weights and biases of a plain network in float64, first layer first."""
    numbers = [state[network][name].double().numpy() for name in state[network]]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def forward(parts, obs):
    for index, (weight, bias) in enumerate(parts):
        obs = obs @ weight.T + bias
        if index < len(parts) - 1:
            obs = np.maximum(obs, 0)
    return obs


@pytest.mark.parametrize("double", [False, True])
def test_a_whole_update_reports_the_loss_a_float64_hand_computation_gives(double):
    config = DqnConfig(
        network=NetworkSpec(hidden=(16, 16)),
        double=double,
        n_step=1,
        batch_size=32,
        learning_starts=40,
        train_every=40,
        gradient_steps=1,
        target_every=100,
    )
    learner = build_dqn(Spaces(3, DiscreteActions(4), 5), config, seed=0)
    rng = np.random.default_rng(1)
    obs, next_obs = rng.normal(size=(2, 60, 5, 3)).astype(np.float32)
    actions, rewards = rng.integers(0, 4, (60, 5)), rng.normal(size=(60, 5)).astype(np.float32)
    terminated = rng.random((60, 5)) < 0.3

    def observe(start, end):
        for t in range(start, end):
            parts = [torch.tensor(part[t]) for part in (obs, actions, rewards, next_obs, terminated)]
            learner.observe(Step(*parts, torch.zeros(5, dtype=torch.bool), ()))

    observe(0, 60)
    state = learner.state()
    other = build_dqn(Spaces(3, DiscreteActions(4), 5), config, seed=1).state()["online"]
    learner.load_state(state | {"target": other})  # networks that differ, as they do in the midst of training
    before = learner.state()
    drawn = torch.randint(300, (32,), generator=torch.Generator().set_state(before["generators"]["sampling"]))
    t, row = drawn.numpy() // 5, drawn.numpy() % 5
    online, target = layers(before, "online"), layers(before, "target")
    following = forward(target, next_obs[t, row])
    best = (forward(online, next_obs[t, row]) if double else following).argmax(1)
    wanted = rewards[t, row] + 0.99 * ~terminated[t, row] * following[np.arange(32), best]
    size = np.abs(forward(online, obs[t, row])[np.arange(32), actions[t, row]] - wanted)
    loss = np.where(size <= 1, size**2 / 2, size - 0.5).mean()

    report = learner.update(0.0)
    assert report.metrics["loss"] == pytest.approx(loss, rel=1e-6)
    assert report.metrics["td_error_abs_mean"] == pytest.approx(size.mean(), rel=1e-6)
