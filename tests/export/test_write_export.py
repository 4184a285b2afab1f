"""An export bids as the agent does, whatever the algorithm, or it is not written."""

import numpy as np
import pytest
import torch

from gaelp.errors import BadInput, Refused
from gaelp.export import write_export
from gaelp.export.write_export import check_formats, draft_export
from gaelp.market.market import seeds_from

ALGORITHMS = ("a2c", "dqn", "ppo", "qr_dqn", "sac", "td3")
BOTH = ("onnx", "torchscript")


@pytest.fixture
def agent_of(exported_agents):
    return exported_agents.agent_of


@pytest.fixture
def version(exported_agents):
    return exported_agents.version()


@pytest.fixture
def calm(exported_agents):
    return exported_agents.calm()


def exported(agent, version, **options):
    return draft_export(agent, version, BOTH, at="2026-11-18T12:00:00+00:00", **options)


@pytest.mark.parametrize("algorithm", ["ppo", pytest.param("sac", marks=pytest.mark.slow)])
def test_both_formats_bid_as_the_agent_and_the_agent_is_not_its_rule(agent_of, version, calm, algorithm):
    agent = agent_of(algorithm)
    draft = exported(agent, version, decisions=500)
    assert [parity.format for parity in draft.parity] == list(BOTH)
    assert all(parity.outside == 0 and parity.decisions >= 500 for parity in draft.parity)
    obs = calm[0].reset(seeds_from(3, 4))
    rule = agent.tuned.build("mpc")
    for policy in (agent.policy, rule):
        policy.begin(calm[0].brief)
    assert not np.array_equal(agent.policy.act(obs).bid_micros, rule.act(obs).bid_micros)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_ten_thousand_decisions_of_every_algorithm_are_the_same(agent_of, version, algorithm):
    draft = exported(agent_of(algorithm), version)
    for parity in draft.parity:
        assert parity.decisions >= 10_000
        assert parity.outside == 0


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_scale_of_observations_is_exported_with_the_network(agent_of, version, algorithm):
    agent = agent_of(algorithm, {"normalise_obs": True})
    parts = getattr(agent.learner, "_memory", None) or agent.learner._collection
    rows = 3 + 2 * np.random.default_rng(1).standard_normal((500, draft_size(agent)))
    parts.normaliser.observe(_tensor(rows))
    assert all(parity.outside == 0 for parity in exported(agent, version, decisions=1000).parity)


def draft_size(agent):
    return len(agent.learner.acting_network().shift)


def _tensor(rows):
    return torch.from_numpy(rows.astype(np.float32))


def test_a_rule_alone_is_exported_as_parameters_and_bids_the_same(agent_of, version):
    draft = exported(agent_of("ppo", learned=False), version, decisions=500)
    assert [parity.format for parity in draft.parity] == ["parameters"]
    assert (draft.parity[0].different_bids, draft.manifest.algorithm) == (0, None)
    assert list(draft.files) == ["rule.json"]
    assert draft.manifest.rule_parameters


def test_a_network_that_bids_otherwise_is_refused(agent_of, version, monkeypatch):
    def wrong(content):
        act = run_onnx(content)
        return lambda rows: act(rows) + 0.01

    run_onnx = write_export.run_onnx
    monkeypatch.setattr(write_export, "run_onnx", wrong)
    with pytest.raises(Refused, match=r"onnx: [\d,]+ of [\d,]+ bids differ .* nothing was written"):
        exported(agent_of("ppo"), version, decisions=200)


def test_an_unknown_format_is_refused():
    with pytest.raises(BadInput, match="'pickle'; allowed: onnx, torchscript"):
        check_formats(["pickle"])
