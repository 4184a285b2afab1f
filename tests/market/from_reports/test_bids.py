"""Bids for clicks: they win what the impression bids would have won, in whole cents, inside their range."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.errors import BadInput
from gaelp.market.from_reports import BidRules, click_bids, impression_bid_log
from gaelp.market.market import seeds_from
from gaelp.market.view import Action
from tests.market.from_reports.market_reports import build_policy

EXACT = BidRules(unit_micros=1)
CENT = 10_000


def action(*bids, pace=None):
    return Action(np.array([bids], np.int64), None if pace is None else np.array([pace], np.float32))


def test_both_forms_win_the_same_auctions_in_the_market_where_the_click_rate_is_known(make_market):
    """One market bids for impressions, the other what the bids for clicks offer for an impression."""
    markets = [make_market(price={"level_micros": 20_000}) for _ in range(2)]
    obs, _ = (market.reset(seeds_from(3, 6)) for market in markets)
    rate = markets[0].world.click_rate.astype(np.float64)
    policy = build_policy("mpc")
    policy.begin(markets[0].brief)
    while not markets[0].done:
        wanted = policy.act(obs)
        offered = click_bids(wanted, rate, EXACT).bid_micros * rate
        obs, _ = markets[0].step(wanted)
        markets[1].step(Action(np.rint(offered).astype(np.int64)))
        for name in ("impressions", "cost_micros", "clicks"):
            assert np.array_equal(*(getattr(market.state, name) for market in markets)), name


@given(
    bid=st.integers(100, 10**8), rate=st.floats(1e-3, 0.5), prices=st.lists(st.floats(1, 1e8), min_size=1, max_size=50)
)
def test_an_auction_is_won_by_both_forms_or_by_neither_but_for_the_last_cent(bid, rate, prices):
    sent = click_bids(action(bid), np.array([[rate]]), BidRules()).bid_micros[0, 0] * rate
    for price in prices:
        if abs(price - bid) > CENT * rate:
            assert (sent >= price) == (bid >= price)


@given(
    bid=st.integers(0, 10**9),
    rate=st.floats(1e-4, 1),
    reference=st.integers(1, 10**6),
    factor=st.floats(1, 3),
    ceiling=st.one_of(st.none(), st.integers(CENT, 10**8)),
    pace=st.floats(0, 1, width=32),
)
def test_every_bid_is_whole_cents_inside_its_range(bid, rate, reference, factor, ceiling, pace):
    rules = BidRules(reference_factor=factor, ceiling_micros=ceiling)
    bids = click_bids(action(bid, pace=pace), np.array([[rate]]), rules, np.array([[reference * CENT]]))
    sent = int(bids.bid_micros[0, 0])
    assert sent % CENT == 0
    assert sent >= CENT
    assert sent <= max(reference * CENT * factor, CENT)
    assert ceiling is None or sent <= ceiling
    assert sent >= reference * CENT / factor or sent + CENT > (ceiling or 0)
    if not bids.clipped[0, 0] and sent > CENT:
        asked = bid / rate * np.clip(np.float64(np.float32(pace)), 0, 1)
        assert abs(sent - asked) <= CENT


def test_rounding_is_to_the_nearest_cent_and_inwards_at_the_ends():
    rates = np.full((1, 4), 0.01)
    bids = click_bids(action(1249, 1251, 900, 5000), rates, BidRules(), np.full((1, 4), 130_000))
    assert bids.bid_micros.tolist() == [[120_000, 130_000, 90_000, 190_000]]
    assert bids.clipped.tolist() == [[False, False, False, True]]
    assert bids.budget_factor.tolist() == [1.0]


def test_pace_lowers_bids_or_the_budget_or_nothing():
    rates, asked = np.full((1, 1), 0.01), action(10_000, pace=0.5)
    by_bid, by_budget, ignored = (click_bids(asked, rates, BidRules(pace=pace)) for pace in ("bid", "budget", "ignore"))
    assert [bids.bid_micros[0, 0] for bids in (by_bid, by_budget, ignored)] == [500_000, 1_000_000, 1_000_000]
    assert [bids.budget_factor[0] for bids in (by_bid, by_budget, ignored)] == [1.0, 0.5, 1.0]


def test_a_bid_of_nothing_becomes_the_lowest_of_the_range_and_counts_as_clipped():
    bids = click_bids(action(0), np.full((1, 1), 0.01), BidRules(), np.array([[300_000]]))
    assert bids.bid_micros.tolist() == [[200_000]]
    assert bids.clipped.all()


def test_what_was_bid_for_clicks_is_remembered_as_a_bid_for_impressions():
    np.testing.assert_allclose(impression_bid_log(np.array([[2_000_000]]), np.array([[0.05]])), np.log(100_000))


@pytest.mark.parametrize(
    ("rate", "reference", "rules", "message"),
    [
        (0.0, 10_000, BidRules(), "allowed: above 0, up to 1"),
        (0.1, 0, BidRules(), "reference bid of 0 micros"),
        (0.1, 10_000, BidRules(ceiling_micros=5_000), "below one unit"),
    ],
)
def test_what_cannot_be_a_bid_is_refused(rate, reference, rules, message):
    with pytest.raises(BadInput, match=message):
        click_bids(action(1000), np.full((1, 1), rate), rules, np.array([[reference]]))
    with pytest.raises(BadInput, match="shape"):
        click_bids(action(1000), np.ones((2, 2)), rules)
