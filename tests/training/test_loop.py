"""The loop trains in rounds, keeps what was best, answers guardrails, and resumes bit for bit after an interruption."""

import math
from collections import Counter
from datetime import UTC, datetime

import gymnasium as gym
import numpy as np
import pytest
import torch

from gaelp.agents.learner import BoxActions, Spaces, Update
from gaelp.agents.ppo import PpoConfig, build_ppo
from gaelp.checks import Goal
from gaelp.clock import ManualClock
from gaelp.errors import BadInput, Refused
from gaelp.experience.collect import Collector
from gaelp.training.arena import GymArena, Round, round_seed
from gaelp.training.checkpoint_folder import CheckpointFolder
from gaelp.training.guardrails import GuardrailSpec
from gaelp.training.loop import LoopSpec, TrainingLoop
from gaelp.training.reports import Intervened, Resumed, RoundDone, Saved, TrainingStopped, Validated


class Numbers(gym.vector.VectorEnv):
    """Two rows that see zeros and are paid what the script says."""

    def __init__(self, reward=1.0, obs=0.0):
        self.num_envs, self.metadata = 2, {"autoreset_mode": gym.vector.AutoresetMode.SAME_STEP}
        self.single_observation_space = gym.spaces.Box(-9, 9, (1,), np.float32)
        self.single_action_space = gym.spaces.Box(-1, 1, (1,), np.float32)
        self._reward, self._obs = reward, obs

    def reset(self, *, seed=None, options=None):
        return np.full((2, 1), self._obs, np.float32), {}

    def step(self, actions):
        never = np.zeros(2, np.bool_)
        return np.full((2, 1), self._obs, np.float32), np.full(2, self._reward, np.float32), never, never, {}


class NumbersArena:
    """An arena whose validation rewards are given, one after the other."""

    spaces = Spaces(1, BoxActions(1), rows=2)

    def __init__(self, validations=(), reference=None, noise=0.0, **env):
        self._validations, self._reference, self._env = list(validations), reference, env
        self._noise = noise  # standard error of the lead

    def begin(self, number):
        return Round("numbers", Collector(Numbers(**self._env), seed=number), steps=3)

    def validate(self, act):
        level = self._validations.pop(0) if self._validations else 0.0
        return np.array([level - 0.01 - self._noise, level + 0.01 + self._noise])

    def reference(self):
        return None if self._reference is None else np.array([self._reference - 0.01, self._reference + 0.01])

    def record(self, act):
        return {}

    def figures(self, rewards):
        return {}

    def state(self):
        return {}

    def load_state(self, state):
        pass


class Scripted:
    """A learner that reports what the script says at each of its updates, and remembers how it was built."""

    name = "scripted"

    def __init__(self, script, scale, seen):
        self._script, self._scale, self._seen, self.updates = script, scale, seen, 0

    def act(self, obs, *, explore):
        return torch.zeros(len(obs), 1)

    def observe(self, step):
        if not (step.obs.isfinite().all() and step.reward.isfinite().all()):
            raise BadInput("row 0 is nan, allowed are finite numbers: fix the environment")
        self._seen["rewards"].append(step.reward.tolist())

    def cut(self):
        pass

    def update(self, progress):
        self._seen["progress"].append(progress)
        what = self._script.pop(self.updates, None)
        self.updates += 1
        self._seen["scales"].append(self._scale)
        if isinstance(what, Exception):
            raise what
        return Update({"loss": 1.0} if what is None else what, gradient_steps=1)

    def state(self):
        return {"name": self.name, "updates": self.updates}

    def load_state(self, state):
        self.updates = state["updates"]


@pytest.fixture
def seen():
    return {"rewards": [], "progress": [], "scales": []}


@pytest.fixture
def folder(tmp_path):
    return CheckpointFolder(tmp_path, config_hash="ab" * 32, clock=ManualClock(datetime(2026, 1, 1, tzinfo=UTC)))


@pytest.fixture
def scripted(folder, seen):
    def run(arena=None, *, script=None, goals=(), **spec):
        script = dict(script or {})
        given = LoopSpec(**({"rounds": 4} | spec))
        loop = TrainingLoop(
            lambda scale: Scripted(script, scale, seen), arena or NumbersArena(), given, folder, goals=goals
        )
        return list(loop.run())

    return run


def only(reports, kind):
    return [report for report in reports if isinstance(report, kind)]


def test_every_round_is_reported_saved_and_the_last_word_says_why_it_ended(scripted, seen):
    reports = scripted()
    assert [report.round for report in only(reports, RoundDone)] == [1, 2, 3, 4]
    assert len(only(reports, Saved)) == 5  # one before the first round
    assert reports[-1].kind == "finished"
    assert only(reports, RoundDone)[-1].steps == 4 * 3 * 2
    assert seen["progress"] == pytest.approx([place / 12 for place in range(1, 13)])


@pytest.mark.parametrize(
    ("fault", "guardrail"),
    [
        ({"gradient_norm_max": 1e9}, "exploding gradient"),
        ({"approx_kl_max": 7.0}, "KL blow-up"),
        ({"action_std": 1e-9}, "exploration collapse"),
        ({"entropy": 0.0}, "entropy collapse"),
        ({"value_abs_mean": 1e9}, "value divergence"),
        ({"q_abs_max": 1e9}, "value divergence"),
        ({"loss": math.nan}, "not finite"),
        ({"policy_loss": math.inf}, "not finite"),
    ],
)
def test_an_unhealthy_update_is_rolled_back_with_half_the_learning_rate(scripted, seen, fault, guardrail):
    reports = scripted(script={4: fault})
    (intervened,) = only(reports, Intervened)
    assert intervened.guardrail == guardrail
    assert intervened.action == "rolled back to round 1, learning rate halved"
    assert seen["scales"][0].learning_rate == 1
    assert seen["scales"][-1].learning_rate == 0.5
    assert [report.round for report in only(reports, RoundDone)] == [1, 2, 3, 4]
    assert reports[-1].kind == "finished"


def test_mostly_skipped_minibatches_are_rolled_back(folder, seen):
    class Skipping(Scripted):
        def update(self, progress):
            update = super().update(progress)
            bad = self.updates == 5 and self._scale.learning_rate == 1
            return Update(update.metrics, 1, {"loss": 3}) if bad else update

    loop = TrainingLoop(lambda scale: Skipping({}, scale, seen), NumbersArena(), LoopSpec(rounds=3), folder)
    assert [report.guardrail for report in only(loop.run(), Intervened)] == ["skipped minibatches"]


def test_a_negative_entropy_of_numbers_is_no_collapse(scripted):
    assert not only(scripted(script={4: {"entropy": -3.0, "action_std": 0.1}}), Intervened)


def test_a_run_that_needs_too_many_rollbacks_is_stopped_with_the_reason(scripted):
    script = {number: {"approx_kl_max": 7.0} for number in range(3, 30)}
    reports = scripted(script=script, guardrails=GuardrailSpec(rollbacks_max=2))
    assert [report.action for report in only(reports, Intervened)][-1] == "stop: 2 rollbacks did not help"
    assert reports[-1].kind == "guardrail"
    assert "KL blow-up" in reports[-1].detail


def test_the_halved_learning_rate_survives_a_kill_right_after_the_rollback(folder, seen):
    def loop(script):
        return TrainingLoop(lambda scale: Scripted(script, scale, seen), NumbersArena(), LoopSpec(rounds=3), folder)

    for report in loop({4: {"approx_kl_max": 7.0}}).run():
        if isinstance(report, Intervened):
            break
    else:
        pytest.fail("no guardrail acted")
    seen["scales"].clear()
    list(loop({}).run())
    assert {scale.learning_rate for scale in seen["scales"]} == {0.5}


@pytest.mark.parametrize(
    "problem", [MemoryError(), RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory")]
)
def test_out_of_memory_halves_the_minibatch_and_goes_on(scripted, seen, problem):
    reports = scripted(script={4: problem})
    (intervened,) = only(reports, Intervened)
    assert intervened.action == "rolled back to round 1, minibatch halved"
    assert seen["scales"][-1].minibatch == 0.5
    assert seen["scales"][-1].learning_rate == 1
    assert reports[-1].kind == "finished"


def test_another_error_is_not_taken_for_a_lack_of_memory(scripted):
    with pytest.raises(RuntimeError, match="something else"):
        scripted(script={4: RuntimeError("something else")})


@pytest.mark.parametrize("env", [{"obs": math.nan}, {"reward": math.inf}, {"reward": math.nan}])
def test_an_environment_that_is_not_finite_stops_training(scripted, env):
    reports = scripted(NumbersArena(**env), guardrails=GuardrailSpec(reward_limit=5))
    assert reports[-1].kind == "guardrail"
    assert "fix the environment" in reports[-1].detail


def test_reward_outliers_are_clipped_and_counted(scripted, seen):
    reports = scripted(NumbersArena(reward=-100.0), guardrails=GuardrailSpec(reward_limit=5))
    assert seen["rewards"][0] == [-5, -5]
    assert only(reports, RoundDone)[0].clipped_rewards == 6


def test_the_best_validation_is_kept_and_named_at_the_end(scripted, folder):
    reports = scripted(NumbersArena([0.2, 0.6, 0.4, 0.5]), validate_every=1)
    assert [report.best for report in only(reports, Validated)] == [True, True, False, False]
    assert reports[-1].best_score.mean == pytest.approx(0.6)
    assert reports[-1].best in folder.paths
    assert folder.load(reports[-1].best).state["learner"]["updates"] == 6


def test_where_nothing_beats_the_unchanged_rule_it_is_the_best(scripted):
    reports = scripted(NumbersArena([0.2, 0.3], reference=0.5), rounds=2, validate_every=1)
    assert reports[-1].best is None
    assert reports[-1].best_score.mean == pytest.approx(0.5)


@pytest.mark.parametrize(("looks", "taken"), [(2, True), (40, False)])
def test_a_checkpoint_is_taken_only_if_its_lead_is_no_luck_at_all_looks_together(scripted, looks, taken):
    three_standard_errors = NumbersArena([0.53] * looks, reference=0.5, noise=0.01)
    reports = scripted(three_standard_errors, rounds=looks, validate_every=1)
    assert only(reports, Validated)[0].best == taken
    assert (reports[-1].best is not None) == taken


def test_training_stops_on_a_plateau(scripted):
    reports = scripted(NumbersArena([0.5, 0.4, 0.4, 0.4, 0.9]), rounds=9, validate_every=1, patience=3)
    assert (reports[-1].kind, reports[-1].round) == ("plateau", 4)


def test_a_run_that_ended_early_does_not_train_on_when_it_is_called_again(scripted):
    spec = {"rounds": 9, "validate_every": 1, "patience": 3}
    first = scripted(NumbersArena([0.5, 0.4, 0.4, 0.4]), **spec)
    again = scripted(NumbersArena([0.9] * 9), **spec)
    assert [type(report) for report in again] == [Resumed, TrainingStopped]
    assert (again[-1].kind, again[-1].round, again[-1].detail) == ("plateau", 4, first[-1].detail)


def test_seconds_add_up_over_all_processes_that_took_part(folder, seen):
    ticks = iter(range(1000))

    def loop(rounds):
        spec = LoopSpec(rounds=rounds)
        make = lambda scale: Scripted({}, scale, seen)  # noqa: E731 - one line says it
        return TrainingLoop(make, NumbersArena(), spec, folder, seconds=lambda: float(next(ticks)))

    first = list(loop(2).run())[-1].seconds
    assert first > 0
    assert list(loop(4).run())[-1].seconds > first


def test_training_stops_when_it_falls_far_below_the_unchanged_rule(scripted):
    reports = scripted(NumbersArena([0.4] * 9, reference=0.5), rounds=9, validate_every=1)
    assert (reports[-1].kind, reports[-1].round) == ("divergence", 3)


def test_training_stops_when_every_goal_is_met(scripted):
    goal = Goal(metric="reward", at_least=0.55, compare="lower_95")
    arena = NumbersArena([0.4, 0.7, 0.9])
    reports = scripted(arena, rounds=9, validate_every=1, goals=(goal,), stop_at_goals=True)
    assert (reports[-1].kind, reports[-1].round) == ("goal", 2)


SMALL = PpoConfig(steps_per_update=16, epochs=2)


def pole(path, rounds=6):
    arena = GymArena("CartPole-v1", rows=4, steps_per_round=32, seed=3, episodes=4)
    folder = CheckpointFolder(path, config_hash="cd" * 32, clock=ManualClock(datetime(2026, 1, 1, tzinfo=UTC)))
    make = lambda scale: build_ppo(arena.spaces, SMALL, seed=1)  # noqa: E731 - one line says it
    return TrainingLoop(make, arena, LoopSpec(rounds=rounds, validate_every=2), folder)


def parameters(loop):
    return {name: tensor.clone() for name, tensor in loop.final_parameters().items()}


def test_an_interrupted_run_ends_with_the_same_bits(tmp_path):
    whole = pole(tmp_path / "whole")
    list(whole.run())
    for stop_after in (1, 3, 4):
        place = tmp_path / f"cut-{stop_after}"
        for number, _ in enumerate(pole(place).run()):
            if number == 2 * stop_after:
                break
        again = pole(place)
        reports = list(again.run())
        assert isinstance(reports[0], Resumed)
        mine, wanted = parameters(again), parameters(whole)
        assert mine.keys() == wanted.keys()
        assert all(torch.equal(mine[name], wanted[name]) for name in wanted)


def test_a_damaged_checkpoint_is_reported_and_the_one_before_it_used(tmp_path):
    whole = pole(tmp_path / "whole")
    list(whole.run())
    for number, _ in enumerate(pole(tmp_path / "cut").run()):
        if number == 8:
            break
    newest = max((tmp_path / "cut").glob("*.safetensors"))
    newest.write_bytes(newest.read_bytes()[:-100])
    again = pole(tmp_path / "cut")
    reports = list(again.run())
    assert newest.name in reports[0].refused[0]
    mine, wanted = parameters(again), parameters(whole)
    assert all(torch.equal(mine[name], wanted[name]) for name in wanted)


def test_another_configuration_does_not_go_on_from_these_checkpoints(tmp_path):
    list(pole(tmp_path, rounds=1).run())
    arena = GymArena("CartPole-v1", rows=4, steps_per_round=32, seed=3)
    other = CheckpointFolder(tmp_path, config_hash="ef" * 32, clock=ManualClock(datetime(2026, 1, 1, tzinfo=UTC)))
    loop = TrainingLoop(lambda scale: build_ppo(arena.spaces, SMALL, seed=1), arena, LoopSpec(rounds=1), other)
    with pytest.raises(Refused, match="configuration"):
        list(loop.run())


def test_rounds_and_runs_share_no_seed():
    seeds = Counter(round_seed(run, number) for run in range(20) for number in range(50))
    assert max(seeds.values()) == 1


def test_a_gymnasium_environment_is_trained_and_validated_by_its_id(tmp_path):
    reports = list(pole(tmp_path).run())
    validated = only(reports, Validated)
    assert [report.round for report in validated] == [2, 4, 6]
    assert all(report.score.episodes == 4 for report in validated)
    assert isinstance(reports[-1], TrainingStopped)
