"""The world of the conformance checks is the same for the same actions, and states are compared to the bit."""

import pytest
import torch

from gaelp.agents.conformance_world import OBSERVATION_SIZE, ROWS, ConformanceWorld, differing, leaves_of
from gaelp.agents.learner import BoxActions, Spaces

SPACES = Spaces(OBSERVATION_SIZE, BoxActions(2), ROWS)


class Still:
    """Always does the same, and never learns."""

    def act(self, obs, *, explore):
        return torch.zeros(len(obs), 2)

    def observe(self, step):
        """Keep nothing."""

    def update(self, progress):
        """Learn nothing."""


def test_the_same_actions_lead_to_the_same_steps_and_a_copy_continues_alike():
    first, second = ConformanceWorld(SPACES), ConformanceWorld(SPACES)
    for _ in range(5):
        assert all(torch.equal(a, b) for a, b in zip(first.step(Still())[:6], second.step(Still())[:6], strict=True))
    twin = first.copy()
    assert torch.equal(first.step(Still()).next_obs, twin.step(Still()).next_obs)


@pytest.mark.parametrize("truncated", [True, False])
def test_a_step_ends_all_rows_or_none_when_asked(truncated):
    step = ConformanceWorld(SPACES).step(Still(), truncated=truncated)
    assert step.truncated.tolist() == [truncated] * ROWS
    assert not step.terminated.any()


def test_a_learner_that_never_updates_is_given_up_with_advice():
    with pytest.raises(AssertionError, match="0 of 1 updates were made in 1000 steps of 4 rows: give a config"):
        ConformanceWorld(SPACES).until_learnt(Still(), 1)


def test_states_differ_by_bits_types_and_parts():
    state = leaves_of({"name": "x", "part": {"weights": torch.zeros(2), "count": 1}})
    assert sorted(state) == ["/name", "/part/count", "/part/weights"]
    assert differing(state, dict(state)) == []
    assert differing(state, state | {"/part/weights": torch.tensor([0.0, -0.0])}) == ["/part/weights"]
    assert differing(state, state | {"/part/count": 1.0}) == ["/part/count"]
    assert differing(state, {"/name": "x"}) == ["/part/count", "/part/weights"]


def test_a_key_that_is_not_text_is_refused():
    with pytest.raises(AssertionError, match="a key below /part is 3"):
        leaves_of({"part": {3: 1}})
