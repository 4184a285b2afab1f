"""Every rule of gate 2 is needed: of what is planted here, each is refused by one rule alone.

Markets, agents and stored rows are measured by the functions of phase 2. What a test does not plant are the figures of
a market, an agent and rows that pass.
"""

import numpy as np
import pytest

from gaelp.bench.gate_trial import failed_rules
from gaelp.bench.history_plants import (
    AGENTS,
    ALIKE,
    BATCHES,
    MARKETS,
    VARIED,
    gate_2_verdict,
    good_agent,
    known_account,
)
from gaelp.bench.logged_histories import cached_log
from gaelp.gates import load_gate
from gaelp.history.fidelity import measure_fidelity
from gaelp.history.log_checks import check_log
from gaelp.market.build import load_persona_table
from gaelp.phases.data_evidence import check_stored_data
from gaelp.phases.data_job import DataJob
from gaelp.phases.log_judgement import judge_on_log, look_options
from gaelp.phases.run_folder import RunFolder
from gaelp.sandbox.incumbent import SynthesisSpec
from gaelp.sandbox.spec import load_sandbox_spec
from gaelp.sandbox.synthesis import synthesize
from gaelp.sandbox.synthesis_rows import history_source, history_tables
from gaelp.storage.backends import build_store
from gaelp.types import Phase, RunId

SEED = 21
GATE = load_gate("history")
LOG = SynthesisSpec(weeks=6, campaigns=12, seed=SEED)
ROWS = SynthesisSpec(weeks=1, campaigns=1, seed=7)


@pytest.fixture(scope="module")
def fidelity():
    """Figures of the market that fits an account, or of one that is made wrong."""
    known, personas = {}, load_persona_table("personas")

    def measured(truth, plant=lambda account: account):
        if truth not in known:
            known[truth] = known_account(truth, SEED)
        account, held_out = known[truth].account, known[truth].held_out
        return measure_fidelity(plant(account), held_out, personas, seed=SEED, copies=4).metrics

    return measured


@pytest.fixture(scope="module")
def lifts():
    """Figures of planted agents on a log of the local ad platform."""
    logged = cached_log(LOG, load_sandbox_spec().model_copy(update={"seed": SEED}), None)
    check = check_log(logged)

    def measured(plant=good_agent):
        rng = np.random.default_rng(SEED)
        return judge_on_log(logged, check, plant(logged), rng, look_options(100)).metrics

    return measured


@pytest.fixture(scope="module")
def tables():
    return history_tables(synthesize(ROWS, load_sandbox_spec(), simulator_points=False))


@pytest.fixture
def data(tables, tmp_path, history_home):
    """Figures of planted rows, which are stored and checked as those of an attempt at phase 2 are."""

    def measured(plant=lambda rows: rows):
        settings = history_home.settings_of(tmp_path / "home")
        store = build_store(settings)
        store.append(plant(tables))
        store.close()
        folder = RunFolder(settings.home, RunId("planted")).phase(Phase.HISTORY)
        sources = (history_source(ROWS, load_sandbox_spec()),)
        return check_stored_data(DataJob(settings, folder, history_home.NOW, sources=sources)).metrics

    return measured


@pytest.fixture(scope="module")
def passing(fidelity, lifts):
    """Figures of a market, an agent and rows that pass; those of good rows are measured in a slow test."""
    return {**fidelity(ALIKE), **lifts(), "checked_rows": 5000.0, "failed_expectations": 0.0, "budget_breaches": 0.0}


def refusing(*metrics):
    return failed_rules(gate_2_verdict(GATE, *metrics))


def test_there_is_a_plant_for_every_rule():
    assert {rule.metric for rule in GATE.criteria} == {*MARKETS, *AGENTS, *BATCHES}


def test_a_market_that_fits_and_a_good_agent_pass(passing):
    assert refusing(passing) == set()


@pytest.mark.parametrize("rule", MARKETS)
def test_a_planted_market_is_refused_by_its_rule_alone(passing, fidelity, rule):
    assert refusing(passing, fidelity(MARKETS[rule].truth, MARKETS[rule].plant)) == {rule}


@pytest.mark.parametrize("rule", AGENTS)
def test_a_planted_agent_is_refused_by_its_rule_alone(passing, lifts, rule):
    assert refusing(passing, lifts(AGENTS[rule])) == {rule}


@pytest.mark.slow
def test_good_rows_pass(passing, data):
    assert refusing(passing, data()) == set()


@pytest.mark.slow
@pytest.mark.parametrize("rule", BATCHES)
def test_a_planted_batch_is_refused_by_its_rule_alone_with_every_job_run(passing, data, rule):
    assert refusing(passing, data(BATCHES[rule])) == {rule}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [31, 32, 33, 34, 35])
def test_planted_markets_are_refused_by_their_rules_alone_on_other_accounts(passing, seed):
    personas = load_persona_table("personas")
    known = {truth: known_account(truth, seed) for truth in (ALIKE, VARIED)}

    def refused_with(truth, plant):
        account, held_out = known[truth].account, known[truth].held_out
        return refusing(passing, measure_fidelity(plant(account), held_out, personas, seed=seed).metrics)

    assert {truth: refused_with(truth, lambda account: account) for truth in known} == {ALIKE: set(), VARIED: set()}
    refused = {rule: refused_with(market.truth, market.plant) for rule, market in MARKETS.items()}
    assert refused == {rule: {rule} for rule in MARKETS}
