"""Scripts that users of the official client have, on the sandbox: only endpoint and certificate differ."""
# ruff: noqa: S608 - these queries are GAQL

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from google.ads.googleads.errors import GoogleAdsException
from google.api_core import protobuf_helpers

RUNNING = "SELECT metrics.impressions, metrics.clicks, metrics.cost_micros FROM campaign"


def first_error(raised):
    error = raised.value.failure.errors[0]
    category = error.error_code._pb.WhichOneof("error_code")
    path = [
        (part.field_name, part.index) if "index" in part else part.field_name
        for part in error.location.field_path_elements
    ]
    return getattr(error.error_code, category).name, path


def masked(client, operation):
    mask = protobuf_helpers.field_mask(None, operation.update._pb)
    client.copy_from(operation.update_mask, mask)
    return operation


# Create


def test_add_a_budget_a_campaign_an_ad_group_an_advert_and_keywords(script):
    campaign, group = script.add_serving_campaign("Shoes")
    rows = script.rows(
        "SELECT campaign.name, campaign.status, campaign.bidding_strategy_type, campaign_budget.amount_micros,"
        " customer.currency_code FROM campaign"
    )
    assert [(row.campaign.name, row.campaign.status.name, row.campaign.bidding_strategy_type.name) for row in rows] == [
        ("Shoes", "ENABLED", "MANUAL_CPC")
    ]
    assert rows[0].campaign_budget.amount_micros == 50_000_000
    assert rows[0].customer.currency_code == "USD"
    keywords = script.rows(
        f"SELECT ad_group_criterion.keyword.text FROM keyword_view WHERE ad_group.resource_name = '{group}'"
    )
    assert len(keywords) == 8
    assert campaign == rows[0].campaign.resource_name


def test_list_campaigns_with_search_and_its_pager(client, script):
    budget = script.add_budget(shared=True)
    for number in range(5):
        script.add_campaign(budget, f"Campaign {number}")
    service = client.get_service("GoogleAdsService")
    pager = service.search(
        customer_id=script.account, query="SELECT campaign.id, campaign.name FROM campaign ORDER BY campaign.id"
    )
    assert [row.campaign.name for row in pager] == [f"Campaign {number}" for number in range(5)]


def test_add_a_complete_campaign_with_temporary_ids_in_one_request(client, script):
    account = script.account
    budget_name, campaign_name, group_name = (
        f"customers/{account}/{kind}/-{number}"
        for number, kind in enumerate(("campaignBudgets", "campaigns", "adGroups"), 1)
    )
    operations = [client.get_type("MutateOperation") for _ in range(4)]
    budget = operations[0].campaign_budget_operation.create
    budget.resource_name, budget.name, budget.amount_micros = budget_name, f"Budget {uuid.uuid4()}", 20_000_000
    client.copy_from(operations[1].campaign_operation, script.campaign_operation(budget_name, "Complete"))
    operations[1].campaign_operation.create.resource_name = campaign_name
    group = operations[2].ad_group_operation.create
    group.resource_name, group.name, group.campaign, group.cpc_bid_micros = (
        group_name,
        "Group",
        campaign_name,
        1_000_000,
    )
    keyword = operations[3].ad_group_criterion_operation.create
    keyword.ad_group, keyword.keyword.text = group_name, "running shoes"
    keyword.keyword.match_type = client.enums.KeywordMatchTypeEnum.EXACT
    service = client.get_service("GoogleAdsService")
    answer = service.mutate(customer_id=account, mutate_operations=operations)
    kinds = [response._pb.WhichOneof("response") for response in answer.mutate_operation_responses]
    assert kinds == ["campaign_budget_result", "campaign_result", "ad_group_result", "ad_group_criterion_result"]
    row = script.rows("SELECT ad_group.name, campaign.name, ad_group_criterion.keyword.text FROM keyword_view")[0]
    assert (row.campaign.name, row.ad_group.name, row.ad_group_criterion.keyword.text) == (
        "Complete",
        "Group",
        "running shoes",
    )
    assert "-" not in answer.mutate_operation_responses[3].ad_group_criterion_result.resource_name.split("/", 2)[2]


def test_one_bad_operation_undoes_the_whole_request(client, script):
    operations = [client.get_type("MutateOperation") for _ in range(2)]
    budget = operations[0].campaign_budget_operation.create
    budget.resource_name, budget.name, budget.amount_micros = (
        f"customers/{script.account}/campaignBudgets/-1",
        "B",
        20_000_000,
    )
    client.copy_from(operations[1].campaign_operation, script.campaign_operation(budget.resource_name, ""))
    service = client.get_service("GoogleAdsService")
    with pytest.raises(GoogleAdsException) as raised:
        service.mutate(customer_id=script.account, mutate_operations=operations)
    assert first_error(raised) == ("REQUIRED", [("mutate_operations", 1), "campaign_operation", "create", "name"])
    assert script.rows("SELECT campaign_budget.id FROM campaign_budget") == []


@pytest.mark.parametrize(
    ("strategy", "field", "value"),
    [
        ("target_cpa", "target_cpa_micros", 20_000_000),
        ("target_roas", "target_roas", 3.5),
        ("maximize_conversions", "target_cpa_micros", 15_000_000),
        ("maximize_conversion_value", "target_roas", 2.0),
    ],
)
def test_add_a_campaign_with_automated_bidding(script, strategy, field, value):
    def bidding(campaign):
        setattr(getattr(campaign, strategy), field, value)

    script.add_serving_campaign("Automatic", bidding)
    row = script.rows(f"SELECT campaign.bidding_strategy_type, campaign.{strategy}.{field} FROM campaign")[0]
    assert row.campaign.bidding_strategy_type.name == strategy.upper()
    assert getattr(getattr(row.campaign, strategy), field) == value


# Change


def test_update_the_bid_of_an_ad_group_and_nothing_else(client, script):
    _, group = script.add_serving_campaign()
    operation = client.get_type("AdGroupOperation")
    operation.update.resource_name = group
    operation.update.cpc_bid_micros = 3_210_000
    service = client.get_service("AdGroupService")
    service.mutate_ad_groups(customer_id=script.account, operations=[masked(client, operation)])
    row = script.rows("SELECT ad_group.cpc_bid_micros, ad_group.effective_cpc_bid_micros, ad_group.name FROM ad_group")[
        0
    ]
    assert (row.ad_group.cpc_bid_micros, row.ad_group.name) == (3_210_000, "Group")


def test_a_field_mask_that_names_an_unset_field_clears_it(client, script):
    _, group = script.add_serving_campaign()
    operation = client.get_type("AdGroupOperation")
    operation.update.resource_name = group
    operation.update_mask.paths.append("cpc_bid_micros")
    service = client.get_service("AdGroupService")
    service.mutate_ad_groups(customer_id=script.account, operations=[operation])
    assert len(script.rows("SELECT ad_group.id FROM ad_group WHERE ad_group.cpc_bid_micros IS NULL")) == 1


@pytest.mark.parametrize(
    ("paths", "code"),
    [
        ([], "FIELD_MASK_MISSING"),
        (["cpc_bid"], "FIELD_NOT_FOUND"),
        (["targeting_setting"], "FIELD_HAS_SUBFIELDS"),
        (["campaign"], "IMMUTABLE_FIELD"),
    ],
)
def test_a_wrong_field_mask_is_refused(client, script, paths, code):
    _, group = script.add_serving_campaign()
    operation = client.get_type("AdGroupOperation")
    operation.update.resource_name = group
    operation.update_mask.paths.extend(paths)
    with pytest.raises(GoogleAdsException) as raised:
        client.get_service("AdGroupService").mutate_ad_groups(customer_id=script.account, operations=[operation])
    assert first_error(raised)[0] == code


def test_pause_a_campaign_and_remove_it(client, script):
    campaign, _ = script.add_serving_campaign()
    service = client.get_service("CampaignService")
    operation = client.get_type("CampaignOperation")
    operation.update.resource_name = campaign
    operation.update.status = client.enums.CampaignStatusEnum.PAUSED
    service.mutate_campaigns(customer_id=script.account, operations=[masked(client, operation)])
    assert script.rows("SELECT campaign.status FROM campaign")[0].campaign.status.name == "PAUSED"
    removal = client.get_type("CampaignOperation")
    removal.remove = campaign
    service.mutate_campaigns(customer_id=script.account, operations=[removal])
    assert script.rows("SELECT campaign.status FROM campaign")[0].campaign.status.name == "REMOVED"
    assert script.rows("SELECT campaign.id FROM campaign WHERE campaign.status != 'REMOVED'") == []
    with pytest.raises(GoogleAdsException) as raised:
        service.mutate_campaigns(customer_id=script.account, operations=[masked(client, operation)])
    assert first_error(raised)[0] == "OPERATION_NOT_PERMITTED_FOR_REMOVED_RESOURCE"
    script.add_campaign(script.add_budget("Another"), "Campaign")  # the name is free again


def test_change_the_texts_of_an_advert_which_is_reviewed_again(client, script, sandbox):
    script.add_serving_campaign()
    sandbox.advance(hours=7)
    query = (
        "SELECT ad_group_ad.ad.id, ad_group_ad.ad.final_urls, ad_group_ad.policy_summary.review_status FROM ad_group_ad"
    )
    before = script.rows(query)[0].ad_group_ad
    assert before.policy_summary.review_status.name == "REVIEWED"
    operation = client.get_type("AdOperation")
    operation.update.resource_name = f"customers/{script.account}/ads/{before.ad.id}"
    operation.update.final_urls.append("https://www.example.com/boots")
    client.get_service("AdService").mutate_ads(customer_id=script.account, operations=[masked(client, operation)])
    after = script.rows(query)[0].ad_group_ad
    assert list(after.ad.final_urls) == ["https://www.example.com/boots"]
    assert after.policy_summary.review_status.name == "REVIEW_IN_PROGRESS"


def test_set_bid_modifiers_of_a_campaign_and_of_an_ad_group(client, script):
    campaign, group = script.add_serving_campaign()
    mobile = client.enums.DeviceEnum.MOBILE
    criterion = client.get_type("CampaignCriterionOperation")
    criterion.create.campaign = campaign
    criterion.create.device.type_ = mobile
    criterion.create.bid_modifier = 1.3
    service = client.get_service("CampaignCriterionService")
    name = service.mutate_campaign_criteria(customer_id=script.account, operations=[criterion]).results[0].resource_name
    assert name.endswith("~30001")  # the id that mobile devices have in every account
    modifier = client.get_type("AdGroupBidModifierOperation")
    modifier.create.ad_group = group
    modifier.create.device.type_ = mobile
    modifier.create.bid_modifier = 0.5
    modifiers = client.get_service("AdGroupBidModifierService")
    modifiers.mutate_ad_group_bid_modifiers(customer_id=script.account, operations=[modifier])
    row = script.rows("SELECT campaign_criterion.bid_modifier, campaign_criterion.device.type FROM campaign_criterion")[
        0
    ]
    assert (row.campaign_criterion.bid_modifier, row.campaign_criterion.device.type_.name) == (
        pytest.approx(1.3),
        "MOBILE",
    )
    row = script.rows("SELECT ad_group_bid_modifier.bid_modifier FROM ad_group_bid_modifier")[0]
    assert row.ad_group_bid_modifier.bid_modifier == 0.5
    criterion.create.bid_modifier = 11.0
    with pytest.raises(GoogleAdsException) as raised:
        service.mutate_campaign_criteria(customer_id=script.account, operations=[criterion])
    assert first_error(raised) == ("MULTIPLIER_TOO_HIGH", [("operations", 0), "create", "bid_modifier"])


def test_add_targeting_criteria(client, script):
    campaign, _ = script.add_serving_campaign()
    operations = [client.get_type("CampaignCriterionOperation") for _ in range(4)]
    for operation in operations:
        operation.create.campaign = campaign
    operations[0].create.location.geo_target_constant = "geoTargetConstants/2840"
    operations[1].create.language.language_constant = "languageConstants/1000"
    operations[2].create.keyword.text, operations[2].create.negative = "free", True
    operations[2].create.keyword.match_type = client.enums.KeywordMatchTypeEnum.BROAD
    schedule = operations[3].create.ad_schedule
    schedule.day_of_week = client.enums.DayOfWeekEnum.MONDAY
    schedule.start_hour, schedule.end_hour = 8, 20
    schedule.start_minute = schedule.end_minute = client.enums.MinuteOfHourEnum.ZERO
    service = client.get_service("CampaignCriterionService")
    service.mutate_campaign_criteria(customer_id=script.account, operations=operations)
    rows = script.rows("SELECT campaign_criterion.type, campaign_criterion.criterion_id FROM campaign_criterion")
    assert {row.campaign_criterion.type_.name for row in rows} == {"LOCATION", "LANGUAGE", "KEYWORD", "AD_SCHEDULE"}
    assert {2840, 1000} < {row.campaign_criterion.criterion_id for row in rows}


def test_label_campaigns_and_find_them_by_label(client, script):
    budget = script.add_budget(shared=True)
    labelled, _ = script.add_campaign(budget, "With"), script.add_campaign(budget, "Without")
    label = client.get_type("LabelOperation")
    label.create.name = "Seasonal"
    label_name = (
        client.get_service("LabelService")
        .mutate_labels(customer_id=script.account, operations=[label])
        .results[0]
        .resource_name
    )
    link = client.get_type("CampaignLabelOperation")
    link.create.campaign, link.create.label = labelled, label_name
    service = client.get_service("CampaignLabelService")
    service.mutate_campaign_labels(customer_id=script.account, operations=[link])
    by_label = script.rows("SELECT campaign.name, label.name FROM campaign_label WHERE label.name = 'Seasonal'")
    assert [(row.campaign.name, row.label.name) for row in by_label] == [("With", "Seasonal")]
    contains = script.rows(f"SELECT campaign.name FROM campaign WHERE campaign.labels CONTAINS ANY ('{label_name}')")
    assert [row.campaign.name for row in contains] == ["With"]
    with pytest.raises(GoogleAdsException) as raised:
        service.mutate_campaign_labels(customer_id=script.account, operations=[link])
    assert first_error(raised)[0] == "CAMPAIGN_LABEL_ALREADY_EXISTS"


# Read


def test_report_by_date_and_device(script, sandbox):
    script.add_serving_campaign()
    sandbox.advance(days=3)
    first, last = (sandbox.today() - timedelta(days=days) for days in (3, 1))
    rows = script.rows(
        "SELECT campaign.id, segments.date, segments.device, metrics.impressions, metrics.clicks, metrics.cost_micros,"
        " metrics.ctr, metrics.average_cpc, metrics.conversions, metrics.conversions_value FROM campaign"
        f" WHERE segments.date BETWEEN '{first}' AND '{last}' ORDER BY segments.date DESC, segments.device"
    )
    days = [row.segments.date for row in rows]
    assert days == sorted(days, reverse=True)
    assert {row.segments.device.name for row in rows} == {"MOBILE", "DESKTOP"}
    for row in rows:
        assert row.metrics.clicks <= row.metrics.impressions
        assert row.metrics.ctr == pytest.approx(row.metrics.clicks / row.metrics.impressions)
        assert row.metrics.average_cpc == pytest.approx(row.metrics.cost_micros / max(1, row.metrics.clicks))
    total = script.rows(f"{RUNNING} WHERE segments.date BETWEEN '{first}' AND '{last}'")[0].metrics
    assert total.clicks == sum(row.metrics.clicks for row in rows) > 0
    assert total.cost_micros == sum(row.metrics.cost_micros for row in rows)


def test_figures_add_up_over_every_view(script, sandbox):
    _, group = script.add_serving_campaign()
    script.add_ad(group)
    sandbox.advance(days=2)
    clicks = {
        view: sum(row.metrics.clicks for row in script.rows(f"SELECT metrics.clicks FROM {view}"))
        for view in ("customer", "campaign", "campaign_budget", "ad_group", "ad_group_ad", "keyword_view")
    }
    assert len(set(clicks.values())) == 1, clicks
    assert clicks["customer"] > 0


def test_several_reports_in_parallel(client, script, sandbox):
    script.add_serving_campaign()
    sandbox.advance(days=2)
    queries = [
        f"SELECT segments.{name}, metrics.clicks FROM campaign WHERE segments.date DURING LAST_7_DAYS"
        for name in ("date", "hour", "device", "week", "month", "day_of_week")
    ]
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(script.rows, queries * 2))
    assert len({sum(row.metrics.clicks for row in rows) for rows in answers}) == 1
    assert all(answers)


def test_impression_share_is_floored_late_and_not_known_by_hour(script, sandbox):
    script.add_serving_campaign()
    sandbox.advance(days=3)
    query = (
        "SELECT segments.date, metrics.search_impression_share FROM campaign WHERE segments.date DURING LAST_7_DAYS"
        " ORDER BY segments.date"
    )
    rows = script.rows(query)
    known = ["search_impression_share" in row.metrics for row in rows]
    assert (known[0], known[-1]) == (True, False)
    assert all(
        row.metrics.search_impression_share >= 0.0999 for row in rows if "search_impression_share" in row.metrics
    )
    with pytest.raises(GoogleAdsException) as raised:
        script.rows(
            "SELECT segments.hour, metrics.search_impression_share FROM campaign WHERE segments.date DURING TODAY"
        )
    assert first_error(raised)[0] == "PROHIBITED_SEGMENT_WITH_METRIC_IN_SELECT_OR_WHERE_CLAUSE"


def test_list_accessible_customers_and_the_clients_of_the_manager(client, sandbox):
    service = client.get_service("CustomerService")
    names = service.list_accessible_customers().resource_names
    assert f"customers/{sandbox.spec.manager_customer_id}" in names
    manager = client.get_service("GoogleAdsService").search(
        customer_id=sandbox.spec.manager_customer_id,
        query="SELECT customer_client.id, customer_client.manager, customer_client.level FROM customer_client",
    )
    assert len([row for row in manager if row.customer_client.level == 1]) == len(sandbox.spec.customer_ids)


def test_the_customer_says_that_it_is_a_test_account(script, sandbox):
    row = script.rows(
        "SELECT customer.test_account, customer.time_zone, customer.currency_code, customer.status FROM customer"
    )[0]
    assert row.customer.test_account
    assert row.customer.time_zone == sandbox.spec.time_zone
    assert row.customer.status.name == "ENABLED"


# Errors


def test_partial_failure_applies_the_good_operations(client, script):
    request = client.get_type("MutateCampaignBudgetsRequest")
    request.customer_id, request.partial_failure = script.account, True
    for name, micros in (("Good", 10_000_000), ("Bad", -5), ("Also good", 20_000_000)):
        operation = client.get_type("CampaignBudgetOperation")
        operation.create.name, operation.create.amount_micros = name, micros
        request.operations.append(operation)
    answer = client.get_service("CampaignBudgetService").mutate_campaign_budgets(request=request)
    assert [bool(result.resource_name) for result in answer.results] == [True, False, True]
    failure = type(client.get_type("GoogleAdsFailure")).deserialize(answer.partial_failure_error.details[0].value)
    assert failure.errors[0].error_code.campaign_budget_error.name == "NEGATIVE_MONEY_AMOUNT"
    assert failure.errors[0].location.field_path_elements[0].index == 1
    names = {row.campaign_budget.name for row in script.rows("SELECT campaign_budget.name FROM campaign_budget")}
    assert names == {"Good", "Also good"}


def test_a_duplicate_name_is_refused_with_its_field(script):
    budget = script.add_budget(shared=True)
    script.add_campaign(budget, "Same")
    with pytest.raises(GoogleAdsException) as raised:
        script.add_campaign(budget, "Same")
    assert first_error(raised) == ("DUPLICATE_CAMPAIGN_NAME", [("operations", 0), "create", "name"])
    assert raised.value.request_id


def test_validate_only_reports_errors_and_changes_nothing(client, script):
    request = client.get_type("MutateCampaignBudgetsRequest")
    request.customer_id, request.validate_only = script.account, True
    operation = client.get_type("CampaignBudgetOperation")
    operation.create.name, operation.create.amount_micros = "Trial", 10_000_000
    request.operations.append(operation)
    service = client.get_service("CampaignBudgetService")
    assert not service.mutate_campaign_budgets(request=request).results
    assert script.rows("SELECT campaign_budget.id FROM campaign_budget") == []
    request.operations[0].create.amount_micros = 12_345
    with pytest.raises(GoogleAdsException) as raised:
        service.mutate_campaign_budgets(request=request)
    assert first_error(raised) == (
        "NON_MULTIPLE_OF_MINIMUM_CURRENCY_UNIT",
        [("operations", 0), "create", "amount_micros"],
    )


def test_the_answer_can_carry_the_whole_resource(client, script):
    request = client.get_type("MutateCampaignBudgetsRequest")
    request.customer_id = script.account
    request.response_content_type = client.enums.ResponseContentTypeEnum.MUTABLE_RESOURCE
    operation = client.get_type("CampaignBudgetOperation")
    operation.create.name, operation.create.amount_micros = "Whole", 10_000_000
    request.operations.append(operation)
    result = client.get_service("CampaignBudgetService").mutate_campaign_budgets(request=request).results[0]
    assert (result.campaign_budget.name, result.campaign_budget.amount_micros) == ("Whole", 10_000_000)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT campaign.nme FROM campaign", "UNRECOGNIZED_FIELD"),
        ("SELECT campaign FROM campaign", "UNRECOGNIZED_FIELD"),
        ("SELECT campaign.id FROM campagin", "BAD_RESOURCE_TYPE_IN_FROM_CLAUSE"),
        ("SELECT campaign.id", "EXPECTED_FROM"),
        ("campaign.id FROM campaign", "EXPECTED_SELECT"),
        ("SELECT ad_group.id FROM campaign", "PROHIBITED_RESOURCE_TYPE_IN_SELECT_CLAUSE"),
        ("SELECT metrics.clicks FROM ad_group_criterion", "PROHIBITED_METRIC_IN_SELECT_OR_WHERE_CLAUSE"),
        ("SELECT campaign.id FROM campaign WHERE campaign.status = 'RUNNING'", "BAD_ENUM_CONSTANT"),
        ("SELECT campaign.id FROM campaign WHERE campaign.id = 'x'", "BAD_NUMBER"),
        (
            "SELECT campaign.id FROM campaign WHERE segments.date DURING LAST_8_DAYS",
            "INVALID_VALUE_WITH_DURING_OPERATOR",
        ),
        ("SELECT segments.date, metrics.clicks FROM campaign", "EXPECTED_FILTERS_ON_DATE_RANGE"),
        (
            "SELECT metrics.clicks FROM campaign WHERE segments.device = 'MOBILE'",
            "EXPECTED_REFERENCED_FIELD_IN_SELECT_CLAUSE",
        ),
        ("SELECT campaign.id FROM campaign WHERE campaign.id LIKE '%1'", "OPERATOR_FIELD_MISMATCH"),
        ("SELECT campaign.id FROM campaign LIMIT 0", "LIMIT_VALUE_TOO_LOW"),
        (
            "SELECT change_event.user_email FROM change_event WHERE change_event.change_date_time DURING TODAY",
            "LIMIT_NOT_SPECIFIED",
        ),
    ],
)
def test_a_wrong_query_gets_googles_own_error(script, query, code):
    with pytest.raises(GoogleAdsException) as raised:
        script.rows(query)
    assert first_error(raised)[0] == code
    assert raised.value.error.code().name == "INVALID_ARGUMENT"
