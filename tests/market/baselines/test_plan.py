from dataclasses import replace

import numpy as np

from gaelp.market.baselines.plan import SpendPlan, day_end, day_left_micros
from gaelp.market.campaign_rows import join, take
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
    hour = np.full(3, 20)
    brief, obs = small_market.brief, replace(small_market.observe(), hour=hour)
    plan = SpendPlan(brief, 0.0)
    rich = replace(obs, day_left_micros=obs.left_micros)
    np.testing.assert_allclose(plan.target_micros(rich), obs.left_micros * plan.share(hour) / plan.rest(hour))
    nearly = replace(obs, day_left_micros=obs.left_micros // 1000)
    expected = (obs.left_micros // 1000) * plan.share(hour) / plan.rest_of_day(hour)
    np.testing.assert_allclose(plan.target_micros(nearly), expected)


def test_a_day_ends_at_midnight_or_with_the_flight(small_market):
    brief = replace(small_market.brief, hours=np.array([48, 48, 40]))
    ends = [day_end(brief, np.full(3, hour)).tolist() for hour in (0, 23, 24, 39)]
    assert ends == [[24, 24, 24], [24, 24, 24], [48, 48, 40], [48, 48, 40]]


def test_a_new_day_has_its_whole_cap(small_market):
    brief = small_market.brief
    spent_out = replace(small_market.observe(), hour=np.full(3, 24), day_left_micros=np.zeros(3, dtype=np.int64))
    whole = np.minimum(brief.daily_cap_micros, spent_out.left_micros)
    np.testing.assert_array_equal(day_left_micros(brief, spent_out), whole)
    np.testing.assert_array_equal(day_left_micros(brief, replace(spent_out, hour=np.full(3, 25))), np.zeros(3))
    ages = replace(spent_out, hour=np.array([24, 25, 48]))
    np.testing.assert_array_equal(day_left_micros(brief, ages), whole * [1, 0, 1])


def test_a_campaign_has_the_same_plan_to_the_bit_alone_and_beside_longer_flights(make_market):
    budget = {"daily_low": 0.9, "daily_high": 1.3}
    month, week = (make_market(days=days, segments=5, budget=budget) for days in (30, 7))
    for market in (month, week):
        market.reset(seeds_from(3, 40))
    together = SpendPlan(join([month.brief, week.brief]), -1.2).before
    for row in range(40):
        alone = SpendPlan(take(month.brief, [row]), -1.2).before
        np.testing.assert_array_equal(alone[:, 0], together[:, row])
        alone = SpendPlan(take(week.brief, [row]), -1.2).before
        np.testing.assert_array_equal(alone[:, 0], together[: 7 * 24 + 1, 40 + row])
    assert (together[7 * 24 :, 40:] == together[7 * 24, 40:]).all()
