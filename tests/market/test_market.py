"""A campaign's path depends on its seed and its actions alone, and nothing is created or lost on the way."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gaelp.errors import ActionError, DataError
from gaelp.market.market import seeds_from
from gaelp.market.view import Action

SEEN = ("opportunities", "impressions", "clicks", "conversions", "cost_micros", "price_level_log", "exposure")


def steady(market):
    """Bids, pace and creatives that differ between segments but not between campaigns."""
    place = np.arange(market.spec.segments)
    bids = (market.spec.price.level_micros * (0.5 + place / market.spec.segments)).astype(np.int64)
    shape = (market.campaigns, market.spec.segments)
    creative = np.broadcast_to(place % market.spec.creatives.count, shape).astype(np.int8)
    return Action(np.tile(bids, (market.campaigns, 1)), np.full(market.campaigns, 0.9, np.float32), creative)


def play(market, hours):
    """What is seen and won in each hour: shape (hours, N, S, numbers)."""
    rows = []
    for _ in range(hours):
        obs, outcome = market.step(steady(market))
        rows.append(np.stack([getattr(obs, name).astype(float) for name in SEEN] + [outcome.value_micros], axis=-1))
    return np.array(rows)


def path(market, seeds):
    market.reset(seeds)
    return play(market, market.hours)


def test_same_seeds_give_the_same_path(everything):
    seeds = seeds_from(5, 6)
    assert np.array_equal(path(everything, seeds), path(everything, seeds))


def test_different_seeds_give_different_paths(everything):
    paths = path(everything, seeds_from(5, 6))
    assert len({paths[:, n].tobytes() for n in range(6)}) == 6


@pytest.mark.parametrize("order", [[0], [3, 1], [5, 4, 3, 2, 1, 0], [0, 1, 2, 3, 4, 5, 0, 0]])
def test_neighbours_order_and_batch_size_do_not_change_a_campaign(everything, order):
    seeds = seeds_from(5, 6)
    whole = path(everything, seeds)
    assert np.array_equal(path(everything, seeds[order]), whole[:, order])


def test_shards_add_up_to_the_whole(everything):
    seeds = seeds_from(9, 7)
    whole = path(everything, seeds)
    shards = [path(everything, part) for part in np.array_split(seeds, 3)]
    assert np.array_equal(np.concatenate(shards, axis=1), whole)


def test_campaign_seeds_do_not_depend_on_how_many_there_are():
    assert np.array_equal(seeds_from(3, 100)[:10], seeds_from(3, 10))
    assert len(set(seeds_from(3, 1000)) | set(seeds_from(3, 1000, episode=1)) | set(seeds_from(4, 1000))) == 3000


@pytest.mark.parametrize("saved_at", [0, 1, 25, 71])
def test_a_saved_market_continues_bit_for_bit(everything, make_market, everything_spec, saved_at):
    seeds = seeds_from(5, 4)
    whole = path(everything, seeds)
    everything.reset(seeds)
    play(everything, saved_at)
    saved = everything.save()
    play(everything, min(3, everything.hours - saved_at))
    fresh = make_market(**everything_spec)
    fresh.restore(saved)
    assert np.array_equal(play(fresh, fresh.hours - saved_at), whole[saved_at:])


def test_state_of_another_market_is_refused(everything, make_market):
    everything.reset(seeds_from(1, 4))
    with pytest.raises(DataError, match=r"shape .* needs"):
        make_market(segments=3).restore(everything.save())


SPECS = st.fixed_dictionaries(
    {
        "days": st.integers(1, 2),
        "segments": st.integers(1, 5),
        "volume": st.fixed_dictionaries({"per_hour": st.floats(0.5, 400), "overdispersion": st.floats(0.01, 2)}),
        "price": st.fixed_dictionaries(
            {
                "payment": st.sampled_from(["first", "second"]),
                "level_micros": st.integers(1, 100_000),
                "steepness": st.floats(0.5, 2),
                "common_drift_sd": st.floats(0, 0.5),
                "jump_log_size": st.floats(0, 1),
            }
        ),
        "response": st.fixed_dictionaries(
            {
                "click_rate": st.floats(0.001, 0.5),
                "conversion_rate": st.floats(0.001, 0.5),
                "daypart_amplitude": st.floats(0, 1),
                "value_drift_sd": st.floats(0, 0.5),
                "persona_strength": st.floats(0, 1),
            }
        ),
        "delay": st.fixed_dictionaries(
            {"mean_hours": st.floats(0, 30), "immediate_share": st.floats(0, 1), "window_hours": st.integers(1, 40)}
        ),
        "fatigue": st.fixed_dictionaries({"strength": st.floats(0, 5)}),
        "creatives": st.fixed_dictionaries({"count": st.integers(1, 4)}),
        "budget": st.fixed_dictionaries({"share_low": st.floats(0.001, 0.05), "share_high": st.floats(0.06, 3)}),
    }
)


@given(overrides=SPECS, seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nothing_is_overspent_negative_or_lost(make_market, random_action, overrides, seed):
    market = make_market(**overrides)
    obs = market.reset(seeds_from(seed, 5))
    rng = np.random.default_rng(seed)
    brief = market.brief
    spent_today = np.zeros(5, np.int64)
    while not market.done:
        spent_today = spent_today if market.hour % 24 else np.zeros(5, np.int64)
        obs, outcome = market.step(random_action(market, rng))
        spent_today += obs.cost_micros.sum(axis=1)
        assert (spent_today <= brief.daily_cap_micros).all()
        assert (obs.total_cost_micros.sum(axis=1) + obs.left_micros == brief.budget_micros).all()
        assert (obs.left_micros >= 0).all()
        assert (obs.day_left_micros >= 0).all()
        assert (obs.clicks <= obs.impressions).all()
        assert (obs.impressions <= obs.opportunities).all()
        assert ((obs.cost_micros == 0) | (obs.impressions > 0)).all()
        assert (obs.total_conversions + market.state.pending + market.state.lost_to_window <= obs.total_clicks).all()
        for name, array in market.state._asdict().items():
            assert np.isfinite(array).all(), name
            if not name.endswith("_log"):
                assert (array >= 0).all(), name
        assert np.isfinite(outcome.reward).all()
    assert (market.state.arriving.sum(axis=0) == market.state.pending).all()


def test_delay_moves_conversions_but_makes_and_loses_none(make_market):
    response = {"click_rate": 0.2, "conversion_rate": 0.4}
    late = make_market(response=response, delay={"mean_hours": 12, "window_hours": 20})
    at_once = make_market(response=response)
    for market in (late, at_once):
        path(market, seeds_from(2, 8))
    state = late.state
    accounted = state.total_conversions + state.pending + state.lost_to_window
    assert np.array_equal(accounted, at_once.state.total_conversions)
    assert np.array_equal(state.total_clicks, at_once.state.total_clicks)
    assert state.pending.sum() > 0
    assert state.lost_to_window.sum() > 0


def test_no_conversion_is_reported_after_its_window(make_market):
    market = make_market(
        response={"click_rate": 0.2, "conversion_rate": 0.4}, delay={"mean_hours": 30, "window_hours": 10}
    )
    market.reset(seeds_from(2, 16))
    play(market, 12)
    nothing = Action(np.zeros((16, market.spec.segments), np.int64))
    reported = []
    while not market.done:
        obs, _ = market.step(nothing)
        reported.append(int(obs.conversions.sum()))
    assert sum(reported[:10]) > 0
    assert sum(reported[10:]) == 0
    assert market.state.pending.sum() == 0


def test_mean_delay_is_as_specified(make_market, personas):
    market = make_market(
        days=10, response={"click_rate": 0.3, "conversion_rate": 0.5}, delay={"mean_hours": 8, "window_hours": 200}
    )
    market.reset(seeds_from(1, 64))
    play(market, 1)
    nothing = Action(np.zeros((64, market.spec.segments), np.int64))
    waits = [int(market.state.conversions.sum())]
    while not market.done:
        obs, _ = market.step(nothing)
        waits.append(int(obs.conversions.sum()))
    mean_wait = np.average(np.arange(len(waits)), weights=waits)
    expected = np.average(8 * personas.delay_index[market.world.persona], weights=market.state.total_clicks)
    assert mean_wait == pytest.approx(expected - 0.5, rel=0.1)  # whole hours lose half of one on average


def test_first_price_pays_the_bid_and_second_price_less(make_market):
    for payment in ("first", "second"):
        market = make_market(
            price={"payment": payment}, budget={"share_low": 5, "share_high": 5, "daily_low": 5, "daily_high": 5}
        )
        market.reset(seeds_from(1, 32))
        obs, _ = market.step(Action(np.full((32, 8), 2000, np.int64)))
        paid = obs.cost_micros.sum() / obs.impressions.sum()
        assert paid == pytest.approx(2000, abs=1) if payment == "first" else paid < 1500


def test_a_new_day_shows_its_own_cap_before_its_first_hour(make_market):
    market = make_market(budget={"daily_low": 0.5, "daily_high": 0.5})
    market.reset(seeds_from(3, 8))
    play(market, 23)
    obs, _ = market.step(steady(market))
    expected = np.minimum(market.brief.daily_cap_micros, obs.left_micros)
    assert (obs.hour == 24).all()
    assert np.array_equal(obs.day_left_micros, expected)


def test_an_hour_without_bids_says_nothing_about_prices(make_market):
    market = make_market(price={"diurnal_amplitude": 0.0}, rivals={"depth": 0.0})
    before = market.reset(seeds_from(3, 8)).price_level_log.copy()
    obs, _ = market.step(Action(np.zeros((8, 8), np.int64)))
    assert np.array_equal(obs.price_level_log, before)
    assert np.array_equal(obs.price_signal_log, before)


def test_fatigue_lowers_clicks_and_value(make_market):
    fresh, tired = make_market(), make_market(fatigue={"strength": 3.0})
    for market in (fresh, tired):
        path(market, seeds_from(4, 64))
    assert np.array_equal(fresh.state.total_impressions, tired.state.total_impressions)
    assert tired.state.total_clicks.sum() < 0.8 * fresh.state.total_clicks.sum()
    assert tired.state.value_micros.sum() < fresh.state.value_micros.sum()


def test_creative_multiplies_value_by_the_personas_affinity(make_market, personas):
    market = make_market(creatives={"count": 3})
    values = []
    for creative in range(3):
        market.reset(seeds_from(4, 16))
        action = Action(np.full((16, 8), 3000, np.int64), creative=np.full((16, 8), creative, np.int8))
        _, outcome = market.step(action)
        values.append(outcome.value_micros.copy())
    affinity = np.exp(personas.affinity_log[market.world.persona])
    won = values[0] > 0
    assert np.allclose((values[2] / values[1])[won], (affinity[..., 2] / affinity[..., 1])[won], rtol=1e-4)


def test_half_pace_enters_half_the_auctions(make_market):
    market = make_market(budget={"share_low": 5, "share_high": 5, "daily_low": 5, "daily_high": 5})
    won = []
    for pace in (1.0, 0.5, 0.0):
        market.reset(seeds_from(4, 256))
        obs, _ = market.step(Action(np.full((256, 8), 2000, np.int64), np.full(256, pace, np.float32)))
        won.append(int(obs.impressions.sum()))
    assert won[1] == pytest.approx(won[0] / 2, rel=0.03)
    assert won[2] == 0


def test_volume_follows_the_personas_week(make_market, personas):
    market = make_market(days=7, volume={"segment_log_sd": 0.0, "per_hour": 100})
    market.reset(seeds_from(8, 400))
    hours = (market.world.start_hour_of_week[None, :] + np.arange(168)[:, None]) % 168
    expected = 100 * personas.activity[market.world.persona[None], hours[:, :, None]]
    ratio = market.world.volume.sum(axis=(1, 2)) / expected.sum(axis=(1, 2))
    assert np.abs(ratio - 1).max() < 0.04


def test_flights_begin_at_the_hours_that_are_weighted(make_market):
    market = make_market(launch_hours=[0] * 9 + [3, 1] + [0] * 13)
    market.reset(seeds_from(8, 4000))
    hours = np.bincount(market.world.start_hour_of_week % 24, minlength=24)
    assert hours[[9, 10]].sum() == 4000
    assert hours[9] == pytest.approx(3000, rel=0.04)
    assert len(np.unique(market.world.start_hour_of_week // 24)) == 7


def test_prices_follow_the_clock_whatever_the_hour_of_launch(make_market):
    price = {"diurnal_amplitude": 0.4, "common_drift_sd": 0, "segment_drift_sd": 0, "hourly_noise_sd": 0}
    price |= {"segment_log_sd": 0, "campaign_log_sd": 0}
    market = make_market(price=price, rivals={"depth": 0.5, "randomness": 0}, launch_hours=[1] * 24)
    obs = market.reset(seeds_from(8, 200))
    brief = market.brief
    clock = brief.hour_of_day(np.arange(72)[:, None])
    level_log = market.world.level_log.mean(axis=2)
    by_hour = np.array([level_log[clock == hour].mean() for hour in range(24)])
    expected = brief.price_profile_log + np.log(market.spec.price.level_micros)
    assert by_hour == pytest.approx(expected, abs=0.04)
    launch = brief.price_forecast_log + brief.price_profile_log[brief.hour_of_day(0)][:, None]
    assert obs.price_level_log == pytest.approx(launch)


def test_opportunities_are_overdispersed_as_specified(make_market):
    market = make_market(volume={"overdispersion": 0.3, "segment_log_sd": 0.0, "per_hour": 200}, segments=4)
    market.reset(seeds_from(8, 500))
    hours = (market.world.start_hour_of_week[None, :] + np.arange(72)[:, None]) % 168
    mean = 200 * market.personas.activity[market.world.persona[None], hours[:, :, None]]
    excess = ((market.world.volume - mean) ** 2 - mean) / mean**2
    assert np.median(excess.mean(axis=(1, 2))) == pytest.approx(0.3, rel=0.1)


def test_randomised_parameters_differ_between_campaigns_and_stay_in_range(make_market):
    market = make_market(randomise={"response.daypart_amplitude": [0.1, 0.5], "price.level_micros": [1000, 4000]})
    market.reset(seeds_from(3, 200))
    drawn = market.world.parameters
    for name, low, high in (("response_daypart_amplitude", 0.1, 0.5), ("price_level_micros", 1000, 4000)):
        assert low <= drawn[name].min() < drawn[name].max() <= high
        assert drawn[name].std() > 0.2 * (high - low)
    assert len(set(drawn["delay_mean_hours"])) == 1


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (Action(np.zeros((4, 7), np.int64)), r"shape \(4, 7\)"),
        (Action(np.zeros((4, 8), np.float64)), "float64"),
        (Action(np.zeros((4, 8), np.int64), np.array([1, 1, np.nan, 1], np.float32)), r"pace\[2\] is nan"),
        (Action(np.zeros((4, 8), np.int64), creative=np.full((4, 8), 3, np.int8)), r"creative\[0, 0\] is 3"),
    ],
)
def test_an_action_that_cannot_be_carried_out_is_refused_and_changes_nothing(everything, action, message):
    everything.reset(seeds_from(1, 4))
    before = everything.save()
    with pytest.raises(ActionError, match=message):
        everything.step(action)
    assert all(np.array_equal(before[name], array) for name, array in everything.save().items())


def test_out_of_range_pace_and_bids_are_clipped_and_counted(everything):
    everything.reset(seeds_from(1, 4))
    bids = np.full((4, 8), 1000, np.int64)
    bids[0, 0] = -5
    _, outcome = everything.step(Action(bids, np.array([2.0, -1.0, 0.5, 1.0], np.float32)))
    assert outcome.clipped == 3


def test_a_finished_episode_takes_no_step(make_market):
    market = make_market(days=1)
    path(market, seeds_from(1, 2))
    with pytest.raises(ActionError, match="ended after 24 hours"):
        market.step(steady(market))


def test_world_that_is_given_runs_like_the_same_world_that_is_drawn(make_market):
    drawn, given_world = make_market(days=1), make_market(days=1)
    seeds = seeds_from(5, 3)
    drawn.reset(seeds)
    given_world.launch(drawn.world, seeds)
    bids = Action(np.full((3, drawn.spec.segments), 2000, np.int64))
    for _ in range(24):
        drawn.step(bids)
        given_world.step(bids)
    assert (drawn.state.total_cost_micros == given_world.state.total_cost_micros).all()
    assert (drawn.state.total_clicks == given_world.state.total_clicks).all()


def test_world_of_another_length_is_refused_and_a_given_world_is_not_saved(make_market):
    short, long = make_market(days=1), make_market(days=2)
    short.reset(seeds_from(5, 3))
    with pytest.raises(DataError, match="build it for the market's days"):
        long.launch(short.world, seeds_from(5, 3))
    short.launch(short.world, seeds_from(5, 3))
    with pytest.raises(DataError, match="only episodes that began with reset"):
        short.save()
    short.reset(seeds_from(5, 3))
    assert "seeds" in short.save()
