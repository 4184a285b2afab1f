"""Computed fields: exactly those that are named as such are added when a resource is shown."""

from datetime import timedelta

import pytest

from gaelp.sandbox.google.account_store import AccountStore
from gaelp.sandbox.google.ad_review import AdReviews
from gaelp.sandbox.google.computed_fields import ReadableResources, is_computed
from gaelp.sandbox.google.field_masks import changed_paths


@pytest.mark.parametrize("kind", ["campaign", "campaign_budget", "ad_group", "ad_group_ad", "ad_group_criterion"])
def test_whoever_needs_no_computed_field_may_read_what_is_stored(sandbox, script, kind):
    script.add_serving_campaign()
    with sandbox.world.call() as call:
        store = AccountStore(call, script.account, sandbox.spec.zone)
        readable = ReadableResources(store, AdReviews(store, sandbox.spec.review, sandbox.spec.seed), False)
        stored = store.all(kind)[0]
        added = {path.split(".")[0] for path in changed_paths(stored, readable.show(kind, stored))}
    assert added
    assert {name for name in added if not is_computed(kind, name)} == set()


def test_stored_and_computed_fields_of_all_joined_resources_are_in_a_row(script):
    campaign, group = script.add_serving_campaign()
    [row] = script.rows(
        "SELECT campaign.name, campaign.serving_status, ad_group.name, ad_group.labels,"
        " ad_group_ad.ad.final_urls FROM ad_group_ad"
    )
    assert (row.campaign.resource_name, row.campaign.name, row.campaign.serving_status.name) == (
        campaign,
        "Campaign",
        "SERVING",
    )
    assert (row.ad_group.resource_name, row.ad_group.name) == (group, "Group")
    assert len(row.ad_group_ad.ad.final_urls) == 1


def test_hours_chosen_by_a_condition_are_those_of_the_whole_days(sandbox, script):
    script.add_serving_campaign()
    sandbox.advance(days=3)
    today = sandbox.today()
    fields = "ad_group.id, segments.date, segments.hour, metrics.impressions, metrics.cost_micros"
    days = f"segments.date BETWEEN '{today - timedelta(days=3)}' AND '{today}'"
    query = f"SELECT {fields} FROM ad_group WHERE {days}"  # noqa: S608 - GAQL
    rows = script.rows(query)
    for condition, holds in (
        ("segments.hour >= 15", lambda hour: hour >= 15),
        ("segments.hour BETWEEN 3 AND 4", lambda hour: 3 <= hour <= 4),
        ("segments.hour IN (2, 20)", lambda hour: hour in (2, 20)),
    ):
        found = script.rows(f"{query} AND {condition}")
        assert found == [row for row in rows if holds(row.segments.hour)]
        assert found
