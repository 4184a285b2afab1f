"""A pilot stops by itself: each rule alone, with its figures, and none while all is well."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from gaelp.pilot.stops import PilotStanding, StopRules, stop_reasons

NOW = datetime(2026, 11, 20, tzinfo=UTC)
RULES = StopRules(loss_cap_micros=300_000_000, expected_value_per_dollar=1.3)
HOURS = 24 * 8


@pytest.fixture
def well():
    """Eight days at 20 an hour that bring 30% more than they cost."""
    spend = np.full(HOURS, 20_000_000)
    return PilotStanding(
        now=NOW,
        reported_until=NOW - timedelta(hours=3),
        report_lag=timedelta(hours=3),
        currency="USD",
        spend_micros=spend,
        value_micros=np.full(HOURS, 26_000_000),
        conversions=np.full(HOURS, 1.3),
        matured_share=np.ones(HOURS),
        pending_conversions=0.0,
        conversion_value_micros=20_000_000,
        judge_decline=True,
    )


def rules_of(standing, rules=RULES):
    return [reason.rule for reason in stop_reasons(rules, standing)]


def test_a_pilot_that_does_well_goes_on(well):
    assert rules_of(well) == []


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("kill-switch", {"killed": "ann pulled it"}),
        ("mandate-ended", {"mandate_ended": "it was revoked"}),
        ("violation", {"violations": ("read-back-differs: spring",)}),
        ("refused-action", {"refused": "a bid above the ceiling"}),
        ("loss-cap", {"value_micros": np.full(HOURS, 18_000_000), "conversions": np.full(HOURS, 1.0)}),
        ("stale-data", {"reported_until": NOW - timedelta(hours=13)}),
        ("out-of-range", {"out_of_range": (0.3,) * 12}),
        ("decline", {"conversions": np.full(HOURS, 0.3)}),
    ],
)
def test_each_rule_stops_for_its_own_reason(well, rule, change):
    reasons = list(stop_reasons(RULES, replace(well, **change)))
    assert {reason.rule for reason in reasons} == {rule}
    assert reasons[0].what


def test_pending_conversions_count_but_less_than_expected(well):
    losing = replace(well, value_micros=np.full(HOURS, 18_000_000))
    assert rules_of(losing) == ["loss-cap"]  # 384 lost, 300 allowed
    assert rules_of(replace(losing, pending_conversions=8.0)) == []
    assert rules_of(replace(losing, pending_conversions=4.5)) == ["loss-cap"]  # 90 expected, 36 counted


def test_the_loss_cap_holds_to_the_micro(well):
    spend = int(well.spend_micros.sum())
    value = np.zeros(HOURS, np.int64)
    value[0] = spend - RULES.loss_cap_micros
    assert rules_of(replace(well, value_micros=value)) == []
    value[0] -= 1
    [reason] = stop_reasons(RULES, replace(well, value_micros=value))
    assert reason.figures["loss_micros"] == RULES.loss_cap_micros + 1


def test_a_single_odd_hour_is_no_reason(well):
    assert rules_of(replace(well, out_of_range=(0.9,) * 11 + (0.1,))) == []


@pytest.mark.parametrize("true_share", [1.0, 0.5])
def test_a_decline_is_rarely_seen_where_there_is_none(well, true_share):
    """Value per dollar at the plan's, or just at the limit: false stops over all looks stay below alpha."""
    rng = np.random.default_rng(5)
    stopped = 0
    rules = RULES.model_copy(update={"decline_alpha": 0.05})
    for _ in range(200):
        conversions = rng.poisson(1.3 * true_share, 24 * 14).astype(float)
        for day in range(1, 15):
            hours = slice(0, 24 * day)
            standing = replace(
                well,
                spend_micros=np.full(24 * day, 20_000_000),
                value_micros=np.full(24 * day, 26_000_000),
                conversions=conversions[hours],
                matured_share=np.ones(24 * day),
            )
            if "decline" in rules_of(standing, rules):
                stopped += 1
                break
    assert stopped <= 0.05 * 200


def test_a_true_decline_to_a_quarter_is_seen_within_days(well):
    rng = np.random.default_rng(6)
    days = []
    for _ in range(50):
        conversions = rng.poisson(1.3 * 0.25, 24 * 14).astype(float)
        for day in range(1, 15):
            count = 24 * day
            standing = replace(
                well,
                spend_micros=np.full(count, 20_000_000),
                value_micros=np.full(count, 26_000_000),
                conversions=conversions[:count],
                matured_share=np.ones(count),
            )
            if "decline" in rules_of(standing):
                days.append(day)
                break
    assert len(days) == 50
    assert np.median(days) <= 7
