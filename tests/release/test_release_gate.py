"""Gate 4: for every rule there is a release that only this rule refuses; figures come from the code of production."""

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaelp.gates import Evidence, judge, load_gate
from gaelp.release.release_metrics import ServiceCounts, measure_release

NOW = datetime(2027, 3, 1, 6, tzinfo=UTC)
STORED = {"failed_expectations": 0.0, "budget_breaches": 0.0, "checked_rows": 50_000.0}
TRANSFER = {
    "transfer_gain_share": 0.95,
    "transfer_gain_share_lower_95": 0.85,
    "transfer_gain_share_upper_95": 1.05,
    "transfer_observations": 600.0,
}


@pytest.fixture(scope="module")
def refused_by(release_cases):
    """The rules that refuse a release with these figures."""

    def rules(days, *, violations=0, transfer=TRANSFER, stored=STORED, gate="scale"):
        measured = measure_release(
            days,
            release_cases.RULES,
            release_cases.TEST,
            flights=release_cases.FLIGHTS,
            counts=ServiceCounts(safety_violations=violations),
        )
        metrics = {**measured.metrics, **transfer, **stored}
        evidence = Evidence(
            run_id="r", agent="agent (ppo)", learned=True, config_hash="c", measured_at=NOW, metrics=metrics
        )
        verdict = judge(load_gate(gate), evidence, NOW)
        return {result.criterion.metric for result in verdict.results if result.outcome != "pass"}

    return rules


@pytest.mark.parametrize("gate", ["scale", "scale-production"])
def test_a_good_release_passes(refused_by, release_cases, gate):
    assert refused_by(release_cases.release_days(), gate=gate) == set()


@settings(max_examples=20, deadline=None)
@given(lift=st.floats(-0.1, 0.15))
def test_a_profitable_agent_that_is_hardly_better_than_its_control_is_refused_by_the_bound_alone(
    refused_by, release_cases, lift
):
    assert refused_by(release_cases.release_days(lift=lift)) == {"improvement"}


@settings(max_examples=20, deadline=None)
@given(losers=st.integers(2, 6), share=st.floats(0.2, 0.42))
def test_a_gain_on_the_whole_that_hides_campaigns_that_lose_is_refused_by_their_share_alone(
    refused_by, release_cases, losers, share
):
    by_campaign = np.where(np.arange(release_cases.CAMPAIGNS) < losers, share, 1.0)
    days = release_cases.release_days(lift=0.9, by_campaign=by_campaign)
    assert refused_by(days) == {"campaign_success_rate"}


@settings(max_examples=20, deadline=None)
@given(share=st.floats(-0.5, 0.79))
def test_an_agent_that_has_learned_its_product_and_not_how_to_bid_is_refused_for_it_alone(
    refused_by, release_cases, share
):
    transfer = {**TRANSFER, "transfer_gain_share_lower_95": share}
    assert refused_by(release_cases.release_days(), transfer=transfer) == {"transfer_gain_share"}


@given(violations=st.integers(1, 50))
@settings(max_examples=10, deadline=None)
def test_one_violation_is_enough(refused_by, release_cases, violations):
    assert refused_by(release_cases.release_days(), violations=violations) == {"safety_violations"}


@pytest.mark.parametrize("metric", ["failed_expectations", "budget_breaches"])
def test_stored_rows_that_cannot_be_or_a_breach_refuse_any_release(refused_by, release_cases, metric):
    assert refused_by(release_cases.release_days(), stored={**STORED, metric: 1.0}) == {metric}


def test_a_release_that_compared_nothing_passes_no_rule_about_it(refused_by, release_cases):
    assert {"improvement", "campaign_success_rate"} <= refused_by(release_cases.release_days(percent=0, full_days=0))


def test_too_few_flights_are_inconclusive_however_good_they_are(refused_by, release_cases):
    assert refused_by(release_cases.release_days(days=30, full_days=0)) == {"campaign_success_rate"}


@pytest.mark.parametrize(
    ("lift", "rules"), [(0.1, {"improvement_estimate"}), (0.04, {"improvement", "improvement_estimate"})]
)
def test_where_money_is_real_an_estimate_below_15_percent_is_refused_whatever_is_proven(
    refused_by, release_cases, lift, rules
):
    assert refused_by(release_cases.release_days(lift=lift), gate="scale-production") == rules


def test_where_money_is_real_a_high_estimate_that_may_as_well_be_small_is_refused_by_the_bound_alone(
    refused_by, release_cases
):
    rng = np.random.default_rng(3)
    days = release_cases.release_days(lift=0.3, days=16, full_days=60)
    noise = rng.gamma(0.08, 1 / 0.08, days.treated.shape)
    noise[16:] = 1
    noise[:16] /= noise[:16][days.treated[:16]].mean()
    refused = refused_by(
        release_cases.release_days(lift=0.3, days=16, full_days=60, by_pair=noise), gate="scale-production"
    )
    assert refused == {"improvement"}


def test_every_rule_has_a_planted_release_above():
    planted = {
        *("improvement", "campaign_success_rate", "transfer_gain_share", "safety_violations"),
        *("failed_expectations", "budget_breaches"),
    }
    assert {rule.metric for rule in load_gate("scale").criteria} == planted
    assert {rule.metric for rule in load_gate("scale-production").criteria} == planted | {"improvement_estimate"}
