"""A platform's daily budget is reserved at its worst, and the worst cases together stay within the cap."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gaelp.budget.platform_budget import (
    Overdelivery,
    PlatformBudget,
    change_budget,
    day_worst_micros,
    largest_budget_micros,
    load_platform_terms,
    span_worst_micros,
    total_worst_micros,
)
from gaelp.errors import MoneyError, Refused

TERMS = load_platform_terms()
GOOGLE, META = TERMS.of("google-ads"), TERMS.of("meta-ads")
AMOUNTS = st.integers(0, 10**13)
ANY_TERMS = st.builds(
    Overdelivery,
    platform=st.just("any"),
    day_percent=st.integers(100, 1000),
    period=st.sampled_from(["week", "month"]),
    period_percent=st.integers(1000, 10_000),
    step_micros=st.sampled_from([1, 10_000, 1_000_000]),
    why=st.just("any"),
)
BUDGETS = st.lists(st.builds(PlatformBudget, terms=ANY_TERMS, daily_micros=AMOUNTS), max_size=5)


@pytest.mark.parametrize(
    ("terms", "daily", "worst"),
    [(GOOGLE, 50_000_000, 100_000_000), (META, 50_000_000, 87_500_000), (META, 1, 2), (META, 3, 6), (GOOGLE, 0, 0)],
)
def test_the_worst_day_is_the_platforms_factor_rounded_up(terms, daily, worst):
    assert day_worst_micros(daily, terms) == worst


def test_a_whole_month_costs_at_most_30_4_budgets_on_google():
    assert span_worst_micros(1_000_000, GOOGLE, date(2026, 3, 1), date(2026, 3, 31)) == 30_400_000


def test_two_days_of_two_months_are_not_sheltered_by_one_months_limit():
    assert span_worst_micros(1_000_000, GOOGLE, date(2026, 3, 1), date(2026, 4, 30)) == 60_800_000
    assert span_worst_micros(1_000_000, GOOGLE, date(2026, 3, 31), date(2026, 4, 1)) == 4_000_000


def test_a_week_of_meta_runs_from_sunday_to_saturday():
    sunday = date(2026, 11, 15)
    assert span_worst_micros(1_000_000, META, sunday, sunday + timedelta(days=6)) == 7_000_000
    assert span_worst_micros(1_000_000, META, sunday + timedelta(days=1), sunday + timedelta(days=7)) == 8_750_000


@given(AMOUNTS, ANY_TERMS, st.integers(1, 70))
def test_a_span_costs_no_more_than_its_days_and_no_less_than_its_first(daily, terms, days):
    first = date(2026, 1, 20)
    whole = span_worst_micros(daily, terms, first, first + timedelta(days=days - 1))
    assert day_worst_micros(daily, terms) <= whole <= days * day_worst_micros(daily, terms)
    assert whole <= span_worst_micros(daily, terms, first, first + timedelta(days=days))


@given(AMOUNTS, ANY_TERMS)
def test_the_largest_budget_fits_its_cap_and_the_next_one_does_not(cap, terms):
    budget = largest_budget_micros(cap, terms)
    assert budget % terms.step_micros == 0
    assert day_worst_micros(budget, terms) <= cap < day_worst_micros(budget + terms.step_micros, terms)


@given(BUDGETS, AMOUNTS, ANY_TERMS, st.lists(AMOUNTS, max_size=3), AMOUNTS)
def test_the_worst_cases_never_exceed_the_cap_whatever_is_asked(others, cap, terms, earlier, wanted):
    new = PlatformBudget(terms=terms, daily_micros=wanted)
    try:
        change = change_budget(new, earlier_today=earlier, others=others, cap_micros=cap)
    except Refused:
        worst_today = day_worst_micros(max([wanted, *earlier]), terms)
        assert total_worst_micros(others) + worst_today > cap
    else:
        assert total_worst_micros(others) + change.day_reserve_micros <= cap
        assert change.day_reserve_micros >= day_worst_micros(wanted, terms)


@given(BUDGETS, ANY_TERMS, st.integers(1, 10**13))
def test_the_last_micro_of_a_cap_may_be_used_and_not_one_more(others, terms, wanted):
    new = PlatformBudget(terms=terms, daily_micros=wanted)
    exact = total_worst_micros([new, *others])
    assert change_budget(new, earlier_today=[], others=others, cap_micros=exact).daily_micros == wanted
    with pytest.raises(Refused):
        change_budget(new, earlier_today=[], others=others, cap_micros=exact - 1)


def test_a_raised_budget_reserves_the_difference_and_a_lowered_one_frees_nothing_today():
    def asked(micros, earlier):
        new = PlatformBudget(terms=GOOGLE, daily_micros=micros)
        change = change_budget(new, earlier_today=earlier, others=[], cap_micros=1000)
        return change.day_reserve_micros, change.extra_micros

    assert asked(100, []) == (200, 200)
    assert asked(150, [100]) == (300, 100)
    assert asked(50, [150, 100]) == (300, 0)


def test_a_refusal_names_the_largest_budget_that_fits():
    new = PlatformBudget(terms=GOOGLE, daily_micros=60_000_000)
    other = PlatformBudget(terms=META, daily_micros=10_000_000)
    with pytest.raises(Refused, match="largest budget that fits is 41250000"):
        change_budget(new, earlier_today=[], others=[other], cap_micros=100_000_000)


@pytest.mark.parametrize("micros", [1.0, True, -1, "1", 2**63, None, float("nan")])
def test_only_whole_micros_are_budgets(micros):
    for function in (day_worst_micros, largest_budget_micros):
        with pytest.raises(MoneyError):
            function(micros, GOOGLE)


def test_a_platform_without_terms_gets_no_budget():
    with pytest.raises(Refused, match="no overdelivery terms for 'new-ads', known: google-ads, meta-ads"):
        TERMS.of("new-ads")


@pytest.mark.parametrize("change", [{"day_percent": 99}, {"period_percent": 150}, {"why": ""}, {"day_percent": 2.5}])
def test_terms_that_promise_too_little_are_refused(change):
    with pytest.raises(ValidationError):
        Overdelivery.model_validate({**GOOGLE.model_dump(), **change})
