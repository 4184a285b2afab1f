import numpy as np
import pytest
from pydantic import Field

from gaelp.config.base import Frozen
from gaelp.market.baselines.catalog import CATALOG
from gaelp.market.baselines.search_space import Range, SearchSpace


class Inner(Frozen):
    gain: float = Field(default=2.0, ge=1, le=3)


class Outer(Frozen):
    inner: Inner = Inner()
    weight: float = Field(default=1.0, ge=0.1, le=100)
    free: float = 5.0
    count: int = Field(default=3, ge=1, le=9)


def test_the_space_is_every_bounded_number_of_a_model_and_its_parts():
    ranges = SearchSpace.of(Outer).ranges
    assert [(item.path, item.low, item.high) for item in ranges] == [(("inner", "gain"), 1, 3), (("weight",), 0.1, 100)]
    assert [item.path for item in SearchSpace.of(Outer, without=frozenset({"inner"})).ranges] == [("weight",)]


def test_wide_positive_ranges_are_searched_by_magnitude():
    wide = Range(("weight",), 0.1, 100)
    assert wide.by_magnitude
    assert wide.from_unit(1 / 3) == pytest.approx(1.0)
    assert wide.to_unit(10.0) == pytest.approx(2 / 3)
    assert not Range(("gain",), 1, 3).by_magnitude
    assert not Range(("shift",), -1, 30).by_magnitude


@pytest.mark.parametrize("kind", CATALOG, ids=lambda kind: kind.key)
def test_points_drawn_or_moved_stay_inside_the_bounds_of_every_bidder(kind):
    space, rng = SearchSpace.of(kind.parameters), np.random.default_rng(0)
    point = space.default()
    for _ in range(30):
        point = space.near(rng, point, 0.5)  # the model itself refuses a value out of bounds
        assert isinstance(space.draw(rng), kind.parameters)


def test_a_step_moves_some_parameters_a_little_and_at_least_one():
    space, rng = SearchSpace.of(Outer), np.random.default_rng(0)
    moved = [space.near(rng, Outer(), 0.05) for _ in range(50)]
    assert all(point != Outer() for point in moved)
    assert any(point.inner == Inner() for point in moved)
    assert np.abs([point.inner.gain - 2.0 for point in moved]).mean() < 0.2


def test_values_are_rounded_so_that_a_file_holds_what_was_scored():
    point = SearchSpace.of(Outer).draw(np.random.default_rng(1))
    assert all(value == float(f"{value:.4g}") for value in (point.inner.gain, point.weight))
