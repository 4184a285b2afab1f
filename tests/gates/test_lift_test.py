"""The lift of one side over another, watched: when it is shown, its interval, and what is refused."""

import math

import numpy as np
import pytest

from gaelp.errors import BadInput
from gaelp.gates.criteria import load_gate
from gaelp.gates.lift_test import BEYOND_MAX, LiftPlan, first_look, lift_interval, lift_plan

PLAN = LiftPlan(alpha=0.05, minimum=30, clip_at=50)
ASYMPTOTIC = LiftPlan(alpha=0.05, minimum=30)


def pairs(lift=0.0, size=1000, seed=3, log_sd=1.0):
    """Treatment and control, lognormal with mean 1 + lift and 1."""
    rng = np.random.default_rng(seed)
    treatment, control = (rng.lognormal(-(log_sd**2) / 2, log_sd, size) for _ in range(2))
    return treatment * (1 + lift), control


def test_the_capital_by_hand_after_two_pairs():
    # Ten bets of 0.9, 0.45, ... of the limit with stakes 1/2, 1/4, ...; treatment 10 and 20, control 0, limit 1.
    bets, stakes = 0.9 * 0.5 ** np.arange(10), [0.5**k for k in range(1, 10)] + [0.5**9]
    capital = sum(stake * (1 + 10 * bet) * (1 + 20 * bet) for bet, stake in zip(bets, stakes, strict=True))
    sides = np.array([[10.0, 20.0]]), np.zeros((1, 2))
    for alpha, look in ((1.001 / capital, 2), (0.999 / capital, 0)):
        plan = LiftPlan(alpha=alpha, minimum=2, clip_at=1)
        assert first_look(*sides, plan, finds="better") == look


@pytest.mark.parametrize("plan", [PLAN, ASYMPTOTIC])
@pytest.mark.parametrize("finds", ["better", "worse"])
def test_a_lift_is_shown_at_the_first_look_at_which_its_bound_passes_it(plan, finds):
    treatment, control = pairs(lift=0.8 if finds == "better" else -0.5)
    look = int(first_look(treatment[None], control[None], plan, finds=finds)[0])
    assert look >= plan.minimum
    ends = [lift_interval(treatment[:count], control[:count], plan) for count in (look - 1, look)]
    bounds = [-end.lower if finds == "better" else end.upper for end in ends]
    assert bounds[1] < 0 <= bounds[0]


@pytest.mark.parametrize("plan", [PLAN, ASYMPTOTIC])
def test_the_interval_encloses_the_lift_and_closes_in_on_it(plan):
    ends = [lift_interval(*pairs(lift=0.3, size=size), plan) for size in (500, 5000, 50_000)]
    assert all(end.lower < end.lift < end.upper for end in ends)
    assert all(end.lower < 0.3 < end.upper for end in ends)
    assert ends[2].upper - ends[2].lower < 0.15 < ends[0].upper - ends[0].lower
    assert ends[2].metrics("improvement").keys() == {
        *("improvement", "improvement_lower_95", "improvement_upper_95", "paired_observations")
    }


def test_swapped_sides_have_the_inverse_interval():
    treatment, control = pairs(lift=0.5)
    forth, back = lift_interval(treatment, control, PLAN), lift_interval(control, treatment, PLAN)
    assert (1 + forth.lower) * (1 + back.upper) == pytest.approx(1)
    assert (1 + forth.upper) * (1 + back.lower) == pytest.approx(1)


def test_nothing_is_known_below_the_minimum():
    treatment, control = pairs(lift=20, size=PLAN.minimum - 1)
    end = lift_interval(treatment, control, PLAN)
    assert (end.lower, end.upper) == (-1, math.inf)
    assert first_look(treatment[None], control[None], PLAN, finds="better") == 0


def test_a_large_value_beyond_the_limit_stops_every_conclusion():
    treatment, control = pairs(lift=1.0)
    assert lift_interval(treatment, control, PLAN).lower > 0
    control[7] = 3 * BEYOND_MAX * control.sum()
    end = lift_interval(treatment, control, PLAN)
    assert end.beyond_share > BEYOND_MAX
    assert end.lower == -1
    assert not first_look(treatment[None], control[None], PLAN, finds="better").any()


def test_what_exceeds_the_limit_is_charged_to_the_pairs_that_follow():
    # One value of 120 counts as 50, 50 and 20 of three pairs.
    rng = np.random.default_rng(9)
    treatment, control = rng.uniform(1, 3, 3000), np.full(3000, 1.0)
    at_once, spread = control.copy(), control.copy()
    at_once[100:103] = (120, 0, 0)
    spread[100:103] = (50, 50, 20)
    expected = lift_interval(treatment, spread, PLAN)
    assert lift_interval(treatment, at_once, PLAN).lower == pytest.approx(expected.lower)
    assert expected.beyond_share == 0


def test_a_limit_that_is_too_low_shows_nothing_once_larger_values_have_occurred():
    # One order of 50 in fifty days against one of 10 in ten: clipped at 20 the means would be 0.4 and 1.
    rng = np.random.default_rng(4)
    treatment, control = (rng.random(2000) < 0.02) * 50.0, (rng.random(2000) < 0.10) * 10.0
    end = lift_interval(treatment, control, PLAN.model_copy(update={"clip_at": 20}))
    assert end.upper == math.inf
    assert end.beyond_share == pytest.approx(0.6)


def test_the_plan_of_gate_4_is_a_bet_at_the_gates_alpha():
    gate = load_gate("scale")
    assert lift_plan(gate, gate.criteria[0]) == LiftPlan(alpha=0.05, minimum=100, clip_at=50)
    with pytest.raises(BadInput, match="campaign_success_rate is not sequential at gate scale"):
        lift_plan(gate, gate.criteria[1])


@pytest.mark.parametrize(
    ("treatment", "control", "seen"),
    [
        ([1.0, -1.0], [1.0, 1.0], "treatment has values that are negative"),
        ([1.0, 1.0], [1.0, math.nan], "control has values that are negative or no numbers"),
        ([1.0], [1.0, 2.0], "give pairs"),
        ([], [], "at least one"),
    ],
)
def test_what_is_no_pair_of_values_is_refused(treatment, control, seen):
    with pytest.raises(BadInput, match=seen):
        lift_interval(np.array(treatment), np.array(control), PLAN)
