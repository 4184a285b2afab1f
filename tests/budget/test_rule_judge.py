"""Kill wins over hold over allow; what is not known never allows; more spending never lifts a kill."""

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gaelp.budget.rule_judge import judge_rules, worst
from gaelp.budget.rules import BudgetRule, Condition, RuleReading, RuleSet, load_rules
from gaelp.errors import BadInput

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
CAMPAIGN = load_rules("campaign")
HEALTHY = {
    "day_spend_micros": 40,
    "day_cap_micros": 100,
    "episode_spend_micros": 40,
    "episode_cap_micros": 3000,
    "projected_day_micros": 60,
    "spend_3h_micros": 10,
    "planned_3h_micros": 10,
    "spend_6h_micros": 20,
    "planned_6h_micros": 20,
    "spend_12h_micros": 40,
    "planned_12h_micros": 40,
    "ahead_of_plan_micros": 5,
    "day_planned_micros": 50,
    "known_hours": 168,
    "week_loss_micros": -10,
    "loss_cap_micros": 200,
    "week_roi": 0.2,
    "break_even_conversions": 50.0,
    "spend_z": 0.5,
    "spend_points": 100,
    "spend_drift": 0.0,
    "ctr_z": -0.5,
    "ctr_points": 100,
    "ctr_drift": 0.0,
    "cpa_z": 0.5,
    "cpa_points": 50,
    "cpa_drift": 0.0,
    "expected_conversions_missed": 0.5,
    "expected_conversions_known": 60.0,
}
BAD_VALUES = [None, math.nan, math.inf, -math.inf, True, "5", np.float64(5), np.int64(5), 10**400]
BAD_READINGS = [
    RuleReading(40, NOW - timedelta(minutes=181)),
    RuleReading(40, NOW + timedelta(minutes=2)),
    RuleReading(40, NOW.replace(tzinfo=None)),
]


def readings(**changes):
    values = {**HEALTHY, **changes}
    return {
        name: value if isinstance(value, RuleReading) else RuleReading(value, NOW) for name, value in values.items()
    }


def rule(**changes):
    values = {"id": "r", "figure": "day_spend_micros", "at_most": {"percent": 100, "of": "day_cap_micros"}}
    more = {"breach": "kill", "unknown": "hold", "maximum_age_minutes": 180, "why": "test"}
    return BudgetRule.model_validate({**values, **more, **changes})


def judged(*rules, **changes):
    return judge_rules(RuleSet(name="test", rules=rules), readings(**changes), NOW)


def test_a_healthy_campaign_is_allowed_and_every_rule_is_listed():
    verdict = judge_rules(CAMPAIGN, readings(), NOW)
    assert verdict.decision == "allow"
    assert verdict.alerts == ()
    assert [result.rule_id for result in verdict.results] == [rule.id for rule in CAMPAIGN.rules]
    assert all(result.reason and result.why and result.value is not None for result in verdict.results)


@pytest.mark.parametrize(
    ("changes", "rule_id", "decision"),
    [
        ({"day_spend_micros": 101}, "day-limit", "kill"),
        ({"episode_spend_micros": 3001}, "episode-limit", "kill"),
        ({"spend_3h_micros": 51}, "spend-rate-3h", "kill"),
        ({"week_loss_micros": 201}, "loss-cap", "kill"),
        ({"spend_6h_micros": 85}, "spend-rate-6h", "hold"),
        ({"spend_12h_micros": 133}, "spend-rate-12h", "hold"),
        ({"ahead_of_plan_micros": 66}, "ahead-of-plan", "hold"),
        ({"week_roi": -0.51}, "roi-floor", "hold"),
        ({"spend_z": 9.1}, "spend-jump", "hold"),
        ({"ctr_z": 4.4, "expected_conversions_missed": 1.1}, "click-fraud", "hold"),
        ({"cpa_z": 5.1}, "cpa-jump", "hold"),
        ({"expected_conversions_missed": 14.1}, "tracking-outage", "hold"),
    ],
)
def test_each_rule_stops_what_it_is_for(changes, rule_id, decision):
    verdict = judge_rules(CAMPAIGN, readings(**changes), NOW)
    assert verdict.decision == decision
    assert [result.rule_id for result in verdict.results if result.decision == decision] == [rule_id]
    assert verdict.reason.startswith(f"{rule_id}: ")
    severities = {result.rule_id: result.severity for result in verdict.results}
    assert severities[rule_id] == ("critical" if decision == "kill" else "warning")


@pytest.mark.parametrize(
    "changes",
    [
        {"day_spend_micros": 100},
        {"episode_spend_micros": 3000},
        {"spend_3h_micros": 50},
        {"week_loss_micros": 200},
        {"week_roi": -0.5},
        {"expected_conversions_missed": 14.0},
    ],
)
def test_a_limit_that_is_met_exactly_is_kept(changes):
    assert judge_rules(CAMPAIGN, readings(**changes), NOW).decision == "allow"


@pytest.mark.parametrize(("spent", "alerts"), [(50, 0), (51, 1), (80, 1), (81, 2), (95, 2), (96, 3)])
def test_shares_of_the_cap_alert_and_do_not_hold(spent, alerts):
    verdict = judge_rules(CAMPAIGN, readings(day_spend_micros=spent), NOW)
    assert verdict.decision == "allow"
    expected = [("day-spend-50", "info"), ("day-spend-80", "warning"), ("day-spend-95", "warning")]
    assert [(result.rule_id, result.severity) for result in verdict.alerts] == expected[:alerts]


def test_a_percentage_of_a_cap_is_compared_to_the_micro():
    cap = 2**62 + 1  # floats are 1024 apart here
    eighty = rule(at_most={"percent": 80, "of": "day_cap_micros"})
    assert judged(eighty, day_spend_micros=cap * 80 // 100, day_cap_micros=cap).decision == "allow"
    assert judged(eighty, day_spend_micros=cap * 80 // 100 + 1, day_cap_micros=cap).decision == "kill"


def test_kill_wins_over_hold_over_allow_and_nothing_at_all_holds():
    assert worst(["allow", "kill", "hold"]) == "kill"
    assert worst(["allow", "hold"]) == "hold"
    assert worst(["allow"]) == "allow"
    assert worst([]) == "hold"


def test_too_little_data_is_not_judged():
    floor = {"figure": "week_roi", "at_most": None, "at_least": 0}
    few = rule(**floor, sample_figure="known_hours", minimum_sample=20)
    assert judged(few, week_roi=-1.0, known_hours=19).decision == "allow"
    assert "not judged yet" in judged(few, week_roi=-1.0, known_hours=19).results[0].reason
    assert judged(few, week_roi=-1.0, known_hours=20).decision == "kill"


def test_a_condition_must_hold_together_with_the_breach():
    both = rule(only_if=Condition(figure="cpa_z", above=3).model_dump())
    assert judged(both, day_spend_micros=101, cpa_z=3.0).decision == "allow"
    assert judged(both, day_spend_micros=101, cpa_z=3.1).decision == "kill"
    assert judged(both, day_spend_micros=100, cpa_z=3.1).decision == "allow"


@pytest.mark.parametrize("bad", [*BAD_VALUES, *BAD_READINGS], ids=lambda bad: repr(bad)[:20])
def test_whatever_is_wrong_with_any_figure_never_allows(bad):
    for name in sorted(CAMPAIGN.figures()):
        verdict = judge_rules(CAMPAIGN, readings(**{name: bad}), NOW)
        assert verdict.decision == "hold"
        assert name in verdict.reason


def test_a_figure_that_is_not_there_never_allows():
    for name in CAMPAIGN.figures():
        given = readings()
        del given[name]
        assert judge_rules(CAMPAIGN, given, NOW).decision == "hold"


def test_no_readings_at_all_hold():
    assert judge_rules(CAMPAIGN, {}, NOW).decision == "hold"


def test_where_reported_what_is_not_known_kills():
    assert judged(rule(unknown="kill"), day_spend_micros=None).decision == "kill"


def test_an_alert_rule_that_cannot_be_judged_holds_too():
    assert judged(rule(breach="alert"), day_spend_micros=math.nan).decision == "hold"


@given(
    st.fixed_dictionaries(
        {name: st.one_of(st.just(value), st.sampled_from([None, math.nan])) for name, value in HEALTHY.items()}
    )
)
def test_any_set_of_missing_figures_never_allows(values):
    verdict = judge_rules(CAMPAIGN, readings(**values), NOW)
    broken = [name for name, value in values.items() if value is None or value != value]
    assert verdict.decision == ("hold" if broken else "allow")


SPENDING = ("day_spend_micros", "episode_spend_micros", "projected_day_micros", "ahead_of_plan_micros")
ALSO = ("spend_3h_micros", "spend_6h_micros", "spend_12h_micros", "week_loss_micros")


@given(
    st.fixed_dictionaries({name: st.integers(0, 5000) for name in (*SPENDING, *ALSO)}),
    st.integers(0, 5000),
    st.floats(-1, 1),
    st.floats(-10, 20),
)
def test_more_spending_never_turns_a_kill_or_a_hold_into_less(spent, more, roi, z):
    order = ("allow", "hold", "kill")
    before = readings(**spent, week_roi=roi, spend_z=z, cpa_z=z)
    after = readings(
        **{name: value + more for name, value in spent.items()}, week_roi=roi - 0.1, spend_z=z + 1, cpa_z=z + 1
    )
    decisions = [order.index(judge_rules(CAMPAIGN, given, NOW).decision) for given in (before, after)]
    assert decisions[0] <= decisions[1]


def test_a_verdict_cannot_be_changed_and_reads_back_from_json():
    verdict = judge_rules(CAMPAIGN, readings(week_roi=None), NOW)
    with pytest.raises(ValidationError):
        verdict.decision = "allow"
    assert type(verdict).model_validate_json(verdict.model_dump_json()) == verdict


def test_judging_needs_an_instant_with_a_zone():
    with pytest.raises(BadInput, match="no time zone"):
        judge_rules(CAMPAIGN, readings(), NOW.replace(tzinfo=None))
