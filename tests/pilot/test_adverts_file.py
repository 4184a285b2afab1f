"""Campaigns of a pilot on a real account, from a file."""

import copy

import pytest
import yaml

from gaelp.config.pilot_settings import PilotSettings
from gaelp.errors import BadInput, ConfigError
from gaelp.pilot.adverts_file import campaigns_from_file, load_adverts

CREATIVE = {
    "id": "bread-1",
    "advertiser": "demo-shop",
    "headline": "Fresh Bread",
    "landing_url": "https://shop.example/b",
}
CAMPAIGN = {"logged_as": "Spring sale", "creative": CREATIVE}


@pytest.fixture
def load(tmp_path):
    def read(*campaigns, **more):
        path = tmp_path / "adverts.yaml"
        path.write_text(yaml.safe_dump({"currency": "USD", "campaigns": list(campaigns)} | more), encoding="utf-8")
        return load_adverts(path)

    return read


@pytest.fixture
def made(load, account_parts):
    def make(*campaigns, currency="USD", count=1):
        estimates = account_parts.estimates_of(["Spring sale", "Summer sale"], ["rolls", "bread"])
        return campaigns_from_file("run-1", load(*campaigns), PilotSettings(campaigns=count), currency, estimates)

    return make


def test_what_the_file_leaves_out_comes_from_the_history_and_the_settings(made):
    [campaign] = made(CAMPAIGN)
    assert (campaign.daily_micros, campaign.conversion_value_micros) == (25_000_000, 23_456_789)
    assert (campaign.targets, campaign.reference_bids_micros) == (("rolls", "bread"), (1_000_000, 1_010_000))
    assert campaign.name.startswith("run-1-Spring-sale")


def test_what_the_file_gives_counts(made):
    keywords = {"rolls": "warm rolls | fresh rolls", "bread": "fresh bread"}
    own = {"name": "spring", "daily_micros": 50_000_000, "conversion_value_micros": 9_000_000, "keywords": keywords}
    [campaign] = made(CAMPAIGN | own)
    assert (campaign.name, campaign.daily_micros, campaign.conversion_value_micros) == ("spring", 50_000_000, 9_000_000)
    assert campaign.targets == ("warm rolls | fresh rolls", "fresh bread")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"logged_as": "Autumn sale"}, "'Autumn sale' is not among the logged campaigns; allowed: Spring sale, Summer"),
        ({"keywords": {"rolls": "warm rolls"}}, "its segment 'bread' is left out"),
        ({"keywords": {"cake": "cake", "rolls": "r", "bread": "b"}}, "no segment of it is called 'cake'"),
        ({"creative": {"id": "bread-1"}}, "has no landing_url"),
    ],
)
def test_what_does_not_fit_the_history_is_refused(made, changed, said):
    with pytest.raises(BadInput, match=said):
        made(CAMPAIGN | changed)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"daily_micros": 50_000_001}, "daily_micros"),
        ({"daily_micros": 9_999_999}, "daily_micros"),
        ({"dayly_micros": 20_000_000}, "dayly_micros"),
        ({"creative": CREATIVE | {"colour": "red"}}, "colour"),
        ({"name": "spring sale"}, "name"),
    ],
)
def test_a_budget_outside_a_pilot_and_unknown_keys_are_refused_with_their_place(load, changed, said):
    with pytest.raises(ConfigError, match=rf"adverts\.yaml.*{said}"):
        load(CAMPAIGN | changed)


def test_a_file_in_another_currency_is_refused(made):
    with pytest.raises(BadInput, match="adverts is in USD, the account is billed in EUR"):
        made(CAMPAIGN, currency="EUR")


def test_fewer_campaigns_than_the_settings_ask_for_are_refused(made):
    with pytest.raises(BadInput, match=r"pilot\.campaigns=2, and the file with the adverts has 1"):
        made(CAMPAIGN, count=2)


def test_one_logged_campaign_takes_part_once(load):
    with pytest.raises(ConfigError, match="two logged campaigns are named 'Spring sale'"):
        load(CAMPAIGN, copy.deepcopy(CAMPAIGN))


def test_the_shipped_example_can_be_read():
    assert load_adverts("example").campaigns
