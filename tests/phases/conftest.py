"""Phase 1 on a market that takes moments: its files, and settings that name them."""

import dataclasses
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from gaelp.clock import ManualClock
from gaelp.config import load_settings
from gaelp.config.write import write_models
from gaelp.market.baselines.tuned import TunedBidder, TunedRules, market_fingerprint
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.market.spec import MarketSpec
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.simulation import plan_simulation, run_simulation
from gaelp.types import RunId

RECIPE = {
    "algorithm": "ppo",
    "settings": {"network": {"hidden": [8]}, "steps_per_update": 24, "normalise_obs": True},
    "rule": "mpc",
    "arena": {"rows": 16, "validation_episodes": 8},
    "loop": {"rounds": 4, "validate_every": 2},
}


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def tiny_spec():
    small = {"name": "tiny", "days": 1, "segments": 2, "volume": {"per_hour": 40}}
    return MarketSpec.model_validate(load_market_spec("calm").model_dump(exclude={"volume"}) | small)


@pytest.fixture(scope="session")
def tiny_market(tiny_spec):
    return build_market(tiny_spec, load_persona_table("personas"))


@pytest.fixture(scope="session")
def tiny_rules(tiny_market):
    """Three rules with their default parameters."""
    bidders = {key: TunedBidder(score=0.9, parameters={}) for key in ("constant", "lin", "mpc")}
    fingerprint = market_fingerprint(tiny_market)
    return TunedRules(market="tiny", fingerprint=fingerprint, seed=1, trials=1, campaigns=1, bidders=bidders)


@dataclasses.dataclass
class Place:
    """A folder with a market, its rules and a recipe, and a home for runs."""

    folder: Path

    def settings(self, *overrides: str):
        given = [
            f"home={self.folder / 'home'}",
            f"market.name={self.folder / 'tiny.yaml'}",
            f"training.agent={self.folder / 'recipe.yaml'}",
            "training.tracking=false",
            "evaluation.episodes=16",
            *overrides,
        ]
        return load_settings(overrides=given, environ={}).settings

    def recipe(self, **changed: Any) -> None:
        """Change some keys of the recipe."""
        (self.folder / "recipe.yaml").write_text(yaml.safe_dump(RECIPE | changed), encoding="utf-8")

    def plan(self, *overrides: str):
        return plan_simulation(self.settings(*overrides), tuned_path=self.folder / "tuned.yaml")

    def run_folder(self, run_id: str) -> RunFolder:
        return RunFolder(self.folder / "home", RunId(run_id))

    def run(self, run_id: str, *overrides: str, on_report=lambda report: None):
        clock = ManualClock(datetime(2026, 11, 16, tzinfo=UTC))
        return run_simulation(self.plan(*overrides), self.run_folder(run_id), clock=clock, on_report=on_report)


@pytest.fixture(scope="session")
def make_place(tiny_spec, tiny_rules):
    def make(folder):
        write_models({folder / "tiny.yaml": tiny_spec, folder / "tuned.yaml": tiny_rules})
        place = Place(folder)
        place.recipe()
        return place

    return make


@pytest.fixture
def place(tmp_path, make_place):
    return make_place(tmp_path)
