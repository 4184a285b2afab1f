import gymnasium as gym
import numpy as np
import pytest
import torch
from pydantic import ValidationError
from stable_baselines3 import TD3
from stable_baselines3.common.logger import configure
from stable_baselines3.common.type_aliases import ReplayBufferSamples

from gaelp.agents.learner import BoxActions, Spaces
from gaelp.agents.networks import NetworkSpec
from gaelp.agents.off_policy import ReplayTally, StepInputs
from gaelp.agents.replay_memory import Minibatch
from gaelp.agents.schedules import ConstantSchedule, LinearSchedule
from gaelp.agents.td3 import Td3, Td3Config, build_td3, clipped_targets, smoothed_actions

SIZE, ACTIONS, ROWS = 5, 2, 64
SPACES = Spaces(SIZE, BoxActions(ACTIONS), 1)
SMALL = NetworkSpec(hidden=(16, 16))


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def minibatch(dtype=torch.float64):
    generator = torch.Generator().manual_seed(7)
    obs, next_obs = torch.randn(2, ROWS, SIZE, generator=generator, dtype=dtype)
    actions = torch.rand(ROWS, ACTIONS, generator=generator, dtype=dtype) * 2 - 1
    rewards = torch.randn(ROWS, generator=generator, dtype=dtype)
    discounts = 0.97 * (torch.rand(ROWS, generator=generator) > 0.2).to(dtype)
    return Minibatch(obs, actions, rewards, next_obs, discounts, torch.ones(ROWS, dtype=dtype), torch.arange(ROWS))


def turn(generator, steps_made=0):
    return StepInputs(learning_rate=1e-3, steps_made=steps_made, generator=generator, tally=ReplayTally(10.0))


def test_targets_equal_a_float64_hand_computation():
    rng = np.random.default_rng(0)
    actions, noise = np.tanh(rng.normal(size=(ROWS, ACTIONS))), rng.normal(size=(ROWS, ACTIONS))
    values = rng.normal(size=(2, ROWS))
    wanted_actions = np.clip(actions + np.clip(noise, -0.5, 0.5), -1, 1)
    actual = smoothed_actions(torch.tensor(actions).float(), torch.tensor(noise).float(), 0.5)
    np.testing.assert_allclose(actual.numpy(), wanted_actions, rtol=1e-6, atol=1e-6)
    batch = minibatch(torch.float32)
    wanted = batch.rewards.double().numpy() + batch.discounts.double().numpy() * values.min(0)
    actual = clipped_targets(batch, torch.tensor(values).float())
    np.testing.assert_allclose(actual.numpy(), wanted, rtol=1e-6, atol=1e-6)


def forward(layers, inputs):
    for index, (weight, bias) in enumerate(layers):
        inputs = inputs @ weight + bias
        if index < len(layers) - 1:
            inputs = np.maximum(inputs, 0)
    return inputs


def values_of(critics, obs, actions):
    both = list(zip(critics.weights, critics.biases, strict=True))
    return np.stack(
        [
            forward(
                [(w[critic].detach().numpy(), b[critic].detach().numpy()) for w, b in both], np.hstack([obs, actions])
            )
            for critic in range(2)
        ]
    )[:, :, 0]


def test_one_whole_step_reports_the_losses_a_float64_hand_computation_gives():
    td3 = Td3(SPACES, Td3Config(network=SMALL, policy_delay=1), torch.Generator().manual_seed(0)).double()
    batch = minibatch()
    noise = torch.randn(ROWS, ACTIONS, generator=torch.Generator().manual_seed(4), dtype=torch.float64).numpy()
    layers = [(layer.weight.detach().numpy().T, layer.bias.detach().numpy()) for layer in td3.actor_target[:-1:2]]
    policy = np.tanh(forward(layers, batch.next_obs.numpy()))
    next_actions = np.clip(policy + np.clip(0.2 * noise, -0.5, 0.5), -1, 1)
    next_values = values_of(td3.targets, batch.next_obs.numpy(), next_actions).min(0)
    targets = batch.rewards.numpy() + batch.discounts.numpy() * next_values
    values = values_of(td3.critics, batch.obs.numpy(), batch.actions.numpy())
    once = turn(torch.Generator().manual_seed(4))
    errors = td3.learn(batch, once)
    assert once.tally.metrics()["critic_loss"] == pytest.approx(((values - targets) ** 2).mean(1).sum(), abs=1e-6)
    np.testing.assert_allclose(errors.numpy(), np.abs(values - targets).mean(0), atol=1e-6)


@pytest.fixture
def in_float64(monkeypatch):
    """Lets the reference see observations as they are instead of in float32."""
    monkeypatch.setattr("stable_baselines3.common.policies.preprocess_obs", lambda obs, *_, **__: obs)


class Stage(gym.Env):
    """Spaces for the reference to be built on; it is never run."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (SIZE,))
    action_space = gym.spaces.Box(-1, 1, (ACTIONS,))


def reference_td3(batch):
    theirs = TD3(
        "MlpPolicy",
        Stage(),
        policy_kwargs={"net_arch": [16, 16]},
        learning_rate=1e-3,
        gamma=0.97,
        device="cpu",
        seed=1,
    )
    theirs.policy.double()
    theirs.set_logger(configure(None, []))
    theirs._current_progress_remaining = 1.0
    dones = (batch.discounts == 0).double().unsqueeze(1)
    samples = ReplayBufferSamples(batch.obs, batch.actions, batch.next_obs, dones, batch.rewards.unsqueeze(1), None)
    theirs.replay_buffer.sample = lambda *_, **__: samples
    return theirs


def parts_of(theirs):
    """The networks of the reference as a state of ours."""
    tensors = {}
    for name, actor in (("actor", theirs.actor), ("actor_target", theirs.actor_target)):
        tensors |= {f"{name}.{key.removeprefix('mu.')}": value for key, value in actor.state_dict().items()}
    for name, critic in (("critics", theirs.critic), ("targets", theirs.critic_target)):
        for index, both in enumerate(zip(critic.qf0[::2], critic.qf1[::2], strict=True)):
            tensors[f"{name}.weights.{index}"] = torch.stack([layer.weight.T for layer in both])
            tensors[f"{name}.biases.{index}"] = torch.stack([layer.bias.unsqueeze(0) for layer in both])
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}


@pytest.mark.usefixtures("in_float64")
def test_four_whole_steps_equal_those_of_stable_baselines():
    batch = minibatch()
    theirs = reference_td3(batch)
    td3 = Td3(SPACES, Td3Config(network=SMALL, max_gradient_norm=1e9), torch.Generator().manual_seed(0)).double()
    td3.load_state_dict(parts_of(theirs))
    for made in range(4):
        torch.manual_seed(made)
        theirs.train(1, ROWS)
        once = turn(torch.Generator().manual_seed(made), steps_made=made)
        td3.learn(batch, once)
        logged, actual = theirs.logger.name_to_value, once.tally.metrics()
        assert actual["critic_loss"] == pytest.approx(logged["train/critic_loss"], abs=1e-6)
        assert ("actor_loss" in actual) == (made % 2 == 1)
        if made % 2 == 1:
            assert actual["actor_loss"] == pytest.approx(logged["train/actor_loss"], abs=1e-6)
        ours = td3.state_dict()
        for name, wanted in parts_of(theirs).items():
            torch.testing.assert_close(ours[name], wanted, rtol=1e-6, atol=1e-6, msg=name)


@pytest.mark.parametrize("delay", [1, 3])
def test_actor_and_targets_move_once_for_so_many_steps_of_the_critics(delay):
    td3 = Td3(SPACES, Td3Config(network=SMALL, policy_delay=delay), torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(0)
    moved = []
    for made in range(6):
        before = {name: tensor.clone() for name, tensor in td3.state_dict().items()}
        td3.learn(minibatch(torch.float32), turn(generator, steps_made=made))
        after = td3.state_dict()
        assert not torch.equal(after["critics.weights.1"], before["critics.weights.1"])
        follows = [not torch.equal(after[name], before[name]) for name in ("actor.2.weight", "targets.weights.1")]
        assert follows[0] == follows[1]
        moved.append(follows[0])
    assert moved == [(made + 1) % delay == 0 for made in range(6)]


def test_without_a_future_what_comes_next_changes_nothing():
    learned = []
    for scale in (1.0, 100.0):
        td3 = Td3(SPACES, Td3Config(network=SMALL, gamma=0, policy_delay=1), torch.Generator().manual_seed(0))
        batch = minibatch(torch.float32)
        batch = batch._replace(next_obs=scale * batch.next_obs)
        errors = td3.learn(batch, turn(torch.Generator().manual_seed(0)))
        learned.append(torch.cat([errors, *(parameter.detach().flatten() for parameter in td3.parameters())]))
    assert torch.equal(*learned)


def test_critics_see_actions_with_the_gain_of_the_config():
    plain, scaled = (
        Td3(SPACES, Td3Config(network=SMALL, critic_action_gain=gain), torch.Generator().manual_seed(0))
        for gain in (1.0, 4.0)
    )
    obs, actions = torch.randn(ROWS, SIZE), torch.rand(ROWS, ACTIONS)
    assert torch.equal(scaled.critics(obs, actions), plain.critics(obs, 4 * actions))


def test_exploration_noise_has_the_spread_its_schedule_says_and_stays_in_the_box():
    config = Td3Config(network=SMALL, exploration_noise=LinearSchedule(start=0.2, end=0.05))
    td3 = Td3(SPACES, config, torch.Generator().manual_seed(0))
    obs = torch.randn(20_000, SIZE)
    with torch.no_grad():
        for progress, wanted in ((0.0, 0.2), (1.0, 0.05)):
            noise = td3.explore(obs, torch.Generator().manual_seed(1), progress) - td3.best(obs)
            assert noise.std().item() == pytest.approx(wanted, rel=0.02)
        wild = Td3(
            SPACES, config.model_copy(update={"exploration_noise": ConstantSchedule(start=5.0)}), torch.Generator()
        )
        assert wild.explore(obs, torch.Generator(), 0.0).abs().max() == 1.0


def test_the_learner_is_called_td3_and_keeps_its_config():
    config = Td3Config(network=SMALL)
    learner = build_td3(SPACES, config, seed=0)
    assert learner.name == "td3"
    assert learner.config == config


@pytest.mark.parametrize(
    "wrong",
    [{"policy_delay": 0}, {"target_noise": -0.1}, {"exploration_noise": {"kind": "constant", "start": -0.1}}],
)
def test_a_setting_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        Td3Config(**wrong)
