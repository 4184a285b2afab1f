"""Agents whose networks were drawn instead of trained: what an export has to carry does not depend on how good it is."""

from types import SimpleNamespace

import pytest
import torch

from gaelp.config.objective import VALUE
from gaelp.market.baselines import load_tuned
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.phases.agent_bundle import Agent, AgentRecipe
from gaelp.phases.history_registration import feature_version
from gaelp.training.assemble import ground_of, learner_maker
from gaelp.training.market_arena import MarketArena
from gaelp.training.progress import LearnerScale
from gaelp.training.recipe import load_recipe


@pytest.fixture(scope="session")
def calm():
    market = build_market(load_market_spec("calm"), load_persona_table("personas"))
    return market, load_tuned(market)


@pytest.fixture(scope="session")
def agent_of(calm):
    """An agent of an algorithm's recipe around mpc; its networks get weights that move bids."""
    market, tuned = calm

    def build(algorithm, settings=None, *, learned=True):
        recipe = load_recipe(algorithm.replace("_", "-"))
        recipe = recipe.model_copy(update={"rule": "mpc", "settings": recipe.settings | (settings or {})})
        recipe = recipe.model_copy(update={"arena": recipe.arena.model_copy(update={"rows": 64})})
        described = AgentRecipe(
            name=f"agent ({algorithm})", learned=learned, recipe=recipe, market=market.spec, objective=VALUE, seed=5
        )
        arena = MarketArena(recipe.arena, ground_of(market, tuned, "mpc"), seed=5, validation_seed=0)
        if not learned:
            return Agent(described, arena.unchanged(described.name), market, tuned, None)
        learner = learner_maker(recipe.kind, recipe.agent, arena.spaces, seed=5)(LearnerScale())
        network = learner.acting_network()
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(7)))
        policy = arena.policy(described.name, lambda obs: learner.act(obs, explore=False))
        return Agent(described, policy, market, tuned, learner)

    return build


@pytest.fixture(scope="session")
def version():
    """What an export takes from a registered version."""
    manifest = SimpleNamespace(name="shop", version=3, model_hash="ab" * 32, feature_version=feature_version())
    return SimpleNamespace(manifest=manifest, manifest_hash="cd" * 32)
