"""From names in the configuration to a market: spec, personas, creatives and landscapes."""

from pathlib import Path

import numpy as np

from gaelp.config.load import load_model
from gaelp.config.objective import VALUE, Objective
from gaelp.config.settings import Settings
from gaelp.errors import DataError
from gaelp.market.market import Market
from gaelp.market.persona_ratings import rated_persona_table
from gaelp.market.persona_spec import load_creatives, load_personas
from gaelp.market.personas import PersonaTable, persona_table
from gaelp.market.spec import LandscapeSet, MarketSpec

__all__ = ["build_market", "configured_personas", "load_market_spec", "load_persona_table"]


def load_market_spec(name: str | Path) -> MarketSpec:
    """A market by its name in configs/markets or by the path of a file that `gaelp data calibrate` wrote."""
    return load_model(MarketSpec, name, "markets", error=DataError)


def load_persona_table(folder: str | Path) -> PersonaTable:
    """The personas of a folder with the affinities their files give."""
    creatives = load_creatives()
    return persona_table(load_personas(folder, creatives), creatives)


def configured_personas(settings: Settings) -> PersonaTable:
    """The personas of a run; where a rating service is configured, it rates the creatives (cached below the home)."""
    service = settings.personas.llm
    if service is None:
        return load_persona_table(settings.personas.set)
    creatives = load_creatives()
    people = load_personas(settings.personas.set, creatives)
    rng = np.random.default_rng(settings.run.seed)
    return rated_persona_table(people, creatives, service, cache_folder=settings.home / "ratings", rng=rng)


def build_market(spec: MarketSpec, personas: PersonaTable, objective: Objective = VALUE) -> Market:
    """A market ready to be reset, paying the objective; specs without landscapes of their own use the built-in set."""
    built_in = () if spec.landscapes else load_model(LandscapeSet, "landscapes", "library", error=DataError).landscapes
    return Market(spec, personas, built_in, objective)
