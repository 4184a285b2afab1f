"""Phase 1 on a market that takes moments: its files, and settings that name them."""

import dataclasses
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
import yaml

from gaelp.clock import ManualClock
from gaelp.config import load_settings
from gaelp.config.write import write_models
from gaelp.gates import judge, load_gate
from gaelp.market.baselines.tuned import TunedBidder, TunedRules, market_fingerprint
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.market.spec import MarketSpec
from gaelp.phases.data_evidence import without_data_rules
from gaelp.phases.declaration import file_hash
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.run_folder import PhaseFolder, RunFolder
from gaelp.phases.simulation import plan_simulation, run_simulation
from gaelp.phases.simulation_result import SimulationResult
from gaelp.phases.stage_report import StageReport
from gaelp.training.manifest import read_manifest
from gaelp.training.reports import TrainingReport
from gaelp.types import Phase, RunId

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
RECIPE = {
    "algorithm": "ppo",
    "settings": {"network": {"hidden": [8]}, "steps_per_update": 24, "normalise_obs": True},
    "rule": "mpc",
    "arena": {"rows": 16, "validation_episodes": 8},
    "loop": {"rounds": 4, "validate_every": 2},
}


@pytest.fixture(autouse=True)
def _one_thread():
    """Two threads of torch on shared cores mostly wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
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
        # The jobs on stored rows take longer than these runs; tests/phases/test_data_evidence.py runs them.
        gate = without_data_rules(load_gate("simulation"))
        return plan_simulation(self.settings(*overrides), tuned_path=self.folder / "tuned.yaml", gate=gate)

    def run_folder(self, run_id: str) -> PhaseFolder:
        return RunFolder(self.folder / "home", RunId(run_id)).phase(Phase.SIMULATION)

    def run(self, run_id: str, *overrides: str, on_report=lambda report: None, on_stage=lambda stage: None):
        """Run phase 1; the reports of training and those of its stages are handed on apart."""

        def hear(report):
            (on_stage if isinstance(report, StageReport) else on_report)(report)

        clock = ManualClock(datetime(2026, 11, 16, tzinfo=UTC))
        return run_simulation(self.plan(*overrides), self.run_folder(run_id), clock=clock, on_report=hear)


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


class Finished(NamedTuple):
    """A run named `whole` that nothing disturbed."""

    result: SimulationResult
    reports: list[TrainingReport]
    place: Place

    @property
    def folder(self):
        return self.place.run_folder("whole")

    @property
    def manifest(self):
        return read_manifest(self.folder.manifest)


@pytest.fixture(scope="session")
def whole(tmp_path_factory, make_place):
    place, reports = make_place(tmp_path_factory.mktemp("whole")), []
    return Finished(place.run("whole", on_report=reports.append), reports, place)


@pytest.fixture
def copied(whole, place):
    """A place of its own with a copy of the run `whole`, to be resumed or damaged."""
    shutil.copytree(whole.place.folder / "home", place.folder / "home")
    return place


@pytest.fixture
def make_result(tmp_path, gate_evidence):
    """Makes what a phase proved, with its model in a file below the home `tmp_path`."""

    def make(
        run_id="r", *, phase=Phase.SIMULATION, attempt=1, metrics=None, measured_at=NOW, judged_on="window", **more
    ):
        gate = load_gate("simulation")
        figures = gate_evidence.passing_metrics(gate) | (metrics or {})
        evidence = gate_evidence.passing(gate, run_id=run_id, agent="a", measured_at=measured_at, metrics=figures)
        model = RunFolder(tmp_path, RunId(run_id)).phase(phase, attempt).path / "model.bin"
        model.parent.mkdir(parents=True, exist_ok=True)
        model.write_bytes(b"the model")
        return PhaseResult(
            phase=phase,
            run_id=run_id,
            attempt=attempt,
            agent="a",
            learned=True,
            model="model.bin",
            model_hash=file_hash(model),
            verdict=judge(gate, evidence, measured_at),
            seconds=1,
            judged_on=judged_on,
            **more,
        )

    return make
