"""Briefs of running campaigns, and the flights that long campaigns are cut into."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.errors import DataError
from gaelp.market.campaign_rows import take
from gaelp.market.from_reports import (
    PersonaRules,
    belief_from,
    brief_from_estimates,
    flight_brief,
    flight_hours,
    typical_price_log,
)
from gaelp.market.from_reports.brief import segment_personas
from gaelp.market.market import seeds_from
from tests.market.from_reports.market_reports import build_policy, observer_of


def estimates(market, **changes):
    """Those of a market's own campaigns."""
    brief = market.brief
    own = {
        "volume_per_hour": brief.volume_forecast.astype(np.float64),
        "price_level_log": brief.price_forecast_log.astype(np.float64),
        "conversion_value_micros": brief.conversion_value_micros,
        "daily_budget_micros": brief.budget_micros // market.spec.days,
        "start_hour_of_week": brief.start_hour_of_week,
        "delay_mean_hours": brief.delay_mean_hours,
    }
    return {**own, **changes}


def test_the_estimates_of_a_market_s_own_campaigns_give_its_own_brief(make_market):
    market = make_market(
        delay={"mean_hours": 5}, reports={"lag_hours": 2}, hour_of_week=[1.0 + h % 24 for h in range(168)]
    )
    market.reset(seeds_from(1, 4))
    made, own = brief_from_estimates(market, **estimates(market)), market.brief
    drawn = {"persona", "daily_cap_micros", "budget_micros", "budget_share"}
    for name in {field.name for field in fields(own)} - drawn:
        wanted, actual = getattr(own, name), getattr(made, name)
        if isinstance(wanted, np.ndarray):
            np.testing.assert_allclose(actual, wanted, rtol=1e-6, err_msg=name)
            assert actual.dtype == wanted.dtype, name
        else:
            assert actual is wanted or actual == pytest.approx(wanted), name
    np.testing.assert_allclose(made.budget_micros, own.budget_micros, atol=market.spec.days)
    np.testing.assert_allclose(made.budget_share, own.budget_share, rtol=1e-4)
    assert np.array_equal(made.daily_cap_micros * market.spec.days, made.budget_micros)


def test_policies_act_on_a_made_brief_with_any_number_of_segments(make_market):
    market = make_market()
    shape = (2, 5)
    brief = brief_from_estimates(
        market,
        volume_per_hour=np.full(shape, 50.0),
        price_level_log=np.full(shape, 8.0),
        conversion_value_micros=np.full(shape, 2_000_000.0),
        daily_budget_micros=np.full(2, 10**6),
        start_hour_of_week=np.array([3, 170]),
        click_rate=np.full(shape, 0.03),
        conversion_rate=np.full(shape, 0.1),
    )
    assert brief.click_rate == pytest.approx(0.03)
    assert brief.conversion_rate == pytest.approx(0.1)
    assert brief.start_hour_of_week.tolist() == [3, 2]
    for key in ("mpc", "pid", "learned"):
        policy = build_policy(key)
        policy.begin(brief)
        market_like = type("Account", (), {"brief": brief, "spec": market.spec, "landscapes": market.landscapes})
        assert (policy.act(observer_of(market_like).observe()).bid_micros > 0).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"volume_per_hour": np.zeros((3, 8))}, r"volume_per_hour\[0, 0\] is 0; allowed: above 0"),
        ({"price_level_log": np.full((3, 8), np.nan)}, "price_level"),
        ({"click_rate": np.full((3, 8), -1.0)}, "click_rate"),
        ({"daily_budget_micros": np.zeros(3, np.int64)}, "daily_budget_micros"),
        ({"persona_rules": PersonaRules(names=("nobody",))}, "personas nobody for 8 segments"),
    ],
)
def test_impossible_estimates_are_refused_by_name(make_market, change, message):
    market = make_market()
    market.reset(seeds_from(1, 3))
    with pytest.raises(DataError, match=message):
        brief_from_estimates(market, **estimates(market, **change))


@given(segments=st.integers(1, 60))
def test_segments_get_personas_by_share_or_all_the_first_or_as_named(personas, segments):
    by_share = segment_personas(personas, segments, PersonaRules())
    counts = np.bincount(by_share, minlength=len(personas.names))
    assert np.abs(counts - personas.share * segments).max() <= 1
    assert not segment_personas(personas, segments, PersonaRules(mapping="first")).any()
    names = (personas.names[-1],) * segments
    assert set(segment_personas(personas, segments, PersonaRules(names=names))) == {len(personas.names) - 1}


def test_a_mean_price_becomes_that_of_an_average_hour(make_market):
    market = make_market(price={"diurnal_amplitude": 0.5})
    market.reset(seeds_from(1, 1))
    typical = typical_price_log(np.array([[8.0]]), market)
    assert np.log(np.exp(typical[0, 0] + market.brief.price_profile_log).mean()) == pytest.approx(8.0)


@given(total=st.integers(1, 2000), hours=st.integers(1, 200))
def test_flights_cover_every_hour_once(total, hours):
    flights = flight_hours(total, hours)
    assert [hour for flight in flights for hour in flight] == list(range(total))
    assert all(len(flight) == hours for flight in flights[:-1])


def test_a_later_flight_begins_at_its_own_hour_of_the_week_with_its_share_of_money(make_market):
    market = make_market()
    market.reset(seeds_from(1, 3))
    later = flight_brief(market.brief, 144, 36)
    assert np.array_equal(later.start_hour_of_week, (market.brief.start_hour_of_week + 144) % 168)
    assert np.array_equal(later.budget_micros, market.brief.budget_micros // 2)
    assert later.start_hour_of_week.dtype == np.int32


def test_a_belief_is_the_market_s_average_before_and_follows_the_evidence_after(make_market):
    market = make_market()
    market.reset(seeds_from(1, 2))
    obs, brief = take(market.observe(), [0, 1]), market.brief
    prior = belief_from(brief, obs)
    worth = brief.click_rate * brief.conversion_rate * brief.conversion_value_micros
    np.testing.assert_allclose(np.exp(prior.value_log), np.repeat(worth[:, None], 8, axis=1), rtol=1e-6)
    obs.total_impressions[:], obs.total_clicks[:], obs.total_conversions[:] = 10**6, 30_000, 6_000
    after = belief_from(brief, obs)
    expected = 0.03 * 0.2 * brief.conversion_value_micros[:, None]
    np.testing.assert_allclose(np.exp(after.value_log), np.broadcast_to(expected, (2, 8)), rtol=0.01)
    assert (after.value_log_sd < 0.1 * prior.value_log_sd).all()
