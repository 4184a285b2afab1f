import math

import pytest
import torch

from gaelp.agents.checked_learner import CheckedLearner
from gaelp.agents.learner import BoxActions, DiscreteActions, Learner, Spaces, Update
from gaelp.agents.starter import StarterAgent, StarterAgentConfig
from gaelp.errors import BadInput, GaelpError

NUMBERS, CHOICES = Spaces(3, BoxActions(2), 4), Spaces(3, DiscreteActions(3), 4)
OBS = torch.zeros(4, 3)


class Mine(Learner):
    """Implements the protocol directly, and returns what a test wants."""

    name = "mine"

    def __init__(self, **returned):
        self.returned = {"act": torch.zeros(4, 2), "update": None, "state": {"name": "mine"}} | returned

    def act(self, obs, *, explore):
        return self._of("act")

    def observe(self, step):
        self._of("observe")

    def cut(self):
        self._of("cut")

    def update(self, progress):
        return self._of("update")

    def state(self):
        return self._of("state")

    def load_state(self, state):
        self._of("load_state")

    def _of(self, method):
        value = self.returned.get(method)
        if isinstance(value, Exception):
            raise value
        return value


CALLS = {
    "act": lambda learner: learner.act(OBS, explore=True),
    "observe": lambda learner: learner.observe(None),
    "cut": lambda learner: learner.cut(),
    "update": lambda learner: learner.update(0.5),
    "state": lambda learner: learner.state(),
    "load_state": lambda learner: learner.load_state({}),
}


def checked(spaces=NUMBERS, **returned):
    return CheckedLearner(Mine(**returned), spaces, "mine")


@pytest.mark.parametrize("method", CALLS)
def test_an_exception_in_any_method_is_the_agents_own(method):
    with pytest.raises(
        GaelpError, match=rf"your agent mine raised TypeError: no\nat .*_learner\.py:\d+, in {method}\."
    ):
        CALLS[method](checked(**{method: TypeError("no")}))


def test_a_method_with_another_signature_is_named_with_its_line():
    class Unfinished(Mine):
        def update(self):
            return None

    line = Unfinished.update.__code__.co_firstlineno
    with pytest.raises(GaelpError, match=rf"raised TypeError: .*positional.*\nat .*_learner\.py:{line}, in update\."):
        CheckedLearner(Unfinished(), NUMBERS, "mine").update(0.5)


def test_what_keeps_the_contract_is_passed_on():
    update = Update({"loss": 1.0}, 1)
    learner = checked(update=update)
    assert learner.name == "mine"
    assert learner.act(OBS, explore=False).shape == (4, 2)
    assert learner.update(0.5) is update
    assert learner.state() == {"name": "mine"}
    assert checked(CHOICES, act=torch.tensor([0, 1, 2, 0])).act(OBS, explore=True).tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize(
    ("method", "value", "reported"),
    [
        ("act", None, r"returned None from act; allowed: a tensor of shape \(4, 2\) and type torch.float32"),
        ("act", torch.zeros(4), r"a tensor of shape \(4,\) and type torch.float32 from act; allowed: .*\(4, 2\)"),
        ("act", torch.zeros(4, 2).double(), r"type torch.float64 from act; allowed: .* torch.float32"),
        ("update", {"loss": 1.0}, "an object of type dict from update; allowed: gaelp.agents.learner.Update, or None"),
        ("update", Update({"loss": torch.ones(1)}, 1), r"metrics\['loss'\] of .*Tensor from update; .*\.item\(\)"),
        ("update", Update([1.0], 1), "metrics of .*list from update; allowed: figures by name"),
        ("state", None, "returned None from state; allowed: a dict"),
    ],
)
def test_what_breaks_the_contract_is_reported_with_what_was_seen_what_is_allowed_and_where(method, value, reported):
    with pytest.raises(GaelpError, match=rf"your agent mine .*{reported}.*Correct {method} \(.*\.py:\d+\)") as caught:
        CALLS[method](checked(**{method: value}))
    assert caught.value.exit_code == 1


@pytest.mark.parametrize(
    ("spaces", "action", "reported"),
    [
        (NUMBERS, torch.tensor([[0.0, 0.0], [0.0, math.nan]] * 2), "returned nan in row 1 from act; allowed: finite"),
        (CHOICES, torch.tensor([0, 1, 2, 3]), "returned 3 in row 3 from act; allowed: choices from 0 to 2"),
    ],
)
def test_an_action_out_of_range_is_bad_input_so_that_the_run_keeps_its_checkpoints(spaces, action, reported):
    with pytest.raises(BadInput, match=f"your agent mine {reported}"):
        checked(spaces, act=action).act(OBS, explore=True)


def test_the_methods_of_a_batch_learner_that_the_agent_wrote_are_named_not_those_of_gaelp():
    class Short(StarterAgent):
        def explored_actions(self, obs):
            return super().explored_actions(obs)[:, 0]

    learner = CheckedLearner(Short(NUMBERS, StarterAgentConfig(), seed=1), NUMBERS, "mine")
    with pytest.raises(GaelpError, match=r"Correct explored_actions \(.*test_checked_learner\.py:\d+\); the tests"):
        learner.act(OBS, explore=True)
