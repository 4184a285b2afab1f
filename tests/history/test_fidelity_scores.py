"""Scores of gate 2: chance costs a right market nothing, and a wrong one is found out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaelp.history.fidelity_scores import CampaignDays, score_days
from gaelp.history.noise_floor import _floor

SHAPE = (12, 14)
CLUSTER = np.arange(12)[:, None] * 2 + np.arange(14) // 7


def scores(factor, *, spread=0.25, seed=0):
    """Days that differ by chance from means of very different campaigns; the market has the means times `factor`."""
    rng = np.random.default_rng(seed)
    mean = 40 * np.exp(rng.normal(0, 0.8, (12, 1))) * np.exp(rng.normal(0, 0.2, SHAPE))
    logged = mean * np.maximum(1 + spread * rng.standard_normal(SHAPE), 0)
    sales = rng.poisson(0.05 * mean).astype(float)
    days = CampaignDays(
        logged={"spend": logged, "clicks": logged, "conversions": sales, "value": 20 * sales},
        market={
            "spend": mean * factor,
            "clicks": mean * factor,
            "conversions": 0.05 * mean * factor,
            "value": mean * factor,
        },
        cluster=CLUSTER,
        counted={"conversions": sales.sum() / 2, "value": sales.sum() / 2.5},
    )
    floor = _floor(logged, mean)
    return score_days(days, {"spend": floor, "clicks": floor}, rng)


def test_right_market_in_noisy_days_passes_where_plain_scores_would_not():
    result = scores(1.0)
    assert result.plain_accuracy.value < 0.85 < result.prediction_accuracy.lower_95
    assert result.simulator_match.value > 0.95
    assert result.correlation_with_actuals.lower_95 > 0.8


def test_market_that_is_too_low_by_a_fifth_everywhere_fails_match_and_accuracy_by_as_much():
    result = scores(0.8)
    assert result.simulator_match.value == pytest.approx(0.8, abs=0.04)
    assert result.prediction_accuracy.value == pytest.approx(0.8, abs=0.04)


def test_market_that_is_right_in_total_and_wrong_in_every_campaign_fails_accuracy_alone():
    factor = np.where(np.arange(12) % 2, 1.3, 0.7)[:, None]
    result = scores(factor, seed=3)
    assert result.prediction_accuracy.value == pytest.approx(0.7, abs=0.06)
    assert result.simulator_match.value > result.prediction_accuracy.value


def test_market_that_shuffles_days_fails_correlation():
    factor = np.exp(np.random.default_rng(5).normal(0, 1.5, SHAPE))
    assert scores(factor).correlation_with_actuals.upper_95 < 0.8


@given(seed=st.integers(0, 1000), factor=st.floats(0.5, 2.0))
@settings(max_examples=3, deadline=None)
def test_every_interval_holds_its_value_and_lies_in_its_range(seed, factor):
    result = scores(factor, seed=seed)
    for name in ("simulator_match", "prediction_accuracy", "correlation_with_actuals", "plain_accuracy"):
        score = getattr(result, name)
        assert score.lower_95 <= score.value <= score.upper_95 <= 1


def test_sparse_figures_are_compared_with_their_noise_floor():
    figures = {each.figure: each for each in scores(1.0).figures}
    assert figures["conversions"].wape > 0.3
    assert figures["conversions"].noise_ratio == pytest.approx(1.0, abs=0.25)
    assert figures["spend"].total_noise == 0
    assert figures["conversions"].total_noise > 0.05
