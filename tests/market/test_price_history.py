"""What training auctions tell: averages, chances of prices and the landscape fitted to them."""

import numpy as np
import pytest

from gaelp.errors import DataError
from gaelp.market.auction_log import UNKNOWN_PRICE_MICROS, AuctionLog
from gaelp.market.landscape import GRID, build_landscapes
from gaelp.market.price_history import PriceHistory


def log_of(prices: list[int], micros_per_unit: int = 10) -> AuctionLog:
    count = len(prices)
    click = np.zeros(count, dtype=np.int8)
    click[0] = 1
    return AuctionLog(np.array(prices), click, np.full(count, 0.1), np.full(count, 99), micros_per_unit)


def test_a_log_is_counted_by_whole_units_without_its_lost_auctions() -> None:
    history = PriceHistory.of_log(log_of([10, 30, 30, UNKNOWN_PRICE_MICROS]))
    assert history.counts.tolist() == [0, 1, 0, 2]
    assert (history.auctions, history.clicks, history.cost_units) == (3, 1, 7)
    assert history.mean_price_micros == pytest.approx(70 / 3)
    assert history.click_rate == pytest.approx(1 / 3)
    assert history.click_cost_micros == pytest.approx(70)


def test_chances_are_smoothed_and_sum_to_one() -> None:
    chances = PriceHistory(np.array([0, 1, 3]), 1, 1).price_chances()
    assert chances.tolist() == pytest.approx([1 / 7, 2 / 7, 4 / 7])


def test_the_landscape_wins_the_share_of_prices_at_or_below_the_bid() -> None:
    counts = np.random.default_rng(0).integers(0, 50, 301)
    history = PriceHistory(counts, 1, 10)
    landscapes = build_landscapes([history.landscape()], first_price=False)
    bids = np.array([20, 70, 150, 299])
    win = np.interp(np.log(bids / history.mean_price_units), GRID, landscapes.win[0])
    assert win == pytest.approx(np.cumsum(counts)[bids] / counts.sum(), abs=0.02)


def test_a_single_price_still_makes_a_landscape() -> None:
    landscapes = build_landscapes([PriceHistory(np.array([0, 0, 5]), 1, 1).landscape()], first_price=False)
    win = np.interp(np.log([0.9, 1.1]), GRID, landscapes.win[0])
    assert win == pytest.approx([0.0, 1.0], abs=0.01)


@pytest.mark.parametrize(
    ("counts", "clicks", "message"),
    [
        ([0, 3], 4, "4 clicks on 3"),
        ([0, 3], 0, "0 clicks"),
        ([5, 0], 1, "price history"),
        ([1, -1], 1, "price history"),
    ],
)
def test_an_impossible_history_is_refused(counts: list[int], clicks: int, message: str) -> None:
    with pytest.raises(DataError, match=message):
        PriceHistory(np.array(counts), clicks, 1)


def test_prices_between_units_are_refused() -> None:
    with pytest.raises(DataError, match="not whole units of 10 micros"):
        PriceHistory.of_log(log_of([10, 25]))
