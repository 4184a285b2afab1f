"""What the exchange gets to serve for a Google campaign."""

import pytest
from google.api_core import protobuf_helpers

from gaelp.sandbox.google.account_store import AccountStore
from gaelp.sandbox.google.ad_review import AdReviews
from gaelp.sandbox.google.serving_projection import CampaignProjection, product_of
from gaelp.sandbox.serving import ManualBids, MaximizeConversions, TargetCpa, TargetRoas
from gaelp.sandbox.topics import topic_of


@pytest.fixture
def served(sandbox, script):
    def read(name):
        with sandbox.world.call() as call:
            store = AccountStore(call, script.account, sandbox.spec.zone)
            reviews = AdReviews(store, sandbox.spec.review, sandbox.spec.seed)
            limits = sandbox.spec.overdelivery.google.limits()
            return list(CampaignProjection(store, reviews, store.existing(name), limits).served(suspended=False))

    return read


@pytest.mark.parametrize(
    ("url", "product"),
    [
        ("https://www.Example.com/Shoes/?utm=1#top", "www.example.com/shoes"),
        ("http://example.com", "example.com"),
        ("https://example.com:8443/a/b/", "example.com/a/b"),
    ],
)
def test_a_product_is_host_and_path_of_the_landing_page(url, product):
    assert product_of(url) == product


def test_a_campaign_without_advert_is_not_served(script, served):
    assert served(script.add_campaign(script.add_budget())) == []


def test_a_group_serves_when_its_advert_has_been_reviewed(sandbox, script, served):
    campaign, group = script.add_serving_campaign()
    (now, before), (later, after) = served(campaign)
    hours = (later - now).total_seconds() / 3600
    assert sandbox.spec.review.hours_low <= hours <= sandbox.spec.review.hours_high
    assert before.groups == ()
    assert [item.id for item in after.groups] == [int(group.rsplit("/", 1)[1])]
    assert after.groups[0].bid_micros == 2_000_000
    assert (after.daily_micros, after.enabled, after.strategy) == (50_000_000, True, ManualBids())
    assert (after.overdelivery.day_percent, after.overdelivery.period) == (200, "month")


def test_keywords_say_which_topics_a_group_reaches(sandbox, script, served):
    campaign = script.add_campaign(script.add_budget())
    group = script.add_ad_group(campaign)
    script.add_ad(group)
    script.add_keywords(group, "running shoes", "trail shoes")
    expected = tuple(sorted({topic_of("running shoes"), topic_of("trail shoes")}))
    assert served(campaign)[-1][1].groups[0].topics == expected


@pytest.mark.parametrize(
    ("bidding", "strategy"),
    [
        (lambda campaign: setattr(campaign.target_cpa, "target_cpa_micros", 9_000_000), TargetCpa(9_000_000)),
        (lambda campaign: setattr(campaign.target_roas, "target_roas", 3.0), TargetRoas(3.0)),
        (lambda campaign: setattr(campaign.maximize_conversions, "target_cpa_micros", 0), MaximizeConversions()),
        (lambda campaign: setattr(campaign.maximize_conversions, "target_cpa_micros", 8_000_000), TargetCpa(8_000_000)),
        (lambda campaign: setattr(campaign.maximize_conversion_value, "target_roas", 2.0), TargetRoas(2.0)),
    ],
)
def test_bidding_becomes_a_strategy_of_the_exchange(script, served, bidding, strategy):
    campaign, _ = script.add_serving_campaign("Automatic", bidding)
    assert served(campaign)[-1][1].strategy == strategy


def test_modifiers_of_a_group_count_instead_of_the_campaigns(client, script, served):
    campaign, group = script.add_serving_campaign()
    mobile, desktop = client.enums.DeviceEnum.MOBILE, client.enums.DeviceEnum.DESKTOP
    for device, factor in ((mobile, 1.5), (desktop, 0.0)):
        operation = client.get_type("CampaignCriterionOperation")
        operation.create.campaign, operation.create.bid_modifier = campaign, factor
        operation.create.device.type_ = device
        client.get_service("CampaignCriterionService").mutate_campaign_criteria(
            customer_id=script.account, operations=[operation]
        )
    modifier = client.get_type("AdGroupBidModifierOperation")
    modifier.create.ad_group, modifier.create.bid_modifier = group, 0.5
    modifier.create.device.type_ = mobile
    client.get_service("AdGroupBidModifierService").mutate_ad_group_bid_modifiers(
        customer_id=script.account, operations=[modifier]
    )
    assert served(campaign)[-1][1].groups[0].device_factors == (0.5, 0.0)


def test_with_a_schedule_adverts_serve_only_inside_it(client, script, served):
    campaign, _ = script.add_serving_campaign()
    operation = client.get_type("CampaignCriterionOperation")
    operation.create.campaign, operation.create.bid_modifier = campaign, 1.2
    schedule = operation.create.ad_schedule
    schedule.day_of_week, schedule.start_hour, schedule.end_hour = client.enums.DayOfWeekEnum.TUESDAY, 8, 10
    client.get_service("CampaignCriterionService").mutate_campaign_criteria(
        customer_id=script.account, operations=[operation]
    )
    factors = served(campaign)[-1][1].groups[0].hour_factors
    assert {hour: factor for hour, factor in enumerate(factors) if factor} == {
        32: pytest.approx(1.2),
        33: pytest.approx(1.2),
    }


def test_a_paused_campaign_is_kept_but_not_enabled(client, script, served):
    campaign, _ = script.add_serving_campaign()
    operation = client.get_type("CampaignOperation")
    operation.update.resource_name = campaign
    operation.update.status = client.enums.CampaignStatusEnum.PAUSED
    client.copy_from(operation.update_mask, protobuf_helpers.field_mask(None, operation.update._pb))
    client.get_service("CampaignService").mutate_campaigns(customer_id=script.account, operations=[operation])
    assert not served(campaign)[-1][1].enabled


def test_a_total_budget_lasts_for_the_whole_flight(client, script, served):
    operation = client.get_type("CampaignBudgetOperation")
    operation.create.name, operation.create.total_amount_micros = "Total", 300_000_000
    operation.create.explicitly_shared = False
    operation.create.period = client.enums.BudgetPeriodEnum.CUSTOM_PERIOD
    budget = client.get_service("CampaignBudgetService").mutate_campaign_budgets(
        customer_id=script.account, operations=[operation]
    )
    creation = script.campaign_operation(budget.results[0].resource_name)
    creation.create.end_date_time = "2030-01-31 23:59:59"
    campaign = client.get_service("CampaignService").mutate_campaigns(customer_id=script.account, operations=[creation])
    name = campaign.results[0].resource_name
    script.add_ad(script.add_ad_group(name))
    last = served(name)[-1][1]
    assert (last.daily_micros, last.total_micros, last.last_day.isoformat()) == (None, 300_000_000, "2030-01-31")
