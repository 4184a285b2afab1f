"""A small world for tests of the sandbox: few searches, so that days pass in milliseconds."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from gaelp.sandbox.serving import OverdeliveryLimits, ServedCampaign, ServedGroup
from gaelp.sandbox.spec import load_sandbox_spec
from gaelp.sandbox.world import open_world


@pytest.fixture(scope="session")
def small_spec():
    """The default world with one search a minute, and more invalid clicks, sales and refunds than usual."""
    spec = load_sandbox_spec()
    return spec.model_copy(
        update={
            "seed": 3,
            "start": datetime(2026, 10, 26, 4, tzinfo=UTC),  # Monday midnight in New York; clocks change on November 1
            "searches": spec.searches.model_copy(update={"per_hour": 60.0}),
            "users": spec.users.model_copy(update={"per_product": 200}),
            "response": spec.response.model_copy(update={"conversion_rate": 0.3}),
            "sales": spec.sales.model_copy(update={"refund_share": 0.4}),
            "clicks": spec.clicks.model_copy(update={"invalid_share": 0.2}),
        }
    )


@pytest.fixture(scope="session")
def campaign(small_spec):
    """A campaign that serves, changed as asked."""
    served = ServedCampaign(
        id=1,
        account=small_spec.customer_ids[0],
        product="shop.example/shoes",
        enabled=True,
        groups=tuple(ServedGroup(10 + topic, (topic,), 3_000_000) for topic in range(8)),
        overdelivery=OverdeliveryLimits(200, "month", 3040),
        daily_micros=100_000_000,
    )
    return lambda **changes: replace(served, **changes)


@pytest.fixture
def worlds(tmp_path):
    """Open worlds by the name of their folder; all are closed at the end."""
    opened = []

    def opened_world(name, spec=None):
        opened.append(open_world(tmp_path / name, spec))
        return opened[-1]

    yield opened_world
    for world in opened:
        if not world.is_closed:
            world.close()


@pytest.fixture
def world(worlds, small_spec):
    """A new world."""
    return worlds("world", small_spec)
