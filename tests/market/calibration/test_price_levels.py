import numpy as np
import pytest

from gaelp.market.calibration.price_levels import price_levels


def cells(seed, *, censored, cells=60, rows=400, sd=0.8):
    rng = np.random.default_rng(seed)
    level = 7 + 0.4 * rng.normal(size=cells)
    cell = np.repeat(np.arange(cells), rows)
    price = level[cell] + sd * rng.normal(size=len(cell))
    bid = np.full(len(cell), 99.0) if not censored else 7 + 0.5 * rng.normal(size=len(cell))
    known = price <= bid
    return level, cell, np.where(known, price, bid), known


@pytest.mark.parametrize("censored", [False, True])
def test_levels_are_recovered_with_honest_precision(censored):
    level, cell, value, known = cells(1, censored=censored)
    levels = price_levels(value, known, cell, len(level))
    error = (levels.level - level) * np.sqrt(levels.precision)
    assert levels.sd == pytest.approx(0.8, abs=0.02)
    assert error.std() == pytest.approx(1, abs=0.3)
    assert abs(error.mean()) < 0.4


def test_won_prices_alone_would_be_too_low():
    level, cell, value, known = cells(2, censored=True)
    naive = np.array([value[(cell == index) & known].mean() for index in range(len(level))])
    assert (naive - level).mean() < -0.3
    assert abs((price_levels(value, known, cell, len(level)).level - level).mean()) < 0.03


def test_without_losses_the_level_is_the_mean():
    level, cell, value, known = cells(3, censored=False)
    levels = price_levels(value, known, cell, len(level))
    assert levels.level == pytest.approx([value[cell == index].mean() for index in range(len(level))])


def test_a_cell_with_hardly_a_price_has_no_precision():
    value, known = np.array([1.0, 1.0, 5.0, 6.0, 7.0, 5.5]), np.array([True, False, True, True, True, True])
    levels = price_levels(value, known, np.array([0, 0, 1, 1, 1, 1]), 3)
    assert levels.precision[0] == levels.precision[2] == 0
    assert levels.precision[1] > 0


def test_nothing_but_losses_has_no_level():
    levels = price_levels(np.ones(5), np.zeros(5, bool), np.zeros(5, np.int64), 1)
    assert levels.precision.tolist() == [0]


def test_cells_with_few_prices_do_not_look_more_certain_than_they_are():
    _, cell, value, known = cells(seed=6, censored=False, cells=2000, rows=4)
    levels = price_levels(value, known, cell, 2000)
    assert levels.sd == pytest.approx(0.8, rel=0.03)
