"""A campaign seen through its reports is the campaign that the market shows, as far as reports can tell."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaelp.errors import BadInput, DataError
from gaelp.market.build import build_market, load_market_spec
from gaelp.market.campaign_rows import join, join_states, take, take_state
from gaelp.market.from_reports import LateChanges, Observer, ObserverSpec, ReportedHours, report_model
from gaelp.market.from_reports.opportunities import opportunities_from_share
from gaelp.market.market import Market, seeds_from
from gaelp.market.policy_conformance import state_from_bytes, state_to_bytes
from gaelp.market.view import Action
from tests.market.from_reports.market_reports import assert_same, build_policy, observer_of, reported

PROMPT = {"reports": {}}
CLICKING = {"click_rate": 0.2, "conversion_rate": 0.3}
AMPLE = {"share_low": 5.0, "share_high": 5.0, "daily_low": 5.0, "daily_high": 5.0}


@pytest.fixture(scope="module")
def named_market(personas):
    """A market of the configuration whose reports neither lag nor are revised."""

    def build(name):
        spec = load_market_spec(name)
        return build_market(spec.model_validate({**spec.model_dump(), **PROMPT}), personas)

    return build


@pytest.fixture(scope="module")
def two_days(personas, landscapes):
    spec = load_market_spec("cal").model_copy(update={"days": 2})
    return Market(spec, personas, landscapes)


ZERO = np.zeros((3, 8), np.int64)
EMPTY = ReportedHours(np.zeros(3, np.int64), ZERO, ZERO, ZERO.astype(float), ZERO)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("cal", "mpc"),
        ("cal", "learned"),
        ("search", "mpc"),
        ("search", "eb-pacing"),
        ("full", "pid"),
        ("full", "learned"),
    ],
)
def test_a_campaign_through_the_adapter_is_the_campaign_played_directly(name, key, named_market):
    direct, through = named_market(name), named_market(name)
    obs, _ = direct.reset(seeds_from(1, 4)), through.reset(seeds_from(1, 4))
    observer = observer_of(through, audience=through.world.audience)
    policy, other = build_policy(key), build_policy(key)
    policy.begin(direct.brief)
    other.begin(through.brief)
    while not direct.done:
        rebuilt = observer.observe()
        assert_same(rebuilt, obs, hour=direct.hour)
        wanted, action = policy.act(obs), other.act(rebuilt)
        np.testing.assert_allclose(action.bid_micros, wanted.bid_micros, rtol=1e-5, atol=1)
        observer.bid(action)
        obs, _ = direct.step(wanted)
        through.step(action)
        observer.report(reported(through, in_market=through.state.in_market.astype(np.float64)))
    assert not observer.opportunities_error.any()


def played(market, observer, rng, hours=None, **row):
    """Random bids for some hours; yields the market's observation and the rebuilt one."""
    obs = market.observe()
    for _ in range(hours or market.hours):
        yield obs, observer.observe()
        action = Action(np.exp(rng.normal(np.log(2500), 0.6, obs.clicks.shape)).astype(np.int64))
        observer.bid(action)
        obs, _ = market.step(action)
        observer.report(reported(market, **row))


def test_plain_rows_are_enough_where_the_money_lasts_but_for_the_size_of_the_audience(make_market):
    market = make_market(response=CLICKING, budget=AMPLE, delay={"mean_hours": 5})
    market.reset(seeds_from(2, 5))
    observer = observer_of(market)
    forecast = 24 * market.brief.volume_forecast
    for obs, rebuilt in played(market, observer, np.random.default_rng(1)):
        assert_same(rebuilt, obs, hour=market.hour, but=("exposure",))
        np.testing.assert_allclose(rebuilt.exposure * forecast, obs.exposure * market.world.audience, rtol=1e-4)


def test_an_hour_in_which_the_money_ran_out_is_recognised_from_its_rows(make_market):
    market = make_market(budget={"share_low": 0.05, "share_high": 0.2})
    market.reset(seeds_from(3, 12))
    observer, off_by, levels = observer_of(market), [], []
    for obs, rebuilt in played(market, observer, np.random.default_rng(2)):
        assert_same(
            rebuilt, obs, hour=market.hour, but=("exposure", "in_market", "price_level_log", "price_signal_log")
        )
        off_by.append((rebuilt.in_market - obs.in_market)[obs.in_market < 1])
        levels.append(rebuilt.price_level_log - obs.price_level_log)
    off_by = np.concatenate(off_by)
    assert len(off_by) > 20
    assert np.sqrt(np.mean(off_by**2)) < 0.15
    assert np.sqrt(np.mean(np.square(levels))) < 0.12


@pytest.mark.parametrize("lag", [1, 3, 26])
@pytest.mark.parametrize("invalid", [0.0, 0.2])
def test_late_and_revised_rows_give_what_the_market_reports(lag, invalid, make_market):
    reports = {"lag_hours": lag, "invalid_share": invalid, "revised_after_hours": 24}
    market = make_market(
        response=CLICKING,
        delay={"mean_hours": 5, "immediate_share": 0.2},
        reports=reports,
        launch_hours=[1] * 24,
        creatives={"count": 3},
    )
    rng, obs = np.random.default_rng(lag), market.reset(seeds_from(lag, 4))
    observer = observer_of(market, audience=market.world.audience)
    # The market counts only valid clicks as open and by creative; no report can, before it is revised.
    untold = ("maturing_clicks", "creative_clicks") if invalid else ()
    ran = []  # valid rows of each hour
    while not market.done:
        assert_same(observer.observe(), obs, hour=market.hour, but=untold)
        creative = rng.integers(0, 3, obs.clicks.shape).astype(np.int8)
        bids = np.exp(rng.normal(np.log(2500), 0.6, obs.clicks.shape)).astype(np.int64)
        action = Action(bids, pace=rng.random(4).astype(np.float32), creative=creative)
        observer.bid(action)
        obs, _ = market.step(action)
        ran.append(reported(market, in_market=market.state.in_market.astype(np.float64)))
        known = market.hour - 1 - lag
        if known >= 24 and invalid:
            observer.report(ran[known - 24])
        if known >= 0:
            now = {"clicks": obs.clicks.astype(np.int64), "cost_micros": obs.cost_micros.copy()}
            observer.report(replace(ran[known], **now))


def test_open_clicks_are_those_of_valid_rows_once_all_are_revised(make_market):
    market = make_market(days=1, response=CLICKING, delay={"mean_hours": 8, "family": "lognormal", "shape": 2.0})
    market.reset(seeds_from(5, 3))
    too_many, exact, rng = observer_of(market), observer_of(market), np.random.default_rng(0)
    rows = []
    for obs, _ in played(market, exact, rng):
        if market.hour:
            rows.append(reported(market))
            inflated = replace(rows[-1], clicks=rows[-1].clicks + 3, impressions=rows[-1].impressions + 7)
            too_many.bid(np.log(np.maximum(2500, 1)) + np.zeros(obs.clicks.shape))
            too_many.report(inflated)
    assert (too_many.observe().maturing_clicks > exact.observe().maturing_clicks).all()
    for row in rows:
        too_many.report(row)
    exact_now, corrected = exact.observe(), too_many.observe()
    behind = exact._state.reported[0] - too_many._state.reported[0]
    assert behind == 1  # the last hour was reported to one of them only
    newest = reported(market)
    too_many.bid(np.full(newest.clicks.shape, np.log(2500.0)))
    too_many.report(newest)
    corrected = too_many.observe()
    for name in ("maturing_clicks", "exposure", "total_clicks", "total_impressions"):
        np.testing.assert_allclose(getattr(corrected, name), getattr(exact_now, name), rtol=1e-3, atol=1e-3)


def test_a_revised_row_and_a_late_change_say_the_same(make_market):
    market = make_market(response=CLICKING, delay={"mean_hours": 5})
    market.reset(seeds_from(5, 3))
    by_row, rng = observer_of(market), np.random.default_rng(0)
    rows = [reported(market) for _ in played(market, by_row, rng, 20) if market.hour]
    by_change = observer_of(market)
    by_change.load_state(market.brief, by_row.state())
    old = rows[7]
    changed = {"conversions": old.conversions + 2, "clicks": old.clicks - 1, "cost_micros": old.cost_micros - 9}
    by_row.report(replace(old, impressions=old.impressions + 3, **changed))
    campaign, segment = np.nonzero(old.clicks > -1)
    same = np.ones(len(campaign), np.int64)
    late = LateChanges(campaign, segment, 7 * same, 3 * same, -same, 2.0 * same, -9 * same, 0 * same)
    by_change.revise(late)
    for name, array in by_row.state().items():
        np.testing.assert_allclose(by_change.state()[name], array, rtol=1e-5, atol=1e-6, err_msg=name)
    late_hour = LateChanges(*(np.array([number]) for number in (0, 0, 20, 0, 1, 0.0, 0, 0)))
    with pytest.raises(DataError, match="not reported yet"):
        by_change.revise(late_hour)


@given(seed=st.integers(0, 10_000), lag=st.integers(0, 6))
@settings(max_examples=20, deadline=None)
def test_totals_are_those_of_the_newest_rows_in_whatever_order_they_come(two_days, seed, lag):
    rng, market = np.random.default_rng(seed), two_days
    market.reset(seeds_from(seed, 3))
    observer, shape = observer_of(market), (3, market.spec.segments)
    newest = {}
    for hour in range(market.hours):
        observer.bid(np.log(rng.uniform(1000, 4000, shape)))
        for known in {hour - lag, *rng.integers(0, max(hour - lag, 1), 2).tolist()}:
            if 0 <= known <= hour - lag and (known == hour - lag or known in newest):
                counts = {name: rng.integers(0, 50, shape) for name in ("impressions", "clicks", "cost_micros")}
                row = {**counts, "hour": np.full(3, known), "conversions": rng.integers(0, 3, shape).astype(float)}
                newest[known] = row
                observer.report(replace(EMPTY, **row))
    obs = observer.observe()
    for name in ("impressions", "clicks", "conversions", "cost_micros"):
        total = sum(row[name] for row in newest.values())
        np.testing.assert_array_equal(getattr(obs, f"total_{name}"), total)
    spent = sum(row["cost_micros"].sum(axis=1) for row in newest.values())
    np.testing.assert_array_equal(obs.left_micros, np.maximum(market.brief.budget_micros - spent, 0))
    assert (obs.day_left_micros <= obs.left_micros).all()


def test_campaigns_can_be_split_joined_and_restored_at_any_hour(make_market, everything_spec):
    """Each campaign, alone or in any company and whatever the others' age, is seen as in its own batch."""
    rng, wanted, states, actions, rows, briefs = np.random.default_rng(4), [], [], [], [], []
    for days in (1, 3):
        market = make_market(**{**everything_spec, "days": days})
        market.reset(seeds_from(days, 2))
        observer = observer_of(market)
        for _ in range(20):
            states.append(observer.state())
            briefs.append(take(market.brief, [0, 1]))
            bids = np.exp(rng.normal(np.log(2500), 0.6, (2, 8))).astype(np.int64)
            creative = rng.integers(0, 3, bids.shape).astype(np.int8)
            actions.append(Action(bids, pace=rng.random(2).astype(np.float32), creative=creative))
            observer.bid(actions[-1])
            market.step(actions[-1])
            rows.append(reported(market))
            observer.report(rows[-1])
            wanted.append(take(observer.observe(), [0, 1]))
    every, before = join(briefs), join_states(states)
    for _ in range(30):
        some = rng.permutation(2 * len(rows))[: rng.integers(1, 9)]
        resumed = observer_of(market)
        resumed.load_state(take(every, some), state_from_bytes(state_to_bytes(take_state(before, some))))
        resumed.bid(take(join(actions), some))
        resumed.report(take(join(rows), some))
        assert_same(resumed.observe(), take(join(wanted), some), hour="any")
    with pytest.raises(BadInput, match=r"observer state hour is int64 of shape \(2,\), the brief needs .* \(1,\)"):
        resumed.load_state(take(every, [0]), states[0])


@pytest.mark.parametrize(("hour", "begun"), [(1, 2), (0, 0), (2, 2)])
def test_a_row_out_of_order_is_refused_with_the_way_out(two_days, hour, begun):
    two_days.reset(seeds_from(0, 3))
    observer = observer_of(two_days)
    for _ in range(begun):
        observer.bid(np.full((3, 8), 7.0))
    with pytest.raises(DataError, match="Report empty hours with zeros"):
        observer.report(replace(EMPTY, hour=np.full(3, hour)))


def test_an_hour_too_old_to_be_remembered_is_refused(two_days):
    two_days.reset(seeds_from(0, 3))
    observer = observer_of(two_days, spec=ObserverSpec(revised_hours=48))
    for hour in range(49):
        observer.bid(np.full((3, 8), 7.0))
        observer.report(replace(EMPTY, hour=np.full(3, hour)))
    with pytest.raises(DataError, match="last 48"):
        observer.report(EMPTY)


def test_without_shares_the_volume_is_the_forecast_with_its_error_and_prices_follow_the_day(make_market):
    market = make_market(volume={"prior_log_error": 0.3}, price={"diurnal_amplitude": 0.5}, budget=AMPLE)
    market.reset(seeds_from(6, 4))
    observer, brief = observer_of(market), market.brief
    unknown = np.full((4, 8), np.nan)
    for _ in played(market, observer, np.random.default_rng(1), 12, opportunities=unknown):
        pass
    obs = observer.observe()
    week = (brief.start_hour_of_week + 11)[:, None] % 168
    forecast = brief.volume_forecast * brief.activity[brief.persona, week]
    np.testing.assert_allclose(obs.opportunities, np.maximum(forecast, obs.impressions), atol=1)
    assert (observer.opportunities_error > np.sqrt(0.15)).all()
    assert (observer.opportunities_error < 0.8).all()
    profile = brief.price_profile_log[brief.hour_of_day(obs.hour)]
    np.testing.assert_allclose(obs.price_level_log, brief.price_forecast_log + profile[:, None], rtol=1e-5)


def test_known_shares_correct_the_forecast_of_hours_without_and_floored_ones_bound_it(make_market):
    market = make_market(volume={"prior_log_error": 0.0}, budget=AMPLE)
    market.reset(seeds_from(6, 4))
    brief = replace(market.brief, volume_forecast=market.brief.volume_forecast / 3)
    model, unknown = report_model(market.spec, market.landscapes), np.full((4, 8), np.nan)
    plain, hourly, daily, floored = (Observer(brief, model) for _ in range(4))
    rng, won, possible = np.random.default_rng(1), 0, 0
    for hour in range(48):
        action = Action(np.exp(rng.normal(np.log(600), 0.3, (4, 8))).astype(np.int64))
        for observer in (plain, hourly, daily, floored):
            observer.bid(action)
        market.step(action)
        share = market.state.impressions / np.maximum(market.state.opportunities, 1)
        known, _ = opportunities_from_share(market.state.impressions, share, floor=0.01)
        for observer in (plain, daily, floored):
            observer.report(reported(market, opportunities=unknown))
        hourly.report(reported(market, opportunities=known if hour < 47 else unknown))
        won, possible = won + market.state.impressions, possible + market.state.opportunities
        if hour == 23:
            day = (np.zeros(4, np.int64), np.full(4, 24))
            daily.report_share(*day, won, won / possible, floor=0.01)
            floored.report_share(*day, won, np.full((4, 8), 0.0999))
    truth = market.state.opportunities.sum()
    guesses = [observer.observe().opportunities.sum() / truth for observer in (plain, hourly, daily, floored)]
    assert guesses[0] < 0.7
    assert 0.75 < guesses[1] < 1.2
    assert 0.75 < guesses[2] < 1.2
    assert guesses[3] > guesses[0]
    assert (hourly.opportunities_error < plain.opportunities_error).all()


def test_the_next_flight_begins_as_a_launch_with_as_much_evidence_as_is_carried_over(make_market):
    market = make_market(days=1, response=CLICKING, delay={"mean_hours": 5})
    market.reset(seeds_from(8, 3))
    observer = observer_of(market)
    for _ in played(market, observer, np.random.default_rng(1)):
        pass
    before = observer.observe()
    launch = observer_of(market).observe()
    assert_same(observer.next_flight(market.brief).observe(), launch, hour=0)
    half = observer.next_flight(market.brief, 0.5)
    after = half.observe()
    for name in ("total_impressions", "total_clicks", "total_conversions"):
        np.testing.assert_allclose(getattr(after, name), getattr(before, name) / 2, atol=0.5)
    assert np.array_equal(after.left_micros, market.brief.budget_micros)
    np.testing.assert_allclose(after.maturing_clicks, before.maturing_clicks / 2, rtol=1e-5)
    one = np.ones(1, np.int64)
    half.revise(LateChanges(0 * one, 0 * one, -3 * one, 0 * one, 0 * one, 4.0 * one, 0 * one, 0 * one))
    assert half.observe().total_conversions[0, 0] == pytest.approx(after.total_conversions[0, 0] + 2, abs=1)
    assert np.array_equal(half.observe().left_micros, market.brief.budget_micros)
