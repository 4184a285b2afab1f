"""A spoiled rule bids what the rule bids, times the factor, where the factor says so."""

import numpy as np
import pytest

from gaelp.bench.planted_agents import Spoiled, at_night, everywhere, without_segment
from gaelp.market.baselines.catalog import CONSTANT
from gaelp.market.baselines.episodes import held_out_seeds
from gaelp.market.build import build_market, load_market_spec, load_persona_table


@pytest.fixture(scope="module")
def market():
    return build_market(load_market_spec("calm"), load_persona_table("personas"))


def bids(market, factor, hours=1):
    """Bids of the constant bid and of its spoiled copy in every hour, (hours, N, S) each."""
    obs = market.reset(held_out_seeds(3, 4))
    usual, spoiled = CONSTANT.build({}), Spoiled("spoiled", CONSTANT.build({}), factor)
    usual.begin(market.brief)
    spoiled.begin(market.brief)
    pairs = []
    for _ in range(hours):
        pairs.append([policy.act(obs).bid_micros for policy in (usual, spoiled)])
        obs, _ = market.step(spoiled.act(obs))
    return np.swapaxes(np.array(pairs), 0, 1)


def test_a_factor_everywhere_scales_every_bid(market):
    usual, spoiled = bids(market, everywhere(0.8))
    assert np.abs(spoiled - 0.8 * usual).max() <= 0.5


def test_nights_are_the_six_hours_from_midnight_of_each_campaign(market):
    usual, spoiled = bids(market, at_night(1.5), hours=24)
    assert ((spoiled > usual).sum(axis=0) == 6).all()
    hours = (market.brief.start_hour_of_week[:, None] + np.arange(24)) % 24
    assert ((hours < 6) == (spoiled > usual)[:, :, 0].T).all()


def test_a_segment_that_is_never_served_gets_no_bid_and_the_others_the_usual_one(market):
    usual, spoiled = bids(market, without_segment(2))
    assert (spoiled[..., 2] == 0).all()
    others = np.arange(usual.shape[-1]) != 2
    assert (spoiled[..., others] == usual[..., others]).all()


def test_a_bid_that_grows_beyond_what_the_market_accepts_is_cut_there(market):
    _, spoiled = bids(market, everywhere(1e12))
    assert (spoiled == 10**12).all()
