"""What people read before they sign a pilot."""

import json

import pytest

from gaelp.budget.platform_budget import Overdelivery
from gaelp.content import Creative
from gaelp.pilot.expectation import Expected
from gaelp.pilot.pilot_plan import PilotCampaign, PilotPlan
from gaelp.pilot.plan_text import plan_json, plan_sections
from gaelp.pilot.power import PilotPower, TruthPower

TERMS = Overdelivery(
    platform="google-ads", day_percent=200, period="month", period_percent=3040, step_micros=10_000, why="published"
)
STOPS = {"stale data": "no report for 9 hours"}


@pytest.fixture
def plan(pilot_cases):
    campaigns = tuple(
        PilotCampaign(
            name=name,
            logged_as=f"logged-{name}",
            daily_micros=25_000_000,
            conversion_value_micros=20_000_000,
            targets=("a", "b"),
            reference_bids_micros=(1_200_000, 900_000),
            creative=Creative(id="advert"),
        )
        for name in pilot_cases.campaign_names()
    )
    return PilotPlan(
        name="pilot-1",
        account="1000000001",
        currency="USD",
        time_zone="America/New_York",
        model_hash="ab" * 32,
        campaigns=campaigns,
        first_day=pilot_cases.FIRST_DAY,
        days=pilot_cases.DAYS,
        settle_days=7,
        reach=1.5,
        bid_ceiling_micros=3_000_000,
        loss_cap_micros=2_333_000_000,
    )


@pytest.fixture
def expected(pilot_cases):
    return pilot_cases.expectation().model_copy(
        update={
            "total_spend_micros": Expected(value=7e9, lower_95=6.5e9, upper_95=7.4e9),
            "total_value_micros": Expected(value=9.1e9, lower_95=7.5e9, upper_95=10.5e9),
            "total_conversions": Expected(value=350.0, lower_95=300.0, upper_95=400.0),
            "roi": Expected(value=0.3, lower_95=0.1, upper_95=0.5),
        }
    )


def power(worthless, good):
    truths = (
        TruthPower(roi=0.0, pass_share=worthless, refused_by={"roi": 0.99}),
        TruthPower(roi=0.3, pass_share=good, refused_by={"roi": 0.1}),
    )
    return PilotPower(
        campaigns=20, days=14, budget_micros=7_000_000_000, expected_conversions=350.0, pilots=400, truths=truths
    )


def text_of(sections):
    lines = []
    for section in sections:
        lines += [section.title, *(" ".join(row) for row in section.rows), *section.below]
        assert all(len(row) == len(section.columns) for row in section.rows)
    return "\n".join(lines)


def test_a_signer_reads_the_most_it_can_cost_what_it_should_earn_what_ends_it_and_what_it_can_show(plan, expected):
    text = text_of(plan_sections(plan, TERMS, expected, power(0.01, 0.85), stops=STOPS))
    assert "budgets $500.00 $7,000.00" in text
    assert "at worst, with overdelivery $1,000.00 $14,000.00" in text
    assert "loss at which it stops  $2,333.00" in text
    assert "spend (what the plan wants to spend) $7,000.00 $6,500.00 $7,400.00" in text
    assert "ROI +30% +10% +50%" in text
    assert "stale data no report for 9 hours" in text
    assert "2026-11-15: campaigns are paused" in text
    assert "0% 1.0% at most 5%" in text
    assert "+30% 85.0% at least 80%" in text
    assert "can tell an agent that returns nothing from one that returns +30%" in text
    assert "3 spans for the streak have at least 100 expected conversions" in text


def test_a_plan_without_power_and_without_a_holdout_says_so(plan, expected):
    weak = text_of(plan_sections(plan, TERMS, expected, power(0.01, 0.4), stops=STOPS))
    assert "cannot tell an agent that returns nothing" in weak
    assert "Return is attributed" in weak
    held = text_of(plan_sections(plan, TERMS, expected, power(0.01, 0.85), stops=STOPS, has_holdout=True))
    assert "Return is attributed" not in held


def test_programs_get_the_same_figures(plan, expected):
    given = json.loads(json.dumps(plan_json(plan, TERMS, expected, power(0.01, 0.85))))
    assert given["worst"] == {
        "day_micros": 1_000_000_000,
        "total_micros": 14_000_000_000,
        "loss_cap_micros": 2_333_000_000,
    }
    assert given["power"]["tells_apart"]
