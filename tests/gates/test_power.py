"""What a gate can see: the stated numbers have the stated power, checked by simulation."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from gaelp.gates.criteria import Criterion, Gate, load_gate
from gaelp.gates.lift_test import first_look, lift_plan
from gaelp.gates.power import POWERS, PowerAssumptions, gate_power
from gaelp.types import Phase

ASSUMED = PowerAssumptions()


def powers(name, **assumed):
    return {rule.figure: rule for rule in gate_power(load_gate(name), PowerAssumptions(**assumed))}


def sample(rule, truth, power=0.8, against=None):
    [row] = [
        row
        for row in rule.rows
        if row.truth == pytest.approx(truth) and row.power == power and against in (None, row.against)
    ]
    return row.sample


@pytest.fixture(scope="module")
def scale():
    return powers("scale")


@pytest.mark.parametrize("phase", list(Phase))
def test_every_rule_says_what_it_can_see_or_why_not(phase, scale):
    rules = scale if phase == "scale" else powers(phase)
    assert list(rules) == [rule.figure for rule in load_gate(phase).criteria]
    for rule in rules.values():
        assert rule.notes
        assert rule.rows or "sampling error" in rule.notes[0]
        assert all(0 < row.power <= 1 for row in rule.rows)


@pytest.mark.parametrize(("truth", "against", "finds"), [(-0.3, 0.0, "worse"), (0.5, 0.15, "better")])
def test_the_stated_pairs_decide_a_watched_lift_with_the_stated_power(scale, truth, against, finds):
    gate = load_gate("scale")
    needed = sample(scale["improvement_lower_95"], truth, against=against)
    log_sd = math.sqrt(math.log1p(ASSUMED.spread**2))
    rng = np.random.default_rng(77)
    treatment, control = (rng.lognormal(-(log_sd**2) / 2, log_sd, (300, needed)) for _ in range(2))
    plan = lift_plan(gate, gate.criteria[0])
    looks = first_look(treatment * (1 + truth), control, plan, lift=against, finds=finds)
    assert (looks > 0).mean() == pytest.approx(0.8, abs=0.1)


def test_a_live_gate_cannot_see_5_percent_and_says_so(scale):
    assert sample(scale["improvement_lower_95"], -0.05) is None
    assert sample(scale["improvement_lower_95"], 0.2) is None


def test_a_pair_costs_two_campaign_days_and_a_campaign_its_flight(scale):
    rows = scale["improvement_lower_95"].rows
    assert all(row.dollars == 2 * 25 * row.sample for row in rows if row.sample)
    assert all(row.days == 2 * math.ceil(row.sample / 20) for row in rows if row.sample)  # a block of two days
    [row] = [
        row for row in powers("pilot")["roi_lower_95"].rows if row.truth == pytest.approx(0.3) and row.power == 0.8
    ]
    assert (row.days, row.dollars) == (2 * 14, row.sample * 14 * 25)
    dearer = powers("pilot", spend_per_day=50.0, campaigns=40)["roi_lower_95"].rows[2]
    assert (dearer.days, dearer.dollars) == (14, 2 * row.dollars)


def test_campaigns_for_a_return_on_investment_have_the_stated_power():
    rule = powers("pilot")["roi_lower_95"]
    for power in POWERS:
        needed = sample(rule, 0.3, power)
        roi = np.random.default_rng(5).normal(0.3, 0.47, (20_000, needed))
        lower = roi.mean(1) - 1.96 * roi.std(1, ddof=1) / math.sqrt(needed)
        assert (lower >= 0.05).mean() == pytest.approx(power, abs=0.02)
    assert sample(powers("pilot", sd={"roi": 0.94})["roi_lower_95"], 0.3) > 3.9 * sample(rule, 0.3)
    assert "46 of 7 days ($8,050), 28 of 14 days ($9,800), 21 of 28 days ($14,700)" in rule.notes[1]


def test_spans_of_a_hundred_expected_conversions_are_positive_by_merit_and_single_campaigns_are_not():
    rule = powers("pilot")["positive_roi_streak"]
    rng = np.random.default_rng(6)
    sales = rng.poisson(100, (20_000, 3))
    value = 1.3 * rng.gamma(sales / 0.35**2, 0.35**2) / 100
    assert {row.truth: row.power for row in rule.rows}[0.3] == pytest.approx((value > 1).all(1).mean(), abs=0.02)
    assert rule.false_alarms == 1 / 8
    single = powers("pilot", span_conversions=17.5)["positive_roi_streak"]  # of a campaign in 14 days at $25
    assert {row.truth: row.power for row in single.rows}[0.3] < 0.6


def wilson_lower(successes, n):
    z, share = 1.959964, successes / n
    middle = share + z**2 / (2 * n)
    return (middle - z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))) / (1 + z**2 / n)


@pytest.mark.parametrize("power", POWERS)
def test_campaigns_for_a_success_rate_pass_wilsons_bound_with_the_stated_power(scale, power):
    needed = sample(scale["campaign_success_rate_lower_95"], 0.95, power)
    counts = np.arange(needed + 1)
    passes = binom.pmf(counts, needed, 0.95)[wilson_lower(counts, needed) >= 0.9].sum()
    assert power <= passes <= power + 0.06  # binomial chances are a saw-tooth


def test_flights_cost_what_an_agent_spends_in_them_and_take_days_at_full_exposure(scale):
    row = next(row for row in scale["campaign_success_rate_lower_95"].rows if row.sample)
    assert row.dollars == row.sample * 500
    assert row.days == math.ceil(row.dollars / (20 * 25))


def test_a_share_that_must_stay_small_needs_thousands_of_episodes():
    rule = Criterion(
        metric="success_rate",
        at_most=0.002,
        compare="upper_95",
        sample_metric="episodes",
        minimum_sample=200,
        why="the share of ruined campaigns",
    )
    [small] = gate_power(Gate(name="own", follows="simulation", criteria=(rule,)), ASSUMED)
    assert 3000 < sample(small, 0.0005) < 10_000
    assert "1.49% with 200, 0.15% with 2,000" in small.notes[0]
    assert 0.945 < 1 - (1 - 0.0015) ** 2000 < 0.955


def test_a_violation_must_occur_to_be_seen():
    rule = powers("pilot")["safety_violations"]
    assert 1 - 0.95 ** sample(rule, 0.05, 0.95) >= 0.95 > 1 - 0.95 ** (sample(rule, 0.05, 0.95) - 1)


def test_a_correlation_of_09_needs_sixty_days_to_show_08():
    needed = sample(powers("history")["correlation_with_actuals_lower_95"], 0.9)
    rng = np.random.default_rng(8)
    x = rng.normal(size=(4000, needed))
    y = 0.9 * x + math.sqrt(1 - 0.81) * rng.normal(size=x.shape)
    r = np.array([np.corrcoef(a, b)[0, 1] for a, b in zip(x, y, strict=True)])
    lower = np.tanh(np.arctanh(r) - 1.96 / math.sqrt(needed - 3))
    assert (lower >= 0.8).mean() == pytest.approx(0.8, abs=0.03)


def test_few_ruined_campaigns_are_proven_few_with_the_stated_power():
    needed = sample(powers("simulation")["ruined_share_upper_95"], 0.0075 / 2)
    ruined = np.random.default_rng(9).binomial(needed, 0.0075 / 2, 20_000)
    share, z = ruined / needed, 1.959963984540054
    half = z * np.sqrt(share * (1 - share) / needed + z**2 / (4 * needed**2))
    upper = (share + z**2 / (2 * needed) + half) / (1 + z**2 / needed)  # Wilson's
    assert (upper <= 0.0075).mean() == pytest.approx(0.8, abs=0.03)


def test_an_assumed_spread_can_be_replaced_and_an_unknown_one_is_admitted():
    wide, narrow = (powers("simulation", sd={"reward": sd})["reward_lower_95"].rows[0].truth for sd in (0.2, 0.1))
    assert wide - 0.7 == pytest.approx(2 * (narrow - 0.7))
    match = powers("history")["simulator_match"]
    assert match.rows == ()
    assert match.false_alarms is None
    assert "not modelled" in match.notes[0]


def test_without_a_limit_no_false_alarm_rate_is_promised(monkeypatch):
    monkeypatch.setattr("gaelp.gates.power._PAIRS_MAX", 300)
    gate = load_gate("scale")
    rule = gate.criteria[0].model_copy(update={"clip_at": None})
    [power] = gate_power(gate.model_copy(update={"criteria": (rule,)}), PowerAssumptions(spread=0.3))
    assert power.false_alarms is None
    assert "exceed alpha where spreads differ" in power.notes[0]
