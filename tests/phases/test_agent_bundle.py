"""A bundle is enough to play an agent again, exactly."""

import numpy as np
import pytest

from gaelp.errors import DataError
from gaelp.market.market import seeds_from
from gaelp.phases.agent_bundle import load_bundle, write_bundle


def test_a_rule_that_is_the_agent_bids_the_same_from_its_bundle(tmp_path, history_home):
    settings = history_home.settings_of(tmp_path / "home")
    model = write_bundle(settings, history_home.trained(settings, "r"), tmp_path / "agent")
    agent = load_bundle(tmp_path / "agent", settings)
    assert model.name == "rules.yaml"
    rule = agent.tuned.build(agent.description.recipe.rule)
    obs = agent.market.reset(seeds_from(3, 4))
    for policy in (agent.policy, rule):
        policy.begin(agent.market.brief)
    assert (agent.policy.act(obs).bid_micros == rule.act(obs).bid_micros).all()
    assert np.all(rule.act(obs).bid_micros > 0)


def test_a_bundle_without_its_recipe_is_refused(tmp_path, history_home):
    settings = history_home.settings_of(tmp_path / "home")
    write_bundle(settings, history_home.trained(settings, "r"), tmp_path / "agent")
    (tmp_path / "agent" / "recipe.json").write_text("{}", encoding="utf-8")
    with pytest.raises(DataError, match="does not describe an agent"):
        load_bundle(tmp_path / "agent", settings)
