"""More money only for what is proven, used up and worth it; taken back at once on harm, whatever else is known."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.config.objective import Objective
from gaelp.gates.lift_test import LiftInterval
from gaelp.release.budget_response import BudgetDays
from gaelp.release.budget_rules import BudgetEvidence, BudgetRules, next_budgets
from gaelp.release.exposure import ExposureState

DOLLAR = 1_000_000
FIRST = 50 * DOLLAR
RULES = BudgetRules(raise_percent=20, raised_daily_micros=2 * FIRST, step_micros=10_000, lift_lower_min=0.15)
PROFIT = RULES.model_copy(update={"objective": Objective(kind="profit")})
PROMOTED = ExposureState(step=2, since_day=8, ended="promoted")
PROVEN = LiftInterval(0.4, 0.2, 0.6, 400, 0.0)


def evidence_of(returns, *, now=FIRST, used=0.95, days=28, state=PROMOTED, lift=PROVEN, sale=DOLLAR):
    """Campaigns with these returns on every day; many small sales, so that they are known well."""
    count = len(returns)
    daily = np.full((days, count), now)
    spend = (daily * np.broadcast_to(used, count)).astype(np.int64)
    return BudgetEvidence(
        campaigns=[f"c{number}" for number in range(count)],
        first_micros=np.full(count, FIRST),
        state=state,
        lift=lift,
        days=BudgetDays(
            value_micros=np.array(returns) * spend,
            spend_micros=spend,
            daily_micros=daily,
            counted=np.ones((days, count), bool),
            known_share=np.ones(days),
            sale_micros=np.full(count, sale),
            now_micros=np.broadcast_to(now, count).astype(np.int64),
        ),
    )


def decide(evidence, rules=RULES, allowed=10**12):
    return next_budgets(rules, evidence, lambda: np.broadcast_to(allowed, len(evidence.campaigns)).astype(np.int64))


def dollars(decision):
    return [micros / DOLLAR for micros in decision.daily_micros]


def asked_for_the_mandate():
    raise AssertionError("taking money back must not depend on the mandate")


@pytest.mark.parametrize("ended", ["", "rolled_back", "aborted"])
def test_without_a_promotion_no_budget_rises(ended):
    decision = next_budgets(RULES, evidence_of([9.0, 9.0], state=ExposureState(ended=ended)), asked_for_the_mandate)
    assert dollars(decision) == [50, 50]
    assert "until the improvement is proven" in decision.why or "the release was" in decision.why


@pytest.mark.parametrize("ended", ["rolled_back", "aborted"])
def test_a_release_that_ends_badly_returns_every_raise_at_once(ended):
    harmed = evidence_of([9.0, 9.0], now=90 * DOLLAR, state=ExposureState(ended=ended))
    assert dollars(next_budgets(RULES, harmed, asked_for_the_mandate)) == [50, 50]


@pytest.mark.parametrize("lower", [-0.01, -1.0, math.nan])
def test_an_improvement_that_is_no_longer_shown_returns_every_raise_at_once(lower):
    doubted = evidence_of([9.0] * 2, now=90 * DOLLAR, lift=LiftInterval(0.1, lower, 0.6, 400, 0.0))
    decision = next_budgets(RULES, doubted, asked_for_the_mandate)
    assert dollars(decision) == [50, 50]
    assert "no improvement is shown any more" in decision.why


def test_proven_budgets_rise_by_the_daily_percentage():
    assert dollars(decide(evidence_of([2.0, 2.0, 2.0]))) == [60, 60, 60]


def test_a_lower_bound_below_what_promotes_stops_raises_and_takes_nothing_away():
    decision = decide(evidence_of([2.0] * 3, now=60 * DOLLAR, lift=LiftInterval(0.3, 0.1, 0.5, 400, 0.0)))
    assert dollars(decision) == [60, 60, 60]
    assert "+10.0% or more, a raise needs +15.0%" in decision.campaigns[0].why


def test_a_campaign_that_does_not_use_its_budget_up_gets_no_raise():
    decision = decide(evidence_of([2.0] * 3, used=[0.95, 0.5, 0.95]))
    assert dollars(decision)[0] == dollars(decision)[2] == 60
    assert dollars(decision)[1] <= 50
    assert decision.campaigns[1].used_share == pytest.approx(0.5)


def test_a_campaign_that_is_shown_to_lose_money_is_halved_once_and_its_money_is_not_forced_on_others():
    decision = decide(evidence_of([2.0, 0.6, 2.0]))
    assert dollars(decision) == [60, 25, 60]
    assert decision.campaigns[1].why == "it is shown to lose money"
    assert dollars(decide(evidence_of([2.0, 0.6, 2.0], now=25 * DOLLAR)))[1] == 25


def test_a_campaign_with_few_days_gets_no_raise():
    assert dollars(decide(evidence_of([2.0] * 3, days=3))) == [50, 50, 50]


def test_a_campaign_whose_return_is_not_shown_to_pay_gets_no_raise():
    decision = decide(evidence_of([2.0, 1.02, 2.0]))
    assert dollars(decision) == [60, 50, 60]
    assert "would fall below what the objective asks" in decision.campaigns[1].why


def test_few_sales_give_no_raise_where_many_do():
    assert dollars(decide(evidence_of([1.3] * 4, sale=DOLLAR)))[0] == 60
    assert dollars(decide(evidence_of([1.3] * 4, sale=400 * DOLLAR)))[0] == 50


def test_for_profit_the_next_dollar_itself_must_return_a_dollar():
    # of a return of 1.5 the next dollar has about half: more value, less profit
    assert dollars(decide(evidence_of([1.5, 4.0]), PROFIT)) == [50, 60]
    assert dollars(decide(evidence_of([1.5, 4.0]), RULES)) == [60, 60]


def test_a_target_return_has_to_hold_after_the_raise():
    target = RULES.model_copy(update={"objective": Objective(kind="target_roas", target_roas=1.9)})
    assert dollars(decide(evidence_of([2.0, 4.0]), target))[1] == 60
    assert dollars(decide(evidence_of([2.0, 4.0]), target))[0] < 55


def test_no_budget_exceeds_what_was_signed_or_what_the_mandate_allows_today():
    assert dollars(decide(evidence_of([2.0] * 2, now=95 * DOLLAR))) == [100, 100]
    assert dollars(decide(evidence_of([2.0] * 2), allowed=55 * DOLLAR + 9_999)) == [55, 55]


def test_every_campaign_has_a_reason_and_the_figures_behind_it():
    decision = decide(evidence_of([2.0, 0.6, 1.0, 1.02]))
    for each in decision.campaigns:
        assert each.why
        assert each.return_lower <= each.return_value
        assert each.days == 28
    assert decision.gap_micros >= 0
    assert [each.campaign for each in decision.changed][:2] == ["c0", "c1"]


@given(
    seed=st.integers(0, 2**32),
    count=st.integers(1, 25),
    percent=st.integers(0, 100),
    step=st.sampled_from([1, 10_000, DOLLAR]),
    lower=st.floats(-1, 1),
    kind=st.sampled_from(["value", "profit"]),
)
def test_whatever_was_seen_no_budget_breaks_a_bound(seed, count, percent, step, lower, kind):
    rng = np.random.default_rng(seed)
    now = rng.integers(max(DOLLAR // step, 1), 100 * DOLLAR // step, count) * step
    evidence = evidence_of(rng.gamma(2, 0.7, count), now=now, used=rng.random(count), days=int(rng.integers(1, 30)))
    evidence = replace(evidence, lift=LiftInterval(0.3, lower, 1.0, 200, 0.0))
    rules = BudgetRules(
        raise_percent=percent,
        raised_daily_micros=100 * DOLLAR,
        step_micros=step,
        lift_lower_min=0.15,
        objective=Objective(kind=kind),
    )
    allowed = rng.integers(DOLLAR, 150 * DOLLAR, count)
    decision = decide(evidence, rules, allowed)
    after = np.array(decision.daily_micros)
    assert (after >= np.minimum(step, now)).all()
    assert (after % step == 0).all()
    assert (after <= np.maximum(now * (100 + percent) // 100, step)).all()
    assert (after <= 100 * DOLLAR).all()
    assert after.sum() <= now.sum() * (100 + percent) // 100 or (after <= step).any()
    if lower < 0.15:
        assert (after <= now).all()
    else:
        assert (after <= np.maximum(allowed, step)).all()
    again = decide(evidence, rules, allowed)
    assert again == decision
