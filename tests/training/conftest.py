"""A market whose episodes take a moment, and a rule that bids there."""

import pytest
import torch

from gaelp.market.baselines.catalog import CATALOG
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.market.spec import MarketSpec
from gaelp.training.market_arena import Ground


@pytest.fixture(autouse=True)
def _one_thread():
    """Two on shared cores take longer than one for networks of this size."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def personas():
    return load_persona_table("personas")


@pytest.fixture(scope="session")
def make_ground(personas):
    """A tiny market of some segments, bid in by a rule of the catalog with its defaults."""

    def make(segments=2, rule="mpc", name="tiny"):
        small = {"name": name, "days": 1, "segments": segments, "volume": {"per_hour": 40}}
        spec = MarketSpec.model_validate(load_market_spec("calm").model_dump(exclude={"volume"}) | small)
        kind = next(kind for kind in CATALOG if kind.key == rule)
        return Ground(build_market(spec, personas), lambda: kind.build({}))

    return make


@pytest.fixture(scope="session")
def ground(make_ground):
    return make_ground()
