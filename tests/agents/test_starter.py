"""The agent to start from conforms, and learns what a straight line can say."""

import torch

from gaelp.agents.conformance import LearnerConformance, spaces_of
from gaelp.agents.conformance_world import ConformanceWorld
from gaelp.agents.starter import KIND, StarterAgentConfig


class TestStarter(LearnerConformance):
    kind = KIND
    config = StarterAgentConfig(steps_per_update=6)


def test_it_finds_the_observation_that_its_first_number_is_paid_for():
    spaces = spaces_of(KIND)[0]
    learner = KIND.build(spaces, StarterAgentConfig(steps_per_update=20, learning_rate=0.05, exploration=0.3), seed=1)
    ConformanceWorld(spaces).until_learnt(learner, 40, progress=0.0)
    weights = learner.state()["parameters"]["weights"][:, 0]
    assert weights[0] > 0.5
    assert weights[1:].abs().max() < 0.25


def test_it_starts_as_the_rule():
    learner = KIND.build(spaces_of(KIND)[0], StarterAgentConfig(), seed=1)
    assert not learner.act(torch.ones(4, 3), explore=False).any()
