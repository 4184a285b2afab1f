"""Landscape tables are monotone, have mean price one and agree with the distribution they tabulate."""

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.stats import lognorm

from gaelp.market.landscape import GRID, build_landscapes, interpolate
from gaelp.market.spec import LandscapeSpec, PriceComponent

LOGNORMAL = LandscapeSpec(name="log-normal", mixture=(PriceComponent(weight=2, log_mean=3.0, log_sd=0.6),))


def test_log_normal_prices_are_tabulated_exactly():
    tables = build_landscapes([LOGNORMAL], first_price=False)
    price = lognorm(s=0.6, scale=np.exp(-0.18))  # mean one
    assert np.abs(tables.win[0] - price.cdf(np.exp(GRID))).max() < 1e-3
    bid = np.exp(GRID[120])
    expected_cost = price.expect(lambda p: p, ub=bid)
    assert tables.cost[0, 120] == pytest.approx(expected_cost, rel=0.01)


@pytest.mark.parametrize("first_price", [False, True])
@pytest.mark.parametrize("steepness", [0.7, 1.0, 1.6])
def test_tables_are_monotone_and_bounded(landscapes, first_price, steepness):
    tables = build_landscapes(landscapes, first_price=first_price, steepness=steepness)
    for table in (tables.win, tables.cost, tables.best_win, tables.best_cost):
        assert (np.diff(table, axis=1) >= -1e-6).all()
    assert tables.win.max() <= 1
    assert (tables.cost <= tables.win * np.exp(GRID) * (1 + 1e-4) + 1e-6).all()


def test_pooled_row_is_the_average(landscapes):
    tables = build_landscapes(landscapes, first_price=False)
    assert np.allclose(tables.win[tables.pooled], tables.win[:-1].mean(axis=0), atol=1e-6)


def test_knots_and_mixture_of_the_same_prices_agree():
    price = lognorm(s=0.6, scale=1.0)
    ratio = np.exp(np.linspace(-4, 4, 200))
    knots = LandscapeSpec(name="knots", knots=tuple((float(r), float(price.cdf(r))) for r in ratio))
    tables = build_landscapes([LOGNORMAL, knots], first_price=False)
    assert np.abs(tables.win[0] - tables.win[1]).max() < 0.01


def test_reading_between_grid_points_is_linear_and_vanishes_below(landscapes):
    tables = build_landscapes(landscapes, first_price=False)
    middle = 0.5 * (GRID[50] + GRID[51])
    assert interpolate(tables.win, 0, middle) == pytest.approx(0.5 * (tables.win[0, 50] + tables.win[0, 51]), rel=1e-5)
    assert interpolate(tables.win, 0, GRID[-1] + 1) == pytest.approx(tables.win[0, -1], rel=1e-5)
    assert interpolate(tables.win, 0, GRID[0] - 5) == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "x"},
        {"name": "x", "mixture": ({"weight": 1, "log_mean": 0, "log_sd": 1},), "knots": ((1, 0.1), (2, 0.2))},
        {"name": "x", "knots": ((2.0, 0.1), (1.0, 0.2))},
        {"name": "x", "knots": ((1.0, 0.3), (2.0, 0.2))},
        {"name": "x", "knots": ((1.0, 0.3),)},
    ],
)
def test_an_impossible_landscape_is_refused(wrong):
    with pytest.raises(ValidationError, match="landscape 'x'"):
        LandscapeSpec.model_validate(wrong)


def test_a_share_above_one_is_refused():
    with pytest.raises(ValidationError, match="less than or equal to 1"):
        LandscapeSpec.model_validate({"name": "x", "knots": ((1.0, 0.3), (2.0, 1.2))})
