import numpy as np
import pytest

from gaelp.market.calibration.price_shapes import fit_shape, score_table


def distances(seed, *, lost, gap=1.6, sd=0.3, rows=8000):
    rng = np.random.default_rng(seed)
    price = gap * ((rng.random(rows) < 0.4) - 0.4) + sd * rng.normal(size=rows)
    bid = 0.3 + 0.6 * rng.normal(size=rows) if lost else np.full(rows, 50.0)
    known = price <= bid
    return np.where(known, price, bid), known


@pytest.mark.parametrize("lost", [False, True])
def test_two_modes_are_found_with_and_without_lost_bids(lost):
    shape = fit_shape(*distances(1, lost=lost))
    order = np.argsort(shape.mean)
    assert shape.mean[order] == pytest.approx([-0.64, 0.96], abs=0.06)
    assert shape.weight[order] == pytest.approx([0.6, 0.4], abs=0.04)
    assert shape.sd == pytest.approx(0.3, abs=0.05)


def test_one_mode_needs_no_second_part():
    assert len(fit_shape(*distances(2, lost=True, gap=0.0, sd=0.8)).weight) == 1


def test_the_pull_of_a_normal_is_its_distance_over_the_variance():
    shape = fit_shape(*distances(3, lost=False, gap=0.0, sd=0.5))
    table = score_table(shape, -2.0, 2.0)
    pull = table.pull(np.array([-0.5, 0.0, 0.5]), np.ones(3, bool))
    assert pull == pytest.approx(np.array([-2, 0, 2]), abs=0.15)
    assert table.information[-1] == pytest.approx(4, abs=0.25)


def test_information_is_the_mean_square_of_the_pull_at_each_bid():
    value, known = distances(4, lost=False)
    table = score_table(fit_shape(value, known), -3.0, 3.0)
    for bid in (-0.5, 0.2, 1.0):
        seen = value <= bid
        pull = table.pull(np.where(seen, value, bid), seen)
        assert float(np.interp(bid, table.at, table.information)) == pytest.approx(float((pull**2).mean()), rel=0.05)
