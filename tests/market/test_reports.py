"""Late and revised reports: nothing is seen before its time, and in the end what was valid."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gaelp.market.market import seeds_from
from gaelp.market.view import Action

CLICKING = {"click_rate": 0.2, "conversion_rate": 0.3}
LATE = ("opportunities", "impressions", "clicks", "conversions", "cost_micros", "total_impressions", "total_clicks")
LATE += ("total_conversions", "total_cost_micros", "left_micros", "maturing_clicks", "exposure", "in_market")
LATE += ("creative_clicks", "price_signal_log")


def history(market, seed=4, campaigns=6):
    """Observations of a flight with random bids, copied, the first before launch."""
    rng = np.random.default_rng(seed)
    obs = market.reset(seeds_from(seed, campaigns))
    taken = [{name: np.copy(getattr(obs, name)) for name in obs.__slots__ if name != "known_value_log"}]
    while not market.done:
        bids = np.exp(rng.normal(np.log(2500), 0.6, (campaigns, market.spec.segments))).astype(np.int64)
        obs, _ = market.step(Action(bids))
        taken.append({name: np.copy(getattr(obs, name)) for name in obs.__slots__ if name != "known_value_log"})
    return taken


@given(lag=st.integers(1, 30), seed=st.integers(0, 1000))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_hour_is_seen_exactly_its_lag_late(make_market, lag, seed):
    prompt = history(make_market(response=CLICKING, launch_hours=[1] * 24), seed)
    late = history(make_market(response=CLICKING, launch_hours=[1] * 24, reports={"lag_hours": lag}), seed)
    for hour, report in enumerate(late):
        for name in LATE:
            assert np.array_equal(report[name], prompt[max(hour - lag, 0)][name]), (name, hour)
        for name in ("hour", "bid_log", "pace", "creative"):
            assert np.array_equal(report[name], prompt[hour][name]), (name, hour)


def test_late_price_estimates_follow_the_hour_of_day(make_market):
    numbers = {"price": {"diurnal_amplitude": 0.5}, "launch_hours": [1] * 24}
    market = make_market(**numbers, reports={"lag_hours": 5})
    late, prompt = history(market), history(make_market(**numbers))
    profile_log, start = market.brief.price_profile_log, market.brief.start_hour_of_week
    for hour, report in enumerate(late):
        known = max(hour - 5, 0)
        moved = profile_log[(start + hour) % 24] - profile_log[(start + known) % 24]
        assert report["price_level_log"] == pytest.approx(prompt[known]["price_level_log"] + moved[:, None], abs=1e-4)


def test_nothing_of_a_new_day_is_reported_until_the_lag_is_over(make_market):
    market = make_market(days=2, reports={"lag_hours": 4}, budget={"daily_low": 1.0, "daily_high": 1.0})
    late = history(market)
    for hour in (24, 27):
        most = np.minimum(market.brief.daily_cap_micros, late[hour]["left_micros"])
        assert np.array_equal(late[hour]["day_left_micros"], most)
    assert (late[29]["day_left_micros"] <= np.minimum(market.brief.daily_cap_micros, late[29]["left_micros"])).all()


def test_invalid_traffic_is_reported_first_and_taken_back_later(make_market):
    reports = {"invalid_share": 0.2, "revised_after_hours": 6}
    revised, clean = (history(make_market(response=CLICKING, reports=given), campaigns=32) for given in (reports, {}))
    clicks = sum(report["clicks"].sum() for report in revised)
    valid = sum(report["clicks"].sum() for report in clean)
    assert clicks * 0.8 == pytest.approx(valid, rel=0.02)
    for hour in range(1, len(revised)):
        newest = range(max(hour - 5, 1), hour + 1)
        for total, name in (("total_clicks", "clicks"), ("total_cost_micros", "cost_micros")):
            still_open = sum(revised[h][name] - clean[h][name] for h in newest)
            assert np.array_equal(revised[hour][total], clean[hour][total] + still_open)
        assert (revised[hour]["left_micros"] <= clean[hour]["left_micros"]).all()
        assert (revised[hour]["day_left_micros"] <= revised[hour]["left_micros"]).all()
        assert np.array_equal(revised[hour]["impressions"], clean[hour]["impressions"])


def test_lag_and_revision_change_what_is_seen_and_nothing_that_happens(make_market):
    markets = [make_market(response=CLICKING, reports=r) for r in ({}, {"lag_hours": 7, "invalid_share": 0.3})]
    for market in markets:
        history(market)
    for name, array in markets[0].state._asdict().items():
        assert np.array_equal(array, getattr(markets[1].state, name)), name
    assert np.array_equal(markets[0].meter.value_micros, markets[1].meter.value_micros)


def test_a_saved_market_resumes_with_the_same_reports(make_market):
    numbers = {"response": CLICKING, "reports": {"lag_hours": 3, "invalid_share": 0.2, "revised_after_hours": 5}}
    market, other = make_market(**numbers), make_market(**numbers)
    market.reset(seeds_from(2, 8))
    bids = Action(np.full((8, 8), 2500, np.int64))
    for _ in range(20):
        market.step(bids)
    resumed = other.restore(market.save())
    for _ in range(10):
        obs, resumed = market.step(bids)[0], other.step(bids)[0]
        for name in LATE:
            assert np.array_equal(getattr(obs, name), getattr(resumed, name)), name


def test_explicit_defaults_leave_an_episode_and_the_written_spec_unchanged(make_market):
    plain = make_market(response=CLICKING)
    launch_hours = [1] + [0] * 23
    same = make_market(response={**CLICKING, "return_ratio": 1.0}, reports={"lag_hours": 0}, launch_hours=launch_hours)
    for before, after in zip(history(plain), history(same), strict=True):
        for name, array in before.items():
            assert np.array_equal(array, after[name]), name
    written = plain.spec.model_dump()
    assert not {"reports", "launch_hours"} & set(written)
    assert "return_ratio" not in written["response"]
    assert not {"family", "shape", "parts"} & set(written["delay"])
