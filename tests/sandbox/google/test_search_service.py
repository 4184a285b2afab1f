"""Search: pages, settings and totals."""
# ruff: noqa: S608 - these queries are GAQL

from datetime import timedelta
from types import SimpleNamespace

import pytest
from google.ads.googleads.errors import GoogleAdsException

from gaelp.sandbox.google import search_service
from gaelp.sandbox.google.failures import AdsRefusal
from gaelp.sandbox.google.messages import new
from gaelp.sandbox.google.views import VIEWS

QUERY = "SELECT label.name FROM label ORDER BY label.name"


def pages(rows, monkeypatch):
    """Search over made rows, three to a page."""
    answer = SimpleNamespace(
        rows=rows, total_rows=len(rows), paths=["label.name"], summary=new("services.GoogleAdsRow")
    )
    monkeypatch.setattr(search_service, "_run", lambda _session, _query: answer)
    request = new("services.SearchGoogleAdsRequest", query=QUERY)
    request.search_settings.return_total_results_count = True
    while True:
        page = search_service.search(None, request, page_rows=3)
        yield page
        if not page.next_page_token:
            return
        request.page_token = page.next_page_token


@pytest.mark.parametrize("count", [0, 1, 3, 4, 8, 9])
def test_pages_hold_every_row_once(monkeypatch, count):
    rows = [new("services.GoogleAdsRow", label={"name": str(number)}) for number in range(count)]
    found = list(pages(rows, monkeypatch))
    assert [row.label.name for page in found for row in page.results] == [str(number) for number in range(count)]
    assert len(found) == max(1, -(-count // 3))
    assert {page.total_results_count for page in found} == {count}


@pytest.mark.parametrize("token", ["nonsense", "bm9uc2Vuc2U6Mw==", "%"])
def test_a_page_token_of_another_query_is_refused(token):
    with pytest.raises(AdsRefusal) as raised:
        search_service.search(None, new("services.SearchGoogleAdsRequest", query=QUERY, page_token=token))
    assert raised.value.errors[0].code == "INVALID_PAGE_TOKEN"


def test_a_page_size_cannot_be_set(client, script):
    request = client.get_type("SearchGoogleAdsRequest")
    request.customer_id, request.query, request.page_size = script.account, QUERY, 100
    with pytest.raises(GoogleAdsException) as raised:
        client.get_service("GoogleAdsService").search(request=request)
    assert raised.value.failure.errors[0].error_code.request_error.name == "PAGE_SIZE_NOT_SUPPORTED"


def test_a_summary_row_sums_up_all_rows(sandbox, client, script):
    script.add_serving_campaign()
    sandbox.advance(days=2)
    request = client.get_type("SearchGoogleAdsRequest")
    request.customer_id = script.account
    request.query = (
        "SELECT segments.date, metrics.clicks, metrics.ctr FROM campaign WHERE segments.date DURING LAST_7_DAYS"
    )
    request.search_settings.return_summary_row = True
    pager = client.get_service("GoogleAdsService").search(request=request)
    clicks = sum(row.metrics.clicks for row in pager)
    assert pager.summary_row.metrics.clicks == clicks > 0


def test_metrics_can_be_filtered_and_sorted_and_limited(sandbox, script):
    script.add_serving_campaign()
    sandbox.advance(days=2)
    query = "SELECT segments.hour, metrics.clicks FROM campaign WHERE segments.date DURING LAST_7_DAYS"
    every = script.rows(query)
    some = script.rows(f"{query} AND metrics.clicks > 1 ORDER BY metrics.clicks DESC LIMIT 3")
    assert len(some) <= 3 < len(every)
    clicks = [row.metrics.clicks for row in some]
    assert clicks == sorted(clicks, reverse=True)
    assert min(clicks) > 1


def test_hours_follow_the_accounts_clock(sandbox, script):
    script.add_serving_campaign()
    sandbox.advance(days=1, hours=4)
    yesterday = sandbox.world.now().astimezone(sandbox.spec.zone).date()
    rows = script.rows(
        "SELECT segments.date, segments.hour, segments.week, segments.day_of_week, metrics.impressions FROM customer"
        f" WHERE segments.date <= '{yesterday}' AND segments.date >= '2026-01-01'"
    )
    assert {row.segments.hour for row in rows} <= set(range(24))
    for row in rows:
        assert row.segments.week <= row.segments.date


def test_days_are_revised_conversions_come_later_and_invalid_clicks_go(sandbox, script):
    script.add_serving_campaign()
    first = sandbox.today()
    sandbox.advance(days=5)
    last = sandbox.today() - timedelta(days=1)
    query = (
        f"SELECT metrics.clicks, metrics.conversions FROM campaign WHERE segments.date BETWEEN '{first}' AND '{last}'"
    )
    early = script.rows(query)[0].metrics
    sandbox.advance(days=14)
    late = script.rows(query)[0].metrics
    assert late.conversions > early.conversions
    assert late.clicks < early.clicks


def selectable(descriptor, path):
    """Every field of a resource that may be selected."""
    for inner in descriptor.fields:
        name = f"{path}.{inner.name.rstrip('_')}"
        if inner.message_type is not None and not inner.is_repeated and inner.message_type.name != "FieldMask":
            if inner.message_type.name != "ChangedResource":
                yield from selectable(inner.message_type, name)
        elif inner.type != inner.TYPE_BYTES:
            yield name


def test_every_field_that_a_view_offers_can_be_selected(script):
    script.add_serving_campaign()
    row = new("services.GoogleAdsRow").DESCRIPTOR
    for name, view in VIEWS.items():
        fields = [
            path
            for resource in view.resources
            for path in selectable(row.fields_by_name[resource].message_type, resource)
        ]
        script.rows(f"SELECT {', '.join(fields)} FROM {name}")


def test_resource_names_can_be_left_out(script):
    script.add_budget()
    query = "SELECT campaign_budget.name FROM campaign_budget"
    assert script.rows(query)[0].campaign_budget.resource_name
    assert not script.rows(f"{query} PARAMETERS omit_unselected_resource_names = true")[0].campaign_budget.resource_name
