"""The table of a market beside public data."""

from functools import cache

import pytest

from gaelp.market.build import build_market, load_market_spec
from gaelp.market.realism import CHANNELS, PublicRange, measure_realism

CAMPAIGNS = 200


@pytest.fixture(scope="module")
def rows_of(personas):
    @cache
    def measure(name):
        market = build_market(load_market_spec(name), personas)
        return {row.statistic: row for row in measure_realism(market, campaigns=CAMPAIGNS)}

    return measure


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_profile_fits_every_public_range_of_its_channel(rows_of, channel):
    rows = rows_of(channel)
    outside = [name for name, row in rows.items() if row.fits(channel) is False]
    assert not outside


@pytest.mark.parametrize("channel", CHANNELS)
def test_in_a_fifth_of_a_profiles_campaigns_profit_leaves_a_third_of_the_budget(rows_of, channel):
    rows = rows_of(channel)
    assert rows["thrifty_share"].value >= 0.2
    assert rows["unprofitable_share"].value >= 0.1


def test_the_default_market_shows_where_it_differs_from_public_data(rows_of):
    rows = rows_of("cal")
    misfits = ("click_rate", "volume_trough", "hour_of_week_log_sd", "price_value_correlation", "delay_99_hours")
    for name in (*misfits, "launch_hour_share"):
        assert rows[name].fits("display") is False, name
        assert rows[name].fits("search") is False, name
    assert rows["launch_hour_share"].value == 1
    assert rows["impressions_per_hour"].fits("display") is False


def test_a_range_upside_down_is_refused():
    with pytest.raises(ValueError, match="swap them"):
        PublicRange(low=2, high=1, source="nobody")
