"""Parts that the tests of a release share."""

import importlib.util
from pathlib import Path

import pytest

from gaelp.content import Creative
from gaelp.market.build import load_persona_table
from gaelp.pilot.pilot_plan import PilotCampaign, PilotPlan


@pytest.fixture(scope="session")
def release_cases():
    """The module with figures of releases."""
    spec = importlib.util.spec_from_file_location("release_cases", Path(__file__).with_name("release_cases.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def pilot_plan(pilot_cases):
    """The plan of the pilot before the release."""
    campaigns = tuple(
        PilotCampaign(
            name=name,
            logged_as=f"logged-{name}",
            daily_micros=25_000_000,
            conversion_value_micros=20_000_000,
            targets=("a", "b"),
            reference_bids_micros=(1_200_000, 900_000),
            creative=Creative(id="advert"),
        )
        for name in pilot_cases.campaign_names()
    )
    return PilotPlan(
        name="run",
        account="1000000001",
        currency="USD",
        time_zone="America/New_York",
        model_hash="ab" * 32,
        campaigns=campaigns,
        first_day=pilot_cases.FIRST_DAY,
        days=pilot_cases.DAYS,
        settle_days=7,
        reach=1.5,
        bid_ceiling_micros=3_000_000,
        loss_cap_micros=2_333_000_000,
    )


@pytest.fixture(scope="session")
def personas():
    return load_persona_table("personas")
