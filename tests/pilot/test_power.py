"""What a plan can tell: the prototype's figures, and a plan that is refused with the size it needs."""

import pytest

from gaelp.errors import BadInput
from gaelp.gates import load_gate
from gaelp.pilot.power import (
    PowerGround,
    find_size,
    pilot_power,
    refuse_without_power,
    resized,
    statistical_rules,
)
from gaelp.pilot.sale_chance import SaleChance


@pytest.fixture(scope="module")
def ground(pilot_cases):
    return PowerGround(
        gate=load_gate("pilot"),
        chance=SaleChance(),
        late=pilot_cases.SETTLED,
        time_zone="America/New_York",
        settle_days=7,
        daily_micros=25_000_000,
    )


def test_a_pilot_of_24_campaigns_for_14_days_tells_a_good_agent_from_a_worthless_one(pilot_cases, ground):
    power = pilot_power(pilot_cases.expectation(campaigns=24), ground, seed=1, pilots=120)
    assert power.tells_apart
    assert power.passes(0.0) <= 0.02
    assert power.passes(0.3) >= 0.8
    assert power.budget_micros == 24 * 14 * 25_000_000


def test_five_campaigns_for_a_week_cannot_and_the_size_that_can_is_named(pilot_cases, ground):
    small = pilot_cases.expectation(days=7, campaigns=5, conversions=4.0)
    power = pilot_power(small, ground, seed=1, pilots=50)
    assert not power.tells_apart
    with pytest.raises(
        BadInput, match=r"5 campaigns for 7 days cannot tell .* plan \d+ campaigns for \d+ days \(budgets"
    ):
        refuse_without_power(power, small, ground, seed=1, campaigns_most=40)
    enough = pilot_power(pilot_cases.expectation(campaigns=30), ground, seed=1, pilots=50)
    refuse_without_power(enough, small, ground, seed=1, campaigns_most=40)


@pytest.mark.slow
def test_the_named_size_has_no_more_campaigns_than_there_are_and_needs_more_days_instead(pilot_cases, ground):
    found = find_size(pilot_cases.expectation(), ground, seed=1, campaigns_most=16)
    assert found.campaigns <= 16
    assert found.days > 14
    assert found.tells_apart


def test_fewer_conversions_for_the_money_need_a_larger_pilot(pilot_cases, ground):
    rare = pilot_cases.expectation(campaigns=24, conversions=0.3)
    assert pilot_power(rare, ground, seed=1, pilots=60).passes(0.3) < 0.5


def test_the_rule_that_refuses_is_counted(pilot_cases, ground):
    worthless = pilot_power(pilot_cases.expectation(), ground, seed=2, pilots=60, truths=(0.0,)).truths[0]
    assert worthless.refused_by["roi"] > 0.9
    assert worthless.refused_by["positive_roi_streak"] > 0.6


def test_a_resized_plan_keeps_its_weekdays_and_campaigns(pilot_cases):
    larger = resized(pilot_cases.expectation(), 30, 21)
    assert (len(larger.campaigns), len(larger.days)) == (30, 21)
    assert larger.wished_micros == pytest.approx(30 * 21 * pilot_cases.SPEND_MICROS)


def test_rules_that_chance_cannot_break_are_left_out():
    gate = load_gate("pilot")
    assert {rule.metric for rule in statistical_rules(gate).criteria} == {
        "roi",
        "positive_roi_streak",
        "budget_efficiency",
    }
    with pytest.raises(BadInput, match="has none of the rules"):
        statistical_rules(load_gate("scale"))
