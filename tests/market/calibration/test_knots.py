import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaelp.errors import DataError
from gaelp.market.calibration.kaplan_meier import kaplan_meier
from gaelp.market.calibration.knots import KNOTS_MAX, landscape_from_curve, share_at_or_below
from gaelp.market.landscape import GRID, build_landscapes
from gaelp.market.spec import LandscapeSpec, PriceComponent


def curve_of(prices):
    return kaplan_meier(np.asarray(prices, float), np.ones(len(prices), bool))


def test_a_short_curve_is_kept_whole():
    fit = landscape_from_curve(curve_of([1, 2, 2, 3]), "short")
    assert fit.max_error < 1e-6
    assert share_at_or_below(fit.landscape, np.array([1, 2, 3]) / fit.mean_price) == pytest.approx([0.25, 0.75, 1])


def test_many_prices_become_few_knots_within_the_stated_error():
    prices = np.random.default_rng(1).lognormal(7, 0.9, 30_000)
    fit = landscape_from_curve(curve_of(prices), "many")
    assert len(fit.landscape.knots) <= KNOTS_MAX
    assert fit.max_error < 0.002
    at = np.quantile(prices, np.linspace(0.01, 0.99, 50))
    share = (np.sort(prices)[None, :] <= at[:, None]).mean(axis=1)
    assert np.abs(share_at_or_below(fit.landscape, at / fit.mean_price) - share).max() <= fit.max_error + 1e-4


def test_the_error_is_stated_when_knots_are_scarce():
    prices = np.random.default_rng(1).lognormal(7, 0.9, 3000)
    coarse = landscape_from_curve(curve_of(prices), "coarse", limit=6)
    assert len(coarse.landscape.knots) <= 6
    assert 0.005 < coarse.max_error < 0.1


def test_the_mean_price_is_one_level():
    prices = np.random.default_rng(2).lognormal(7, 0.5, 5000)
    fit = landscape_from_curve(curve_of(prices), "mean")
    assert fit.mean_price == pytest.approx(prices.mean(), rel=1e-3)


def test_the_last_share_leaves_room_for_what_no_bid_reached():
    rng = np.random.default_rng(3)
    price = rng.lognormal(0, 1, 5000)
    won = price <= 1.5
    fit = landscape_from_curve(kaplan_meier(np.where(won, price, 1.5), won), "reach")
    assert fit.landscape.knots[-1][1] == pytest.approx(won.mean(), abs=1e-4)
    assert fit.unknown_share == pytest.approx(1 - won.mean(), abs=1e-4)
    assert fit.landscape.knots[-1][0] * fit.mean_price == pytest.approx(1.5, rel=1e-4)


def test_a_popular_price_is_not_smeared_over_the_gap_below_it():
    fit = landscape_from_curve(curve_of([10, 11, 12, 13] + [50] * 6), "floor")
    assert share_at_or_below(fit.landscape, np.array([45.0]) / fit.mean_price)[0] == pytest.approx(0.4)


def test_prices_of_zero_count_as_half_of_the_lowest():
    fit = landscape_from_curve(curve_of([0, 0, 4, 8]), "free")
    assert share_at_or_below(fit.landscape, np.array([2.0]) / fit.mean_price)[0] == pytest.approx(0.5)


def test_a_single_price_is_a_landscape():
    fit = landscape_from_curve(curve_of([7, 7]), "one")
    assert share_at_or_below(fit.landscape, np.array([7.0]) / fit.mean_price)[0] == pytest.approx(1)


def test_without_any_price_there_is_no_landscape():
    with pytest.raises(DataError, match="no price was seen"):
        landscape_from_curve(kaplan_meier(np.array([3.0]), np.array([False])), "none")


def test_the_market_reads_the_same_chance_to_win():
    prices = np.random.default_rng(4).lognormal(7, 0.9, 20_000)
    fit = landscape_from_curve(curve_of(prices), "read")
    table = build_landscapes([fit.landscape], first_price=False)
    share = (np.sort(prices)[None, :] <= np.exp(GRID)[:, None] * prices.mean()).mean(axis=1)
    assert np.abs(table.win[0] - share).max() < 0.01


def test_a_mixture_is_read_as_the_market_reads_it():
    parts = (
        PriceComponent(weight=3, log_mean=-0.5, log_sd=0.4),
        PriceComponent(weight=1, log_mean=0.5, log_sd=0.3),
    )
    spec = LandscapeSpec(name="mix", mixture=parts)
    mean = sum(part.weight / 4 * np.exp(part.log_mean + part.log_sd**2 / 2) for part in parts)
    table = build_landscapes([spec], first_price=False)
    assert np.abs(share_at_or_below(spec, np.exp(GRID) * mean) - table.win[0]).max() < 1e-3


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 400), min_size=1, max_size=300), st.integers(2, 40))
def test_any_log_gives_knots_that_a_market_accepts(prices, limit):
    fit = landscape_from_curve(curve_of([*prices, 1]), "any", limit=limit)
    assert 2 <= len(fit.landscape.knots) <= max(limit, 2)
    assert fit.landscape.knots[-1][1] == pytest.approx(1)
    build_landscapes([fit.landscape], first_price=True)


def test_prices_beyond_the_markets_table_are_read_at_its_ends():
    price = np.concatenate([np.full(10, 1.0), np.full(989, 1e6), [1e10]])
    fit = landscape_from_curve(curve_of(price), "wide")
    ratio, share = np.array(fit.landscape.knots).T
    assert ratio[0] >= 1e-4
    assert ratio[-1] <= 1e3
    assert share[0] == pytest.approx(0.01, abs=0.001)
    assert share_at_or_below(fit.landscape, np.array([1e6 / fit.mean_price])) == pytest.approx(0.999, abs=0.001)
