from dataclasses import replace

import numpy as np

from gaelp.market.baselines.plan import SpendPlan, day_end, day_left_micros
from gaelp.market.market import seeds_from


def uncapped(brief):
    return replace(brief, daily_cap_micros=brief.budget_micros * 10)


def test_without_caps_spend_is_planned_in_proportion_to_forecast_volume(small_market):
    brief = uncapped(small_market.brief)
    plan = SpendPlan(brief, price_response=0.0)
    hours = (brief.start_hour_of_week[:, None] + np.arange(48)) % 168
    volume = (brief.activity[brief.persona[:, :, None], hours[:, None, :]] * brief.volume_forecast[:, :, None]).sum(
        axis=1
    )
    np.testing.assert_allclose(np.diff(plan.before, axis=0).T, volume / volume.sum(axis=1, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(plan.rest(10), 1 - plan.before[10])
    np.testing.assert_allclose(plan.rest_of_day(10), plan.before[24] - plan.before[10])


def test_a_negative_response_saves_money_for_cheap_hours(small_market):
    brief = uncapped(small_market.brief)
    dearest = int(np.argmax(brief.price_profile_log))
    cheapest = int(np.argmin(brief.price_profile_log))
    patient, even = SpendPlan(brief, -2.0), SpendPlan(brief, 0.0)
    assert (patient.share(dearest) < even.share(dearest)).all()
    assert (patient.share(cheapest) > even.share(cheapest)).all()


def test_no_day_is_planned_above_its_cap_and_the_rest_goes_to_other_days(make_market):
    market = make_market(days=5, budget={"daily_low": 1.0, "daily_high": 1.1})
    market.reset(seeds_from(2, 30))
    brief = market.brief
    by_day = np.diff(SpendPlan(brief, 0.0).before[::24], axis=0)
    cap = brief.daily_cap_micros / brief.budget_micros
    assert (by_day <= cap + 1e-9).all()
    np.testing.assert_allclose(by_day.sum(axis=0), np.minimum(1.0, 5 * cap), rtol=1e-9)
    free = np.diff(SpendPlan(uncapped(brief), 0.0).before[::24], axis=0)
    assert (free > cap + 1e-3).any()


def test_where_caps_forbid_the_budget_the_plan_spends_the_caps(small_market):
    brief = replace(small_market.brief, daily_cap_micros=small_market.brief.budget_micros // 4)
    np.testing.assert_allclose(SpendPlan(brief, 0.0).before[-1], 0.5, rtol=1e-4)


def test_a_target_leaves_neither_budget_nor_cap_to_run_out_early(small_market):
    brief, obs = small_market.brief, replace(small_market.observe(), hour=20)
    plan = SpendPlan(brief, 0.0)
    rich = replace(obs, day_left_micros=obs.left_micros)
    np.testing.assert_allclose(plan.target_micros(rich), obs.left_micros * plan.share(20) / plan.rest(20))
    nearly = replace(obs, day_left_micros=obs.left_micros // 1000)
    expected = (obs.left_micros // 1000) * plan.share(20) / plan.rest_of_day(20)
    np.testing.assert_allclose(plan.target_micros(nearly), expected)


def test_a_day_ends_at_midnight_or_with_the_flight(small_market):
    assert [day_end(small_market.brief, hour) for hour in (0, 23, 24, 47)] == [24, 24, 48, 48]


def test_a_new_day_has_its_whole_cap(small_market):
    brief = small_market.brief
    spent_out = replace(small_market.observe(), hour=24, day_left_micros=np.zeros(3, dtype=np.int64))
    whole = np.minimum(brief.daily_cap_micros, spent_out.left_micros)
    np.testing.assert_array_equal(day_left_micros(brief, spent_out), whole)
    np.testing.assert_array_equal(day_left_micros(brief, replace(spent_out, hour=25)), np.zeros(3))
