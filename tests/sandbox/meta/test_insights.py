"""Insights through the official client: by day, hour and device they add up to what the world has served."""

import sys
from datetime import timedelta

import pytest
from facebook_business.adobjects.adreportrun import AdReportRun
from facebook_business.exceptions import FacebookRequestError

HOUR = "hourly_stats_aggregated_by_advertiser_time_zone"
DAYS = 9


@pytest.fixture(scope="module")
def served(sandbox):
    """A campaign that has run for some days, and its account."""
    make = sys.modules["meta_sandbox"]
    account = sandbox.fresh()
    made = make.running_campaign(account)
    make.pass_days(sandbox, DAYS)
    made.account, made.world, made.make = account, sandbox.world, make
    return made


def spent_cents(rows):
    return sum(round(100 * float(row["spend"])) for row in rows)


def report_rows(served):
    today = served.world.now().date()
    with served.world.call() as call:
        return call.report("2000000001", today - timedelta(days=DAYS + 1), today)


def whole(served):
    today = served.world.now().date()
    return {"since": (today - timedelta(days=DAYS + 1)).isoformat(), "until": today.isoformat()}


def test_the_days_add_up_to_what_the_world_reports(served):
    rows = served.campaign.get_insights(
        fields=["spend", "clicks", "impressions"], params={"time_range": whole(served), "time_increment": 1}
    )
    rows = list(rows)
    truth = report_rows(served)
    assert len(rows) >= DAYS - 1
    assert all(row["date_start"] == row["date_stop"] for row in rows)
    assert sum(int(row["clicks"]) for row in rows) == sum(row.clicks for row in truth) > 50
    assert sum(int(row["impressions"]) for row in rows) == sum(row.impressions for row in truth)
    assert abs(spent_cents(rows) - sum(row.cost_micros for row in truth) / 10_000) <= len(rows)


@pytest.mark.parametrize("breakdown", [HOUR, "device_platform"])
def test_a_breakdown_adds_up_to_the_whole(served, breakdown):
    asked = {"time_range": whole(served), "level": "adset"}
    [total] = served.account.get_insights(fields=["adset_name", "clicks"], params=asked)
    parts = list(
        served.account.get_insights(fields=["clicks"], params={**asked, "breakdowns": [breakdown], "limit": 5})
    )
    assert total["adset_name"] == "bakers"
    assert sum(int(row["clicks"]) for row in parts) == int(total["clicks"])
    assert len({row[breakdown] for row in parts}) == len(parts) == (24 if breakdown == HOUR else 2)


def test_derived_figures_follow_from_the_others(served):
    [row] = served.account.get_insights(
        fields=["spend", "clicks", "impressions", "cpc", "ctr", "cpm", "actions", "action_values", "purchase_roas"],
        params={"time_range": whole(served)},
    )
    spend, clicks, impressions = float(row["spend"]), int(row["clicks"]), int(row["impressions"])
    assert float(row["cpc"]) == pytest.approx(spend / clicks, abs=0.01)
    assert float(row["ctr"]) == pytest.approx(100 * clicks / impressions, abs=0.001)
    assert float(row["cpm"]) == pytest.approx(1000 * spend / impressions, abs=0.01)
    actions = {action["action_type"]: float(action["value"]) for action in row["actions"]}
    truth = report_rows(served)
    assert actions["link_click"] == clicks
    assert actions["offsite_conversion.fb_pixel_purchase"] == sum(each.conversions for each in truth)
    assert float(row["purchase_roas"][0]["value"]) == pytest.approx(
        float(row["action_values"][0]["value"]) / spend, abs=0.01
    )


def test_a_day_spends_at_most_one_and_three_quarters_of_its_budget(served):
    rows = served.campaign.get_insights(fields=["spend"], params={"time_range": whole(served), "time_increment": 1})
    daily_spend = [float(row["spend"]) for row in rows]
    assert max(daily_spend) > 30.0  # beyond the budget
    assert max(daily_spend) <= 1.75 * 30.0


def test_levels_name_what_a_row_is_about(served):
    fields = ["account_name", "campaign_name", "adset_name", "ad_name", "spend"]
    for level, deepest in (("account", 1), ("campaign", 2), ("adset", 3), ("ad", 4)):
        [row] = served.account.get_insights(fields=fields, params={"level": level, "time_range": whole(served)})
        assert [name for name in fields[:4] if name in row] == fields[:deepest]


def test_rows_are_filtered_and_sorted(served):
    params = {"time_range": whole(served), "time_increment": 1, "sort": ["spend_descending"]}
    spends = [float(row["spend"]) for row in served.campaign.get_insights(fields=["spend"], params=params)]
    assert spends == sorted(spends, reverse=True)
    rule = {"field": "spend", "operator": "GREATER_THAN", "value": spends[2]}
    rows = served.campaign.get_insights(fields=["spend"], params={**params, "filtering": [rule]})
    assert [float(row["spend"]) for row in rows] == spends[:2]


def test_an_asynchronous_report_is_completed_and_read(served):
    job = served.campaign.get_insights_async(fields=["spend"], params={"time_range": whole(served)})
    run = AdReportRun(job["report_run_id"], api=served.account.get_api()).api_get()
    assert (run["async_status"], run["async_percent_completion"]) == ("Job Completed", 100)
    [row] = run.get_insights()
    [direct] = served.campaign.get_insights(fields=["spend"], params={"time_range": whole(served)})
    assert row["spend"] == direct["spend"]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"breakdowns": ["age"]}, "breakdowns=age is not supported by the sandbox; supported: hourly"),
        ({"time_range": {"since": "2026-09-09", "until": "2026-09-01"}}, "allowed: forwards"),
        ({"time_increment": "0"}, "time_increment must be 1 to 90"),
        ({"date_preset": "data_maximum"}, "date_preset=data_maximum is not supported"),
        ({"action_breakdowns": ["action_type"]}, "Param action_breakdowns of insights is not supported"),
        ({"sort": ["spend"]}, "has no order"),
    ],
)
def test_a_question_that_cannot_be_answered_is_named(served, params, words):
    with pytest.raises(FacebookRequestError) as caught:
        served.account.get_insights(fields=["spend"], params=params)
    assert words in caught.value.api_error_message()


def test_a_metric_that_the_sandbox_has_not_is_named(served):
    with pytest.raises(FacebookRequestError, match="field reach of insights is not supported by the sandbox"):
        served.account.get_insights(fields=["reach"], params={"time_range": whole(served)})


def test_an_ad_set_with_two_ads_cannot_be_told_apart_by_ad(sandbox, account, make):
    made = make.running_campaign(account)
    make.add_ad(account, made.ad_set)
    make.pass_days(sandbox, 2)
    with pytest.raises(FacebookRequestError, match="level=ad for ad set"):
        account.get_insights(fields=["spend"], params={"level": "ad", "date_preset": "maximum"})
