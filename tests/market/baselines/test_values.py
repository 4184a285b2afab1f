from dataclasses import replace

import numpy as np
import pytest

from gaelp.market.baselines.values import SignalWeights, ValueParameters, Values, shrunken_rate
from gaelp.market.market import seeds_from
from gaelp.types import SegmentBelief

PLAIN = ValueParameters(click_prior=4, conversion_prior=3, campaign_prior=5, maturing_correction=1, optimism=0)


def counts(rows):
    return np.array(rows, dtype=np.int32)


@pytest.fixture
def begun(small_market):
    def begin(parameters=PLAIN, signals=None):
        values = Values(parameters, signals)
        values.begin(small_market.brief)
        return values

    return begin


def test_a_rate_is_drawn_to_its_campaign_and_that_to_the_market():
    rate = shrunken_rate(np.array([[6.0, 0.0]]), np.array([[100.0, 300.0]]), market_rate=0.01, weights=(5.0, 4.0))
    campaign = (6 + 5) / (400 + 500)
    np.testing.assert_allclose(rate, [[(6 + 4) / (100 + 4 / campaign), 4 / (300 + 4 / campaign)]])


def test_the_value_of_two_segments_is_that_of_a_computation_by_hand(small_market, begun):
    obs = replace(
        small_market.observe(),
        total_impressions=counts([[1000, 1000]] * 3),
        total_clicks=counts([[20, 0]] * 3),
        total_conversions=counts([[3, 0]] * 3),
        maturing_clicks=np.array([[5.0, 0.0]] * 3, dtype=np.float32),
    )
    value_log, sd_log = begun().log_value(obs)
    campaign_click = (20 + 5) / (2000 + 5 / 0.01)
    click = np.array([(20 + 4) / (1000 + 4 / campaign_click), 4 / (1000 + 4 / campaign_click)])
    campaign_conversion = (3 + 5) / (15 + 5 / 0.06)
    conversion = np.array([(3 + 3) / (15 + 3 / campaign_conversion), 3 / (3 / campaign_conversion)])
    worth = small_market.brief.conversion_value_micros[:, None] * click * conversion
    np.testing.assert_allclose(value_log, np.log(worth))
    np.testing.assert_allclose(sd_log, [[np.sqrt(1 / 24 + 1 / 6), np.sqrt(1 / 4 + 1 / 3)]] * 3)


def test_before_launch_every_segment_is_worth_the_market_average(small_market, begun):
    value_log, _ = begun().log_value(small_market.observe())
    average = 0.01 * 0.06 * small_market.brief.conversion_value_micros
    np.testing.assert_allclose(np.exp(value_log), np.repeat(average[:, None], 2, axis=1))


def test_much_data_recovers_the_true_rates(small_market, begun):
    rng = np.random.default_rng(0)
    click_rate = np.array([[0.004, 0.03], [0.02, 0.01], [0.001, 0.05]])
    conversion_rate = np.array([[0.1, 0.02], [0.06, 0.3], [0.2, 0.01]])
    shown = counts(np.full((3, 2), 20_000_000))
    clicks = rng.binomial(shown, click_rate)
    obs = replace(
        small_market.observe(),
        total_impressions=shown,
        total_clicks=counts(clicks),
        total_conversions=counts(rng.binomial(clicks, conversion_rate)),
    )
    value_log, sd_log = begun().log_value(obs)
    truth = np.log(click_rate * conversion_rate * small_market.brief.conversion_value_micros[:, None])
    np.testing.assert_allclose(value_log, truth, atol=0.06)
    assert sd_log.max() < 0.03


def test_clicks_that_may_still_convert_do_not_lower_the_value(small_market, begun):
    observed = {"total_impressions": counts([[1000, 1000]] * 3), "total_clicks": counts([[20, 20]] * 3)}
    ripe = replace(small_market.observe(), **observed)
    fresh = replace(ripe, maturing_clicks=np.array([[20.0, 0.0]] * 3, dtype=np.float32))
    assert (begun().log_value(fresh)[0][:, 0] > begun().log_value(ripe)[0][:, 0] + 0.1).all()
    careless = PLAIN.model_copy(update={"maturing_correction": 0.0})
    np.testing.assert_array_equal(begun(careless).log_value(fresh)[0], begun(careless).log_value(ripe)[0])


def test_optimism_adds_standard_deviations(small_market, begun):
    plain, sd_log = begun().log_value(small_market.observe())
    hopeful, _ = begun(PLAIN.model_copy(update={"optimism": 0.5})).log_value(small_market.observe())
    np.testing.assert_allclose(hopeful, plain + 0.5 * sd_log)


def test_signals_of_no_weight_change_nothing(small_market, begun):
    informed, _ = begun(PLAIN, SignalWeights(daypart=0, price=0)).log_value(small_market.observe())
    np.testing.assert_array_equal(informed, begun().log_value(small_market.observe())[0])


def test_an_informed_value_follows_the_intent_of_the_hour(small_market, begun):
    brief = small_market.brief
    plain, _ = begun().log_value(small_market.observe())
    for hour in (0, 9, 33):
        informed, _ = begun(PLAIN, SignalWeights(daypart=0.7)).log_value(
            replace(small_market.observe(), hour=np.full(3, hour))
        )
        np.testing.assert_allclose(informed - plain, 0.7 * brief.intent_log[brief.persona, hour % 24], atol=1e-6)


def test_an_informed_value_expects_more_of_a_dear_segment_until_clicks_tell(small_market, begun):
    level_log = small_market.observe().price_level_log
    dearer = level_log - level_log.mean(axis=1, keepdims=True)
    plain, _ = begun().log_value(small_market.observe())
    informed, _ = begun(PLAIN, SignalWeights(price=0.8)).log_value(small_market.observe())
    np.testing.assert_allclose(informed - plain, 0.8 * dearer, atol=1e-5)
    known = replace(
        small_market.observe(),
        total_impressions=counts(np.full((3, 2), 10_000_000)),
        total_clicks=counts(np.full((3, 2), 100_000)),
    )
    informed, _ = begun(PLAIN, SignalWeights(price=0.8)).log_value(known)
    np.testing.assert_allclose(informed, begun().log_value(known)[0], atol=1e-3)


def test_known_values_are_passed_on_without_doubt(make_market):
    market = make_market(days=1, response={"values_known": True, "daypart_amplitude": 0.5})
    obs = market.reset(seeds_from(3, 4))
    values = Values(PLAIN)
    values.begin(market.brief)
    value_log, sd_log = values.log_value(obs)
    np.testing.assert_array_equal(value_log, obs.known_value_log)
    assert not sd_log.any()


def test_what_lasts_of_known_values_is_their_mean(replay):
    values = Values(PLAIN)
    obs = replay.reset()
    values.begin(replay.brief)
    observed = []
    for _ in range(3):
        lasting_log, _ = values.lasting(obs)
        observed.append(np.exp(obs.known_value_log))
        obs = replace(obs, hour=obs.hour + 1, known_value_log=obs.known_value_log + 1.0)
    prior = replay.brief.click_rate * replay.brief.conversion_value_micros[:, None]
    weight = 0.05 * replay.hours
    np.testing.assert_allclose(np.exp(lasting_log), (weight * prior + sum(observed)) / (weight + 3))


def test_a_belief_counts_by_its_precision_and_fades_as_the_campaign_shows_more(make_market):
    market = make_market(days=1)
    obs = market.reset(seeds_from(5, 20))
    shape = market.brief.persona.shape
    plain, believing = Values(ValueParameters(optimism=0.0)), Values(ValueParameters(optimism=0.0))
    plain.begin(market.brief)
    without, sd_log = plain.log_value(obs)
    believed = SegmentBelief(without + 1.0, np.full(shape, 0.5))
    believing.begin(market.brief, believed)
    weight = sd_log**2 / (sd_log**2 + 0.25)
    assert believing.log_value(obs)[0] == pytest.approx(without + weight)
    obs.total_clicks[:] = 4000
    obs.total_impressions[:] = 400_000
    obs.total_conversions[:] = 400
    seen = plain.log_value(obs)[0]
    assert np.abs(believing.log_value(obs)[0] - seen).max() < 0.1


def test_a_belief_is_part_of_the_state(make_market):
    market = make_market(days=1)
    obs = market.reset(seeds_from(5, 4))
    shape = market.brief.persona.shape
    values, restored = Values(ValueParameters()), Values(ValueParameters())
    values.begin(market.brief, SegmentBelief(np.full(shape, 8.0), np.full(shape, 0.3)))
    restored.begin(market.brief)
    restored.restore(values.state())
    assert (restored.log_value(obs)[0] == values.log_value(obs)[0]).all()
