"""What people read before they sign a release."""

import json
from datetime import date

import pytest

from gaelp.budget.platform_budget import Overdelivery
from gaelp.config.scale_settings import ScaleSettings
from gaelp.gates import load_gate
from gaelp.pilot.sale_chance import SaleChance
from gaelp.release.release_draws import ReleaseGround
from gaelp.release.release_plan import ProvenLift, make_release_plan
from gaelp.release.release_plan_text import release_plan_json, release_plan_sections
from gaelp.release.release_power import LiftPower, ReleasePower

TERMS = Overdelivery(
    platform="google-ads", day_percent=200, period="month", period_percent=3040, step_micros=10_000, why="published"
)
PROVEN = ProvenLift(value=0.3, lower_95=0.1, day_spend_micros=25_000_000, conversion_micros=10_000_000)


@pytest.fixture(scope="module")
def planned(pilot_cases, pilot_plan):
    def plan(gate="scale"):
        release = make_release_plan(
            pilot_plan, ScaleSettings(), load_gate(gate), PROVEN, name="run-scale", first_day=date(2026, 12, 1)
        )
        return release, ReleaseGround(
            plan=release, expected=pilot_cases.expectation(), expected_lift=0.3, chance=SaleChance()
        )

    return plan


def power(ground, concludes):
    expected = LiftPower(
        lift=0.3, promoted=0.9, rolled_back=0.0, concludes=concludes, passes=0.7, days=41.0, spend_micros=21_000_000_000
    )
    return ReleasePower(
        size=ground.size, budget_micros=32_000_000_000, expected_lift=0.3, releases=200, lifts=(expected,)
    )


def text_of(sections):
    lines = []
    for section in sections:
        lines += [section.title, *(" ".join(row) for row in section.rows), *section.below]
        assert all(len(row) == len(section.columns) for row in section.rows)
    return "\n".join(lines)


def test_a_signer_reads_the_most_it_can_cost_its_steps_what_ends_it_and_what_it_can_show(planned):
    plan, ground = planned()
    text = text_of(release_plan_sections(plan, TERMS, ground, power(ground, 0.85)))
    assert "at worst, with overdelivery $2,000.00 $128,000.00" in text  # raised budgets, twice each
    assert f"loss at which it stops  ${plan.campaigns.loss_cap_micros / 1e6:,.2f}" in text
    assert "10% 4 days or more nothing speaks against the agent" in text
    assert "50% 4 days or more 100 pairs and a lift of +15% is shown by its lower bound" in text
    assert "2026-12-01 to 2027-02-02, days of America/New_York: at most 60 of comparison and 4 at 100%" in text
    assert "worse value per dollar is shown to be below the control's" in text
    assert "+30% (expected) 90% 0% 85% 70% 41 $21,000.00" in text
    assert "carry a conclusion in 80% of releases at the expected lift of +30%" in text
    assert f"the control returns {1.3 / 1.3:.2f} for each unit of money" in text


def test_a_plan_whose_budgets_are_too_small_says_so(planned):
    plan, ground = planned()
    assert "do not carry a conclusion" in text_of(release_plan_sections(plan, TERMS, ground, power(ground, 0.5)))


def test_a_gate_that_asks_for_an_estimate_shows_both_of_its_conditions(planned):
    plan, ground = planned("scale-production")
    text = text_of(release_plan_sections(plan, TERMS, ground, power(ground, 0.85)))
    assert "a lift of +5% is shown by its lower bound and the estimate is +15%" in text


def test_programs_get_the_same_figures(planned):
    plan, ground = planned()
    given = json.loads(json.dumps(release_plan_json(plan, TERMS, ground, power(ground, 0.85))))
    assert given["worst"]["total_micros"] == 128_000_000_000
    assert given["expected"] == {"lift": 0.3, "control_value_per_money": pytest.approx(1.0)}
    assert given["power"]["is_enough"]
