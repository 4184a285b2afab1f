"""The official client against the Meta front: what a user's script does, with nothing changed but the address."""

import json

import pytest
from facebook_business.adobjects.ad import Ad
from facebook_business.adobjects.adset import AdSet
from facebook_business.adobjects.campaign import Campaign
from facebook_business.exceptions import FacebookRequestError

from gaelp.sandbox.faults import Fault


def test_the_account_has_a_name_a_currency_and_a_time_zone(account):
    read = account.api_get(fields=["name", "currency", "timezone_name", "account_status"])
    assert (read["currency"], read["timezone_name"], read["account_status"]) == ("USD", "America/New_York", 1)


def test_a_campaign_with_ad_set_creative_and_ad_is_read_back(account, make):
    made = make.running_campaign(account)
    fields = "name,status,daily_budget,adsets{name,bid_amount}"
    read = account.get_api().call("GET", (made.campaign["id"],), params={"fields": fields}).json()
    assert (read["name"], read["status"], read["daily_budget"]) == ("spring", "ACTIVE", "3000")
    assert [(each["name"], each["bid_amount"]) for each in read["adsets"]["data"]] == [("bakers", 150)]
    ad = made.ad.api_get(params={"fields": "adset_id,campaign{name},creative{object_story_spec}"})
    assert ad["campaign"]["name"] == "spring"
    assert ad["creative"]["object_story_spec"]["link_data"]["link"] == make.PAGE


def test_a_new_ad_is_reviewed_before_it_serves(sandbox, account, make):
    ad = make.running_campaign(account).ad
    assert ad.api_get(fields=["effective_status"])["effective_status"] == "PENDING_REVIEW"
    make.pass_days(sandbox, 1)
    assert ad.api_get(fields=["effective_status"])["effective_status"] == "ACTIVE"


def test_a_bid_is_updated_and_several_at_once_through_the_campaign(account, make):
    made = make.running_campaign(account)
    other = make.add_ad_set(account, made.campaign, name="others")
    made.ad_set.api_update(params={"bid_amount": 90})
    assert made.ad_set.api_get(fields=["bid_amount"])["bid_amount"] == 90
    made.campaign.api_update(params={"adset_bid_amounts": {made.ad_set["id"]: 70, other["id"]: 80}})
    assert [each["bid_amount"] for each in account.get_ad_sets(fields=["bid_amount"])] == [70, 80]


def test_bids_through_the_campaign_are_all_set_or_none(account, make):
    made = make.running_campaign(account)
    with pytest.raises(FacebookRequestError):
        made.campaign.api_update(params={"name": "other", "adset_bid_amounts": {made.ad_set["id"]: 70, "999": 80}})
    assert made.ad_set.api_get(fields=["bid_amount"])["bid_amount"] == 150
    assert made.campaign.api_get(fields=["name"])["name"] == "spring"


def test_pausing_a_campaign_shows_in_everything_below_it(sandbox, account, make):
    made = make.running_campaign(account)
    make.pass_days(sandbox, 1)
    made.campaign.api_update(params={"status": "PAUSED"})
    statuses = [each.api_get(fields=["effective_status"])["effective_status"] for each in vars(made).values()]
    assert statuses == ["PAUSED", "CAMPAIGN_PAUSED", "CAMPAIGN_PAUSED"]


def test_a_deleted_campaign_is_not_listed_and_still_readable(account, make):
    made = make.running_campaign(account)
    made.campaign.api_delete()
    assert list(account.get_campaigns()) == []
    assert len(account.get_campaigns(params={"effective_status": ["DELETED"]})) == 1
    assert made.campaign.api_get(fields=["status"])["status"] == "DELETED"
    with pytest.raises(FacebookRequestError, match="deleted and cannot be changed"):
        made.campaign.api_update(params={"status": "ACTIVE"})


def test_lists_have_pages_and_a_total(account, make):
    for number in range(5):
        account.create_campaign(params={**make.CAMPAIGN, "name": f"c{number}"})
    cursor = account.get_campaigns(fields=["name"], params={"limit": 2})
    assert cursor.total() == 5
    assert [each["name"] for each in cursor] == [f"c{number}" for number in range(5)]


def test_lists_are_filtered_by_name_and_parent(account, make):
    first = account.create_campaign(params=make.CAMPAIGN)
    second = account.create_campaign(params={**make.CAMPAIGN, "name": "summer"})
    rule = {"field": "name", "operator": "CONTAIN", "value": "summ"}
    assert [each["id"] for each in account.get_campaigns(params={"filtering": [rule]})] == [second["id"]]
    ad_set = make.add_ad_set(account, first)
    rule = {"field": "campaign.id", "operator": "IN", "value": [first["id"]]}
    assert [each["id"] for each in account.get_ad_sets(params={"filtering": [rule]})] == [ad_set["id"]]
    assert [each["id"] for each in first.get_ad_sets()] == [ad_set["id"]]
    assert list(second.get_ad_sets()) == []


def test_labels_are_made_by_name_and_found_again(account, make):
    campaign = account.create_campaign(params={**make.CAMPAIGN, "adlabels": [{"name": "k1"}, {"name": "k2"}]})
    labels = campaign.api_get(fields=["adlabels"])["adlabels"]
    assert [label["name"] for label in labels] == ["k1", "k2"]
    found = account.get_campaigns_by_labels(params={"ad_label_ids": [labels[0]["id"]], "operator": "ANY"})
    assert [each["id"] for each in found] == [campaign["id"]]
    assert [label["name"] for label in account.get_ad_labels(fields=["name"])] == ["k1", "k2"]


def test_validate_only_checks_and_keeps_nothing(account, make):
    account.create_campaign(params={**make.CAMPAIGN, "execution_options": ["validate_only"]})
    with pytest.raises(FacebookRequestError, match="too low"):
        account.create_campaign(params={**make.CAMPAIGN, "daily_budget": 5, "execution_options": ["validate_only"]})
    assert list(account.get_campaigns()) == []
    campaign = account.create_campaign(params=make.CAMPAIGN)
    campaign.api_update(params={"daily_budget": 9900, "execution_options": ["validate_only"]})
    assert campaign.api_get(fields=["daily_budget"])["daily_budget"] == "3000"


def test_a_batch_answers_each_request(account, make):
    campaign, answers = account.create_campaign(params=make.CAMPAIGN), []
    batch = account.get_api().new_batch()
    campaign.api_update(params={"daily_budget": 4000}, batch=batch, success=answers.append, failure=answers.append)
    campaign.api_update(params={"daily_budget": 1}, batch=batch, success=answers.append, failure=answers.append)
    campaign.api_get(fields=["daily_budget"], batch=batch, success=answers.append, failure=answers.append)
    assert batch.execute() is None
    assert [answer.status() for answer in answers] == [200, 400, 200]
    assert answers[1].error().api_error_subcode() == 1885272
    assert answers[2].json()["daily_budget"] == "4000"


def test_a_request_of_a_batch_uses_the_answer_of_another(account, make):
    body = "&".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in make.CAMPAIGN.items()
    )
    operations = [
        {"method": "POST", "relative_url": f"{account['id']}/campaigns", "body": body, "name": "made"},
        {"method": "GET", "relative_url": "{result=made:$.id}?fields=name"},
        {"method": "GET", "relative_url": "999", "name": "missing"},
        {"method": "GET", "relative_url": "{result=missing:$.id}"},
    ]
    answers = account.get_api().call("POST", (), params={"batch": operations}).json()
    assert answers[0] is None
    assert json.loads(answers[1]["body"])["name"] == "spring"
    assert [answers[2]["code"], answers[3]] == [400, None]


def test_several_objects_are_read_by_their_ids(account, make):
    made = make.running_campaign(account)
    read = Campaign.get_by_ids([made.campaign["id"]], fields=["name"], api=account.get_api())
    assert [each["name"] for each in read] == ["spring"]


def refused(call):
    with pytest.raises(FacebookRequestError) as caught:
        call()
    return caught.value


def test_errors_have_metas_form(account):
    error = refused(lambda: Campaign("999", api=account.get_api()).api_get())
    assert (error.http_status(), error.api_error_code(), error.api_error_subcode()) == (400, 100, 33)
    body = error.body()["error"]
    assert body["type"] == "GraphMethodException"
    assert body["fbtrace_id"]
    assert "Object with ID '999' does not exist" in body["message"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"daily_budget": 5}, "below the minimum of 100"),
        ({"daily_budget": -5}, "must be a whole number"),
        ({"lifetime_budget": 5000}, "both set"),
        ({"buying_type": "RESERVED"}, "buying_type=RESERVED is not supported by the sandbox; supported: AUCTION"),
        ({"objective": "REACH"}, "must be one of"),
        ({"spend_cap": 100000}, "spend_cap of Campaign is not supported by the sandbox"),
        ({"stop_time": "tomorrow"}, "must be a time"),
        ({"stop_time": "2020-01-01T00:00:00+0000"}, "is in the past"),
        ({"name": " "}, "is empty"),
    ],
)
def test_a_campaign_with_a_bad_value_is_refused_by_name(account, make, changes, words):
    error = refused(lambda: account.create_campaign(params={**make.CAMPAIGN, **changes}))
    assert words in error.api_error_message()
    assert list(account.get_campaigns()) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"campaign_id": "999"}, "does not exist"),
        ({"daily_budget": 500}, "has the budget"),
        ({"bid_amount": None}, "bid_amount is missing"),
        ({"optimization_goal": "REACH"}, "supported: LOWEST_COST_WITH_BID_CAP with LINK_CLICKS"),
        ({"targeting": {}}, "no geo_locations"),
        (
            {"targeting": {"geo_locations": {"countries": ["US"]}, "custom_audiences": [1]}},
            "targeting.custom_audiences",
        ),
    ],
)
def test_an_ad_set_with_a_bad_value_is_refused_by_name(account, make, changes, words):
    campaign = account.create_campaign(params=make.CAMPAIGN)
    params = {**make.AD_SET, "campaign_id": campaign["id"], **changes}
    given = {name: value for name, value in params.items() if value is not None}
    assert words in refused(lambda: account.create_ad_set(params=given)).api_error_message()
    assert list(account.get_ad_sets()) == []


def test_a_status_that_does_not_exist_is_refused_with_those_there_are(account, make):
    campaign = account.create_campaign(params=make.CAMPAIGN)
    with pytest.warns(UserWarning, match="status"):  # the client notices too, and sends it
        error = refused(lambda: campaign.api_update(params={"status": "RUNNING"}))
    assert "status must be one of {ACTIVE, PAUSED, DELETED, ARCHIVED}" in error.api_error_message()


def test_a_missing_parameter_and_an_unknown_field_are_named(account, make):
    campaign = account.create_campaign(params=make.CAMPAIGN)
    assert (
        "special_ad_categories is required"
        in refused(
            lambda: account.create_campaign(params={"name": "x", "objective": "OUTCOME_SALES"})
        ).api_error_message()
    )
    error = refused(lambda: campaign.api_get(fields=["topline_id"]))
    assert "nonexisting field (topline_id) on node type (Campaign)" in error.api_error_message()


def test_an_unsupported_edge_is_named_with_those_there_are(account, make):
    campaign = account.create_campaign(params=make.CAMPAIGN)
    error = refused(lambda: list(campaign.get_copies()))
    assert (error.api_error_code(), "copies is not supported by the sandbox; supported: adsets" in str(error)) == (
        2500,
        True,
    )


def test_without_a_token_nothing_is_answered(sandbox, make):
    api = make.client(sandbox.front.port, sandbox.certificate.path, token="")
    assert refused(lambda: api.call("GET", ("act_2000000001",))).api_error_code() == 104


def test_an_account_of_somebody_else_does_not_exist_here(account):
    error = refused(lambda: account.get_api().call("GET", ("act_1",)))
    assert error.api_error_subcode() == 33


def test_a_disabled_account_stops_and_accepts_no_change(sandbox, account, make):
    made = make.running_campaign(account)
    sandbox.disable(True)
    assert account.api_get(fields=["account_status"])["account_status"] == 2
    error = refused(lambda: made.campaign.api_update(params={"daily_budget": 5000}))
    assert (error.http_status(), error.api_error_code()) == (403, 200)
    make.pass_days(sandbox, 2)
    assert list(account.get_insights(fields=["impressions"], params={"date_preset": "maximum"})) == []
    sandbox.disable(False)
    make.pass_days(sandbox, 2)
    assert len(account.get_insights(fields=["impressions"], params={"date_preset": "maximum"})) == 1


def test_answers_say_how_much_of_the_limit_is_used_and_what_time_it_is(sandbox, account):
    headers = account.get_api().call("GET", (account["id"],)).headers()
    usage = json.loads(headers["x-business-use-case-usage"])
    assert usage["2000000001"][0]["type"] == "ads_management"
    assert headers["date"] == sandbox.world.now().strftime("%a, %d %b %Y %H:%M:%S GMT")


def test_calls_beyond_the_limit_are_refused_as_transient(tmp_path, make):
    with make.running_sandbox(tmp_path, calls_per_day=4) as limited:
        account = limited.fresh()
        account.create_campaign(params=make.CAMPAIGN)
        account.api_get()
        error = refused(account.api_get)
        assert (error.api_error_code(), error.api_error_subcode()) == (80004, 2446079)
        assert error.api_transient_error()


# Faults


def test_an_error_before_leaves_nothing_and_an_error_after_leaves_the_campaign(sandbox, account, make):
    for when, count in (("before", 0), ("after", 1)):
        sandbox.faults.add(
            [Fault(front="meta", effect="error", method="POST /act_*/campaigns", status="503", when=when)]
        )
        error = refused(lambda: account.create_campaign(params=make.CAMPAIGN))
        assert (error.http_status(), error.api_transient_error()) == (503, True)
        assert len(account.get_campaigns()) == count


def test_a_lost_answer_is_no_answer_although_the_call_took_effect(sandbox, account, make):
    sandbox.faults.add([Fault(front="meta", effect="lost", method="POST *", seconds=0.01, when="after")])
    with pytest.raises(OSError, match=r"IncompleteRead|Connection|aborted"):
        account.create_campaign(params=make.CAMPAIGN)
    assert len(account.get_campaigns()) == 1


def test_a_doubled_request_makes_two_and_a_stale_read_shows_the_past(sandbox, account, make):
    assert len(account.get_campaigns()) == 0
    sandbox.faults.add([Fault(front="meta", effect="twice", method="POST *")])
    account.create_campaign(params=make.CAMPAIGN)
    sandbox.faults.add([Fault(front="meta", effect="stale", method="GET *")])
    assert len(account.get_campaigns()) == 0
    assert len(account.get_campaigns()) == 2


def test_a_call_may_carry_its_simulated_time(sandbox, account, make):
    api, now = account.get_api(), sandbox.world.now()
    headers = {"gaelp-sandbox-time": now.replace(hour=now.hour + 1).isoformat()}
    api.call("GET", (account["id"],), headers=headers)
    assert sandbox.world.now() == now.replace(hour=now.hour + 1)
    assert "time does not run backwards" in refused(
        lambda: api.call("GET", (account["id"],), headers={"gaelp-sandbox-time": now.isoformat()})
    ).api_error_message().replace("\n", " ")


def test_ads_of_a_campaign_lead_to_one_page(account, make):
    made = make.running_campaign(account)
    story = {"page_id": "1", "link_data": {"link": "https://shop.example/cake"}}
    creative = {"name": "cake", "object_story_spec": story}
    params = {"name": "cake", "adset_id": made.ad_set["id"], "creative": creative, "status": "PAUSED"}
    assert (
        "a second landing page (shop.example/cake)"
        in refused(lambda: account.create_ad(params=params)).api_error_message()
    )
    assert len(account.get_ads()) == 1
    assert len(account.get_ad_creatives()) == 1  # the creative inside the refused ad is not kept either


def test_objects_know_their_relatives(account, make):
    made = make.running_campaign(account)
    api = account.get_api()
    assert [each["id"] for each in AdSet(made.ad_set["id"], api=api).get_ads()] == [made.ad["id"]]
    creative = Ad(made.ad["id"], api=api).get_ad_creatives(fields=["name"])
    assert [each["name"] for each in creative] == ["loaf"]
