"""Gate 3: for every rule there is a pilot that only this rule refuses; figures come from the code of production."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaelp.config import load_settings
from gaelp.gates import Evidence, judge, load_gate
from gaelp.phases.data_evidence import check_stored_data
from gaelp.phases.data_job import DataJob, run_directly
from gaelp.phases.run_folder import RunFolder
from gaelp.pilot.pilot_metrics import SPAN_CONVERSIONS, measure_pilot
from gaelp.storage.conformance_rows import FIRST_HOUR, episode_batch, rows_of
from gaelp.storage.duckdb_store import DuckDbStore
from gaelp.storage.schema import TableName
from gaelp.types import Phase, RunId

GATE = load_gate("pilot")
NOW = datetime(2026, 11, 23, 6, tzinfo=UTC)
SHADOW = {"skewed_features": 0.0, "shadow_hours": 960.0}
STORED = {"failed_expectations": 0.0, "budget_breaches": 0.0, "checked_rows": 50_000.0}
BUDGET_MICROS = 1_000_000


@pytest.fixture(scope="module")
def refused_by(pilot_cases):
    """The rules that refuse a pilot with these figures."""

    def rules(figures, *, violations=0, shadow=SHADOW, stored=STORED):
        measured = measure_pilot(
            figures,
            pilot_cases.expectation(),
            pilot_cases.SETTLED,
            time_zone="America/New_York",
            safety_violations=violations,
        )
        metrics = {**measured.metrics, **shadow, **stored}
        evidence = Evidence(
            run_id="r", agent="agent (ppo)", learned=True, config_hash="c", measured_at=NOW, metrics=metrics
        )
        verdict = judge(GATE, evidence, NOW)
        return {result.criterion.metric for result in verdict.results if result.outcome != "pass"}

    return rules


def test_a_good_pilot_passes(refused_by, pilot_cases):
    assert refused_by(pilot_cases.pilot_figures(pilot_cases.steady_value(0.3))) == set()


@settings(max_examples=25)
@given(roi=st.floats(0.02, 0.2), spread=st.floats(0.6, 0.9))
def test_returns_that_differ_too_much_between_campaigns_are_refused_by_the_bound_alone(
    refused_by, pilot_cases, roi, spread
):
    figures = pilot_cases.pilot_figures(pilot_cases.steady_value(roi, spread))
    assert refused_by(figures) == {"roi"}


@settings(max_examples=25)
@given(first=st.floats(0.9, 1.5), last=st.floats(0.6, 0.95))
def test_a_good_start_does_not_make_up_for_a_bad_end(refused_by, pilot_cases, first, last):
    value = pilot_cases.steady_value(0.0)
    value[:8] *= 1 + first
    value[8:] *= last
    assert refused_by(pilot_cases.pilot_figures(value)) == {"positive_roi_streak"}


@settings(max_examples=25)
@given(share=st.floats(0.05, 0.79), roi=st.floats(0.2, 2.0))
def test_an_agent_that_leaves_what_the_plan_wanted_to_spend_is_refused_for_it_alone(
    refused_by, pilot_cases, share, roi
):
    value = pilot_cases.steady_value(roi)
    figures = pilot_cases.pilot_figures(value * share, np.full(value.shape, pilot_cases.SPEND_MICROS * share))
    assert refused_by(figures) == {"budget_efficiency"}


@given(violations=st.integers(1, 50))
def test_one_violation_is_enough(refused_by, pilot_cases, violations):
    figures = pilot_cases.pilot_figures(pilot_cases.steady_value(0.3))
    assert refused_by(figures, violations=violations) == {"safety_violations"}


@given(skewed=st.integers(1, 40))
def test_one_feature_that_training_never_saw_is_enough(refused_by, pilot_cases, skewed):
    figures = pilot_cases.pilot_figures(pilot_cases.steady_value(0.3))
    assert refused_by(figures, shadow={**SHADOW, "skewed_features": float(skewed)}) == {"skewed_features"}


@pytest.fixture
def stored(tmp_path):
    """What the jobs on stored rows report; `planted` are the values of one more episode."""

    def check(run_job, spend_micros=0, **planted):
        good, source = episode_batch(3, source="r"), "r"
        place = good[TableName.EPISODES].column_names.index("budget_micros")
        budgets = pa.array([BUDGET_MICROS] * 3, pa.int64())
        good[TableName.EPISODES] = good[TableName.EPISODES].set_column(
            place, good[TableName.EPISODES].schema.field(place), budgets
        )
        bad = {"source": source, "episode": f"{source}/bad", "policy": "mpc@1"}
        episode = {
            "state": "finished",
            "started_at": FIRST_HOUR,
            "ended_at": FIRST_HOUR + timedelta(hours=1),
            "budget_micros": BUDGET_MICROS,
        }
        hour = {"step": 0, "segment": "a", "bid_micros": 250_000, "spend_micros": spend_micros}
        rows = {
            TableName.EPISODES: rows_of(
                TableName.EPISODES, {"id": "bad", "at": FIRST_HOUR, **bad, **episode, **planted}
            ),
            TableName.DECISIONS: rows_of(TableName.DECISIONS, {"id": "bad/0", **bad, **hour}),
        }
        DuckDbStore(tmp_path / "episodes").append({name: pa.concat_tables([good[name], rows[name]]) for name in rows})
        found = load_settings(overrides=[f"home={tmp_path}"], environ={}).settings
        folder = RunFolder(tmp_path, RunId("20261116-020641-7f3a9c")).phase(
            Phase.SIMULATION
        )  # the jobs are the same in every phase
        folder.path.mkdir(parents=True)
        data = check_stored_data(DataJob(found, folder, NOW, sources=(source,)), run_job)
        return {**data.metrics, "checked_rows": 50_000.0}  # as many as a pilot stores

    return check


def without_metrics(name, job):
    """Run the jobs that a rule reads."""
    return {"rows": 0} if name == "episode-metrics" else run_directly(name, job)


def without_beam(name, job):
    """Run the job that needs no Beam."""
    return {"breaches": 0} if name == "budget-safety" else without_metrics(name, job)


def test_a_stored_row_that_cannot_be_is_refused_by_the_expectations_alone(refused_by, pilot_cases, stored):
    figures = pilot_cases.pilot_figures(pilot_cases.steady_value(0.3))
    assert refused_by(figures, stored=stored(without_beam, reward=7.0)) == {"failed_expectations"}


@pytest.mark.slow  # starts a Beam job
def test_a_campaign_that_spent_more_than_it_was_given_is_refused_by_the_breach_alone(refused_by, pilot_cases, stored):
    figures = pilot_cases.pilot_figures(pilot_cases.steady_value(0.3))
    assert refused_by(figures, stored=stored(without_metrics, BUDGET_MICROS + 1)) == {"budget_breaches"}


def test_every_rule_has_a_planted_pilot_above_and_states_the_size_of_its_spans():
    planted = {
        *("roi", "positive_roi_streak", "budget_efficiency", "safety_violations", "skewed_features"),
        *("failed_expectations", "budget_breaches"),
    }
    assert {rule.metric for rule in GATE.criteria} == planted
    [streak] = [rule for rule in GATE.criteria if rule.metric == "positive_roi_streak"]
    assert f"at least {SPAN_CONVERSIONS:g} conversions expected" in streak.why
    assert streak.minimum_sample == streak.threshold
