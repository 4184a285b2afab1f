"""Small markets for the tests of the package."""

import numpy as np
import pytest

from gaelp.config.objective import VALUE
from gaelp.market.build import load_persona_table
from gaelp.market.market import Market
from gaelp.market.spec import LandscapeSpec, MarketSpec, PriceComponent
from gaelp.market.view import Action

EVERYTHING = {
    "name": "everything",
    "price": {"payment": "first", "jump_log_size": 0.4, "common_drift_sd": 0.15},
    "response": {"daypart_amplitude": 0.3, "persona_strength": 0.5, "value_drift_sd": 0.1, "click_rate": 0.05},
    "delay": {"mean_hours": 10, "immediate_share": 0.2, "window_hours": 24, "family": "lognormal", "shape": 2.0},
    "reports": {"lag_hours": 2, "invalid_share": 0.1, "revised_after_hours": 5},
    "launch_hours": [1] * 24,
    "fatigue": {"strength": 0.5},
    "creatives": {"count": 3},
}


@pytest.fixture(scope="session")
def landscapes():
    return tuple(
        LandscapeSpec(
            name=f"mix-{i}",
            mixture=(
                PriceComponent(weight=0.6, log_mean=-0.8 + 0.1 * i, log_sd=0.5),
                PriceComponent(weight=0.4, log_mean=0.3, log_sd=0.7),
            ),
        )
        for i in range(3)
    )


@pytest.fixture(scope="session")
def personas():
    return load_persona_table("personas")


@pytest.fixture(scope="session")
def make_market(personas, landscapes):
    """A market from overrides of the default spec."""

    def make(objective=VALUE, **overrides):
        return Market(MarketSpec.model_validate({"name": "test", **overrides}), personas, landscapes, objective)

    return make


@pytest.fixture
def everything(make_market):
    """A market with every mechanism on."""
    return make_market(**EVERYTHING)


@pytest.fixture(scope="session")
def everything_spec():
    return EVERYTHING


@pytest.fixture(scope="session")
def random_action():
    """Bids from far too low to far too high, some of them zero, any pace, any creative."""

    def act(market, rng):
        shape = (market.campaigns, market.spec.segments)
        bids = np.exp(rng.normal(np.log(market.spec.price.level_micros), 1.5, shape)).astype(np.int64)
        return Action(
            bids * (rng.random(shape) < 0.9),
            pace=rng.random(market.campaigns).astype(np.float32),
            creative=rng.integers(0, market.spec.creatives.count, shape).astype(np.int8),
        )

    return act
