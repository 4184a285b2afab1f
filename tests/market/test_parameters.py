import numpy as np

from gaelp.market.parameters import campaign_parameters
from gaelp.market.random import keys_of
from gaelp.market.spec import MarketSpec

KEYS = keys_of(np.arange(200, dtype=np.uint64))


def test_numbers_without_a_range_are_the_same_for_every_campaign():
    spec = MarketSpec(name="m")
    assert set(campaign_parameters(spec, KEYS)["price_common_drift_sd"]) == {spec.price.common_drift_sd}


def test_a_range_gives_each_campaign_a_number_that_depends_on_its_key_alone():
    spec = MarketSpec(name="m", randomise={"price.common_drift_sd": (0.05, 0.1)})
    drift = campaign_parameters(spec, KEYS)["price_common_drift_sd"]
    assert drift.min() >= 0.05
    assert drift.max() <= 0.1
    assert len(set(drift)) == len(KEYS)
    np.testing.assert_array_equal(campaign_parameters(spec, KEYS[50:60])["price_common_drift_sd"], drift[50:60])
