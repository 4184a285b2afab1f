"""Campaign experiments through the official client: arms, the treatment's copy, traffic split and their end."""
# ruff: noqa: S608 - these queries are GAQL

from datetime import timedelta

import pytest
from google.ads.googleads.errors import GoogleAdsException
from google.api_core import protobuf_helpers

DRAFTS = "PARAMETERS include_drafts=true"


def add_experiment(client, script, campaign, **dates):
    operation = client.get_type("ExperimentOperation")
    operation.create.name = "Higher bids"
    operation.create.suffix = "[trial]"
    operation.create.type_ = client.enums.ExperimentTypeEnum.SEARCH_CUSTOM
    operation.create.status = client.enums.ExperimentStatusEnum.SETUP
    for name, value in dates.items():
        setattr(operation.create, name, value.isoformat())
    service = client.get_service("ExperimentService")
    experiment = service.mutate_experiments(customer_id=script.account, operations=[operation]).results[0].resource_name
    control, treatment = (client.get_type("ExperimentArmOperation") for _ in range(2))
    for operation, name, split in ((control, "control", 40), (treatment, "treatment", 60)):
        operation.create.experiment, operation.create.name, operation.create.traffic_split = experiment, name, split
    control.create.control = True
    control.create.campaigns.append(campaign)
    request = client.get_type("MutateExperimentArmsRequest")
    request.customer_id = script.account
    request.operations.extend([control, treatment])
    request.response_content_type = client.enums.ResponseContentTypeEnum.MUTABLE_RESOURCE
    arms = client.get_service("ExperimentArmService").mutate_experiment_arms(request=request)
    return experiment, arms.results[1].experiment_arm.in_design_campaigns[0]


def impressions(script):
    rows = script.rows("SELECT campaign.resource_name, metrics.impressions FROM campaign")
    return {row.campaign.resource_name: row.metrics.impressions for row in rows}


def status_of(script):
    return script.rows("SELECT experiment.status FROM experiment")[0].experiment.status.name


def test_the_arms_of_a_running_experiment_share_the_users(sandbox, client, script):
    campaign, group = script.add_serving_campaign()
    experiment, trial = add_experiment(client, script, campaign)
    sandbox.advance(days=1)
    before = impressions(script)
    assert set(before) == {campaign}  # the draft is hidden
    drafts = script.rows("SELECT campaign.resource_name FROM campaign PARAMETERS include_drafts=true")
    assert {row.campaign.resource_name for row in drafts} == {campaign, trial}
    copies = script.rows(f"SELECT ad_group.resource_name FROM ad_group WHERE ad_group.campaign = '{trial}' {DRAFTS}")
    assert len(copies) == 1
    assert copies[0].ad_group.resource_name != group
    service = client.get_service("ExperimentService")
    service.schedule_experiment(resource_name=experiment).result()
    assert status_of(script) == "ENABLED"
    sandbox.advance(days=2)
    after = impressions(script)
    served = {name: after[name] - before.get(name, 0) for name in (campaign, trial)}
    share = served[trial] / sum(served.values())
    assert 0.5 < share < 0.7  # the split is 60 percent
    arms = script.rows(
        "SELECT experiment_arm.control, experiment_arm.campaigns, experiment_arm.traffic_split FROM experiment_arm"
    )
    assert {
        (row.experiment_arm.control, row.experiment_arm.traffic_split, *row.experiment_arm.campaigns) for row in arms
    } == {
        (True, 40, campaign),
        (False, 60, trial),
    }
    service.end_experiment(experiment=experiment)
    assert status_of(script) == "HALTED"
    sandbox.advance(hours=4)
    ended = impressions(script)
    sandbox.advance(days=1)
    assert impressions(script)[trial] == ended[trial]
    assert impressions(script)[campaign] > ended[campaign]


def test_an_experiment_that_starts_later_serves_from_its_first_day(sandbox, client, script):
    campaign, _ = script.add_serving_campaign()
    start = sandbox.today() + timedelta(days=2)
    experiment, trial = add_experiment(client, script, campaign, start_date=start)
    client.get_service("ExperimentService").schedule_experiment(resource_name=experiment).result()
    sandbox.advance(days=4)
    rows = script.rows(
        "SELECT campaign.resource_name, segments.date, metrics.impressions FROM campaign"
        f" WHERE segments.date BETWEEN '{start - timedelta(days=2)}' AND '{start + timedelta(days=1)}'"
    )
    days = {row.segments.date for row in rows if row.campaign.resource_name == trial}
    assert min(days) == start.isoformat()


def test_promoting_gives_the_campaign_the_bids_of_the_treatment(sandbox, client, script):
    campaign, group = script.add_serving_campaign()
    experiment, trial = add_experiment(client, script, campaign)
    copy = script.rows(f"SELECT ad_group.resource_name FROM ad_group WHERE ad_group.campaign = '{trial}' {DRAFTS}")[0]
    operation = client.get_type("AdGroupOperation")
    operation.update.resource_name, operation.update.cpc_bid_micros = copy.ad_group.resource_name, 3_000_000
    client.copy_from(operation.update_mask, protobuf_helpers.field_mask(None, operation.update._pb))
    client.get_service("AdGroupService").mutate_ad_groups(customer_id=script.account, operations=[operation])
    service = client.get_service("ExperimentService")
    service.schedule_experiment(resource_name=experiment).result()
    service.promote_experiment(resource_name=experiment).result()
    assert status_of(script) == "PROMOTED"
    row = script.rows(f"SELECT ad_group.cpc_bid_micros FROM ad_group WHERE ad_group.resource_name = '{group}'")[0]
    assert row.ad_group.cpc_bid_micros == 3_000_000


def test_graduating_makes_the_treatment_a_campaign_of_its_own(client, script):
    campaign, _ = script.add_serving_campaign()
    experiment, trial = add_experiment(client, script, campaign)
    service = client.get_service("ExperimentService")
    service.schedule_experiment(resource_name=experiment).result()
    mapping = client.get_type("CampaignBudgetMapping")
    mapping.experiment_campaign, mapping.campaign_budget = trial, script.add_budget("Of its own")
    service.graduate_experiment(experiment=experiment, campaign_budget_mappings=[mapping])
    row = script.rows(
        f"SELECT campaign.experiment_type, campaign_budget.name FROM campaign WHERE campaign.resource_name = '{trial}'"
    )[0]
    assert (row.campaign.experiment_type.name, row.campaign_budget.name) == ("BASE", "Of its own")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda arm: setattr(arm, "traffic_split", 100), "INVALID_TRIAL_ARM_TRAFFIC_SPLIT"),
        (lambda arm: arm.campaigns.append("customers/1/campaigns/2"), "CANNOT_SET_TREATMENT_ARM_CAMPAIGN"),
        (lambda arm: setattr(arm, "name", "control"), "DUPLICATE_EXPERIMENT_ARM_NAME"),
    ],
)
def test_a_wrong_arm_is_refused(client, script, change, code):
    campaign, _ = script.add_serving_campaign()
    operation = client.get_type("ExperimentOperation")
    operation.create.name, operation.create.suffix = "E", "s"
    operation.create.type_ = client.enums.ExperimentTypeEnum.SEARCH_CUSTOM
    experiment = client.get_service("ExperimentService").mutate_experiments(
        customer_id=script.account, operations=[operation]
    )
    control, treatment = (client.get_type("ExperimentArmOperation") for _ in range(2))
    for item, name in ((control, "control"), (treatment, "treatment")):
        item.create.experiment, item.create.name = experiment.results[0].resource_name, name
        item.create.traffic_split = 50
    control.create.control = True
    control.create.campaigns.append(campaign)
    change(treatment.create)
    with pytest.raises(GoogleAdsException) as raised:
        client.get_service("ExperimentArmService").mutate_experiment_arms(
            customer_id=script.account, operations=[control, treatment]
        )
    codes = raised.value.failure.errors[0].error_code
    assert getattr(codes, codes._pb.WhichOneof("error_code")).name == code
