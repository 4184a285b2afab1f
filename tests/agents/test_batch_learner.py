"""The base of short learners: what it refuses, what it keeps, and a learner over choices in a few lines."""

import math

import pytest
import torch

from gaelp.agents.batch_learner import BatchConfig, BatchLearner
from gaelp.agents.conformance import LearnerConformance
from gaelp.agents.conformance_world import ConformanceWorld
from gaelp.agents.learner import BoxActions, DiscreteActions, Spaces
from gaelp.errors import BadInput, GaelpError, Refused


class Counting(BatchLearner[BatchConfig]):
    """Prefers the choice that brought most on average, whatever it observes."""

    name = "counting"
    actions = "discrete"

    def start(self):
        return {"means": 0.01 * torch.randn(self.action_size, generator=self.generator)}

    def best_actions(self, obs):
        return self.parameters["means"].argmax().expand(len(obs)).clone()

    def explored_actions(self, obs):
        return torch.randint(self.action_size, (len(obs),), generator=self.generator)

    def learn(self, steps, progress):
        self.last = steps
        for choice in range(self.action_size):
            rewards = steps.reward[steps.action == choice]
            if len(rewards):
                self.parameters["means"][choice] += self.config.learning_rate * (
                    rewards.mean() - self.parameters["means"][choice]
                )
        return {"mean": steps.reward.mean().item()}


KIND = Counting.kind(BatchConfig)
SPACES = Spaces(3, DiscreteActions(3), 4)


class TestCounting(LearnerConformance):
    kind = KIND
    config = BatchConfig(steps_per_update=6)


def collecting(steps=2, **settings):
    learner, world = (
        KIND.build(SPACES, BatchConfig(**{"steps_per_update": 3} | settings), seed=1),
        ConformanceWorld(SPACES),
    )
    for _ in range(steps):
        learner.observe(world.step(learner))
    return learner, world


def test_a_learner_sees_its_steps_in_the_order_of_time():
    learner, world = collecting()
    last = world.step(learner)
    learner.observe(last)
    assert learner.update(0.0).gradient_steps == 1
    assert learner.last.obs.shape == (3, 4, 3)
    assert torch.equal(learner.last.reward[2], last.reward)


def test_the_last_step_of_every_row_counts_as_truncated_after_a_cut():
    learner, _ = collecting(steps=3)
    learner.cut()
    learner.update(0.0)
    assert (learner.last.truncated[2] ^ learner.last.terminated[2]).all()


def test_actions_it_does_not_take_are_refused_with_the_way_out():
    with pytest.raises(BadInput, match=r"counting takes discrete actions, not BoxActions.* choose another agent"):
        KIND.build(Spaces(3, BoxActions(1), 4), BatchConfig(), seed=1)


def test_a_step_without_its_actions_is_refused():
    learner, world = collecting()
    step = world.step(learner)
    learner.observe(step)
    with pytest.raises(BadInput, match="3 steps are collected"):
        learner.observe(step)
    learner.update(0.0)
    with pytest.raises(BadInput, match="not those drawn last"):
        learner.observe(step)


class Numbers(BatchLearner[BatchConfig]):
    """Bids what `bias` says, until a test damages it."""

    name = "mine"
    actions = "continuous"

    def start(self):
        return {"bias": torch.zeros(self.action_size)}

    def best_actions(self, obs):
        return self.parameters["bias"].expand(len(obs), -1).clone()

    def explored_actions(self, obs):
        return self.best_actions(obs) + torch.randn(len(obs), self.action_size, generator=self.generator)

    def learn(self, steps, progress):
        return {}


def numbers(kind=Numbers):
    return kind(Spaces(3, BoxActions(2), 4), BatchConfig(steps_per_update=1), seed=1)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(("explore", "method"), [(False, "best_actions"), (True, "explored_actions")])
def test_actions_that_are_not_finite_are_refused_with_the_method_that_returned_them(value, explore, method):
    learner = numbers()
    learner.parameters["bias"][1] = value
    with pytest.raises(
        BadInput,
        match=rf"^mine returned actions that are not finite in {method}: {value} in row 0; .* learn at .*\.py:\d+$",
    ):
        learner.act(torch.zeros(4, 3), explore=explore)


def test_first_parameters_that_are_not_finite_are_refused_with_file_and_line():
    class Damaged(Numbers):
        def start(self):
            return {"bias": torch.full((2,), math.nan)}

    with pytest.raises(GaelpError, match=r"not finite from start: bias\. Correct start at .*\.py:\d+"):
        numbers(Damaged)


def test_the_method_is_to_blame_for_actions_that_are_not_finite_where_the_parameters_are():
    class Dividing(Numbers):
        def best_actions(self, obs):
            return obs[:, :2] / 0

    with pytest.raises(BadInput, match=r"in best_actions: nan in row 0; check best_actions at .*\.py:\d+$"):
        numbers(Dividing).act(torch.zeros(4, 3), explore=False)


def _mismatched():
    return torch.zeros(2) @ torch.zeros(3)


class Failing(Numbers):
    """Fails in `learn` with the error it was given, or in a helper of the same file."""

    problem: Exception | None = None

    @torch.no_grad()
    def learn(self, steps, progress):
        if self.problem is not None:
            raise self.problem
        return {"loss": _mismatched().item()}


class Unfinished(Numbers):
    """Its `learn` lacks a parameter."""

    def learn(self, steps):
        return {}


def full(kind):
    learner = numbers(kind)
    learner.observe(ConformanceWorld(learner.spaces).step(learner))
    return learner


@pytest.mark.parametrize(
    ("kind", "line", "reason"),
    [
        (Failing, _mismatched.__code__.co_firstlineno + 1, "RuntimeError: .*size"),
        (Unfinished, Unfinished.learn.__code__.co_firstlineno, "TypeError: .*positional argument"),
    ],
)
def test_an_error_in_a_method_names_agent_method_file_and_line(kind, line, reason):
    with pytest.raises(
        GaelpError, match=rf"^your agent mine raised {reason}(.|\n)*at .*test_batch_learner\.py:{line}, in learn"
    ):
        full(kind).update(0.0)


@pytest.mark.parametrize("method", ["start", "best_actions", "explored_actions"])
def test_an_error_in_any_other_method_is_named_too(method):
    def fail(self, *_):
        raise KeyError("weights")

    kind = type("Broken", (Numbers,), {method: fail})
    with pytest.raises(GaelpError, match=rf"your agent mine raised KeyError: 'weights'\nat .*, in {method}"):
        numbers(kind).act(torch.zeros(4, 3), explore=method == "explored_actions")


@pytest.mark.parametrize("returned", [[1], {"weights": 1.0}])
def test_first_parameters_that_are_no_tensors_by_name_are_the_agents_mistake(returned):
    kind = type("Broken", (Numbers,), {"start": lambda self: returned})
    with pytest.raises(GaelpError, match=r"your agent mine returned .* from start; allowed: a dict of tensors by name"):
        numbers(kind)


@pytest.mark.parametrize("problem", [MemoryError(), RuntimeError("CUDA out of memory"), Refused("no")])
def test_too_little_memory_and_the_errors_of_gaelp_are_left_to_the_loop(problem):
    learner = full(Failing)
    learner.problem = problem
    with pytest.raises(type(problem)) as caught:
        learner.update(0.0)
    assert caught.value is problem


def test_a_state_of_another_number_of_rows_is_refused():
    learner, _ = collecting()
    other = KIND.build(Spaces(3, DiscreteActions(3), 5), BatchConfig(steps_per_update=3), seed=1)
    with pytest.raises(BadInput, match="saved reward"):
        other.load_state(learner.state())


def test_the_learning_rate_scales_and_a_minibatch_that_is_none_cannot_shrink():
    assert KIND.scaled(BatchConfig(learning_rate=0.4), learning_rate=0.5).learning_rate == 0.2
    with pytest.raises(Refused, match="lower steps_per_update or the number of rows"):
        KIND.scaled(BatchConfig(), minibatch=0.5)
