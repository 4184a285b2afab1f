"""Agents whose networks were drawn instead of trained: what an export has to carry does not depend on how good it is.

tests/conftest.py loads it by its path, for tests are not a package.
"""

from functools import cache
from pathlib import Path
from types import SimpleNamespace

import torch

from gaelp.config.objective import VALUE
from gaelp.export.export_folder import CheckedExport
from gaelp.export.write_export import draft_export
from gaelp.market.baselines import load_tuned
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.phases.agent_bundle import Agent, AgentRecipe
from gaelp.phases.agent_registration import feature_version
from gaelp.training.assemble import ground_of, learner_maker
from gaelp.training.market_arena import MarketArena
from gaelp.training.progress import LearnerScale
from gaelp.training.recipe import load_recipe

ALGORITHMS = ("a2c", "dqn", "ppo", "qr_dqn", "sac", "td3")


@cache
def calm():
    """A small market and the rules that were tuned there."""
    market = build_market(load_market_spec("calm"), load_persona_table("personas"))
    return market, load_tuned(market)


def agent_of(algorithm, settings=None, *, learned=True, seed=7):
    """An agent of an algorithm's recipe around mpc; its networks get weights that move bids."""
    market, tuned = calm()
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
    with torch.no_grad():
        for parameter in learner.acting_network().parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(seed)))
    policy = arena.policy(described.name, lambda obs: learner.act(obs, explore=False))
    return Agent(described, policy, market, tuned, learner)


def version(number=3):
    """What an export takes from a registered version."""
    manifest = SimpleNamespace(name="shop", version=number, model_hash="ab" * 32, feature_version=feature_version())
    return SimpleNamespace(manifest=manifest, manifest_hash="cd" * 32)


@cache
def export(number, algorithm=None, seed=7):
    """An export of a version as it is read back; without an algorithm, of the rule alone."""
    agent = agent_of(algorithm or "ppo", learned=algorithm is not None, seed=seed)
    draft = draft_export(agent, version(number), ("onnx",), at="2026-11-18T12:00:00+00:00", decisions=100)
    return CheckedExport(draft.manifest, Path("exports") / str(number), draft.files)
