"""The mutate engine: the error, and its field, of everything that can be wrong with a resource."""

import pytest
from google.ads.googleads.errors import GoogleAdsException
from google.api_core import exceptions

from gaelp.sandbox.google.resource_kinds import KINDS


def error_of(raised):
    error = raised.value.failure.errors[0]
    name = error.error_code._pb.WhichOneof("error_code")
    return getattr(error.error_code, name).name, [part.field_name for part in error.location.field_path_elements][1:]


def mutate(client, script, service, operation):
    method = {
        "CampaignBudgetService": "mutate_campaign_budgets",
        "CampaignService": "mutate_campaigns",
        "AdGroupService": "mutate_ad_groups",
        "AdGroupAdService": "mutate_ad_group_ads",
        "AdGroupCriterionService": "mutate_ad_group_criteria",
        "CampaignCriterionService": "mutate_campaign_criteria",
        "LabelService": "mutate_labels",
        "BiddingStrategyService": "mutate_bidding_strategies",
    }[service]
    return getattr(client.get_service(service), method)(customer_id=script.account, operations=[operation])


@pytest.mark.parametrize(
    ("values", "code", "field"),
    [
        ({"name": "B"}, "REQUIRED", "amount_micros"),
        ({"name": "B", "amount_micros": -1}, "NEGATIVE_MONEY_AMOUNT", "amount_micros"),
        ({"name": "B", "amount_micros": 9_999}, "MONEY_AMOUNT_LESS_THAN_CURRENCY_MINIMUM_CPC", "amount_micros"),
        ({"name": "B", "amount_micros": 10_001}, "NON_MULTIPLE_OF_MINIMUM_CURRENCY_UNIT", "amount_micros"),
        ({"name": "B", "amount_micros": 10**18}, "MONEY_AMOUNT_TOO_LARGE", "amount_micros"),
        ({"amount_micros": 10_000_000}, "REQUIRED", "name"),
        ({"name": "B\x07", "amount_micros": 10_000_000}, "ILLEGAL_CHARS", "name"),
        ({"name": "B" * 300, "amount_micros": 10_000_000}, "TOO_LONG", "name"),
        ({"name": "B", "amount_micros": 10_000_000, "delivery_method": 99}, "INVALID_ENUM_VALUE", "delivery_method"),
        (
            {"name": "B", "amount_micros": 10_000_000, "total_amount_micros": 10_000_000},
            "TOTAL_BUDGET_AMOUNT_MUST_BE_UNSET_FOR_BUDGET_PERIOD_DAILY",
            "total_amount_micros",
        ),
    ],
)
def test_a_wrong_budget_is_refused(client, script, values, code, field):
    operation = client.get_type("CampaignBudgetOperation")
    for name, value in values.items():
        setattr(operation.create, name, value)
    with pytest.raises(GoogleAdsException) as raised:
        mutate(client, script, "CampaignBudgetService", operation)
    assert error_of(raised) == (code, ["create", field])


@pytest.mark.parametrize(
    ("change", "code", "field"),
    [
        (lambda campaign: setattr(campaign, "name", ""), "REQUIRED", "name"),
        (lambda campaign: setattr(campaign, "campaign_budget", ""), "REQUIRED", "campaign_budget"),
        (
            lambda campaign: setattr(campaign, "campaign_budget", "budgets/1"),
            "RESOURCE_NAME_MALFORMED",
            "campaign_budget",
        ),
        (
            lambda campaign: setattr(campaign, "campaign_budget", campaign.campaign_budget.rsplit("/", 1)[0] + "/1"),
            "RESOURCE_NOT_FOUND",
            "campaign_budget",
        ),
        (
            lambda campaign: setattr(campaign, "campaign_budget", "customers/1234567890/campaignBudgets/1"),
            "INVALID_CUSTOMER_ID",
            "campaign_budget",
        ),
        (lambda campaign: campaign._pb.ClearField("manual_cpc"), "REQUIRED", "campaign_bidding_strategy"),
        (lambda campaign: setattr(campaign, "status", 4), "CREATE_AS_REMOVED_NOT_PERMITTED", "status"),
        (
            lambda campaign: setattr(campaign, "end_date_time", "2020-01-01 00:00:00"),
            "START_DATE_AFTER_END_DATE",
            "start_date_time",
        ),
        (
            lambda campaign: setattr(campaign, "start_date_time", "2020-01-01 00:00:00"),
            "CANNOT_SET_DATE_TO_PAST",
            "start_date_time",
        ),
        (
            lambda campaign: setattr(campaign, "start_date_time", "tomorrow"),
            "INVALID_STRING_DATE_TIME_SECONDS",
            "start_date_time",
        ),
        (lambda campaign: setattr(campaign.target_roas, "target_roas", 5000.0), "TOO_HIGH", "target_roas"),
        (
            lambda campaign: campaign._pb.ClearField("contains_eu_political_advertising"),
            "REQUIRED",
            "contains_eu_political_advertising",
        ),
    ],
)
def test_a_wrong_campaign_is_refused(client, script, change, code, field):
    operation = script.campaign_operation(script.add_budget())
    change(operation.create)
    with pytest.raises(GoogleAdsException) as raised:
        mutate(client, script, "CampaignService", operation)
    found, path = error_of(raised)
    assert (found, path[:2]) == (code, ["create", field])


def test_a_campaign_that_cannot_be_served_here_says_so(client, script):
    operation = script.campaign_operation(script.add_budget())
    operation.create.advertising_channel_type = client.enums.AdvertisingChannelTypeEnum.DISPLAY
    with pytest.raises(exceptions.MethodNotImplemented, match="DISPLAY"):
        mutate(client, script, "CampaignService", operation)


@pytest.mark.parametrize(
    ("micros", "code"),
    [(5_000, "BID_TOO_SMALL"), (1_234_567, "BID_TOO_MANY_FRACTIONAL_DIGITS"), (10**17, "BID_TOO_BIG")],
)
def test_a_wrong_bid_is_refused(script, micros, code):
    campaign = script.add_campaign(script.add_budget())
    with pytest.raises(GoogleAdsException) as raised:
        script.add_ad_group(campaign, bid_micros=micros)
    assert error_of(raised) == (code, ["create", "cpc_bid_micros"])


def test_a_group_name_is_unique_in_its_campaign_only(script):
    budget = script.add_budget(shared=True)
    first, second = script.add_campaign(budget, "1"), script.add_campaign(budget, "2")
    script.add_ad_group(first)
    script.add_ad_group(second)
    with pytest.raises(GoogleAdsException) as raised:
        script.add_ad_group(first)
    assert error_of(raised) == ("DUPLICATE_ADGROUP_NAME", ["create", "name"])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "REQUIRED"),
        ("x" * 81, "KEYWORD_TEXT_TOO_LONG"),
        (" ".join("abcdefghijk"), "KEYWORD_HAS_TOO_MANY_WORDS"),
        ("shoes!", "KEYWORD_HAS_INVALID_CHARS"),
    ],
)
def test_a_wrong_keyword_is_refused(client, script, text, code):
    group = script.add_ad_group(script.add_campaign(script.add_budget()))
    operation = client.get_type("AdGroupCriterionOperation")
    operation.create.ad_group, operation.create.keyword.text = group, text
    operation.create.keyword.match_type = client.enums.KeywordMatchTypeEnum.EXACT
    with pytest.raises(GoogleAdsException) as raised:
        mutate(client, script, "AdGroupCriterionService", operation)
    assert error_of(raised) == (code, ["create", "keyword", "text"])


def test_a_keyword_has_the_same_id_everywhere_and_exists_once_in_a_group(script):
    campaign = script.add_campaign(script.add_budget())
    names = [script.add_keywords(script.add_ad_group(campaign, name), "red shoes")[0] for name in ("1", "2")]
    assert len({name.split("~")[1] for name in names}) == 1
    with pytest.raises(GoogleAdsException) as raised:
        script.add_keywords(names[0].split("~")[0].replace("adGroupCriteria", "adGroups"), "RED shoes")
    assert error_of(raised)[0] == "RESOURCE_ALREADY_EXISTS"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda ad: ad._pb.ClearField("final_urls"), "REQUIRED_NONEMPTY_LIST"),
        (lambda ad: ad.final_urls.__setitem__(0, "www.example.com"), "MISSING_PROTOCOL_IN_FINAL_URL"),
        (lambda ad: ad.final_urls.__setitem__(0, "ftp://example.com"), "INVALID_PROTOCOL_IN_FINAL_URL"),
        (lambda ad: ad.responsive_search_ad.headlines.pop(), "TOO_FEW"),
        (lambda ad: setattr(ad.responsive_search_ad.headlines[0], "text", "x" * 31), "TOO_LONG"),
        (lambda ad: setattr(ad.responsive_search_ad.descriptions[0], "text", "x" * 91), "TOO_LONG"),
        (lambda ad: setattr(ad.responsive_search_ad, "path2", "sale"), "CANNOT_SET_PATH2_WITHOUT_PATH1"),
    ],
)
def test_a_wrong_advert_is_refused(client, script, change, code):
    operation = client.get_type("AdGroupAdOperation")
    operation.create.ad_group = script.add_ad_group(script.add_campaign(script.add_budget()))
    operation.create.ad.final_urls.append("https://example.com/shoes")
    for name, texts in (("headlines", "abc"), ("descriptions", "de")):
        for text in texts:
            asset = client.get_type("AdTextAsset")
            asset.text = text
            getattr(operation.create.ad.responsive_search_ad, name).append(asset)
    change(operation.create.ad)
    with pytest.raises(GoogleAdsException) as raised:
        mutate(client, script, "AdGroupAdService", operation)
    assert error_of(raised)[0] == code


def test_a_budget_in_use_cannot_be_removed_and_one_of_its_own_cannot_be_shared(client, script):
    budget = script.add_budget()
    script.add_campaign(budget)
    removal = client.get_type("CampaignBudgetOperation")
    removal.remove = budget
    with pytest.raises(GoogleAdsException) as raised:
        mutate(client, script, "CampaignBudgetService", removal)
    assert error_of(raised)[0] == "CAMPAIGN_BUDGET_IN_USE"
    with pytest.raises(GoogleAdsException) as raised:
        script.add_campaign(budget, "Second")
    assert error_of(raised)[0] == "CANNOT_USE_IMPLICITLY_SHARED_CAMPAIGN_BUDGET_WITH_MULTIPLE_CAMPAIGNS"


def test_a_portfolio_strategy_bids_for_its_campaigns(client, script):
    operation = client.get_type("BiddingStrategyOperation")
    operation.create.name = "Portfolio"
    operation.create.target_roas.target_roas = 2.5
    name = mutate(client, script, "BiddingStrategyService", operation).results[0].resource_name
    script.add_campaign(
        script.add_budget(), "With portfolio", lambda campaign: setattr(campaign, "bidding_strategy", name)
    )
    row = script.rows(
        "SELECT campaign.bidding_strategy_type, bidding_strategy.name, bidding_strategy.campaign_count FROM campaign"
    )[0]
    assert (row.campaign.bidding_strategy_type.name, row.bidding_strategy.name) == ("TARGET_ROAS", "Portfolio")
    removal = client.get_type("BiddingStrategyOperation")
    removal.remove = name
    with pytest.raises(GoogleAdsException) as raised:
        mutate(client, script, "BiddingStrategyService", removal)
    assert error_of(raised)[0] == "CANNOT_REMOVE_ASSOCIATED_STRATEGY"


def test_schedules_of_a_day_do_not_overlap(client, script):
    campaign = script.add_campaign(script.add_budget())
    for start, end, code in (
        (8, 12, ""),
        (11, 14, "AD_SCHEDULE_TIME_INTERVALS_OVERLAP"),
        (14, 14, "AD_SCHEDULE_INVALID_TIME_INTERVAL"),
    ):
        operation = client.get_type("CampaignCriterionOperation")
        operation.create.campaign = campaign
        schedule = operation.create.ad_schedule
        schedule.day_of_week = client.enums.DayOfWeekEnum.FRIDAY
        schedule.start_hour, schedule.end_hour = start, end
        if not code:
            mutate(client, script, "CampaignCriterionService", operation)
            continue
        with pytest.raises(GoogleAdsException) as raised:
            mutate(client, script, "CampaignCriterionService", operation)
        assert error_of(raised)[0] == code


def test_an_empty_request_and_an_empty_operation_are_refused(client, script):
    service = client.get_service("LabelService")
    with pytest.raises(GoogleAdsException) as raised:
        service.mutate_labels(customer_id=script.account, operations=[])
    assert raised.value.failure.errors[0].error_code.request_error.name == "REQUIRED_FIELD_MISSING"
    with pytest.raises(GoogleAdsException) as raised:
        service.mutate_labels(customer_id=script.account, operations=[client.get_type("LabelOperation")])
    assert raised.value.failure.errors[0].error_code.request_error.name == "OPERATION_REQUIRED"


@pytest.mark.parametrize(("twice", "code"), [(True, "DUPLICATE_TEMP_IDS"), (False, "TEMP_ID_RESOURCE_HAD_ERRORS")])
def test_temporary_ids_that_are_used_twice_or_failed(client, script, twice, code):
    operations = [client.get_type("MutateOperation") for _ in range(2)]
    budget = operations[0].campaign_budget_operation.create
    budget.resource_name = f"customers/{script.account}/campaignBudgets/-1"
    budget.name, budget.amount_micros = "B", 10_000_000 if twice else -1
    if twice:
        client.copy_from(operations[1], operations[0])
        operations[1].campaign_budget_operation.create.name = "C"
    else:
        client.copy_from(operations[1].campaign_operation, script.campaign_operation(budget.resource_name))
    request = client.get_type("MutateGoogleAdsRequest")
    request.customer_id, request.partial_failure = script.account, True
    request.mutate_operations.extend(operations)
    answer = client.get_service("GoogleAdsService").mutate(request=request)
    failure = type(client.get_type("GoogleAdsFailure")).deserialize(answer.partial_failure_error.details[0].value)
    assert failure.errors[-1].error_code.new_resource_creation_error.name == code


BAD_NAMES = (
    "",
    "x",
    "customers/1/campaigns/1",
    "customers/{account}/{collection}/1",
    "customers/{account}/{collection}/1~2~3",
)


@pytest.mark.parametrize("choice", ["create", "update", "remove"])
@pytest.mark.parametrize("pattern", BAD_NAMES)
def test_nothing_that_a_client_sends_breaks_the_server(client, script, choice, pattern):
    service = client.get_service("GoogleAdsService")
    for kind in KINDS.values():
        name = pattern.format(account=script.account, collection=kind.collection)
        operation = client.get_type("MutateOperation")
        inner = getattr(operation, f"{kind.name}_operation")
        if choice not in type(inner).pb().DESCRIPTOR.fields_by_name:
            continue
        if choice == "remove":
            inner.remove = name
        else:
            for field in ("resource_name", *kind.references):
                setattr(getattr(inner, choice), field, name)
        if choice == "update":
            inner.update_mask.paths.append("name")
        with pytest.raises((GoogleAdsException, exceptions.MethodNotImplemented)):
            service.mutate(customer_id=script.account, mutate_operations=[operation])
