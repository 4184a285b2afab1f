import pytest

from gaelp.errors import DataError
from gaelp.market.build import build_market, load_market_spec
from gaelp.market.personas import neutral_table
from gaelp.market.spec import LandscapeSpec


def test_a_market_without_landscapes_of_its_own_has_the_built_in_ones():
    spec = load_market_spec("calm")
    assert not spec.landscapes
    assert len(build_market(spec, neutral_table()).landscapes.win) > 2


def test_a_market_with_landscapes_of_its_own_has_only_these():
    own = LandscapeSpec(name="own", knots=((0.5, 0.2), (2.0, 1.0)))
    spec = load_market_spec("calm").model_copy(update={"landscapes": (own,)})
    assert len(build_market(spec, neutral_table()).landscapes.win) == 2  # its own and the pooled row


def test_an_unknown_market_is_refused_with_the_known_ones():
    with pytest.raises(DataError, match="'clam' not found"):
        load_market_spec("clam")
