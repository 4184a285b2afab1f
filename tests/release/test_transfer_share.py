"""The share of the gain that is kept: pooled, unsure with few products, unknown without a gain to divide by."""

import numpy as np
import pytest

from gaelp.errors import BadInput
from gaelp.gates.metrics import RANGES
from gaelp.release.transfer_share import CampaignGains, gain_share


def gains(mean, rng, *, campaigns=100, sd=0.3, possible=0.5):
    return CampaignGains(rng.normal(mean, sd, campaigns), np.full(campaigns, possible))


def test_an_agent_that_gains_alike_everywhere_keeps_everything():
    same = CampaignGains(np.full(50, 0.2), np.full(50, 0.5))
    estimate = gain_share(same, [same] * 5, seed=1)
    assert estimate.problem == ""
    assert (estimate.share.value, estimate.share.lower_95, estimate.share.upper_95) == pytest.approx((1, 1, 1))


def test_gain_is_counted_against_what_was_possible():
    source = CampaignGains(np.full(50, 0.2), np.full(50, 0.4))
    little_to_gain = CampaignGains(np.full(50, 0.05), np.full(50, 0.1))
    assert gain_share(source, [little_to_gain] * 3, seed=1).share.value == pytest.approx(1.0)


def test_gains_are_pooled_before_they_are_divided():
    """A product with next to nothing to gain cannot decide."""
    source = CampaignGains(np.full(50, 0.2), np.full(50, 0.4))
    usual = CampaignGains(np.full(50, 0.2), np.full(50, 0.4))
    nothing_to_gain = CampaignGains(np.full(50, -0.001), np.full(50, 1e-4))
    assert gain_share(source, [usual, usual, nothing_to_gain], seed=1).share.value > 0.97


@pytest.mark.parametrize(("mean", "sd"), [(0.0, 0.3), (-0.1, 0.3), (0.02, 0.3)])
def test_without_a_shown_gain_at_the_source_nothing_is_known(mean, sd):
    rng = np.random.default_rng(3)
    estimate = gain_share(gains(mean, rng, sd=sd), [gains(0.2, rng) for _ in range(4)], seed=1)
    assert "too little to divide by" in estimate.problem
    share, metric = estimate.share, RANGES["transfer_gain_share"]
    assert (share.lower_95, share.upper_95) == (metric.lowest, metric.highest)


def test_fewer_products_are_less_certain_though_they_have_as_many_campaigns():
    rng = np.random.default_rng(4)
    source = gains(0.2, rng, campaigns=400, sd=0.1)
    effects = np.tile([0.1, 0.3], 8)
    many = [gains(effect, rng, campaigns=50, sd=0.1) for effect in effects]
    few = [gains(effect, rng, campaigns=200, sd=0.1) for effect in effects[:4]]
    widths = [gain_share(source, products, seed=2).share for products in (many, few)]
    assert widths[1].upper_95 - widths[1].lower_95 > 1.5 * (widths[0].upper_95 - widths[0].lower_95)


def test_the_interval_over_few_products_is_wider_than_their_plain_percentiles():
    effects = np.linspace(0.1, 0.3, 6)
    source = CampaignGains(np.full(50, 0.2), np.full(50, 0.5))
    products = [CampaignGains(np.full(50, effect), np.full(50, 0.5)) for effect in effects]
    drawn = np.random.default_rng(1).choice(effects, (4000, 6)).mean(axis=1) / 0.2
    share = gain_share(source, products, seed=1).share
    assert share.lower_95 < np.quantile(drawn, 0.01)
    assert share.upper_95 > np.quantile(drawn, 0.99)


def test_one_product_is_refused():
    same = CampaignGains(np.full(50, 0.2), np.full(50, 0.5))
    with pytest.raises(BadInput, match="2 or more"):
        gain_share(same, [same], seed=1)


def test_gains_of_different_length_are_refused():
    with pytest.raises(BadInput, match="one of each"):
        CampaignGains(np.zeros(3), np.zeros(2))


@pytest.mark.slow
@pytest.mark.parametrize("products", [6, 12])
def test_the_interval_holds_the_truth_about_as_often_as_it_says(products):
    """Products with gains of their own around 0.2, campaigns with luck of their own: 300 worlds."""
    rng = np.random.default_rng(20)
    held = 0
    for seed in range(300):
        source = gains(0.2, rng, campaigns=512)
        drawn = [gains(rng.normal(0.2, 0.05), rng, campaigns=128) for _ in range(products)]
        share = gain_share(source, drawn, seed=seed).share
        held += share.lower_95 <= 1.0 <= share.upper_95
    assert held / 300 >= 0.92
