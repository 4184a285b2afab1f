import gymnasium as gym
import numpy as np
import pytest
import torch
from pydantic import ValidationError
from scipy.stats import norm
from stable_baselines3 import SAC
from stable_baselines3.common.logger import configure
from stable_baselines3.common.type_aliases import ReplayBufferSamples

from gaelp.agents.learner import BoxActions, Spaces
from gaelp.agents.networks import NetworkSpec
from gaelp.agents.off_policy import ReplayTally, StepInputs
from gaelp.agents.replay_memory import Minibatch
from gaelp.agents.sac import Sac, SacConfig, actor_loss, build_sac, soft_targets, temperature_loss

SIZE, ACTIONS, ROWS = 5, 2, 64
SPACES = Spaces(SIZE, BoxActions(ACTIONS), 1)
SMALL = NetworkSpec(hidden=(16, 16))


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def minibatch(dtype=torch.float64, rows=ROWS):
    generator = torch.Generator().manual_seed(7)
    obs, next_obs = torch.randn(2, rows, SIZE, generator=generator, dtype=dtype)
    actions = torch.rand(rows, ACTIONS, generator=generator, dtype=dtype) * 2 - 1
    rewards = torch.randn(rows, generator=generator, dtype=dtype)
    discounts = 0.97 * (torch.rand(rows, generator=generator) > 0.2).to(dtype)
    return Minibatch(obs, actions, rewards, next_obs, discounts, torch.ones(rows, dtype=dtype), torch.arange(rows))


def turn(generator, learning_rate=1e-3):
    return StepInputs(learning_rate=learning_rate, steps_made=0, generator=generator, tally=ReplayTally(10.0))


# Against numpy in float64, written from the paper's formulas


def random_numbers(count, seed=0):
    return np.random.default_rng(seed).normal(size=(count, ROWS))


def test_targets_equal_a_float64_hand_computation():
    first, second, log_probs = random_numbers(3)
    batch = minibatch(torch.float32)
    wanted = batch.rewards.double().numpy() + batch.discounts.double().numpy() * (
        np.minimum(first, second) - 0.3 * log_probs
    )
    values, log_probs = torch.tensor(np.stack([first, second])).float(), torch.tensor(log_probs).float()
    actual = soft_targets(batch, values, log_probs, torch.tensor(0.3))
    np.testing.assert_allclose(actual.numpy(), wanted, rtol=1e-6, atol=1e-6)


def test_a_terminated_step_is_worth_its_reward_alone():
    batch = minibatch()._replace(discounts=torch.zeros(ROWS, dtype=torch.float64))
    next_values, log_probs = torch.randn(2, ROWS), torch.randn(ROWS)
    assert torch.equal(soft_targets(batch, next_values, log_probs, torch.tensor(0.3)), batch.rewards)


def test_actor_and_temperature_losses_equal_a_float64_hand_computation():
    first, second, log_probs = random_numbers(3)
    values, drawn = torch.tensor(np.stack([first, second])).float(), torch.tensor(log_probs).float()
    wanted = np.mean(0.3 * log_probs - np.minimum(first, second))
    assert actor_loss(values, drawn, torch.tensor(0.3)).item() == pytest.approx(wanted, abs=1e-6)
    wanted = -np.mean(-1.2 * (log_probs - 2.0))
    assert temperature_loss(torch.tensor(-1.2), drawn, -2.0).item() == pytest.approx(wanted, abs=1e-6)


def forward(layers, inputs):
    for index, (weight, bias) in enumerate(layers):
        inputs = inputs @ weight + bias
        if index < len(layers) - 1:
            inputs = np.maximum(inputs, 0)
    return inputs


def policy_draw(sac, obs, noise):
    layers = [(layer.weight.detach().numpy().T, layer.bias.detach().numpy()) for layer in sac.actor[::2]]
    mean, log_std = np.split(forward(layers, obs), 2, axis=1)
    before = mean + np.exp(log_std) * noise
    log_probs = norm.logpdf(before, mean, np.exp(log_std)) - np.log(1 - np.tanh(before) ** 2)
    return np.tanh(before), log_probs.sum(1)


def critic_values(critics, obs, actions):
    inputs = np.concatenate([obs, actions], 1)
    layers = [
        [(weight.detach().numpy()[critic], bias.detach().numpy()[critic]) for weight, bias in zip(*both, strict=True)]
        for both in [(critics.weights, critics.biases)]
        for critic in range(2)
    ]
    return np.stack([forward(critic, inputs)[:, 0] for critic in layers])


def test_one_whole_step_reports_the_losses_a_float64_hand_computation_gives():
    config = SacConfig(network=SMALL, temperature=0.2)
    sac = Sac(SPACES, config, torch.Generator().manual_seed(0)).double()
    batch = minibatch()
    noise_generator = torch.Generator().manual_seed(4)
    noise, next_noise = (
        torch.randn(ROWS, ACTIONS, generator=noise_generator, dtype=torch.float64).numpy() for _ in range(2)
    )
    _, log_probs = policy_draw(sac, batch.obs.numpy(), noise)
    next_actions, next_log_probs = policy_draw(sac, batch.next_obs.numpy(), next_noise)
    next_values = critic_values(sac.targets, batch.next_obs.numpy(), next_actions).min(0)
    targets = batch.rewards.numpy() + batch.discounts.numpy() * (next_values - 0.2 * next_log_probs)
    values = critic_values(sac.critics, batch.obs.numpy(), batch.actions.numpy())
    critic_loss = 0.5 * ((values - targets) ** 2).mean(1).sum()
    log_std = sac.actor(batch.obs).detach().numpy()[:, ACTIONS:]  # all inside the range of log_std

    once = turn(torch.Generator().manual_seed(4))
    errors = sac.learn(batch, once)
    actual = once.tally.metrics()
    assert actual["critic_loss"] == pytest.approx(critic_loss, abs=1e-6)
    assert actual["temperature_loss"] == pytest.approx(-np.log(0.2) * np.mean(log_probs - 2.0), abs=1e-6)
    assert actual["entropy"] == pytest.approx(-log_probs.mean(), abs=1e-6)
    assert actual["action_std"] == pytest.approx(np.exp(log_std).mean(), abs=1e-6)
    np.testing.assert_allclose(errors.numpy(), np.abs(values - targets).mean(0), atol=1e-6)


# Against stable-baselines3, whole gradient steps in float64


@pytest.fixture
def in_float64(monkeypatch):
    """Lets the reference see observations as they are instead of in float32."""
    monkeypatch.setattr("stable_baselines3.common.policies.preprocess_obs", lambda obs, *_, **__: obs)


class Stage(gym.Env):
    """Spaces for the reference to be built on; it is never run."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (SIZE,))
    action_space = gym.spaces.Box(-1, 1, (ACTIONS,))


def reference_sac(batch, **settings):
    theirs = SAC(
        "MlpPolicy", Stage(), policy_kwargs={"net_arch": [16, 16]}, gamma=0.97, device="cpu", seed=1, **settings
    )
    theirs.policy.double()
    theirs.actor.action_dist.epsilon = 0.0  # the exact density
    theirs.set_logger(configure(None, []))
    theirs._current_progress_remaining = 1.0
    samples = ReplayBufferSamples(
        batch.obs,
        batch.actions,
        batch.next_obs,
        (batch.discounts == 0).double().unsqueeze(1),
        batch.rewards.unsqueeze(1),
        None,
    )
    theirs.replay_buffer.sample = lambda *_, **__: samples
    return theirs


def stacked(layers):
    """Two plain critics' weights in the order and layout of ours."""
    return [torch.stack([layer.weight.T for layer in both]) for both in layers], [
        torch.stack([layer.bias.unsqueeze(0) for layer in both]) for both in layers
    ]


def parts_of(theirs):
    """The networks of the reference as a state of ours."""
    body = [layer for layer in theirs.actor.latent_pi if isinstance(layer, torch.nn.Linear)]
    tensors = {}
    for index, layer in enumerate(body):
        tensors |= {f"actor.{2 * index}.weight": layer.weight, f"actor.{2 * index}.bias": layer.bias}
    heads = (theirs.actor.mu, theirs.actor.log_std)
    tensors["actor.4.weight"] = torch.cat([head.weight for head in heads])
    tensors["actor.4.bias"] = torch.cat([head.bias for head in heads])
    for name, critic in (("critics", theirs.critic), ("targets", theirs.critic_target)):
        weights, biases = stacked(list(zip(critic.qf0[::2], critic.qf1[::2], strict=True)))
        for index in range(3):
            tensors |= {f"{name}.weights.{index}": weights[index], f"{name}.biases.{index}": biases[index]}
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}


@pytest.mark.usefixtures("in_float64")
@pytest.mark.parametrize("learn_temperature", [True, False])
def test_three_whole_steps_equal_those_of_stable_baselines(learn_temperature):
    batch = minibatch()
    theirs = reference_sac(batch, learning_rate=1e-3, ent_coef="auto_0.5" if learn_temperature else 0.5)
    config = SacConfig(network=SMALL, temperature=0.5, learn_temperature=learn_temperature, max_gradient_norm=1e9)
    sac = Sac(SPACES, config, torch.Generator().manual_seed(0)).double()
    sac.load_state_dict(parts_of(theirs) | {"log_temperature": sac.log_temperature.detach()})
    if learn_temperature:
        theirs.log_ent_coef.data = theirs.log_ent_coef.data.double()

    for seed in range(3):
        torch.manual_seed(seed)
        theirs.train(1, ROWS)
        once = turn(torch.Generator().manual_seed(seed))
        sac.learn(batch, once)
        logged, actual = theirs.logger.name_to_value, once.tally.metrics()
        assert actual["critic_loss"] == pytest.approx(logged["train/critic_loss"], abs=1e-6)
        assert actual["actor_loss"] == pytest.approx(logged["train/actor_loss"], abs=1e-6)
        assert actual["temperature"] == pytest.approx(logged["train/ent_coef"], abs=1e-6)
        if learn_temperature:
            assert actual["temperature_loss"] == pytest.approx(logged["train/ent_coef_loss"], abs=1e-6)
        ours = sac.state_dict()
        for name, wanted in parts_of(theirs).items():
            torch.testing.assert_close(ours[name], wanted, rtol=1e-6, atol=1e-6, msg=name)
    assert ("temperature_loss" in actual) == learn_temperature


# Behaviour


def test_the_policy_starts_near_zero_and_explores_all_of_the_box():
    sac = Sac(SPACES, SacConfig(network=SMALL), torch.Generator().manual_seed(0))
    obs = torch.randn(4000, SIZE)
    with torch.no_grad():
        assert sac.best(obs).abs().max() < 0.1
        drawn = sac.explore(obs, torch.Generator().manual_seed(1), 0.0)
    assert drawn.min() < -0.95
    assert drawn.max() > 0.95


def test_exploration_narrows_no_further_than_it_may():
    sac = Sac(SPACES, SacConfig(network=SMALL, log_std_low=-1.5), torch.Generator().manual_seed(0))
    obs = torch.zeros(4000, SIZE)
    with torch.no_grad():
        sac.actor[-1].bias[ACTIONS:] = -9.0
        drawn = sac.explore(obs, torch.Generator().manual_seed(1), 0.0)
    assert torch.atanh(drawn).std().item() == pytest.approx(np.exp(-1.5), rel=0.05)


def test_an_actor_that_climbs_the_average_is_told_the_mean_of_the_targets():
    config = SacConfig(network=SMALL, temperature=0.2, climbs="averaged")
    sac = Sac(SPACES, config, torch.Generator().manual_seed(0))
    with torch.no_grad():
        sac.targets.biases[-1] += torch.tensor([1.0, 5.0]).reshape(2, 1, 1)
    batch = minibatch(torch.float32)
    drawn = sac.draw(batch.obs, torch.Generator().manual_seed(3))
    wanted = (0.2 * drawn.log_probs - sac.targets(batch.obs, drawn.actions).mean(0)).mean().item()
    once = turn(torch.Generator().manual_seed(3))
    sac.learn(batch, once)
    assert once.tally.metrics()["actor_loss"] == pytest.approx(wanted, rel=1e-5)


def test_without_a_future_what_comes_next_changes_nothing():
    learned = []
    for scale in (1.0, 100.0):
        sac = Sac(SPACES, SacConfig(network=SMALL, gamma=0), torch.Generator().manual_seed(0))
        batch = minibatch(torch.float32)
        batch = batch._replace(next_obs=scale * batch.next_obs)
        errors = sac.learn(batch, turn(torch.Generator().manual_seed(0)))
        learned.append(torch.cat([errors, *(parameter.detach().flatten() for parameter in sac.parameters())]))
    assert torch.equal(*learned)


def test_critics_see_actions_with_the_gain_of_the_config():
    plain, scaled = (
        Sac(SPACES, SacConfig(network=SMALL, critic_action_gain=gain), torch.Generator().manual_seed(0))
        for gain in (1.0, 4.0)
    )
    obs, actions = torch.randn(ROWS, SIZE), torch.rand(ROWS, ACTIONS)
    assert torch.equal(scaled.critics(obs, actions), plain.critics(obs, 4 * actions))
    assert torch.equal(scaled.targets(obs, actions), plain.targets(obs, 4 * actions))


@pytest.mark.parametrize(("target_entropy", "rises"), [(10.0, True), (-30.0, False)])
def test_the_temperature_rises_below_the_target_entropy_and_falls_above_it(target_entropy, rises):
    sac = Sac(SPACES, SacConfig(network=SMALL, target_entropy=target_entropy), torch.Generator().manual_seed(0))
    sac.learn(minibatch(torch.float32), turn(torch.Generator().manual_seed(0)))
    assert (sac.log_temperature.item() > 0) == rises


def test_without_a_target_the_entropy_aimed_at_is_minus_the_size_of_an_action():
    steps = []
    for target_entropy in (None, -2.0):
        sac = Sac(SPACES, SacConfig(network=SMALL, target_entropy=target_entropy), torch.Generator().manual_seed(0))
        once = turn(torch.Generator().manual_seed(0))
        sac.learn(minibatch(torch.float32), once)
        steps.append(once.tally.metrics())
    assert steps[0] == steps[1]


def test_the_learner_is_called_sac_and_keeps_its_config():
    config = SacConfig(network=SMALL)
    learner = build_sac(SPACES, config, seed=0)
    assert learner.name == "sac"
    assert learner.config == config


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": 0},
        {"target_entropy": float("nan")},
        {"tau": 0.1},
        {"log_std_low": 2.0},
        {"climbs": "greater"},
        {"critic_action_gain": 0},
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        SacConfig(**wrong)
