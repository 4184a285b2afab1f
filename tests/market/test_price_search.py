import math

import pytest

from gaelp.market.price_search import next_price, search_from


def found(excess_at, guess, low, high, flat=1e-3):
    """The log price where the excess is zero, and how many prices were tried."""
    search = search_from(guess, low, high)
    for evaluation in range(60):
        excess = excess_at(search.price)
        if abs(excess) < 1e-9:
            return search.price, evaluation + 1
        search = next_price(search, excess, evaluation, flat)
        assert low <= search.low <= search.price <= search.high <= high
    return search.price, 60


def test_a_straight_line_is_solved_by_its_first_secant():
    price, tries = found(lambda x: -0.8 * (x - 2.5), guess=0.0, low=-5.0, high=5.0)
    assert price == pytest.approx(2.5)
    assert tries == 3


def test_spend_that_is_flat_at_the_guess_is_bracketed_by_halving():
    price, _ = found(lambda x: 1.0 if x < 1.0 else 3.0 - 2.0 * x, guess=-4.0, low=-5.0, high=5.0)
    assert price == pytest.approx(1.5)


def test_a_guess_outside_the_bracket_starts_at_its_end():
    assert search_from(9.0, -1.0, 1.0).price == 1.0
    assert search_from(-9.0, -1.0, 1.0).price == -1.0


def test_a_curve_is_solved_in_a_few_tries_from_nearby():
    price, tries = found(lambda x: math.log(2.0 / (1.0 + math.exp(x))), guess=0.1, low=-5.0, high=5.0)
    assert price == pytest.approx(0.0, abs=1e-8)
    assert tries <= 10  # halving alone needs more than 30
