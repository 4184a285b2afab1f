from dataclasses import replace

import numpy as np

from gaelp.market.baselines.forecasts import PriceLevelForecast, VolumeForecast, calendar_by_intent, calendar_by_price


def test_price_levels_leave_the_hour_of_day_out(small_market):
    brief = small_market.brief
    levels = PriceLevelForecast(brief)
    obs = small_market.observe()
    now_log, usual_log = levels.update(obs)
    np.testing.assert_allclose(now_log, brief.price_forecast_log, atol=1e-5)
    np.testing.assert_allclose(usual_log, brief.price_forecast_log, atol=1e-5)
    later = replace(
        obs, hour=np.full(3, 5), price_level_log=brief.price_forecast_log + brief.price_profile_log[5] + 1.0
    )
    now_log, usual_log = levels.update(later)
    np.testing.assert_allclose(now_log, brief.price_forecast_log + 1.0, atol=1e-5)
    np.testing.assert_allclose(usual_log, brief.price_forecast_log + 0.2, atol=1e-5)  # the fifth hour it has heard of


def test_the_volume_forecast_moves_to_what_is_seen(small_market):
    brief = small_market.brief
    volumes = VolumeForecast(brief, prior_hours=10)
    obs = small_market.observe()
    np.testing.assert_allclose(volumes.update(obs), brief.volume_forecast)
    counts = np.full((3, 2), 500, dtype=np.int32)
    activity = brief.activity[brief.persona, brief.start_hour_of_week[:, None]]
    expected = (10 * brief.volume_forecast + 500) / (10 + activity)
    np.testing.assert_allclose(
        volumes.update(replace(obs, hour=np.full(3, 1), opportunities=counts)), expected, rtol=1e-6
    )


def test_a_calendar_adds_up_the_activity_of_any_span_by_bin(small_market):
    brief = small_market.brief
    for calendar in (calendar_by_price(brief), calendar_by_intent(brief)):
        for n, start in enumerate(brief.start_hour_of_week):
            hours = np.arange(7, 30)
            activity = brief.activity[brief.persona[n, 0], (start + hours) % 168]
            expected = np.bincount(calendar.bin_of_hour[hours % 24], activity, len(calendar.price_log))
            row = calendar.cumulative[brief.persona[n, 0]]
            np.testing.assert_allclose(row[:, start + 30] - row[:, start + 7], expected)


def test_hours_share_a_bin_with_hours_of_like_price(small_market):
    calendar = calendar_by_price(small_market.brief)
    profile = small_market.brief.price_profile_log
    assert len(calendar.price_log) == 6
    assert (np.diff(calendar.price_log) > 0).all()
    assert np.abs(calendar.price_log[calendar.bin_of_hour] - profile).max() < 0.5 * np.ptp(profile)


def test_intent_has_a_bin_for_each_hour_of_the_day(small_market):
    calendar = calendar_by_intent(small_market.brief)
    np.testing.assert_array_equal(calendar.bin_of_hour, np.arange(24))
    np.testing.assert_allclose(calendar.price_log, small_market.brief.price_profile_log, rtol=1e-6)


def test_auctions_without_hours_of_day_need_one_price_bin(replay):
    calendar = calendar_by_price(replay.brief)
    assert calendar.cumulative.shape == (1, 1, replay.hours + 1)
    assert len(calendar_by_intent(replay.brief).price_log) == 24
