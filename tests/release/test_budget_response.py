"""Responses fitted from days: bounds that cover, few sales near the others, elasticity from budget changes."""

import numpy as np
import pytest

from gaelp.errors import BadInput
from gaelp.release.budget_response import BudgetDays, ResponsePrior, fit_responses

SALE = 20_000_000
BUDGET = 50_000_000


def days_of(returns, count=28, budgets=None, seed=1, elasticity=0.5, used=0.9):
    """Poisson sales of campaigns with these true values per dollar at `BUDGET`; budgets of shape (D, N)."""
    returns = np.asarray(returns, float)
    rng = np.random.default_rng(seed)
    budgets = np.full((count, len(returns)), BUDGET) if budgets is None else np.asarray(budgets, np.int64)
    spend = (used * budgets).astype(np.int64)
    expected = returns * used * BUDGET * (budgets / BUDGET) ** elasticity / SALE
    return BudgetDays(
        value_micros=rng.poisson(expected) * float(SALE),
        spend_micros=spend,
        daily_micros=budgets,
        counted=np.ones(budgets.shape, bool),
        known_share=np.ones(len(budgets)),
        sale_micros=np.full(len(returns), SALE),
        now_micros=np.full(len(returns), BUDGET),
    )


def test_the_bounds_cover_the_true_return_about_as_often_as_they_say():
    rng = np.random.default_rng(7)
    below, above = [], []
    for seed in range(40):
        true = rng.gamma(8, 1.5 / 8, 30)
        fitted = fit_responses(days_of(true, count=14, seed=seed), 0.8)
        below.append(fitted.lower <= true)
        above.append(fitted.upper >= true)
    assert 0.77 < np.mean(below) < 0.85
    assert 0.77 < np.mean(above) < 0.85


def test_a_campaign_with_few_days_stays_near_the_others_and_has_wide_bounds():
    days = days_of([1.5] * 20 + [6.0], count=20)
    days.counted[1:, -1] = False
    fitted = fit_responses(days, 0.8)
    many = fit_responses(days_of([1.5] * 20 + [6.0], count=20), 0.8)
    assert fitted.value_per_dollar[-1] < many.value_per_dollar[-1]
    assert fitted.lower[-1] < many.lower[-1]
    assert fitted.days[-1] == 1


def test_value_that_is_not_reported_yet_does_not_look_like_a_poor_return():
    days = days_of([1.5] * 10, count=20)
    late = np.where(np.arange(20) < 17, 1.0, 0.25)
    known = BudgetDays(
        **{name: getattr(days, name) for name in days.__slots__ if name not in ("value_micros", "known_share")},
        value_micros=days.value_micros * late[:, None],
        known_share=late,
    )
    assert fit_responses(known, 0.8).value_per_dollar.mean() == pytest.approx(1.5, rel=0.1)


def test_elasticity_is_learned_from_budgets_that_were_changed():
    budgets = np.tile(np.where(np.arange(60) % 2, BUDGET, 2 * BUDGET)[:, None], (1, 40))
    prior = ResponsePrior(elasticity=0.5, elasticity_sd=0.3)
    steep, flat = (fit_responses(days_of([1.5] * 40, 60, budgets, elasticity=e), 0.8, prior) for e in (0.8, 0.2))
    assert steep.elasticity == pytest.approx(0.8, abs=0.08)
    assert flat.elasticity == pytest.approx(0.2, abs=0.08)
    assert steep.elasticity_lower < steep.elasticity


def test_without_changed_budgets_the_elasticity_is_the_prior():
    fitted = fit_responses(days_of([1.0, 2.0]), 0.8, ResponsePrior(elasticity=0.5, elasticity_sd=0.1))
    assert fitted.elasticity == pytest.approx(0.5, abs=0.005)
    assert fitted.elasticity_lower == pytest.approx(0.5 - 0.0842, abs=0.01)


def test_a_higher_budget_now_means_a_lower_return_for_each_dollar():
    days = days_of([1.5] * 10)
    raised = BudgetDays(
        **{name: getattr(days, name) for name in days.__slots__ if name != "now_micros"},
        now_micros=np.full(10, 2 * BUDGET),
    )
    ratio = fit_responses(raised, 0.8).value_per_dollar / fit_responses(days, 0.8).value_per_dollar
    assert ratio == pytest.approx(np.full(10, 2**-0.5), rel=0.02)


def test_days_with_more_spread_than_chance_widen_the_bounds():
    even, lumpy = days_of(np.linspace(0.8, 2.4, 10)), days_of(np.linspace(0.8, 2.4, 10))
    weeks = even.value_micros.reshape(4, 7, 10).sum(axis=1)
    lumpy.value_micros[:] = 0.0
    lumpy.value_micros[::7] = weeks  # the same sales, all of a week on one day
    narrow, wide = (
        fit.upper.mean() - fit.lower.mean() for fit in (fit_responses(even, 0.8), fit_responses(lumpy, 0.8))
    )
    assert wide > 1.3 * narrow


def test_without_any_day_nothing_is_shown():
    days = days_of([1.5] * 3)
    days.counted[:] = False
    fitted = fit_responses(days, 0.8)
    assert fitted.lower.tolist() == [0.0] * 3
    assert np.isinf(fitted.upper).all()
    assert np.isnan(fitted.used_share).all()


def test_shapes_that_do_not_fit_and_bounds_without_confidence_are_refused():
    with pytest.raises(BadInput, match=r"allowed: 0\.5"):
        fit_responses(days_of([1.0]), 0.4)
    days = days_of([1.0])
    with pytest.raises(BadInput, match="days x campaigns"):
        BudgetDays(
            **{name: getattr(days, name) for name in days.__slots__ if name != "known_share"}, known_share=np.ones(3)
        )
