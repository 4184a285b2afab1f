"""Campaigns of a pilot on the local ad platform."""

import pytest

from gaelp.content import load_checker
from gaelp.errors import BadInput
from gaelp.pilot.local_account import synthesized
from gaelp.pilot.local_campaigns import local_campaigns
from gaelp.sandbox.google.serving_projection import product_of
from gaelp.sandbox.history_specs import history_specs
from gaelp.sandbox.incumbent import incumbent_products
from gaelp.sandbox.topics import TOPICS, topic_of


@pytest.fixture
def settings(tmp_path, account_parts):
    return account_parts.settings_of(tmp_path)


@pytest.fixture
def made(settings, account_parts):
    def make(names=None, **options):
        estimates = account_parts.estimates_of(names or account_parts.history_names(settings), **options)
        return local_campaigns("run-1", settings.pilot, synthesized(settings), settings.run.seed, estimates)

    return make


def test_the_campaigns_with_the_most_clicks_take_part(made, settings, account_parts):
    first, second, third = account_parts.history_names(settings)
    taken = [campaign.logged_as for campaign in made(click_errors=[0.3, 0.1, 0.2])]
    assert taken == [second, third]
    assert first not in taken


def test_an_advert_leads_to_the_product_of_the_logged_campaign_and_passes_the_content_check(made, settings):
    products, checker = incumbent_products(*history_specs(synthesized(settings), settings.run.seed)), load_checker()
    for campaign in made():
        assert product_of(campaign.creative.landing_url) == products[campaign.logged_as]
        assert checker.check(campaign.creative).outcome == "allow"


def test_targets_reach_every_topic_once_with_the_usual_bid_in_whole_cents(made):
    [campaign, _] = made()
    assert sorted(topic_of(target) for target in campaign.targets) == list(range(TOPICS))
    assert campaign.reference_bids_micros[:3] == (1_000_000, 1_010_000, 1_020_000)
    assert campaign.conversion_value_micros == 23_456_789


def test_more_campaigns_than_the_history_has_are_refused(made, settings, account_parts):
    with pytest.raises(BadInput, match=r"pilot\.campaigns=2, and the history has 1 campaigns"):
        made(account_parts.history_names(settings)[:1])


def test_a_log_of_another_world_is_refused(made):
    with pytest.raises(BadInput, match="none of the synthesized history"):
        made(("spring", "summer"))
