"""The recipes of CONTRIBUTING.md, each carried out step by step; a command and a phase have tests of their own."""

from dataclasses import fields
from datetime import UTC, datetime

import numpy as np
import pytest
import torch
import yaml
from pydantic import Field

from gaelp.agents import agent_names, catalog, find_agent, starter
from gaelp.agents.conformance import check_learner
from gaelp.config.base import Frozen
from gaelp.config.places import repository_root
from gaelp.errors import BadInput
from gaelp.gates import Evidence, judge, load_gate
from gaelp.gates.metrics import RANGES, MetricRange
from gaelp.market.baselines import CATALOG, CONSTANT, Kind
from gaelp.market.baselines.bids import whole_micros
from gaelp.market.baselines.compare import compare
from gaelp.market.baselines.tune import Search, tune
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.market.policy_state import KeptState
from gaelp.market.spec import MarketSpec
from gaelp.market.view import Action
from gaelp.training.recipe import load_recipe

NEW_RULE = {
    "metric": "worst_day_share",
    "at_least": 0.2,
    "compare": "value",
    "sample_metric": "episodes",
    "minimum_sample": 200,
    "why": "A campaign that wins nothing on one of its days is stopped by its owner.",
}


class LevelParameters(Frozen):
    """How far above the price level to bid."""

    above: float = Field(default=0.1, ge=-1, le=1)


class AtLevel(KeptState):
    """Bids by the running price level."""

    name = "at-level"

    def __init__(self, parameters):
        self._above = parameters.above

    def begin(self, _brief, _belief=None, /):
        """Nothing is planned."""

    def act(self, obs, /):
        """Bid for the coming hour."""
        return Action(whole_micros(obs.price_level_log.astype(np.float64) + self._above))


def a_kind(**values):
    """A kind of bidder from the values that kinds have."""
    return Kind(**{field.name: values[field.name] for field in fields(Kind) if field.name in values})


def test_a_bidder_of_one_file_and_one_kind_is_tuned_built_and_compared(monkeypatch):
    kind = a_kind(
        key="at-level",
        summary="the running price level times a factor",
        parameters=LevelParameters,
        _construct=AtLevel,
    )
    monkeypatch.setattr("gaelp.market.baselines.tuned.CATALOG", (*CATALOG, kind))
    small = {"name": "tiny", "days": 1, "segments": 2}
    market = build_market(
        MarketSpec.model_validate(load_market_spec("calm").model_dump() | small), load_persona_table("personas")
    )
    search = Search(trials=4, campaigns=8, finalists=1, final_batches=1)
    tuned = tune(market, search, kinds=(CONSTANT, kind))
    assert -1 <= tuned.bidders["at-level"].parameters["above"] <= 1
    comparison = compare(market, tuned.build_all(), constant=tuned.constant(), candidates=(), episodes=8, seed=1)
    assert 0 < comparison.of("at-level").reward.value <= 1.05


@pytest.fixture
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("_one_thread")
def test_an_algorithm_of_one_file_and_one_line_is_found_conforms_and_has_a_recipe(monkeypatch, tmp_path):
    monkeypatch.setitem(catalog._OWN, "starter", starter.KIND)
    kind = find_agent("starter")
    assert "starter" in agent_names()
    check_learner(kind, kind.config(steps_per_update=6))
    recipe = (repository_root() / "configs/init/recipe.yaml").read_text(encoding="utf-8")
    (tmp_path / "starter.yaml").write_text(recipe, encoding="utf-8")
    assert load_recipe(tmp_path / "starter.yaml").kind is kind


@pytest.fixture
def gate_file(tmp_path, monkeypatch):
    """The first gate with one rule more, in configs/gates/ of the current folder."""
    shipped = yaml.safe_load((repository_root() / "configs/gates/simulation.yaml").read_text(encoding="utf-8"))
    shipped["criteria"].append(NEW_RULE)
    path = tmp_path / "configs/gates/simulation.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(yaml.safe_dump(shipped), encoding="utf-8")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("gate_file")
def test_a_rule_whose_metric_has_no_range_is_refused():
    with pytest.raises(BadInput, match="worst_day_share"):
        load_gate("simulation")


@pytest.mark.usefixtures("gate_file")
@pytest.mark.parametrize(("figure", "outcome"), [(0.3, "pass"), (0.1, "fail"), (None, "fail"), (7.0, "fail")])
def test_a_rule_with_a_range_judges_by_its_metric(monkeypatch, figure, outcome):
    monkeypatch.setitem(RANGES, "worst_day_share", MetricRange(0, 1))
    now = datetime(2026, 11, 17, tzinfo=UTC)
    metrics = {"episodes": 1000.0} | ({} if figure is None else {"worst_day_share": figure})
    evidence = Evidence(run_id="r", agent="agent", learned=True, config_hash="c", measured_at=now, metrics=metrics)
    [result] = [
        result
        for result in judge(load_gate("simulation"), evidence, now).results
        if result.criterion.metric == "worst_day_share"
    ]
    assert result.outcome == outcome
