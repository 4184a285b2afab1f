"""Delays as mixtures of exponentials: shares and means add up, and the named families are met closely."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from gaelp.market.delay_families import delay_parts, exact_survival
from gaelp.market.market import seeds_from
from gaelp.market.spec import DelaySpec
from gaelp.market.view import Action

FITTED = st.one_of(st.tuples(st.just("lognormal"), st.floats(1.2, 3)), st.tuples(st.just("weibull"), st.floats(0.3, 1)))
MIXTURES = st.lists(st.tuples(st.floats(0.01, 100), st.floats(0.001, 1000)), min_size=1, max_size=6)


def assert_adds_up(parts):
    assert (parts.share > 0).all()
    assert parts.share.sum() == pytest.approx(1)
    assert parts.share @ parts.length == pytest.approx(1)


@given(MIXTURES)
@settings(max_examples=50, deadline=None)
def test_shares_and_mean_of_a_mixture_add_up_to_one(pairs):
    parts = delay_parts(DelaySpec(mean_hours=5, family="mixture", parts=pairs))
    assert_adds_up(parts)
    assert np.allclose(parts.length / parts.length[0], [length / pairs[0][1] for _, length in pairs])


@given(FITTED)
@settings(max_examples=40, deadline=None)
def test_fitted_families_have_the_right_mean_and_nearly_the_right_distribution(family_and_shape):
    family, shape = family_and_shape
    spec = DelaySpec(mean_hours=5, family=family, shape=shape)
    parts = delay_parts(spec)
    assert_adds_up(parts)
    age = np.geomspace(1e-4, 300, 300)
    assert np.exp(-age[:, None] / parts.length) @ parts.share == pytest.approx(exact_survival(spec)(age), abs=0.05)


@pytest.mark.parametrize(
    ("given_values", "message"),
    [
        ({"family": "mixture"}, "a mixture needs parts"),
        ({"parts": [(1, 1)]}, "the other families take none"),
        ({"family": "lognormal", "shape": 1.0}, "allowed: 1.2 to 3"),
        ({"family": "weibull", "shape": 1.5}, "allowed: 0.3 to 1"),
    ],
)
def test_a_family_without_its_numbers_is_refused(given_values, message):
    with pytest.raises(ValidationError, match=message):
        DelaySpec(mean_hours=5, **given_values)


FAMILIES = {
    "lognormal": {"family": "lognormal", "shape": 1.5},
    "weibull": {"family": "weibull", "shape": 0.6},
    "mixture": {"family": "mixture", "parts": [(0.7, 0.01), (0.3, 20)]},
}
CLICKING = {"click_rate": 0.3, "conversion_rate": 0.5}


@pytest.mark.parametrize("family", FAMILIES)
def test_reports_come_as_late_as_the_family_says(make_market, family):
    delay = {"mean_hours": 10, "window_hours": 300, "immediate_share": 0.2, **FAMILIES[family]}
    market = make_market(days=10, response=CLICKING, delay=delay)
    market.reset(seeds_from(1, 128))
    obs, _ = market.step(Action(np.full((128, 8), 3000, np.int64)))
    nothing = Action(np.zeros((128, 8), np.int64))
    happened = market.state.total_conversions + market.state.pending + market.state.lost_to_window
    parts = delay_parts(market.spec.delay)
    for age in range(1, 30):
        # A conversion of the first hour is reported in hour k if its delay is k to k + 1 hours.
        open_share = 0.8 * np.exp(-age / (market.world.delay_hours[..., None] * parts.length)) @ parts.share
        expected = (happened * open_share).sum() / happened.sum()
        missing = 1 - obs.total_conversions.sum() / happened.sum()
        assert missing == pytest.approx(expected, abs=0.02)
        assert obs.maturing_clicks == pytest.approx(obs.total_clicks * open_share, rel=1e-3, abs=1e-3)
        obs, _ = market.step(nothing)


def test_a_conversion_after_the_flight_stays_pending_and_one_after_the_window_is_lost(make_market):
    delay = {"mean_hours": 200, "window_hours": 720}
    market = make_market(days=1, response=CLICKING, delay=delay)
    market.reset(seeds_from(1, 32))
    while not market.done:
        market.step(Action(np.full((32, 8), 3000, np.int64)))
    state = market.state
    assert len(state.arriving) < 720
    assert state.pending.sum() > state.arriving.sum(dtype=np.int64)
    happened = (state.total_conversions + state.pending + state.lost_to_window).sum()
    assert 0 < state.lost_to_window.sum() < 0.1 * happened


def test_one_part_is_the_exponential_bit_for_bit(make_market):
    outcomes = []
    for more in ({}, {"family": "mixture", "parts": [(3, 7)]}):
        market = make_market(days=2, response=CLICKING, delay={"mean_hours": 5, "immediate_share": 0.3, **more})
        market.reset(seeds_from(3, 16))
        while not market.done:
            obs, _ = market.step(Action(np.full((16, 8), 3000, np.int64)))
        outcomes.append((obs.total_conversions.tobytes(), obs.maturing_clicks.tobytes()))
    assert outcomes[0] == outcomes[1]
