"""What the exchange is told: budgets, bids, targeting, times and reviews of Meta's objects."""

from datetime import timedelta

import pytest

from gaelp.sandbox.meta.account_objects import AccountObjects
from gaelp.sandbox.meta.delivery import CampaignDelivery
from gaelp.sandbox.meta.graph import accounts_of
from gaelp.sandbox.meta.node_types import CAMPAIGN
from gaelp.sandbox.serving import ManualBids, MaximizeConversions, OverdeliveryLimits, TargetCpa, TargetRoas
from gaelp.sandbox.topics import TOPICS, topic_of

WEEKLY = OverdeliveryLimits(175, "week", 700)


def delivery(sandbox, campaign):
    """From when on it serves how."""
    with sandbox.world.call() as call:
        objects = AccountObjects(call, accounts_of(sandbox.world.spec)[0])
        node = objects.find(int(campaign["id"]), CAMPAIGN)
        return list(CampaignDelivery(objects, node, sandbox.world.spec.overdelivery.meta.limits()).served())


def test_a_campaign_serves_from_the_end_of_its_review_with_bids_and_budget(sandbox, account, make):
    made = make.running_campaign(account)
    (now, first), (later, second) = delivery(sandbox, made.campaign)
    assert (now, first.enabled, first.groups) == (sandbox.world.now(), False, ())
    assert timedelta(0) < later - now <= timedelta(hours=24)
    [group] = second.groups
    assert (second.enabled, second.daily_micros, second.overdelivery) == (True, 30_000_000, WEEKLY)
    assert (second.product, second.account, second.strategy) == ("shop.example/bread", "2000000001", ManualBids())
    assert (group.bid_micros, group.topics, group.id) == (1_500_000, tuple(range(TOPICS)), int(made.ad_set["id"]))


def test_interests_are_topics_and_device_platforms_are_devices(sandbox, account, make):
    campaign = account.create_campaign(params=make.CAMPAIGN)
    interests = [{"id": 1, "name": "Baking"}, {"id": 2, "name": "Sourdough bread"}]
    targeting = {
        "geo_locations": {"countries": ["US"]},
        "flexible_spec": [{"interests": interests}],
        "device_platforms": ["mobile"],
    }
    make.add_ad(account, make.add_ad_set(account, campaign, targeting=targeting))
    [group] = delivery(sandbox, campaign)[-1][1].groups
    assert group.topics == tuple(sorted({topic_of("Baking"), topic_of("Sourdough bread")}))
    assert group.device_factors == (1.0, 0.0)


def test_ad_sets_with_budgets_of_their_own_serve_as_campaigns(sandbox, account, make):
    params = {name: value for name, value in make.CAMPAIGN.items() if name not in ("daily_budget", "bid_strategy")}
    campaign = account.create_campaign(params=params)
    own = {"bid_strategy": "LOWEST_COST_WITH_BID_CAP"}
    ad_sets = [make.add_ad_set(account, campaign, daily_budget=cents, **own) for cents in (500, 700)]
    for ad_set in ad_sets:
        make.add_ad(account, ad_set)
    served = {each.id: each for _, each in delivery(sandbox, campaign)}
    assert {int(ad_set["id"]) for ad_set in ad_sets} == served.keys()
    assert sorted(each.daily_micros for each in served.values()) == [5_000_000, 7_000_000]


def test_a_campaign_ends_at_its_stop_time_and_its_day(sandbox, account, make):
    made = make.running_campaign(account, stop_time="2026-09-10T00:00:00-0400")
    plan = delivery(sandbox, made.campaign)
    assert [each.enabled for _, each in plan] == [False, True, False]
    assert plan[-1][0].isoformat() == "2026-09-10T04:00:00+00:00"
    assert all(each.last_day.isoformat() == "2026-09-09" for _, each in plan)
    make.pass_days(sandbox, 6)
    rows = list(account.get_insights(fields=["spend"], params={"date_preset": "last_7d", "time_increment": 1}))
    assert max(row["date_start"] for row in rows) <= "2026-09-09"


@pytest.mark.filterwarnings("ignore:value of bid_constraints")  # the client knows no dict of this type
@pytest.mark.parametrize(
    ("strategy", "ad_set", "expected"),
    [
        ("LOWEST_COST_WITHOUT_CAP", {"optimization_goal": "OFFSITE_CONVERSIONS"}, MaximizeConversions()),
        ("COST_CAP", {"optimization_goal": "OFFSITE_CONVERSIONS", "bid_amount": 900}, TargetCpa(9_000_000)),
        (
            "LOWEST_COST_WITH_MIN_ROAS",
            {"optimization_goal": "VALUE", "bid_constraints": {"roas_average_floor": 25_000}},
            TargetRoas(2.5),
        ),
    ],
)
def test_metas_bid_strategies_are_those_of_the_exchange(sandbox, account, make, strategy, ad_set, expected):
    campaign = account.create_campaign(params={**make.CAMPAIGN, "bid_strategy": strategy})
    params = {name: value for name, value in make.AD_SET.items() if name != "bid_amount"} | ad_set
    made = account.create_ad_set(params={**params, "campaign_id": campaign["id"]})
    make.add_ad(account, made)
    assert delivery(sandbox, campaign)[-1][1].strategy == expected


def test_a_paused_ad_set_and_a_paused_campaign_do_not_serve(sandbox, account, make):
    made = make.running_campaign(account)
    make.pass_days(sandbox, 1)
    made.ad_set.api_update(params={"status": "PAUSED"})
    assert not delivery(sandbox, made.campaign)[0][1].groups
    made.ad_set.api_update(params={"status": "ACTIVE"})
    made.campaign.api_update(params={"status": "PAUSED"})
    assert not delivery(sandbox, made.campaign)[0][1].enabled


def test_a_new_creative_is_reviewed_again(sandbox, account, make):
    made = make.running_campaign(account)
    make.pass_days(sandbox, 1)
    creative = account.create_ad_creative(params={"name": "new", "object_story_spec": make.STORY})
    made.ad.api_update(params={"creative": {"creative_id": creative["id"]}})
    assert made.ad.api_get(fields=["effective_status"])["effective_status"] == "PENDING_REVIEW"
