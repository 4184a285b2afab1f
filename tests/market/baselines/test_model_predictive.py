from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gaelp.market.baselines.model_predictive import (
    ModelPredictive,
    ModelPredictiveParameters,
    Outlook,
    budget_prices_log,
)
from gaelp.market.baselines.values import SignalWeights
from gaelp.market.landscape import GRID
from gaelp.market.market import seeds_from

TODAY, END = 4, 10  # hours of the small flights below
UNLIMITED = 1e12


class Flight:
    """One campaign, two segments, two price bins by parity of the hour, one persona."""

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        self.value_log = rng.normal(7.6, 0.5, (1, 2))
        self.level_log = rng.normal(7.6, 0.4, (1, 2))
        self.volume = rng.uniform(50, 200, (1, 2))
        self.bin_price_log = np.array([-0.2, 0.3])
        self.daypart_log = rng.normal(0, 0.3, (1, 2))
        activity = rng.uniform(0.5, 1.5, END) * (np.arange(END) % 2 == np.arange(2)[:, None])
        self.cumulative = np.concatenate([np.zeros((1, 2, 1)), np.cumsum(activity, axis=1)[None]], axis=2)
        self.best_cost = np.exp(GRID - 2).clip(0, 1).astype(np.float32)
        self.best_cost[0] = 0

    def cost(self, price_log, first, last):
        """Forecast spend at each price, worked out segment by segment and bin by bin."""
        total = np.zeros_like(price_log)
        for s in range(2):
            for j in range(2):
                level = self.level_log[0, s] + self.bin_price_log[j]
                worth = self.value_log[0, s] + self.daypart_log[0, j] - price_log - level
                opportunities = self.volume[0, s] * (self.cumulative[0, j, last] - self.cumulative[0, j, first])
                total += opportunities * np.exp(level) * np.interp(worth, GRID, self.best_cost)
        return total

    def everything(self):
        return float(self.cost(np.array([-50.0]), 0, END)[0])

    def solve(self, left, day_left=UNLIMITED, later=UNLIMITED, guess=np.nan):
        outlook = Outlook(
            value_log=self.value_log,
            level_log=self.level_log,
            volume=self.volume,
            persona=np.zeros((1, 2), dtype=np.int32),
            start=np.zeros(1, dtype=np.int32),
            cumulative=self.cumulative,
            bin_price_log=self.bin_price_log,
            daypart_log=self.daypart_log,
            best_cost=self.best_cost[None],
        )
        money = tuple(np.array([float(amount)]) for amount in (left, day_left, later))
        span = tuple(np.array([hour]) for hour in (0, TODAY, END))
        today, flight = budget_prices_log(span, outlook, money, np.array([guess]))
        return float(today[0]), float(flight[0])

    def search(self, money, spend):
        """The lowest price on a fine grid whose spend the money covers."""
        prices = np.linspace(-8, 8, 80_001)
        return float(prices[np.argmax(spend(prices) <= money)])


def same_price(price, expected, spend):
    """Equal prices, or equal spend: where nearly everything is bought, spend hardly depends on the price."""
    close = price == pytest.approx(expected, abs=5e-3)
    paid, wanted = (float(spend(np.array([each]))[0]) for each in (price, expected))
    return close or paid == pytest.approx(wanted, rel=2e-3)


@given(
    seed=st.integers(0, 1000),
    share=st.floats(0.02, 0.9),
    guess=st.one_of(st.just(np.nan), st.floats(-6, 6)),
)
@settings(max_examples=40, deadline=None)
def test_the_price_of_budget_is_that_of_a_search_over_all_prices(seed, share, guess):
    flight = Flight(seed)
    money = share * flight.everything()

    def spend(price):
        return flight.cost(price, 0, END)

    today, whole = flight.solve(money, guess=guess)
    assert today == whole
    assert same_price(whole, flight.search(money, spend), spend)


@given(seed=st.integers(0, 1000), share=st.floats(0.1, 0.8), cap=st.floats(0.2, 1.5))
@settings(max_examples=40, deadline=None)
def test_a_cap_gives_today_a_price_of_its_own_and_later_days_the_rest(seed, share, cap):
    assume(abs(cap - 1) > 0.01)  # caps that add up to the money, almost: spend says nothing about the price
    flight = Flight(seed)
    money = share * flight.everything()
    day_left, later = cap * 0.4 * money, cap * 0.6 * money
    today, shared = flight.solve(money, day_left, later)

    def capped(price):
        return np.minimum(flight.cost(price, 0, TODAY), day_left) + np.minimum(flight.cost(price, TODAY, END), later)

    if day_left + later > money:
        assert same_price(shared, flight.search(money, capped), capped)
    spent = float(flight.cost(np.array([today]), 0, TODAY)[0])
    assert spent <= day_left * 1.002
    assert today >= shared
    if today > shared:
        assert spent == pytest.approx(day_left, rel=2e-3)


def test_money_that_never_runs_out_buys_everything():
    flight = Flight()
    today, shared = flight.solve(2 * flight.everything())
    assert today == shared
    assert flight.cost(np.array([today]), 0, END)[0] == pytest.approx(flight.everything(), rel=1e-3)


def test_no_money_buys_nothing():
    flight = Flight()
    today, _ = flight.solve(0.0, 0.0, 0.0)
    assert flight.cost(np.array([today]), 0, END)[0] == pytest.approx(0.0, abs=1e-6)


@pytest.fixture(scope="module")
def market(make_market):
    return make_market(days=2, volume={"per_hour": 200})


def played(market, bidder, seeds):
    obs = market.reset(seeds)
    bidder.begin(market.brief)
    left = []
    while not market.done:
        obs, _ = market.step(bidder.act(obs))
        left.append(obs.left_micros / market.brief.budget_micros)
    return np.array(left)


def test_the_budget_lasts_to_the_end_and_is_used(market):
    left = played(market, ModelPredictive(ModelPredictiveParameters()), seeds_from(5, 64))
    assert left[-1].mean() < 0.06
    assert (left[-6] > 0).all()
    assert (left >= 0).all()


def test_where_daily_caps_bind_spend_is_spread_over_the_day(make_market):
    market = make_market(days=2, volume={"per_hour": 200}, budget={"daily_low": 0.5, "daily_high": 0.6})
    left = played(market, ModelPredictive(ModelPredictiveParameters()), seeds_from(5, 64))
    cap = market.brief.daily_cap_micros / market.brief.budget_micros
    spent_by_evening, spent_today = 1 - left[19], 1 - left[23]
    assert (spent_today <= cap + 1e-9).all()
    assert (spent_by_evening < 0.95 * cap).mean() > 0.9
    assert (spent_today > 0.9 * cap).mean() > 0.9


def test_the_informed_rule_says_so_and_without_weights_bids_like_the_other(market):
    plain = ModelPredictive(ModelPredictiveParameters())
    informed = ModelPredictive(ModelPredictiveParameters(), SignalWeights())
    assert (plain.name, informed.name) == ("mpc", "mpc (informed)")
    np.testing.assert_array_equal(*(played(market, bidder, seeds_from(6, 16)) for bidder in (plain, informed)))


def test_a_plan_with_dayparts_saves_money_for_the_hours_of_intent(market):
    informed_bidder = ModelPredictive(ModelPredictiveParameters(), SignalWeights(daypart=1.0))
    plain = ModelPredictive(ModelPredictiveParameters())
    obs = market.reset(seeds_from(7, 200))
    intent = market.brief.intent_log[market.brief.persona, 0]
    for bidder in (informed_bidder, plain):
        bidder.begin(market.brief)
    change = np.log(informed_bidder.act(obs).bid_micros / plain.act(obs).bid_micros)
    # What is left of the change besides this hour's intent is the price of budget, one a campaign.
    rest = change - intent
    np.testing.assert_allclose(rest, np.broadcast_to(rest.mean(axis=1, keepdims=True), rest.shape), atol=2e-2)
    assert (rest < 0).mean() > 0.9  # money is worth more where there are hours of high intent to keep it for


def test_a_larger_margin_plans_to_spend_more(market):
    obs = replace(market.reset(seeds_from(8, 16)))
    bold, careful = (ModelPredictive(ModelPredictiveParameters(margin=margin)) for margin in (1.2, 0.9))
    for bidder in (bold, careful):
        bidder.begin(market.brief)
    assert (bold.act(obs).bid_micros > careful.act(obs).bid_micros).all()
