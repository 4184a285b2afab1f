"""A learned policy is resumed campaign by campaign, and its network gives a row the same action in any company."""

import numpy as np
import pytest
import torch

from gaelp.agents.networks import NetworkSpec, mlp
from gaelp.errors import BadInput
from gaelp.market.baselines import load_tuned
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.market.campaign_rows import take, take_state
from gaelp.market.market import seeds_from
from gaelp.market.policy_conformance import check_policy
from gaelp.training.segment_env import ResidualSpec, SegmentFeatures
from gaelp.training.segment_policy import BLOCK_ROWS, SegmentPolicy, act_in_blocks

CONTINUOUS, DISCRETE = ResidualSpec(), ResidualSpec(actions="discrete", centred=True)


@pytest.fixture(scope="module")
def market():
    return build_market(load_market_spec("calm"), load_persona_table("personas"))


@pytest.fixture(scope="module")
def flights(market):
    """The same market with its own flights and with longer ones."""
    longer = market.spec.model_copy(update={"days": market.spec.days + 1})
    return [market, build_market(longer, market.personas)]


def network(outputs):
    spec = NetworkSpec(hidden=(64, 64))
    return mlp(SegmentFeatures.size(), outputs, spec, generator=torch.Generator().manual_seed(1))


def act_of(spec):
    net = network(spec.choices if spec.actions == "discrete" else 1)

    @torch.no_grad()
    def act(rows):
        values = net(rows)
        return values.argmax(dim=1) if spec.actions == "discrete" else torch.tanh(values)

    return act


@pytest.fixture
def policy(market):
    return SegmentPolicy("mine", load_tuned(market).build("mpc"), CONTINUOUS, act_of(CONTINUOUS))


@pytest.mark.parametrize("spec", [CONTINUOUS, DISCRETE], ids=["continuous", "discrete"])
def test_campaigns_of_a_learned_policy_can_be_split_joined_and_restored_at_any_hour(market, flights, spec):
    act = act_of(spec)
    check_policy(lambda: SegmentPolicy("mine", load_tuned(market).build("mpc"), spec, act), flights)


@pytest.mark.parametrize("outputs", [1, 9])
@pytest.mark.parametrize("count", [1, 2, 7, BLOCK_ROWS, BLOCK_ROWS + 1, 1000])
def test_a_row_gets_the_same_network_outputs_in_any_company(outputs, count):
    act = torch.no_grad()(network(outputs))
    rng = np.random.default_rng(count)
    rows = torch.from_numpy(rng.normal(size=(2000, SegmentFeatures.size())).astype(np.float32))
    every = act_in_blocks(act, rows)
    for _ in range(10):
        some = torch.from_numpy(rng.permutation(len(rows))[:count])
        assert torch.equal(act_in_blocks(act, rows[some]), every[some])


def test_the_network_always_gets_blocks_of_the_same_size():
    sizes = []
    act_in_blocks(lambda rows: sizes.append(rows.shape) or rows[:, :1], torch.ones(BLOCK_ROWS * 2 + 5, 3))
    assert sizes == [(BLOCK_ROWS, 3)] * 3


def test_its_state_is_that_of_the_rule_and_the_last_residuals(market, policy):
    obs = market.reset(seeds_from(1, 3))
    policy.begin(market.brief)
    policy.act(obs)
    state = policy.state()
    assert state["last_residual"].any()
    assert {name.split(".")[0] for name in state} == {"last_residual", "rule"}
    with pytest.raises(BadInput, match=r"last_residual has shape \(3, \d+\), the brief needs \(1, "):
        policy.load_state(take(market.brief, [0]), state)
    with pytest.raises(BadInput, match="the state has nothing, this policy keeps"):
        policy.load_state(market.brief, {"last_residual": state["last_residual"]})
    policy.load_state(take(market.brief, [0]), take_state(state, [0]))
