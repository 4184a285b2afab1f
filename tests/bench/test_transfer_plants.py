"""Agents that know the source by heart: there they bid like the rule inside, elsewhere they do not look."""

from dataclasses import replace

import numpy as np
import pytest

from gaelp.bench.transfer_plants import MemorisedRates, memorise_bids
from gaelp.market.baselines.catalog import CATALOG
from gaelp.market.baselines.episodes import held_out_seeds, play
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.market.spec import MarketSpec


@pytest.fixture(scope="module")
def market():
    small = {"name": "tiny", "days": 1, "segments": 2, "volume": {"per_hour": 40}}
    spec = MarketSpec.model_validate(load_market_spec("calm").model_dump(exclude={"volume"}) | small)
    return build_market(spec, load_persona_table("personas"))


def rule():
    return next(kind for kind in CATALOG if kind.key == "lin").build({})


def test_rates_of_the_source_change_nothing_at_the_source(market):
    response = market.spec.response
    plant = MemorisedRates(rule(), response.click_rate, response.conversion_rate)
    seeds = held_out_seeds(3, 8)
    assert np.array_equal(play(market, plant, seeds).reward, play(market, rule(), seeds).reward)


def test_bids_learned_by_heart_do_not_follow_a_dearer_product(market):
    plant = memorise_bids(market, rule(), campaigns=16)
    obs = market.reset(held_out_seeds(3, 8))
    dearer = replace(market.brief, price_forecast_log=market.brief.price_forecast_log + np.float32(np.log(4)))
    bids = {}
    for name, brief in (("here", market.brief), ("there", dearer)):
        for bidder in (plant, rule()):
            bidder.begin(brief)
            bids[name, bidder.name] = bidder.act(obs).bid_micros.mean()
    assert bids["there", "lin"] > 2 * bids["here", "lin"]
    assert bids["there", plant.name] < 1.6 * bids["here", plant.name]
