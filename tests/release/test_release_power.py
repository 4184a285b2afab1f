"""What a plan can show: drawn releases follow the plan, and a plan without power is refused with what it needs."""

import re
from dataclasses import replace

import numpy as np
import pytest

from gaelp.config.scale_settings import ScaleSettings
from gaelp.errors import BadInput
from gaelp.gates import load_gate
from gaelp.gates.lift_test import BEYOND_MAX
from gaelp.pilot.sale_chance import SaleChance
from gaelp.release.release_draws import ReleaseGround, ReleaseSize, draw_releases, largest_observation
from gaelp.release.release_plan import ProvenLift, make_release_plan
from gaelp.release.release_power import (
    POWER_LEAST,
    refuse_without_power,
    release_power,
    tightened_test,
)

GATE = load_gate("scale")
PROVEN = ProvenLift(value=0.3, lower_95=0.2, day_spend_micros=25_000_000, conversion_micros=10_000_000)


def with_tight_test(ground):
    return replace(ground, plan=ground.plan.model_copy(update={"lift": tightened_test(ground, seed=4)}))


@pytest.fixture(scope="module")
def ground_of(pilot_cases, pilot_plan):
    """What releases of twenty campaigns at $25 a day, with 2.5 sales each, are drawn from."""

    def ground(*, lift=0.5, gate=GATE, tight=True, proven=PROVEN, **scale):
        expected = pilot_cases.expectation(conversions=2.5, roi=0.5).model_copy(update={"roi_log_sd": 0.1})
        plan = make_release_plan(
            pilot_plan, ScaleSettings(**scale), gate, proven, name="run-scale", first_day=pilot_cases.FIRST_DAY
        )
        made = ReleaseGround(plan=plan, expected=expected, expected_lift=lift, chance=SaleChance())
        return with_tight_test(made) if tight else made

    return ground


def test_a_large_lift_is_promoted_and_an_identical_agent_is_not(ground_of):
    power = release_power(ground_of(days=40, full_days=30), GATE, seed=3, releases=100)
    by_lift = {each.lift: each for each in power.lifts}
    assert list(by_lift) == [0.0, 0.15, 0.3, 0.5]
    assert by_lift[0.0].promoted == 0
    assert by_lift[0.0].rolled_back <= 0.05
    assert by_lift[0.15].promoted <= 0.05
    assert by_lift[0.5].promoted > by_lift[0.3].promoted
    assert by_lift[0.5].days < by_lift[0.0].days
    assert power.budget_micros == 20 * 70 * 25_000_000


def test_a_worse_agent_is_rolled_back_and_costs_less_than_one_that_stays(ground_of):
    ground = ground_of(days=60)
    rng = np.random.default_rng(5)
    worse = draw_releases(ground, ground.size, -0.4, 60, rng=rng)
    same = draw_releases(ground, ground.size, 0.0, 60, rng=rng)
    assert worse.rolled_back.mean() > 0.9
    assert not worse.promoted.any()
    assert worse.spend_micros.mean() < 0.9 * same.spend_micros.mean()


def test_nothing_is_promoted_before_the_steps_are_over_and_the_pairs_are_old_enough(ground_of):
    ground = ground_of(step_days=6, mature_days=10, days=60)
    ends = draw_releases(ground, ground.size, 3.0, 40, rng=np.random.default_rng(6))
    assert ends.promoted.all()
    pairs_min = ground.plan.exposure.steps[-2].pairs_min
    assert pairs_min == 100
    shares = [step.percent / 100 for step in ground.plan.exposure.steps[:-2]]
    early = sum(share * 6 * 20 for share in shares)  # pairs at the steps before the last
    assert ends.day.min() >= 6 * len(shares) + 10 + 2 * np.floor((pairs_min - early) / 20) - 2


def test_an_improvement_that_is_shown_early_waits_for_the_last_step(ground_of):
    less_sure = PROVEN.model_copy(update={"lower_95": 0.1})  # four steps of twenty days below 100%
    ground = ground_of(proven=less_sure, step_days=20, mature_days=0, days=120)
    ends = draw_releases(ground, ground.size, 3.0, 20, rng=np.random.default_rng(7))
    assert ends.promoted.all()
    assert set(ends.day) == {80}


def test_the_same_seed_gives_the_same_power(ground_of):
    ground = ground_of(days=30)
    first, again = (release_power(ground, GATE, seed=8, releases=30) for _ in range(2))
    assert first == again


def test_a_gate_that_asks_for_less_proof_promotes_smaller_lifts(ground_of):
    lenient = load_gate("scale-production")
    shares = [
        draw_releases(
            ground_of(gate=gate, days=60),
            ReleaseSize(campaigns=20, days=60, full_days=4),
            0.25,
            60,
            rng=np.random.default_rng(9),
        ).promoted.mean()
        for gate in (GATE, lenient)
    ]
    assert shares[1] > shares[0] + 0.1
    low = draw_releases(
        ground_of(gate=lenient, days=60),
        ReleaseSize(campaigns=20, days=60, full_days=4),
        0.05,
        100,
        rng=np.random.default_rng(10),
    )
    assert low.promoted.mean() <= 0.05


def test_a_tight_limit_is_below_the_gates_needs_fewer_pairs_and_raises_no_false_alarms(ground_of):
    ground = ground_of(days=60, tight=False)
    tight = with_tight_test(ground)
    test = tight.plan.lift
    assert test.clip_at < ground.plan.lift.clip_at / 2
    drawn = [
        draw_releases(each, each.size, 0.4, 100, rng=np.random.default_rng(11)).promoted.mean()
        for each in (ground, tight)
    ]
    assert drawn[1] > drawn[0] + 0.2
    alarms = draw_releases(tight, tight.size, 0.0, 400, rng=np.random.default_rng(12))
    assert alarms.rolled_back.mean() <= 0.05
    assert alarms.promoted.mean() <= 0.01
    fresh = largest_observation(tight, tight.size, 0.0, 60, rng=np.random.default_rng(13))
    assert fresh <= test.clip_at * (1 + 4 * BEYOND_MAX)


def test_a_plan_that_is_too_small_is_refused_with_the_size_that_is_enough(ground_of):
    ground = ground_of(days=20, full_days=4)
    power = release_power(ground, GATE, seed=1, releases=60, lifts=())
    assert not power.is_enough
    with pytest.raises(BadInput, match="20 campaigns for 20 days of comparison and 4 at 100% cannot carry") as refused:
        refuse_without_power(power, ground, GATE, seed=1)
    named = re.search(r"plan (\d+) campaigns for scale.days=(\d+) and scale.full_days=(\d+) ", str(refused.value))
    campaigns, days, full_days = map(int, named.groups())
    size = ReleaseSize(campaigns=campaigns, days=days, full_days=full_days)
    again = release_power(ground, GATE, seed=99, size=size, lifts=())
    assert again.expected.concludes >= POWER_LEAST - 0.08


def test_where_less_is_expected_than_is_asked_no_budget_is_named(ground_of):
    ground = ground_of(lift=0.1)
    power = release_power(ground, GATE, seed=1, releases=30, lifts=())
    with pytest.raises(BadInput, match=r"no budget shows \+15% where \+10% is expected"):
        refuse_without_power(power, ground, GATE, seed=1)
