"""Each feature means what its description says, and a campaign's features do not depend on its neighbours."""

import numpy as np
import pytest

from gaelp.market.features import FeatureMaker
from gaelp.market.market import seeds_from
from gaelp.market.spaces import FEATURE_LIMIT, GLOBAL_FEATURES, SEGMENT_FEATURES
from gaelp.market.view import Action

GLOBALS = {name: i for i, (name, _) in enumerate(GLOBAL_FEATURES)}
LOCALS = {name: i for i, (name, _) in enumerate(SEGMENT_FEATURES)}


def after(market, seeds, hours, random_action=None):
    obs = market.reset(seeds)
    maker = FeatureMaker(market.brief)
    rng = np.random.default_rng(0)
    bids = np.full((len(seeds), market.spec.segments), market.spec.price.level_micros, np.int64)
    for _ in range(hours):
        obs, _ = market.step(random_action(market, rng) if random_action else Action(bids))
    return obs, maker(obs)


def split(vectors, segments):
    local = vectors[:, len(GLOBALS) :].reshape(len(vectors), len(LOCALS), segments)
    return vectors[:, : len(GLOBALS)], local.transpose(0, 2, 1)


@pytest.mark.parametrize("hours", [0, 1, 30, 72])
def test_features_are_finite_and_inside_their_limit(everything, random_action, hours):
    _, vectors = after(everything, seeds_from(3, 20), hours, random_action)
    assert np.isfinite(vectors).all()
    assert np.abs(vectors).max() <= FEATURE_LIMIT


def test_global_features_say_what_they_are_called(everything):
    obs, vectors = after(everything, seeds_from(3, 20), 30)
    brief = everything.brief
    top, _ = split(vectors, 8)
    assert np.allclose(top[:, GLOBALS["time_elapsed"]], 30 / 72)
    hour_of_day = (everything.brief.start_hour_of_week + 30) % 24
    assert np.allclose(top[:, GLOBALS["hour_sin"]], np.sin(2 * np.pi * hour_of_day / 24), atol=1e-6)
    assert np.allclose(top[:, GLOBALS["budget_left"]], obs.left_micros / brief.budget_micros)
    assert np.allclose(top[:, GLOBALS["day_left"]], obs.day_left_micros / brief.daily_cap_micros)
    hours = (brief.start_hour_of_week[:, None] + np.arange(72)) % 168
    volume = (brief.volume_forecast[:, None] * brief.activity[brief.persona[:, None], hours[:, :, None]]).sum(axis=2)
    to_come = volume[:, 30:].sum(axis=1) / volume.sum(axis=1)
    plan = np.log(np.maximum(obs.left_micros / brief.budget_micros, 1e-3) / to_come)
    assert np.allclose(top[:, GLOBALS["ahead_of_plan"]], plan, atol=1e-3)
    planned = volume[:, 29 - brief.report_lag_hours] / volume.sum(axis=1)
    last = obs.cost_micros.sum(axis=1) / (planned * brief.budget_micros) - 1
    assert np.allclose(top[:, GLOBALS["spend_last_hour"]], np.minimum(last, 3), atol=1e-3)
    assert np.allclose(top[:, GLOBALS["clicks"]], 0.3 * np.log1p(obs.total_clicks.sum(axis=1)), atol=1e-3)


def test_segment_features_say_what_they_are_called(everything):
    obs, vectors = after(everything, seeds_from(3, 20), 30)
    brief = everything.brief
    _, local = split(vectors, 8)
    click = np.log((obs.total_clicks + 4) / (obs.total_impressions * brief.click_rate + 4))
    assert np.allclose(local[..., LOCALS["click_rate"]], click, atol=1e-3)
    ripe = obs.total_clicks - obs.maturing_clicks
    conversion = np.log((obs.total_conversions + 3) / (ripe * brief.conversion_rate + 3))
    assert np.allclose(local[..., LOCALS["conversion_rate"]], conversion, atol=1e-3)
    assert np.allclose(local[..., LOCALS["value"]], click + conversion, atol=2e-3)
    assert np.allclose(local[..., LOCALS["last_bid"]], obs.bid_log - obs.price_level_log, atol=1e-5)
    entered = np.maximum(obs.opportunities * np.maximum(obs.in_market, 0.02)[:, None], 1)
    assert np.allclose(local[..., LOCALS["win_rate"]], np.minimum(obs.impressions / entered, 1), atol=1e-5)
    peak_sine, peak_cosine = (brief.persona_traits[brief.persona, i].astype(float) for i in (0, 1))
    angle = 2 * np.pi * brief.hour_of_day(obs.hour)[:, None] / 24 - np.arctan2(peak_sine, peak_cosine)
    assert np.allclose(local[..., LOCALS["rhythm_now"]], np.cos(angle), atol=1e-5)
    assert np.allclose(local[..., LOCALS["rhythm_past"]], np.sin(angle), atol=1e-5)
    assert np.allclose(local[..., LOCALS["mobile"]], brief.persona_traits[brief.persona, 4])


def test_known_values_are_shown_without_uncertainty(make_market):
    market = make_market(response={"values_known": True})
    obs, vectors = after(market, seeds_from(3, 5), 10)
    _, local = split(vectors, 8)
    prior = market.brief.click_rate * market.brief.conversion_rate * market.brief.conversion_value_micros
    assert np.allclose(local[..., LOCALS["value"]], obs.known_value_log - np.log(prior)[:, None], atol=1e-4)
    assert (local[..., LOCALS["uncertainty"]] == 0).all()


def test_neighbours_do_not_change_a_campaigns_features(everything):
    seeds = seeds_from(3, 6)
    _, whole = after(everything, seeds, 20)
    _, part = after(everything, seeds[[4, 1]], 20)
    assert np.array_equal(part, whole[[4, 1]])
