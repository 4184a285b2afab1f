import math

import pytest
from pydantic import ValidationError

from gaelp.config.load import load_model
from gaelp.errors import DataError
from gaelp.market.spec import LandscapeSet

MIXTURE = [{"weight": 1, "log_mean": 0, "log_sd": 1}]


@pytest.fixture(scope="module")
def built_in():
    return load_model(LandscapeSet, "landscapes", "library", error=DataError)


def test_the_built_in_set_has_nine_landscapes_of_two_to_four_parts(built_in):
    assert len(built_in.landscapes) == 9
    assert all(2 <= len(landscape.mixture) <= 4 for landscape in built_in.landscapes)


def test_the_built_in_set_names_its_origin(built_in):
    assert "iPinYou" in built_in.source
    assert "WSDM'17" in built_in.source


def test_every_built_in_landscape_has_a_mean_price_of_1(built_in):
    for landscape in built_in.landscapes:
        assert sum(part.weight for part in landscape.mixture) == pytest.approx(1)
        mean = sum(part.weight * math.exp(part.log_mean + part.log_sd**2 / 2) for part in landscape.mixture)
        assert mean == pytest.approx(1, abs=0.002)


def test_two_landscapes_of_one_name_are_refused():
    twice = [{"name": "same", "mixture": MIXTURE}] * 2
    with pytest.raises(ValidationError, match="two landscapes are named 'same'"):
        LandscapeSet.model_validate({"source": "here", "landscapes": twice})


def test_a_set_without_source_or_landscapes_is_refused():
    for values in ({"landscapes": [{"name": "a", "mixture": MIXTURE}]}, {"source": "here", "landscapes": []}):
        with pytest.raises(ValidationError):
            LandscapeSet.model_validate(values)
