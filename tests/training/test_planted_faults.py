"""Real learners are driven into each fault that the loop watches for, and what is declared for it happens."""

import math
from datetime import UTC, datetime

import gymnasium as gym
import numpy as np
import pytest
import torch

from gaelp.agents.catalog import agent_config, find_agent
from gaelp.agents.learner import BoxActions, DiscreteActions, Spaces
from gaelp.clock import ManualClock
from gaelp.errors import ActionError
from gaelp.experience.collect import Collector
from gaelp.training.arena import Round
from gaelp.training.checkpoint_folder import CheckpointFolder, latest_good
from gaelp.training.guardrails import DEFAULT_GUARDRAILS, GuardrailSpec
from gaelp.training.loop import LoopSpec, TrainingLoop
from gaelp.training.recipe import load_recipe
from gaelp.training.reports import Intervened, RoundDone, Saved, TrainingStopped

ROWS, SIZE, STEPS = 4, 2, 16
NETWORK = {"network": {"hidden": [8]}}
ON_POLICY = NETWORK | {"steps_per_update": 8}
REPLAY = NETWORK | {"learning_starts": 8, "batch_size": 16, "replay_capacity": 1000, "train_every": 1}
NUMBERS, CHOICES = Spaces(SIZE, BoxActions(1), ROWS), Spaces(SIZE, DiscreteActions(2), ROWS)
IN_ROUND_3 = 2 * STEPS + 7  # a moment of it, and no round before it


class Game(gym.vector.VectorEnv):
    """Rows that see noise and are paid by `pay(actions, moment)`; an episode ends every five steps."""

    def __init__(self, spaces, pay, look, began):
        self.num_envs, self.metadata = ROWS, {"autoreset_mode": gym.vector.AutoresetMode.SAME_STEP}
        self.single_observation_space = gym.spaces.Box(-np.inf, np.inf, (SIZE,), np.float32)
        numbers = isinstance(spaces.actions, BoxActions)
        self.single_action_space = gym.spaces.Box(-1, 1, (1,), np.float32) if numbers else gym.spaces.Discrete(2)
        self._pay, self._look, self._moment = pay, look, began

    def reset(self, *, seed=None, options=None):
        self._rng = np.random.default_rng(seed)
        return self._seen(), {}

    def step(self, actions):
        paid = np.asarray(self._pay(actions.reshape(ROWS), self._moment), np.float32)
        self._moment += 1
        ended = np.full(ROWS, self._moment % 5 == 0)
        info = {"final_obs": list(self._drawn())} if ended.all() else {}
        return self._seen(), np.broadcast_to(paid, (ROWS,)).copy(), np.zeros(ROWS, np.bool_), ended, info

    def _seen(self):
        return np.float32(self._look(self._moment)) * self._drawn()

    def _drawn(self):
        return self._rng.normal(size=(ROWS, SIZE)).astype(np.float32)


class GameArena:
    """Rounds of a game; validation is what the test says, and always as good."""

    def __init__(self, spaces, pay, *, look=lambda moment: 1.0, validate=lambda act: None):
        self.spaces, self._pay, self._look, self._validate = spaces, pay, look, validate

    def begin(self, number):
        return Round("game", Collector(Game(self.spaces, self._pay, self._look, number * STEPS), seed=number), STEPS)

    def validate(self, act):
        self._validate(act)
        return np.zeros(2)

    def reference(self):
        return None

    def record(self, act):
        return {}

    def figures(self, rewards):
        return {}

    def state(self):
        return {}

    def load_state(self, state):
        pass


@pytest.fixture
def train(tmp_path):
    """Trains a real learner under all limits, or some of them; `change` is done to every learner that is built."""

    def run(name, settings, arena, *, limits=DEFAULT_GUARDRAILS, change=lambda learner: None, rollbacks_max=3):
        kind, clock = find_agent(name), ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
        config = agent_config(kind, settings)

        def make(scale):
            scaled = kind.scaled(config, learning_rate=scale.learning_rate, minibatch=scale.minibatch)
            learner = kind.build(arena.spaces, scaled, seed=1)
            change(learner)
            return learner

        rules = {name: rule if name in limits else None for name, rule in DEFAULT_GUARDRAILS.items()}
        guardrails = GuardrailSpec.model_validate({"rules": rules, "rollbacks_max": rollbacks_max})
        spec = LoopSpec(rounds=4, validate_every=2, guardrails=guardrails)
        folder = CheckpointFolder(tmp_path / str(len(list(tmp_path.iterdir()))), config_hash="ab" * 32, clock=clock)
        loop = TrainingLoop(make, arena, spec, folder)
        return list(loop.run()), loop

    return run


def only(reports, kind):
    return [report for report in reports if isinstance(report, kind)]


def constant(rate):
    return {"learning_rate": {"kind": "constant", "start": rate}}


def spaces_of(name):
    return NUMBERS if name in ("sac", "td3") else CHOICES


def settings_of(name):
    return ON_POLICY if name in ("ppo", "a2c") else REPLAY


def pay_near_zero(actions, moment):
    return -(actions**2)


def pay_first_choice(actions, moment):
    return 1.0 - actions


def pay_one(actions, moment):
    return 1.0


def pay_the_number(actions, moment):
    return actions


def pay_too_much(actions, moment):
    return 1e5


def planted(value, *moments):
    """Pays 0.5, but the value to the first row at some moments."""
    return lambda actions, moment: [value if moment in moments else 0.5, *[0.5] * (ROWS - 1)]


def expect_rollback(trained, guardrail, rate):
    """The guardrail was the first to act, and what was learned then was learned with half the rate or less."""
    reports, loop = trained
    first = only(reports, Intervened)[0]
    assert first.guardrail == guardrail
    assert first.action == f"rolled back to round {first.round - 1}, learning rate halved"
    after = reports[reports.index(first) :]
    assert all(report.metrics["learning_rate"] <= rate / 2 for report in only(after, RoundDone))
    assert loop.learner.config.learning_rate.start <= rate / 2
    assert isinstance(reports[-1], TrainingStopped)


def expect_stop(reports, guardrail, *, after_round, action="stop"):
    """The guardrail ended the run at its last checkpoint."""
    last = only(reports, Intervened)[-1]
    assert (last.guardrail, last.action, last.round) == (guardrail, action, after_round + 1)
    assert (reports[-1].kind, reports[-1].round) == ("guardrail", after_round)
    assert reports[-1].detail.startswith(f"{guardrail}: ")


def test_a_policy_that_jumps_is_rolled_back_until_the_rate_is_low_enough(train):
    settings = ON_POLICY | constant(0.4) | {"epochs": 4}
    trained = train("ppo", settings, GameArena(NUMBERS, pay_near_zero), limits=["KL blow-up"])
    expect_rollback(trained, "KL blow-up", 0.4)
    assert trained[0][-1].kind == "finished"


@pytest.mark.parametrize(
    ("name", "settings", "pay"),
    [
        ("ppo", ON_POLICY | constant(0.3) | {"log_std_start": -5, "epochs": 8, "minibatches": 4}, pay_near_zero),
        ("a2c", ON_POLICY | constant(0.3) | {"log_std_start": -5, "normalise_advantages": True}, pay_near_zero),
        (
            "sac",
            REPLAY | constant(0.1) | {"temperature": 1e-9, "learn_temperature": False, "gamma": 0, "gradient_steps": 8},
            pay_the_number,
        ),
    ],
)
def test_a_policy_over_numbers_that_tries_nothing_else_is_rolled_back(train, name, settings, pay):
    trained = train(name, settings, GameArena(NUMBERS, pay), limits=["exploration collapse"])
    expect_rollback(trained, "exploration collapse", settings["learning_rate"]["start"])


def test_the_least_spread_of_the_sac_recipe_stays_clear_of_the_limit(train):
    low = load_recipe("sac").agent.log_std_low
    assert math.exp(low) > 100 * DEFAULT_GUARDRAILS["exploration collapse"].threshold
    settings = REPLAY | constant(0.1) | {"temperature": 1e-9, "learn_temperature": False, "gamma": 0}
    settings |= {"gradient_steps": 8, "log_std_low": low}
    reports, _ = train("sac", settings, GameArena(NUMBERS, pay_the_number), limits=["exploration collapse"])
    assert not only(reports, Intervened)
    assert only(reports, RoundDone)[-1].metrics["action_std"] == pytest.approx(math.exp(low), rel=0.1)


@pytest.mark.parametrize("name", ["ppo", "a2c"])
def test_a_policy_over_choices_that_tries_nothing_else_is_rolled_back(train, name):
    arena = GameArena(CHOICES, pay_first_choice)
    trained = train(name, ON_POLICY | constant(1.0), arena, limits=["entropy collapse"])
    expect_rollback(trained, "entropy collapse", 1.0)


@pytest.mark.parametrize(("name", "rate"), [("dqn", 1.0), ("qr_dqn", 1.0), ("sac", 0.5), ("td3", 1.0)])
def test_values_that_feed_on_their_own_errors_are_rolled_back(train, name, rate):
    settings = REPLAY | constant(rate) | {"gamma": 1.0, "target_rate": 1.0, "gradient_steps": 4}
    trained = train(name, settings, GameArena(spaces_of(name), pay_too_much), limits=["value divergence"])
    expect_rollback(trained, "value divergence", rate)


@pytest.mark.parametrize("name", ["ppo", "a2c", "dqn", "qr_dqn", "sac", "td3"])
def test_a_gradient_that_explodes_is_rolled_back(train, name):
    arena = GameArena(spaces_of(name), pay_one, look=lambda moment: 1e6)
    trained = train(name, settings_of(name) | constant(1e-3), arena)
    expect_rollback(trained, "exploding gradient", 1e-3)


@pytest.mark.parametrize(
    ("name", "reward", "look", "reason"),
    [("sac", 1e25, 1.0, "critic_loss"), ("td3", 1e25, 1.0, "critic_loss"), ("dqn", 0.5, 1e30, "gradient")],
)
def test_a_minibatch_whose_loss_or_gradient_is_not_finite_is_skipped_and_counted(train, name, reward, look, reason):
    arena = GameArena(spaces_of(name), planted(reward, 20), look=lambda moment: look if moment == 20 else 1.0)
    settings = REPLAY | {"batch_size": 4, "gradient_steps": 8, "gamma": 0, "n_step": 1}
    reports, loop = train(name, settings, arena)
    before, *after = [dict(report.skipped) for report in only(reports, RoundDone)]
    assert before == {}
    assert all(counts.keys() == {reason} and counts[reason] > 0 for counts in after)
    in_all = latest_good(only(reports, Saved)[-1].path.parent).checkpoint.state["progress"]["skipped"]
    assert in_all == {reason: sum(counts[reason] for counts in after)}
    assert not only(reports, Intervened)
    assert reports[-1].kind == "finished"
    assert all(tensor.isfinite().all() for tensor in loop.final_parameters().values())


@pytest.mark.parametrize("name", ["dqn", "qr_dqn", "sac", "td3"])
class TestPoisonedReplay:
    def test_a_reward_outside_the_declared_range_stops_training(self, train, name):
        arena = GameArena(spaces_of(name), planted(7.0, IN_ROUND_3))
        reports, _ = train(name, REPLAY | {"reward_range": (-1, 1)}, arena)
        expect_stop(reports, "poisoned experience", after_round=2)
        assert "rewards[0] is 7.0, allowed is -1.0..1.0" in reports[-1].detail

    def test_it_is_left_out_and_counted_where_that_is_configured(self, train, name):
        arena = GameArena(spaces_of(name), planted(7.0, IN_ROUND_3, IN_ROUND_3 + 2))
        reports, loop = train(name, REPLAY | {"reward_range": (-1, 1), "on_refused": "skip"}, arena)
        counted = [report.metrics["refused_steps"] for report in only(reports, RoundDone)]
        assert counted[:2] == [0, 0]
        assert counted[3] == 2
        assert not only(reports, Intervened)
        assert reports[-1].kind == "finished"
        kept = [tensor for path, tensor in loop.final_parameters().items() if path.endswith("stored.rewards")]
        assert len(kept) == 1
        assert kept[0].max() < 7


@pytest.mark.parametrize("name", ["ppo", "a2c", "dqn", "sac"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_reward_that_is_not_finite_stops_training(train, name, value):
    reports, _ = train(name, settings_of(name), GameArena(spaces_of(name), planted(value, IN_ROUND_3)))
    expect_stop(reports, "not finite", after_round=2)
    assert "reward of row 0" in reports[-1].detail


@pytest.mark.parametrize(("moment", "rounds"), [(0, 0), (35, 2), (38, 2)], ids=["round", "episode", "step"])
@pytest.mark.parametrize("name", ["ppo", "a2c", "dqn", "sac"])
def test_an_observation_that_is_not_finite_stops_training_wherever_it_comes_first(train, name, moment, rounds):
    arena = GameArena(spaces_of(name), pay_one, look=lambda now: math.nan if now == moment else 1.0)
    reports, _ = train(name, settings_of(name), arena)
    expect_stop(reports, "not finite", after_round=rounds)
    assert "obs of row 0 is nan" in reports[-1].detail


def test_another_error_of_the_environment_is_not_called_one_of_numbers(train):
    def refuse(actions, moment):
        if moment == IN_ROUND_3:
            raise ActionError("a bid is too high, allowed is less: bid less")
        return 0.0

    reports, _ = train("ppo", ON_POLICY, GameArena(NUMBERS, refuse))
    expect_stop(reports, "bad input", after_round=2)


TOO_LITTLE = "[enforce fail at alloc_cpu.cpp:121] DefaultCPUAllocator: can't allocate memory"


def room_for(rows):
    """Makes a learner run out of memory, with torch's own message, where it learns from more rows at once."""

    def refuse_more(module, inputs):
        if torch.is_grad_enabled() and len(inputs[0]) > rows:
            raise RuntimeError(TOO_LITTLE)

    def change(learner):
        if learner.name in ("dqn", "qr_dqn"):
            learner.online.register_forward_pre_hook(refuse_more)
        elif learner.name in ("sac", "td3"):
            learner.algorithm.actor.register_forward_pre_hook(refuse_more)
        else:
            learner.networks.actor.register_forward_pre_hook(refuse_more)

    return change


def memory_settings(name):
    """Autograd for all, so that one hook sees every gradient."""
    return settings_of(name) | ({"fast_gradients": False} if name in ("ppo", "a2c") else {})


@pytest.mark.parametrize("name", ["ppo", "a2c", "dqn", "qr_dqn", "sac", "td3"])
def test_every_learner_goes_on_in_the_memory_there_is(train, name):
    arena = GameArena(spaces_of(name), pay_one)
    settings = memory_settings(name) | ({"minibatches": 1} if name == "ppo" else {})
    reports, _ = train(name, settings, arena, change=room_for(8))
    actions = {report.action for report in only(reports, Intervened)}
    assert actions == {"rolled back to round 0, minibatch halved"}
    assert reports[-1].kind == "finished"


def test_a2c_learns_the_same_in_less_memory(train):
    arena = GameArena(NUMBERS, pay_near_zero)
    (_, whole), (reports, small) = (
        train("a2c", memory_settings("a2c"), arena, change=change) for change in (lambda learner: None, room_for(5))
    )
    assert [report.guardrail for report in only(reports, Intervened)] == ["out of memory"] * 3
    wanted, found = (loop.final_parameters() for loop in (whole, small))
    assert all(torch.allclose(found[path].float(), wanted[path].float(), atol=1e-4) for path in wanted)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("ppo", "minibatches=64 cannot share the 32 rows"),
        ("a2c", "pieces=64 cannot share the 32 rows"),
        ("dqn", "batch_size=16 cannot shrink"),
        ("sac", "batch_size=16 cannot shrink"),
    ],
)
def test_where_nothing_is_left_to_shrink_training_stops_with_the_reason(train, name, reason):
    arena = GameArena(spaces_of(name), pay_one)
    reports, _ = train(name, memory_settings(name), arena, change=room_for(0), rollbacks_max=99)
    expect_stop(reports, "out of memory", after_round=0, action="stop: the minibatch cannot be halved again")
    assert reason in reports[-1].detail


def narrow(rows):
    """A learner that runs out of memory where it acts for more rows without exploring."""

    def change(learner):
        act = learner.act

        def refuse_more(obs, *, explore):
            if not explore and len(obs) > rows:
                raise RuntimeError(TOO_LITTLE)
            return act(obs, explore=explore)

        learner.act = refuse_more

    return change


def test_validation_goes_on_in_pieces_and_changes_nothing_in_training(train):
    acted = []
    arena = GameArena(NUMBERS, pay_near_zero, validate=lambda act: acted.append(act(torch.ones(50, SIZE))))
    (_, whole), (reports, small) = (
        train("ppo", ON_POLICY, arena, change=change) for change in (lambda learner: None, narrow(7))
    )
    [intervened] = only(reports, Intervened)
    assert (intervened.round, intervened.guardrail, intervened.action) == (
        2,
        "out of memory",
        "validated in pieces of 6 rows",
    )
    assert reports[-1].kind == "finished"
    wanted, found = (loop.final_parameters() for loop in (whole, small))
    assert all(torch.equal(found[path], wanted[path]) for path in wanted)
    assert all(torch.allclose(one, other) for one, other in zip(acted[:2], acted[2:], strict=True))


def test_validation_without_any_memory_stops_training_at_the_last_checkpoint(train):
    def refuse(act):
        raise MemoryError

    for arena, change in (
        (GameArena(NUMBERS, pay_near_zero, validate=refuse), lambda learner: None),
        (GameArena(NUMBERS, pay_near_zero, validate=lambda act: act(torch.ones(50, SIZE))), narrow(0)),
    ):
        reports, _ = train("ppo", ON_POLICY, arena, change=change)
        expect_stop(reports, "out of memory", after_round=1)


def test_too_little_memory_to_save_stops_training_at_the_last_checkpoint(train):
    saved = []

    def change(learner):
        state = learner.state

        def refuse_later():
            saved.append(learner)
            if len(saved) > 3:
                raise MemoryError
            return state()

        learner.state = refuse_later

    reports, _ = train("ppo", ON_POLICY, GameArena(NUMBERS, pay_near_zero), change=change)
    expect_stop(reports, "out of memory", after_round=2)


def test_too_little_memory_even_to_go_back_stops_training(train):
    def change(learner):
        def refuse(state):
            raise MemoryError("no room")

        learner.load_state = refuse

    arena = GameArena(NUMBERS, planted(math.nan, IN_ROUND_3))
    reports, _ = train("ppo", ON_POLICY, arena, change=change)
    assert reports[-1].kind == "guardrail"
    assert reports[-1].detail == "out of memory: no room: free memory and resume from the checkpoints"
