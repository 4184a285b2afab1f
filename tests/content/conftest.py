import importlib.util
import sys
from pathlib import Path

import pytest

from gaelp.content import Audience, Creative, load_checker
from gaelp.content.look_alikes import load_look_alikes


@pytest.fixture(scope="session")
def labelled():
    """The module with the creatives of known label and the disguises."""
    name = "labelled_creatives"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture(scope="session")
def look_alikes():
    return load_look_alikes()


@pytest.fixture(scope="session")
def checker():
    return load_checker()


CLEAN = {
    "id": "bread-1",
    "advertiser": "demo-shop",
    "headline": "Fresh Bread Every Morning",
    "description": "Baked before sunrise and sold until noon. Order online and collect.",
    "call_to_action": "Order now",
    "display_url": "www.shop.example",
    "landing_url": "https://www.shop.example/bread",
    "landing_text": "Our bread is baked every morning before sunrise. Order fresh bread online and collect it.",
    "language": "en-GB",
    "audience": Audience(min_age=18),
}


@pytest.fixture
def advert():
    """A creative that is clean but for what is changed."""

    def build(**changes):
        return Creative(**{**CLEAN, **changes})

    return build
