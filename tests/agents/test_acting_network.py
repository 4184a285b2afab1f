"""The network that is exported acts as its learner does, with the scale of its observations."""

import pytest
import torch

from gaelp.agents.acting_network import acting_network
from gaelp.agents.catalog import agent_config, find_agent
from gaelp.agents.learner import BoxActions, DiscreteActions, Spaces
from gaelp.errors import Refused

SIZE = 7
ACTIONS = {"continuous": BoxActions(2), "discrete": DiscreteActions(5)}
CASES = [
    ("a2c", "continuous"), ("a2c", "discrete"), ("ppo", "continuous"), ("ppo", "discrete"), ("sac", "continuous"),
    ("td3", "continuous"), ("dqn", "discrete"), ("qr_dqn", "discrete"),
]  # fmt: skip


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize(("algorithm", "actions"), CASES)
def test_it_returns_the_best_known_actions_of_the_learner(algorithm, actions, scaled):
    kind = find_agent(algorithm)
    learner = kind.build(Spaces(SIZE, ACTIONS[actions], 4), agent_config(kind, {"normalise_obs": scaled}), seed=3)
    network = learner.acting_network()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator))
    obs = 3 + 2 * torch.randn(200, SIZE, generator=generator)
    if scaled:
        part = learner._collection if algorithm in {"a2c", "ppo"} else learner._memory
        part.normaliser.observe(obs)
    with torch.no_grad():
        actual = acting_network(learner, algorithm)(obs)
    wanted = learner.act(obs, explore=False)
    assert actual.dtype == wanted.dtype
    torch.testing.assert_close(actual, wanted, rtol=1e-5, atol=1e-6)
    assert len(torch.unique(actual)) > 1


def test_a_learner_without_such_a_network_is_refused_by_name():
    with pytest.raises(Refused, match="mine offers no network that can be exported"):
        acting_network(object(), "mine")
