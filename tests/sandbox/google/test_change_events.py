"""change_event: who changed what, by hand or through the API."""

from datetime import timedelta

import pytest
from google.ads.googleads.errors import GoogleAdsException
from google.api_core import protobuf_helpers

from gaelp.sandbox.google.accounts import CLIENT_HEADER, USER_HEADER

FIELDS = (
    "SELECT change_event.change_date_time, change_event.user_email, change_event.client_type, change_event.campaign,"
    " change_event.change_resource_type, change_event.change_resource_name, change_event.resource_change_operation,"
    " change_event.changed_fields, change_event.old_resource, change_event.new_resource FROM change_event"
)


@pytest.fixture
def changes(sandbox, script):
    def read(extra=""):
        today = sandbox.today()
        return [
            row.change_event
            for row in script.rows(
                f"{FIELDS} WHERE change_event.change_date_time >= '{today - timedelta(days=7)}'"
                f" AND change_event.change_date_time <= '{today + timedelta(days=1)}' {extra}"
                " ORDER BY change_event.change_date_time DESC LIMIT 100"
            )
        ]

    return read


def edit_by_hand(client, script, group, micros):
    operation = client.get_type("AdGroupOperation")
    operation.update.resource_name, operation.update.cpc_bid_micros = group, micros
    client.copy_from(operation.update_mask, protobuf_helpers.field_mask(None, operation.update._pb))
    metadata = ((USER_HEADER, "alex@shop.example"), (CLIENT_HEADER, "GOOGLE_ADS_WEB_CLIENT"))
    service = client.get_service("AdGroupService")
    service.mutate_ad_groups(customer_id=script.account, operations=[operation], metadata=metadata)


def test_an_edit_by_hand_is_told_from_one_through_the_api(sandbox, client, script, changes):
    campaign, group = script.add_serving_campaign()
    sandbox.advance(minutes=5)
    edit_by_hand(client, script, group, 4_000_000)
    by_hand = changes("AND change_event.client_type = 'GOOGLE_ADS_WEB_CLIENT'")
    assert len(by_hand) == 1
    event = by_hand[0]
    assert (event.user_email, event.change_resource_type.name) == ("alex@shop.example", "AD_GROUP")
    assert (event.change_resource_name, event.campaign) == (group, campaign)
    assert event.resource_change_operation.name == "UPDATE"
    assert list(event.changed_fields.paths) == ["cpc_bid_micros"]
    assert event.old_resource.ad_group.cpc_bid_micros == 2_000_000
    assert event.new_resource.ad_group.cpc_bid_micros == 4_000_000


def test_every_kind_of_change_leaves_one_event(client, script, changes):
    campaign, _ = script.add_serving_campaign()
    operation = client.get_type("CampaignOperation")
    operation.remove = campaign
    client.get_service("CampaignService").mutate_campaigns(customer_id=script.account, operations=[operation])
    seen = [(event.change_resource_type.name, event.resource_change_operation.name) for event in changes()]
    assert seen.count(("AD_GROUP_CRITERION", "CREATE")) == 8
    for wanted in (
        ("CAMPAIGN_BUDGET", "CREATE"),
        ("CAMPAIGN", "CREATE"),
        ("AD_GROUP", "CREATE"),
        ("AD_GROUP_AD", "CREATE"),
        ("CAMPAIGN", "REMOVE"),
    ):
        assert seen.count(wanted) == 1


def test_an_update_that_changes_nothing_leaves_no_event(client, script, changes):
    _, group = script.add_serving_campaign()
    before = len(changes())
    edit_by_hand(client, script, group, 2_000_000)
    assert len(changes()) == before


def test_events_need_a_range_of_dates_and_it_may_not_be_too_old(sandbox, script):
    with pytest.raises(GoogleAdsException) as raised:
        script.rows(f"{FIELDS} LIMIT 10")
    assert raised.value.failure.errors[0].error_code.change_event_error.name == "CHANGE_DATE_RANGE_INFINITE"
    today = sandbox.today()
    with pytest.raises(GoogleAdsException) as raised:
        script.rows(
            f"{FIELDS} WHERE change_event.change_date_time >= '{today - timedelta(days=40)}'"
            f" AND change_event.change_date_time <= '{today}' LIMIT 10"
        )
    assert raised.value.failure.errors[0].error_code.change_event_error.name == "START_DATE_TOO_OLD"
