"""Algorithms of stable-baselines3 behind the Learner protocol: the same to the bit as when they run themselves."""

import copy
import random
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
import stable_baselines3
import torch
from stable_baselines3.common.noise import NormalActionNoise, VectorizedActionNoise
from stable_baselines3.common.vec_env import DummyVecEnv

from gaelp.agents.catalog import agent_config, find_agent
from gaelp.agents.conformance_world import differing, leaves_of
from gaelp.agents.learner import BoxActions, DiscreteActions, Spaces
from gaelp.agents.sb3 import Sb3Config, build_sb3, sb3_names
from gaelp.errors import BadInput, ComponentMissing, ConfigError, Refused
from gaelp.experience.collect import Collector, Step, open_env
from gaelp.training.state_tree import flatten, unflatten

SMALL = {"policy_kwargs": {"net_arch": [16]}}
CARTPOLE = {"n_steps": 32, "batch_size": 256, "gae_lambda": 0.8, "gamma": 0.98, "n_epochs": 4}


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def build(name, spaces, *, seed=0, **settings):
    kind = find_agent(name)
    return kind.build(spaces, agent_config(kind, settings), seed=seed)


def spaces_of(env_id, rows):
    env = gym.make(env_id)
    actions = env.action_space
    action = (
        DiscreteActions(int(actions.n)) if isinstance(actions, gym.spaces.Discrete) else BoxActions(actions.shape[0])
    )
    return Spaces(env.observation_space.shape[0], action, rows)


def trained(name, env_id, *, rows, steps, env_seed, **settings):
    """A learner that went through the same loop as GAELP's own, and the returns of its episodes."""
    learner = build(name, spaces_of(env_id, rows), **settings)
    collector, returns = Collector(open_env(env_id, rows), seed=env_seed), []
    for index in range(steps):
        step = collector.step(lambda obs: learner.act(obs, explore=True))
        learner.observe(step)
        learner.update(index / steps)
        returns += step.finished_returns
    return learner, returns


def reference(make, env_id, *, rows, steps, seed, **arguments):
    """What stable-baselines3 makes of it by itself."""
    env = DummyVecEnv([lambda: gym.make(env_id)] * rows)
    model = make("MlpPolicy", env, seed=seed, device="cpu", **copy.deepcopy(arguments))
    return model.learn(steps * rows)


def same_parameters(one, other):
    ours, theirs = one.policy.state_dict(), other.policy.state_dict()
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


WORD = int(np.random.SeedSequence(0).generate_state(1, np.uint32)[0])  # what the seed 0 becomes


@pytest.mark.parametrize(
    ("name", "env_id", "steps", "arguments"),
    [
        ("PPO", "CartPole-v1", 64, {"n_steps": 16, "batch_size": 32, "n_epochs": 2}),
        ("A2C", "CartPole-v1", 60, {}),
        ("SAC", "MountainCarContinuous-v0", 60, {"learning_starts": 100, "buffer_size": 500, "batch_size": 16}),
        (
            "DQN",
            "CartPole-v1",
            100,
            {
                "learning_starts": 100,
                "buffer_size": 500,
                "target_update_interval": 40,
                "exploration_initial_eps": 0.3,
                "exploration_final_eps": 0.3,
            },
        ),
    ],
)
def test_it_learns_to_the_bit_what_stable_baselines3_learns_by_itself(name, env_id, steps, arguments):
    options = SMALL | arguments
    learner, _ = trained(f"sb3:{name}", env_id, rows=4, steps=steps, env_seed=WORD, arguments=options)
    theirs = reference(getattr(stable_baselines3, name), env_id, rows=4, steps=steps, seed=WORD, **options)
    assert learner.model.seed == WORD
    assert learner.model._n_updates == theirs._n_updates > 0
    assert same_parameters(learner.model, theirs)


def test_noise_on_actions_is_that_of_stable_baselines3():
    options = SMALL | {"learning_starts": 20, "buffer_size": 500, "batch_size": 16}
    learner, _ = trained(
        "sb3:TD3",
        "MountainCarContinuous-v0",
        rows=2,
        steps=30,
        env_seed=WORD,
        action_noise=0.2,
        arguments=options,
    )
    noise = VectorizedActionNoise(NormalActionNoise(np.zeros(1), np.full(1, 0.2)), 2)
    options |= {"action_noise": noise}
    theirs = reference(stable_baselines3.TD3, "MountainCarContinuous-v0", rows=2, steps=30, seed=WORD, **options)
    assert same_parameters(learner.model, theirs)


def test_ppo_of_stable_baselines3_gets_better_at_cartpole():
    rate = {"kind": "constant", "start": 1e-3}
    _, returns = trained(
        "sb3:PPO", "CartPole-v1", rows=8, steps=1500, env_seed=3, learning_rate=rate, arguments=CARTPOLE
    )
    assert np.mean(returns[:20]) < 40
    assert np.mean(returns[-20:]) > 80


def test_the_learning_rate_follows_the_schedule():
    learner = build(
        "sb3:A2C",
        Spaces(3, BoxActions(1), 2),
        learning_rate={"kind": "linear", "start": 0.2, "end": 0.1},
        arguments=SMALL | {"n_steps": 1},
    )
    rates = []
    for progress in (0.0, 0.5, 1.0):
        obs = torch.zeros(2, 3)
        action = learner.act(obs, explore=True)
        flags = torch.zeros(2, dtype=torch.bool)
        learner.observe(Step(obs, action, torch.ones(2), obs, flags, flags, ()))
        rates.append(learner.update(progress).metrics["learning_rate"])
    assert rates == pytest.approx([0.2, 0.15, 0.1])


def test_building_leaves_all_global_generators_as_they_were():
    before = random.getstate(), torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002 - the global one
    build("sb3:SAC", Spaces(3, BoxActions(1), 2), arguments=SMALL | {"buffer_size": 100})
    after = random.getstate(), torch.get_rng_state(), np.random.get_state()[1]  # noqa: NPY002 - the global one
    assert before[0] == after[0]
    assert torch.equal(before[1], after[1])
    assert (before[2] == after[2]).all()


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("sb3-contrib:RecurrentPPO", "RecurrentPPO has no policy MlpPolicy; it has MlpLstmPolicy"),
        (
            "sb3-contrib:RecurrentPPO/MlpLstmPolicy",
            "RecurrentPPO keeps its experience in a Recurrent.*Buffer, .*choose another",
        ),
        ("sb3-contrib:MaskablePPO", "MaskablePPO keeps its experience in a Maskable.*Buffer"),
        ("sb3-contrib:ARS", "ARS learns neither from a collection of steps nor from replay"),
    ],
)
def test_an_algorithm_that_needs_more_than_steps_is_refused_by_name(name, seen):
    name, _, policy = name.partition("/")
    arguments = {} if name.endswith("ARS") else {"n_steps": 8, "batch_size": 8}
    with pytest.raises(BadInput, match=seen):
        build(name, Spaces(3, DiscreteActions(2), 1), policy=policy or "MlpPolicy", arguments=arguments)


@pytest.mark.parametrize(
    ("arguments", "seen"),
    [
        ({"device": "cuda"}, "arguments.device cannot be set: the adapter runs on the CPU"),
        ({"use_sde": True}, "arguments.use_sde cannot be set: its noise is not saved"),
        ({"replay_buffer_class": "HerReplayBuffer"}, "arguments.replay_buffer_class cannot be set"),
        ({"train_freq": [1, "episode"]}, r"train_freq=\[1, 'episode'\] is not allowed: give a number of steps"),
    ],
)
def test_arguments_the_adapter_cannot_keep_its_word_with_are_refused(arguments, seen):
    with pytest.raises(ConfigError, match=seen):
        agent_config(find_agent("sb3:SAC"), {"arguments": arguments})


def test_what_the_algorithm_itself_refuses_is_told_in_its_words():
    with pytest.raises(BadInput, match=r"unexpected keyword argument 'n_stepz'\); it takes .*n_steps, batch_size"):
        build("sb3:PPO", Spaces(3, BoxActions(1), 2), arguments={"n_stepz": 3})
    with pytest.raises(BadInput, match=r"sb3:SAC refuses its arguments .*Discrete"):
        build("sb3:SAC", Spaces(3, DiscreteActions(2), 2))


def test_classes_in_policy_arguments_are_named():
    learner = build(
        "sb3:PPO",
        Spaces(3, BoxActions(1), 4),
        arguments={
            "n_steps": 16,
            "policy_kwargs": {"net_arch": [8], "activation_fn": "ReLU", "optimizer_class": "RMSprop"},
        },
    )
    assert isinstance(learner.model.policy.optimizer, torch.optim.RMSprop)
    assert any(isinstance(module, torch.nn.ReLU) for module in learner.model.policy.modules())
    with pytest.raises(BadInput, match=r"policy_kwargs.activation_fn='Reluu' is no class of torch.nn"):
        build("sb3:PPO", Spaces(3, BoxActions(1), 4), arguments={"policy_kwargs": {"activation_fn": "Reluu"}})


def test_noise_for_choices_is_refused():
    with pytest.raises(BadInput, match=r"action_noise=0.1 is for continuous actions"):
        build("sb3:PPO", Spaces(3, DiscreteActions(2), 2), action_noise=0.1)


def test_an_unknown_algorithm_is_refused_with_the_nearest():
    with pytest.raises(
        ConfigError, match=r"stable_baselines3 has no algorithm 'PP0'; allowed: A2C, .*Did you mean PPO"
    ):
        find_agent("sb3:PP0")


def test_the_name_and_the_configured_algorithm_cannot_differ():
    kind = find_agent("sb3:PPO")
    assert agent_config(kind, {}).algorithm == "sb3:PPO"
    with pytest.raises(ConfigError, match=r"agent sb3:PPO: algorithm: saw 'sb3:SAC'"):
        agent_config(kind, {"algorithm": "sb3:SAC"})


def test_a_config_of_its_own_builds_the_same_learner():
    spaces = Spaces(3, BoxActions(1), 4)
    config = Sb3Config(algorithm="sb3:PPO", arguments={"n_steps": 16})
    one, other = build_sb3(spaces, config, seed=4), build("sb3:PPO", spaces, seed=4, arguments={"n_steps": 16})
    assert same_parameters(one.model, other.model)


def test_a_missing_package_is_told_with_the_way_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(
        ComponentMissing, match=r"sb3:PPO needs stable_baselines3, which is not installed: .*gaelp\[bench\]"
    ):
        build_sb3(Spaces(3, BoxActions(1), 2), Sb3Config(algorithm="sb3:PPO"), seed=0)


def test_nothing_of_stable_baselines3_is_imported_before_it_is_asked_for():
    code = "import sys, gaelp.agents.catalog as c; c.agent_names(); sys.exit('stable_baselines3' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_algorithms_that_are_tried_are_listed():
    assert {"sb3:PPO", "sb3:SAC", "sb3-contrib:TQC", "sb3-contrib:QRDQN"} <= set(sb3_names())


def test_a_scaled_config_starts_from_the_algorithms_own_defaults():
    kind = find_agent("sb3:PPO")
    scaled = kind.scaled(agent_config(kind, {}), learning_rate=0.5, minibatch=0.25)
    assert scaled.learning_rate.start == pytest.approx(1.5e-4)
    assert scaled.arguments["batch_size"] == 16
    with pytest.raises(Refused, match=r"sb3:A2C has no batch_size to shrink"):
        find_agent("sb3:A2C").scaled(agent_config(find_agent("sb3:A2C"), {}), minibatch=0.5)


def test_the_environment_it_is_told_of_cannot_be_stepped():
    learner = build("sb3:PPO", Spaces(3, BoxActions(1), 4), arguments={"n_steps": 16})
    with pytest.raises(BadInput, match="let GAELP's loop step the environment"):
        learner.model.learn(10)


def test_a_step_of_other_actions_or_none_is_refused():
    learner, _ = trained("sb3:PPO", "CartPole-v1", rows=4, steps=3, env_seed=0, arguments={"n_steps": 16})
    step = Collector(open_env("CartPole-v1", 4), seed=0).step(lambda obs: learner.act(obs, explore=True))
    with pytest.raises(BadInput, match="not those drawn last"):
        learner.observe(step._replace(action=step.action + 1))
    learner.observe(step)
    with pytest.raises(BadInput, match="no action was drawn"):
        learner.observe(step)


def test_a_state_of_other_shapes_is_refused_and_changes_nothing():
    small, large = (
        build("sb3:PPO", Spaces(3, BoxActions(1), 4), arguments={"n_steps": 16, "policy_kwargs": {"net_arch": [size]}})
        for size in (8, 9)
    )
    before = {name: tensor.clone() for name, tensor in small.model.policy.state_dict().items()}
    with pytest.raises(BadInput, match=r"saved policy.mlp_extractor.* is torch.float32 \(9, 3\), wanted is .*\(8, 3\)"):
        small.load_state(large.state())
    assert all(torch.equal(before[name], tensor) for name, tensor in small.model.policy.state_dict().items())


@pytest.mark.parametrize(
    ("part", "name", "value", "seen"),
    [
        ("random", "numpy_key", torch.full((624,), 2**32), "beyond 32 bits"),
        ("random", "numpy_position", 625, "numpy_position is 625"),
        ("action_space", "state", "-1", "allowed are whole numbers of 128 bits"),
        ("buffer", "size", 17, "size is 17"),
        ("counters", "num_timesteps", -1, "num_timesteps is -1"),
        ("optimisers", "policy.optimizer.99.step", 1.0, "belongs to no parameter here"),
        ("optimisers", "policy.optimizer.0.exp_avg", torch.zeros(2), "wanted is torch.float32"),
    ],
)
def test_a_damaged_state_is_refused_and_changes_nothing(part, name, value, seen):
    learner, _ = trained("sb3:PPO", "CartPole-v1", rows=4, steps=20, env_seed=0, arguments={"n_steps": 16})
    state, before = learner.state(), leaves_of(learner.state())
    state[part] = state[part] | {name: value}
    with pytest.raises(BadInput, match=seen):
        learner.load_state(state)
    assert differing(before, leaves_of(learner.state())) == []


def test_a_saved_state_goes_through_a_checkpoints_form_unchanged():
    learner, _ = trained(
        "sb3:SAC", "MountainCarContinuous-v0", rows=2, steps=10, env_seed=0, arguments=SMALL | {"buffer_size": 100}
    )
    state = learner.state()
    assert differing(leaves_of(state), leaves_of(unflatten(*flatten(state)))) == []
