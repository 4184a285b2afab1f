import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaelp.market.calibration.kaplan_meier import kaplan_meier


def curve_of(prices, lost_bids, **options):
    value = np.array([*prices, *lost_bids], float)
    price_seen = np.array([True] * len(prices) + [False] * len(lost_bids))
    return kaplan_meier(value, price_seen, **options)


def test_it_agrees_with_a_computation_by_hand():
    # Prices 1, 2, 2, 4; bids lost at 2 and at 3.
    # At 1: 6 at risk, 1 seen -> 5/6. At 2: 5 at risk, 2 seen -> 5/6 * 3/5 = 1/2 (the bid lost at 2 was at risk).
    # At 4: 1 at risk, 1 seen -> 0.
    curve = curve_of([1, 2, 2, 4], [2, 3])
    assert curve.price.tolist() == [1, 2, 4]
    assert curve.share == pytest.approx([1 / 6, 1 / 2, 1])
    # Greenwood: 1/2 * sqrt(1/(6*5) + 2/(5*3))
    assert curve.std_error[1] == pytest.approx(0.5 * np.sqrt(1 / 30 + 2 / 15))
    assert (curve.prices_seen, curve.bids_lost) == (4, 2)


def test_without_losses_it_is_the_plain_share():
    curve = curve_of([3, 1, 1, 2], [])
    assert curve.share == pytest.approx([0.5, 0.75, 1])
    assert curve.unknown_share == pytest.approx(0)


def test_when_every_bid_is_lost_nothing_is_known_below_the_highest():
    curve = curve_of([], [5, 7])
    assert len(curve.price) == 0
    assert curve.unknown_share == 1
    assert curve.highest == 7


def test_mass_beyond_the_highest_bid_stays_unknown():
    curve = curve_of([1, 2], [10, 10])
    assert curve.share == pytest.approx([0.25, 0.5])
    assert curve.unknown_share == pytest.approx(0.5)
    assert curve.highest == 10


def test_counts_stand_for_repeated_auctions():
    counted = kaplan_meier(np.array([1.0, 2, 3]), np.array([True, False, True]), np.array([3.0, 0, 2]))
    plain = curve_of([1, 1, 1, 3, 3], [])
    assert counted.share.tolist() == plain.share.tolist()
    assert counted.std_error.tolist() == plain.std_error.tolist()


def test_lost_bids_do_not_bias_the_curve():
    rng = np.random.default_rng(5)
    price = rng.lognormal(0, 0.8, 40_000)
    bid = rng.lognormal(0, 0.5, 40_000)
    won = price <= bid
    curve = kaplan_meier(np.where(won, price, bid), won)
    at = np.quantile(price, [0.1, 0.3, 0.5, 0.7, 0.9])
    index = np.searchsorted(curve.price, at) - 1
    truth = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    assert (np.abs(curve.share[index] - truth) < 3 * curve.std_error[index] + 3e-3).all()
    naive = np.array([(price[won] <= value).mean() for value in at])
    assert (naive - truth).max() > 0.1  # what the won prices alone would say


def test_a_thin_upper_tail_is_left_unknown_where_bids_were_lost():
    rng = np.random.default_rng(6)
    price, bid = rng.lognormal(0, 0.8, 5000), rng.lognormal(0, 0.5, 5000)
    won = price <= bid
    value = np.where(won, price, bid)
    whole, cut = kaplan_meier(value, won), kaplan_meier(value, won, at_risk_min=20)
    assert (value >= cut.highest).sum() >= 20
    assert cut.highest < whole.highest
    assert cut.unknown_share > whole.unknown_share
    assert cut.share.tolist() == whole.share[: len(cut.share)].tolist()


def test_a_thin_upper_tail_is_kept_where_nothing_was_lost():
    assert curve_of([1, 2, 3], [], at_risk_min=20).share[-1] == 1


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=40),
    st.randoms(use_true_random=False),
)
def test_the_curve_rises_within_0_and_1_in_any_order_of_the_log(rows, shuffler):
    value, price_seen = (np.array(column) for column in zip(*rows, strict=True))
    curve = kaplan_meier(value.astype(float), price_seen)
    assert (np.diff(curve.share) >= 0).all()
    assert ((curve.share >= 0) & (curve.share <= 1 + 1e-12)).all()
    order = list(range(len(rows)))
    shuffler.shuffle(order)
    assert kaplan_meier(value.astype(float)[order], price_seen[order]).share == pytest.approx(curve.share)
