"""The money rules are data: what a rule may say, and what the shipped ones do say."""

import re

import pytest
from pydantic import ValidationError

from gaelp.budget.hours import CampaignCaps, HourCounts, SpendWindow
from gaelp.budget.rules import BudgetRule, RuleSet, load_rules
from gaelp.budget.signals import CampaignWatch, load_signals
from gaelp.clock import SystemClock
from gaelp.errors import ConfigError

CAMPAIGN = load_rules("campaign")
BASE = {
    "id": "day-limit",
    "figure": "day_spend_micros",
    "at_most": {"percent": 100, "of": "day_cap_micros"},
    "breach": "kill",
    "unknown": "hold",
    "maximum_age_minutes": 180,
    "why": "test",
}


@pytest.mark.parametrize(
    ("change", "actual"),
    [
        ({"why": ""}, "why"),
        ({"at_least": 5}, "exactly one of at_least and at_most"),
        ({"at_most": None}, "exactly one of at_least and at_most"),
        ({"at_most": {"percent": 50, "of": 5}}, "at_most.ShareOf.of"),
        ({"at_most": {"percent": 0, "of": "day_cap_micros"}}, "at_most.ShareOf.percent"),
        ({"sample_figure": "known_hours"}, "go together"),
        ({"minimum_sample": 3}, "go together"),
        ({"breach": "allow"}, "breach"),
        ({"unknown": "allow"}, "unknown"),
        ({"unknown": "alert"}, "unknown"),
        ({"at_most": None, "at_least": 5}, "more spending would end the kill"),
        ({"maximum_age_minutes": 0}, "maximum_age_minutes"),
        ({"at_most": {"percent": 12.5, "of": "day_cap_micros"}}, "at_most.ShareOf.percent"),
        ({"at_most": float("nan")}, "at_most"),
        ({"surprise": 1}, "surprise"),
        ({"figure": "Day Spend"}, "figure"),
    ],
)
def test_a_rule_that_could_not_guard_is_refused_when_read(change, actual):
    with pytest.raises(ValidationError, match=re.escape(actual)):
        BudgetRule.model_validate({**BASE, **change})


def test_a_rule_set_has_rules_and_each_its_own_id():
    rule = BudgetRule.model_validate(BASE)
    with pytest.raises(ValidationError, match="two rules share an id"):
        RuleSet(name="twice", rules=(rule, rule))
    with pytest.raises(ValidationError):
        RuleSet(name="empty", rules=())


def test_an_unknown_rule_set_is_named_with_those_that_exist():
    with pytest.raises(ConfigError, match="campaign"):
        load_rules("campain")


def test_every_shipped_rule_reads_figures_that_are_produced():
    now = SystemClock().now()
    caps = CampaignCaps(day_cap_micros=2, episode_cap_micros=2, loss_cap_micros=2, conversion_value_micros=1)
    hour = HourCounts(
        spend_micros=1,
        planned_micros=1,
        planned_left_micros=1,
        day_planned_micros=2,
        impressions=1,
        clicks=1,
        conversions=0,
    )
    window, watch = SpendWindow(caps), CampaignWatch(load_signals())
    window.observe(hour, now.date(), now)
    watch.observe(hour, now)
    assert CAMPAIGN.figures() <= set(window.readings()) | set(watch.readings())


def test_the_shipped_rules_cover_what_is_promised():
    by_id = {rule.id: rule for rule in CAMPAIGN.rules}
    kills = {rule.id for rule in CAMPAIGN.rules if rule.breach == "kill"}
    assert kills == {"day-limit", "episode-limit", "spend-rate-3h", "loss-cap"}
    assert [by_id[f"day-spend-{share}"].share.percent for share in (50, 80, 95)] == [50, 80, 95]
    assert {by_id[f"day-spend-{share}"].breach for share in (50, 80, 95)} == {"alert"}
    assert {"roi-floor", "spend-jump", "click-fraud", "cpa-jump", "tracking-outage"} <= set(by_id)
    assert {"spend-drift", "ctr-drift", "cpa-drift"} <= set(by_id)


def test_a_score_is_never_judged_without_saying_how_much_data_it_needs():
    scored = [rule for rule in CAMPAIGN.rules if rule.figure.endswith("_z")]
    assert scored
    assert all(rule.sample_figure == rule.figure.replace("_z", "_points") for rule in scored)
