"""The conformance suite passes for every algorithm GAELP ships or adapts, and catches a learner that breaks a rule."""

import pytest
import torch

from gaelp.agents import conformance
from gaelp.agents.catalog import AgentKind, agent_config, find_agent
from gaelp.agents.conformance import Bench, LearnerConformance, check_learner, spaces_of
from gaelp.agents.learner import DiscreteActions, Spaces

NETWORK = {"network": {"hidden": [8]}}
ON_POLICY = NETWORK | {"steps_per_update": 6, "normalise_obs": True, "scale_rewards": True}
REPLAY = NETWORK | {
    "batch_size": 8,
    "replay_capacity": 80,
    "learning_starts": 12,
    "train_every": 2,
    "gradient_steps": 1,
    "n_step": 3,
    "priorities": {},
    "normalise_obs": True,
    "scale_rewards": True,
}
PPO = ON_POLICY | {"minibatches": 2, "epochs": 1}
SB3_NETWORK = {"policy_kwargs": {"net_arch": [8]}}
SB3_REPLAY = SB3_NETWORK | {"buffer_size": 80, "learning_starts": 12, "batch_size": 8, "n_steps": 3}
SB3_VALUES = SB3_REPLAY | {"target_update_interval": 20, "train_freq": 2}
SB3_PPO = SB3_NETWORK | {"n_steps": 6, "batch_size": 12, "n_epochs": 1}


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def suite(name, settings):
    kind = find_agent(name)
    return type(f"Test {name}", (LearnerConformance,), {"kind": kind, "config": agent_config(kind, settings)})


TestA2c = suite("a2c", ON_POLICY)
TestDqn = suite("dqn", REPLAY)
TestPpo = suite("ppo", PPO)
TestQrDqn = suite("qr_dqn", REPLAY | {"quantiles": 5})
TestSac = suite("sac", REPLAY)
TestTd3 = suite("td3", REPLAY)

TestSb3Dqn = suite("sb3:DQN", {"arguments": SB3_VALUES})
TestSb3Ppo = suite("sb3:PPO", {"arguments": SB3_PPO})
TestSb3Sac = suite("sb3:SAC", {"arguments": SB3_REPLAY | {"train_freq": 2, "gradient_steps": 1}})

# The rest of stable-baselines3 is built alike, so the default suite leaves it out.
slow = pytest.mark.slow
TestPpoWithVtrace = slow(suite("ppo", PPO | {"vtrace": {}, "target_kl": 0.05}))
TestSacOfOneStep = slow(suite("sac", REPLAY | {"n_step": 1, "priorities": None}))
TestSb3A2c = slow(suite("sb3:A2C", {"arguments": SB3_NETWORK | {"n_steps": 6}}))
TestSb3Ddpg = slow(suite("sb3:DDPG", {"arguments": SB3_REPLAY, "action_noise": 0.1}))
TestSb3SacOfManySteps = slow(suite("sb3:SAC", {"arguments": SB3_REPLAY | {"gradient_steps": -1}}))
TestSb3Td3 = slow(suite("sb3:TD3", {"arguments": SB3_REPLAY, "action_noise": 0.1}))
TestContribCrossQ = slow(suite("sb3-contrib:CrossQ", {"arguments": SB3_REPLAY}))
TestContribQrdqn = slow(suite("sb3-contrib:QRDQN", {"arguments": SB3_VALUES}))
TestContribTqc = slow(suite("sb3-contrib:TQC", {"arguments": SB3_REPLAY}))
TestContribTrpo = slow(suite("sb3-contrib:TRPO", {"arguments": SB3_NETWORK | {"n_steps": 6, "batch_size": 12}}))


# A learner that breaks one rule, and the check that has to catch it.


class Spoilt:
    """A sound learner with one method spoilt."""

    def __init__(self, learner):
        self._learner = learner

    def __getattr__(self, name):
        return getattr(self._learner, name)


class OutOfBounds(Spoilt):
    def act(self, obs, *, explore):
        return self._learner.act(obs, explore=explore) + 2


class DrawsForBest(Spoilt):
    def act(self, obs, *, explore):
        return self._learner.act(obs, explore=True)


class Forgetful(Spoilt):
    def state(self):
        return {name: part for name, part in self._learner.state().items() if name != "generators"}

    def load_state(self, state):
        self._learner.load_state(state | {"generators": self._learner.state()["generators"]})


class Sharing(Spoilt):
    def state(self):
        networks = {name: tensor.detach() for name, tensor in self._learner.algorithm.networks.state_dict().items()}
        return self._learner.state() | {"networks": networks}


class Unplain(Spoilt):
    def state(self):
        return self._learner.state() | {"extra": object()}


class Lazy(Spoilt):
    def update(self, progress):
        before = self._learner.state()
        update = self._learner.update(progress)
        counters = self._learner.state()["counters"]
        self._learner.load_state(before | {"counters": counters})
        return update


class Careless(Spoilt):
    def observe(self, step):
        clean = {name: getattr(step, name).nan_to_num(0.0, 0.0, 0.0) for name in ("obs", "reward", "next_obs")}
        self._learner.observe(step._replace(**clean))


class NeverCut(Spoilt):
    def cut(self):
        pass


class Trusting(Spoilt):
    def load_state(self, state):
        self._learner.load_state(state | {"name": self._learner.name})


class Global(Spoilt):
    def act(self, obs, *, explore):
        torch.rand(1)
        return self._learner.act(obs, explore=explore)


@pytest.mark.parametrize(
    ("spoil", "check"),
    [
        (OutOfBounds, conformance.actions_fit_their_space),
        (DrawsForBest, conformance.best_actions_draw_nothing),
        (Global, conformance.global_generators_play_no_part),
        (Forgetful, conformance.a_restored_learner_continues_bit_for_bit),
        (Sharing, conformance.state_is_a_copy),
        (Unplain, conformance.state_is_plain),
        (Lazy, conformance.it_learns),
        (Careless, conformance.what_is_not_finite_is_refused),
        (NeverCut, conformance.cut_is_a_truncation),
        (Trusting, conformance.a_state_of_another_algorithm_is_refused),
    ],
    ids=lambda value: value.__name__,
)
def test_a_learner_that_breaks_a_rule_is_caught(spoil, check):
    sound = find_agent("sac")
    build = lambda spaces, config, *, seed: spoil(sound.build(spaces, config, seed=seed))  # noqa: E731
    kind = AgentKind("sac", sound.config, build, sound.actions, sound.scale)
    bench = Bench(kind, agent_config(kind, REPLAY), spaces_of(kind)[0])
    with pytest.raises(AssertionError):
        check(bench)


def test_a_kind_that_claims_actions_its_learner_refuses_is_caught_without_pytest():
    sound = find_agent("sac")
    kind = AgentKind("sac", sound.config, sound.build, "both", sound.scale)
    assert [type(spaces.actions) for spaces in spaces_of(kind)][1] is DiscreteActions
    with pytest.raises(Exception, match="needs continuous actions"):
        check_learner(kind, agent_config(kind, REPLAY))


def test_a_kind_that_hides_actions_its_learner_takes_is_caught():
    sound = find_agent("ppo")
    kind = AgentKind("ppo", sound.config, sound.build, "discrete", sound.scale)
    bench = Bench(kind, agent_config(kind, PPO), Spaces(3, DiscreteActions(3), 4))
    with pytest.raises(AssertionError, match=r"building for BoxActions\(size=2\) was not refused"):
        conformance.actions_of_another_space_are_refused(bench)


def test_a_learner_that_never_learns_is_caught_within_1000_steps():
    kind = find_agent("a2c")
    bench = Bench(kind, agent_config(kind, ON_POLICY | {"steps_per_update": 100_000}), spaces_of(kind)[0])
    with pytest.raises(AssertionError, match="0 of 1 updates were made in 1000 steps"):
        conformance.it_learns(bench)
