"""Other products differ from the source in all that a bid depends on, and every one of them is a possible market."""

import pytest

from gaelp.market.build import build_market, load_market_spec
from gaelp.release.product_markets import ProductSpread, draw_product

SHOP = load_market_spec("shop")


def logs_apart(spec, path):
    section, key = path.split(".")
    return getattr(getattr(spec, section), key) / getattr(getattr(SHOP, section), key)


@pytest.mark.parametrize("source", ["shop", "cal", "signals", "calm", "search", "display", "full", "cal-first"])
def test_forty_products_of_every_shipped_market_are_possible(source):
    spec = load_market_spec(source)
    products = [draw_product(spec, number, 3) for number in range(40)]
    assert len({product.price.level_micros for product in products}) == 40
    assert len({product.hour_of_week for product in products}) == 40


def test_a_product_is_drawn_by_its_number_and_the_seed_alone():
    assert draw_product(SHOP, 2, 5) == draw_product(SHOP, 2, 5)
    assert draw_product(SHOP, 2, 5) != draw_product(SHOP, 3, 5)
    assert draw_product(SHOP, 2, 5) != draw_product(SHOP, 2, 6)


def test_products_stay_within_the_stated_factors_and_use_them():
    spread = ProductSpread()
    products = [draw_product(SHOP, number, 1, spread) for number in range(200)]
    for path, widest in (
        ("price.level_micros", spread.price_level),
        ("response.click_rate", spread.click_rate),
        ("response.conversion_rate", spread.conversion_rate),
        ("response.return_ratio", spread.value),
        ("volume.per_hour", spread.volume),
    ):
        factors = [logs_apart(product, path) for product in products]
        assert min(factors) == pytest.approx(1 / widest, rel=0.1)
        assert max(factors) == pytest.approx(widest, rel=0.1)
    assert {product.delay.family for product in products} == {"exponential", "lognormal", "weibull", "mixture"}


def test_a_range_that_campaigns_draw_from_moves_with_the_number_it_varies():
    source = SHOP.model_copy(update={"randomise": {"price.level_micros": (40_000, 60_000)}})
    product = draw_product(source, 1, 1)
    factor = product.price.level_micros / source.price.level_micros
    assert abs(factor - 1) > 0.1
    assert product.randomise["price.level_micros"] == pytest.approx((40_000 * factor, 60_000 * factor), rel=1e-3)


def test_what_is_not_said_to_differ_stays_as_it_is():
    product = draw_product(SHOP, 0, 9)
    for same in ("days", "segments", "budget", "landscapes", "reports", "rivals"):
        assert getattr(product, same) == getattr(SHOP, same)


def test_a_product_can_be_played(personas):
    market = build_market(draw_product(SHOP, 0, 9), personas)
    assert market.hours == 72
