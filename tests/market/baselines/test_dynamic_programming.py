"""SS-MDP and RLB bid what the value table says: exactly in replay, on the scaled problem in the hourly market."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaelp.errors import DataError
from gaelp.market.auction_log import AuctionLog
from gaelp.market.baselines.dynamic_programming import (
    HIGHEST_UNITS,
    LEVEL_UNITS,
    Rlb,
    SsMdp,
    UnitPrices,
    solve,
    unit_chances,
)
from gaelp.market.landscape import build_landscapes
from gaelp.market.market import Market, seeds_from
from gaelp.market.personas import neutral_table
from gaelp.market.price_history import PriceHistory
from gaelp.market.replay import AuctionReplay
from gaelp.market.spec import LandscapeSpec, MarketSpec, PriceComponent, PriceSpec, ResponseSpec
from gaelp.market.view import Action, Brief, Observation

LANDSCAPE = LandscapeSpec(name="one", mixture=(PriceComponent(weight=1, log_mean=0, log_sd=0.7),))


def expectimax(chances: list[float], auctions: int, budget: int) -> float:
    """The best that any bids can do, by trying every bid at every price; with no money left nothing counts."""

    @cache
    def best(left: int, money: int) -> float:
        if left == 0 or money == 0:
            return 0.0
        outcomes = []
        for bid in range(min(money, len(chances) - 1) + 1):
            won = sum(chances[price] * (1 + best(left - 1, money - price)) for price in range(bid + 1))
            outcomes.append(won + (1 - sum(chances[: bid + 1])) * best(left - 1, money))
        return max(outcomes)

    return best(auctions, budget)


weights = st.lists(st.integers(0, 9), min_size=2, max_size=5).filter(lambda counts: sum(counts[1:]) > 0)


@settings(max_examples=60, deadline=None)
@given(weights, st.integers(2, 5), st.integers(1, 12))
def test_the_table_holds_the_best_that_any_bids_can_do(counts: list[int], auctions: int, budget: int) -> None:
    chances = np.array(counts) / sum(counts)
    table = solve(chances, auctions=auctions, budget_units=budget)
    assert table.shape == (auctions, budget + 1)
    for played in range(auctions):
        for money in range(budget + 1):
            assert table[played, money] == pytest.approx(expectimax(chances.tolist(), played, money), abs=1e-8)


def test_rows_apart_keep_every_so_manyth_row() -> None:
    chances = np.full(6, 1 / 6)
    every = solve(chances, auctions=21, budget_units=30)
    some = solve(chances, auctions=21, budget_units=30, rows_apart=5, dtype="float32")
    assert some == pytest.approx(every[::5], abs=1e-5)
    assert some.dtype == np.float32


def test_a_table_beyond_memory_is_refused_with_a_way_out() -> None:
    with pytest.raises(DataError, match=r"GiB.*coarser price unit"):
        solve(np.full(301, 1 / 301), auctions=10**5, budget_units=10**6)


def random_log(rng: np.random.Generator, count: int) -> AuctionLog:
    price = 10 * rng.integers(0, 31, count)
    probability = rng.uniform(0.001, 0.3, count)
    return AuctionLog(price, rng.binomial(1, probability).astype(np.int8), probability, None, 10)


def replay_of(log: AuctionLog, history: PriceHistory, *, auctions: int, budget_units: int) -> AuctionReplay:
    return AuctionReplay(
        log, history, episode_auctions=auctions, budget_micros=10 * budget_units, click_value_micros=1_000_000
    )


def play(replay: AuctionReplay | Market, bidder: Rlb | SsMdp, obs: Observation) -> tuple[Observation, float]:
    bidder.begin(replay.brief)
    reward = np.zeros(replay.campaigns)
    while not replay.done:
        obs, outcome = replay.step(bidder.act(obs))
        reward += outcome.reward
    return obs, float(reward.mean())


def bids_by_trying(table: np.ndarray, row: int, money: int, value: float, highest: int) -> int:
    """The largest bid at which the impression is worth the money, found by trying bid after bid."""
    best = 0
    for bid in range(1, min(money, highest) + 1):
        if value + table[row, money - bid] - table[row, money] < 0:
            break
        best = bid
    return best


@pytest.mark.parametrize("own_value", [True, False])
def test_replay_bids_equal_those_found_by_trying_every_bid(own_value: bool) -> None:
    rng = np.random.default_rng(1)
    history = PriceHistory.of_log(random_log(rng, 500))
    log = random_log(rng, 157)
    replay = replay_of(log, history, auctions=50, budget_units=120)
    prices = UnitPrices.of_history(history)
    table = solve(prices.chances, auctions=50, budget_units=120)
    bidder = Rlb(prices=prices) if own_value else SsMdp(prices=prices)
    bidder.begin(replay.brief)
    obs = replay.reset()
    wins = 0
    money = np.full(replay.campaigns, 120)
    for played in range(50):
        bids = bidder.act(obs).bid_micros[:, 0]
        for episode in range(replay.campaigns):
            index = 50 * episode + played
            if index < len(log):
                value = log.click_probability[index] / history.click_rate if own_value else 1.0
                by_trying = bids_by_trying(table, 49 - played, money[episode], value, len(prices.chances) - 1)
                assert bids[episode] == 10 * by_trying
                if by_trying >= log.price_micros[index] // 10:
                    money[episode] -= log.price_micros[index] // 10
                    wins += 1
        obs, _ = replay.step(Action(bids[:, None]))
    assert obs.left_micros.tolist() == (10 * money).tolist()
    assert 20 < wins < 140


def test_values_of_their_own_win_more_than_one_value_for_all() -> None:
    rng = np.random.default_rng(2)
    history = PriceHistory.of_log(random_log(rng, 2000))
    replay = replay_of(random_log(rng, 4000), history, auctions=200, budget_units=300)
    prices = UnitPrices.of_history(history)
    _, blind = play(replay, SsMdp(prices=prices), replay.reset())
    _, seeing = play(replay, Rlb(prices=prices), replay.reset())
    assert blind + 0.05 < seeing <= 1


def test_the_scaled_table_is_nearly_as_good_as_the_exact_one() -> None:
    rng = np.random.default_rng(3)
    history = PriceHistory.of_log(random_log(rng, 2000))
    replay = replay_of(random_log(rng, 4000), history, auctions=200, budget_units=300)
    _, exact = play(replay, Rlb(prices=UnitPrices.of_history(history)), replay.reset())
    _, scaled = play(replay, Rlb(auctions=200), replay.reset())
    assert scaled == pytest.approx(exact, abs=0.02)


def test_aggression_scales_the_bid() -> None:
    rng = np.random.default_rng(4)
    history = PriceHistory.of_log(random_log(rng, 500))
    replay = replay_of(random_log(rng, 100), history, auctions=50, budget_units=200)
    bids = []
    for aggression in (0.0, np.log(2)):
        bidder = SsMdp(prices=UnitPrices.of_history(history), aggression=float(aggression))
        bidder.begin(replay.brief)
        bids.append(bidder.act(replay.reset()).bid_micros)
    assert np.abs(bids[1] - 2 * bids[0]).max() <= 1


def test_unit_chances_follow_the_landscape() -> None:
    landscapes = build_landscapes([LANDSCAPE], first_price=False)
    chances = unit_chances(landscapes.win[landscapes.pooled])
    assert chances.shape == (HIGHEST_UNITS + 1,)
    assert chances.min() >= 0
    assert 0.97 < chances.sum() <= 1
    assert chances @ np.arange(HIGHEST_UNITS + 1) == pytest.approx(LEVEL_UNITS, rel=0.1)


def market_of(payment: str) -> Market:
    spec = MarketSpec.model_validate(
        {
            "name": "small",
            "days": 1,
            "segments": 4,
            "price": PriceSpec(payment=payment),
            "response": ResponseSpec(values_known=True),
        }
    )
    return Market(spec, neutral_table(), (LANDSCAPE,))


@pytest.mark.parametrize("payment", ["second", "first"])
def test_in_the_hourly_market_rlb_spends_nearly_all_and_beats_one_value_for_all(payment: str) -> None:
    market = market_of(payment)
    seeds = seeds_from(5, 64)
    obs, seeing = play(market, Rlb(auctions=200), market.reset(seeds))
    assert (obs.left_micros >= 0).all()
    assert (obs.left_micros / market.brief.budget_micros).mean() < 0.15
    _, blind = play(market, SsMdp(auctions=200), market.reset(seeds))
    assert seeing > blind + 0.03


class DoubledInTheFirstSegment:
    """A source that values the first segment twice the others."""

    def begin(self, brief: Brief, _belief: object = None, /) -> None:
        self._value_log = np.zeros((brief.campaigns, brief.segments))
        self._value_log[:, 0] = np.log(2)

    def log_value(self, _obs: Observation, /) -> tuple[np.ndarray, np.ndarray]:
        return self._value_log, self._value_log


def test_a_given_value_source_decides_between_segments() -> None:
    market = market_of("second")
    obs = market.reset(seeds_from(6, 16))
    bidder = Rlb(values=DoubledInTheFirstSegment(), auctions=200)
    bidder.begin(market.brief)
    bids = bidder.act(obs).bid_micros
    assert (bids[:, 0] > 1.4 * bids[:, 1]).all()
    assert (bids[:, 1] == bids[:, 2]).all()


def test_too_few_auctions_to_scale_to_are_refused() -> None:
    with pytest.raises(DataError, match="auctions=20 seen"):
        Rlb(auctions=20)
