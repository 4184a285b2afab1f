"""Simulated pilots: the truth is known, other random numbers give another course, and an agent is driven by reports."""

from dataclasses import replace

import numpy as np
import pytest

from gaelp.bench.pilot_world import Flight, PilotWorld, fly, pilot_hours
from gaelp.bench.sandbox_bidders import scaled
from gaelp.sandbox.exchange import Exchange
from gaelp.sandbox.incumbent import SynthesisSpec, incumbent_campaigns
from gaelp.sandbox.spec import load_sandbox_spec

FLIGHT = Flight(days=3, settle_days=7, warm_days=1)


@pytest.fixture(scope="module")
def world():
    spec = load_sandbox_spec("default").model_copy(update={"seed": 77})
    campaigns = incumbent_campaigns(SynthesisSpec(campaigns=3, seed=77), spec, Exchange(spec).price_levels)
    return PilotWorld(spec, campaigns, 14 * 1440)


@pytest.fixture(scope="module")
def incumbents(world):
    return [campaign.served for campaign in world.campaigns]


def test_higher_bids_return_less_and_the_same_key_gives_the_same_pilot(world, incumbents):
    usual, again = (fly(world, FLIGHT, incumbents, incumbents) for _ in range(2))
    dear = fly(world, FLIGHT, [scaled(campaign, 3.0) for campaign in incumbents], incumbents)
    other = fly(world, replace(FLIGHT, key=1), incumbents, incumbents)
    assert np.array_equal(usual.spend_micros, again.spend_micros)
    assert not np.array_equal(usual.spend_micros, other.spend_micros)
    assert dear.true_roi < usual.true_roi
    assert usual.spend_micros.shape == (3, 3)
    assert usual.spend_micros.min() > 0


def test_the_sales_feed_is_the_platforms_count_less_refunds_and_credits_lower_the_cost(world, incumbents):
    pilot = fly(world, replace(FLIGHT, days=6), incumbents, incumbents)
    assert pilot.sale_value_micros.sum() < pilot.value_micros.sum()
    assert pilot.true_spend_micros.sum() <= pilot.spend_micros.sum()
    assert pilot.true_spend_micros.sum() == pytest.approx(pilot.spend_micros.sum(), rel=0.02)


def test_hourly_decisions_hear_of_every_hour_once_and_the_same_bids_give_the_same_pilot(world, incumbents):
    told = []

    def repeat(hour, events):
        told.append((hour, int(events.hours["clicks"].sum())))
        return incumbents

    hourly, static = fly(world, FLIGHT, repeat, incumbents), fly(world, FLIGHT, incumbents, incumbents)
    assert [hour for hour, _ in told] == list(range(72))
    assert len(pilot_hours(world, FLIGHT)) == 73
    assert np.array_equal(hourly.spend_micros, static.spend_micros)
    assert sum(clicks for _, clicks in told) <= int(hourly.clicks.sum() * 1.05) + 1
