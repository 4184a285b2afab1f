"""The server: what it refuses, how it fails on purpose, and that stamped calls happen at their time."""
# ruff: noqa: S608 - these queries are GAQL

import time
from datetime import timedelta

import grpc
import pytest
from google.ads.googleads.errors import GoogleAdsException
from google.api_core import exceptions
from google.api_core.retry import Retry

from gaelp.errors import BadInput
from gaelp.sandbox.certificate import folder_certificate
from gaelp.sandbox.faults import GRPC_STATUSES, Fault, FaultInjector, FaultPlan
from gaelp.sandbox.front import TIME_HEADER
from gaelp.sandbox.google.accounts import DAILY_OPERATIONS
from gaelp.sandbox.google.server import start_google_front

BUDGETS = "SELECT campaign_budget.name FROM campaign_budget"
MUTATE = "CampaignBudgetService.MutateCampaignBudgets"


@pytest.fixture(autouse=True)
def no_faults_left(sandbox):
    yield
    sandbox.faults.replace(FaultPlan())


def code_of(raised):
    error = raised.value.failure.errors[0].error_code
    return getattr(error, error._pb.WhichOneof("error_code")).name


def budgets(script):
    return sorted(row.campaign_budget.name for row in script.rows(BUDGETS))


# Who may do what


def test_another_customer_is_refused_whatever_it_is(sandbox, client):
    with pytest.raises(GoogleAdsException) as raised:
        list(client.get_service("GoogleAdsService").search(customer_id="9999999999", query=BUDGETS))
    assert code_of(raised) == "USER_PERMISSION_DENIED"
    assert raised.value.error.code() == grpc.StatusCode.PERMISSION_DENIED


@pytest.mark.parametrize("customer", ["300-000-0001", "42", "x"])
def test_a_malformed_customer_id_is_refused(client, customer):
    with pytest.raises(GoogleAdsException) as raised:
        list(client.get_service("GoogleAdsService").search(customer_id=customer, query=BUDGETS))
    assert code_of(raised) == "INVALID_CUSTOMER_ID"


def test_the_manager_may_log_in_and_a_neighbour_may_not(sandbox, account):
    for login, is_allowed in ((sandbox.spec.manager_customer_id, True), (account, True), (sandbox.free[0], False)):
        service = sandbox.client(login_customer_id=login).get_service("GoogleAdsService")
        if is_allowed:
            assert list(service.search(customer_id=account, query=BUDGETS)) == []
        else:
            with pytest.raises(GoogleAdsException) as raised:
                list(service.search(customer_id=account, query=BUDGETS))
            assert code_of(raised) == "USER_PERMISSION_DENIED"


def test_a_request_without_developer_token_is_refused(sandbox, account):
    service = sandbox.client(developer_token=None).get_service("GoogleAdsService")
    with pytest.raises(GoogleAdsException) as raised:
        list(service.search(customer_id=account, query=BUDGETS))
    assert code_of(raised) == "DEVELOPER_TOKEN_PARAMETER_MISSING"
    assert raised.value.error.code() == grpc.StatusCode.UNAUTHENTICATED


def test_a_manager_account_has_neither_campaigns_nor_metrics(sandbox, client):
    manager = sandbox.spec.manager_customer_id
    operation = client.get_type("CampaignBudgetOperation")
    operation.create.name, operation.create.amount_micros = "x", 10_000_000
    with pytest.raises(GoogleAdsException) as raised:
        client.get_service("CampaignBudgetService").mutate_campaign_budgets(customer_id=manager, operations=[operation])
    assert code_of(raised) == "CANNOT_BE_EXECUTED_BY_MANAGER_ACCOUNT"
    with pytest.raises(GoogleAdsException) as raised:
        list(
            client.get_service("GoogleAdsService").search(
                customer_id=manager, query="SELECT metrics.clicks FROM customer"
            )
        )
    assert code_of(raised) == "REQUESTED_METRICS_FOR_MANAGER"


def test_operations_beyond_the_daily_quota_are_refused_until_the_next_day(sandbox, script):
    with sandbox.world.call() as call:
        call.count_operations(script.account, DAILY_OPERATIONS)
    with pytest.raises(exceptions.ResourceExhausted):
        script.add_budget()
    sandbox.advance(days=1)
    script.add_budget()


@pytest.mark.parametrize(
    ("service", "method", "request_type"),
    [
        ("KeywordPlanService", "mutate_keyword_plans", "MutateKeywordPlansRequest"),
        ("AssetService", "mutate_assets", "MutateAssetsRequest"),
    ],
)
def test_what_is_not_supported_says_so_with_its_name(client, account, service, method, request_type):
    request = client.get_type(request_type)
    request.customer_id = account
    with pytest.raises(exceptions.MethodNotImplemented, match=service):
        getattr(client.get_service(service), method)(request=request)


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("SELECT metrics.video_views FROM campaign", "UNRECOGNIZED_FIELD"),
        ("SELECT metrics.orders FROM campaign", "metrics.orders"),
        ("SELECT geographic_view.country_criterion_id FROM geographic_view", "geographic_view"),
        ("SELECT segments.slot FROM campaign", "segments.slot"),
    ],
)
def test_an_unsupported_part_of_a_query_is_named(script, query, name):
    with pytest.raises((exceptions.MethodNotImplemented, GoogleAdsException)) as raised:
        script.rows(query)
    assert name in str(raised.value)


def test_a_taken_port_is_a_clear_message(sandbox, tmp_path):
    certificate = folder_certificate(tmp_path, sandbox.world.now())
    with pytest.raises(BadInput, match=str(sandbox.port)):
        start_google_front(sandbox.world, certificate, FaultInjector(), sandbox.port)


# Faults


@pytest.mark.parametrize("status", GRPC_STATUSES)
@pytest.mark.parametrize("when", ["before", "after"])
def test_each_status_before_or_after_applying(sandbox, script, status, when):
    sandbox.faults.add([Fault(front="google", effect="error", status=status, when=when, method=MUTATE)])
    with pytest.raises(exceptions.GoogleAPICallError) as raised:
        script.add_budget("Once")
    assert raised.value.grpc_status_code.name == status
    assert budgets(script) == (["Once"] if when == "after" else [])


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_lost_answer_ends_with_the_callers_deadline(sandbox, client, script, when):
    sandbox.faults.add([Fault(front="google", effect="lost", when=when, seconds=20, method=MUTATE)])
    operation = client.get_type("CampaignBudgetOperation")
    operation.create.name, operation.create.amount_micros = "Lost", 10_000_000
    service = client.get_service("CampaignBudgetService")
    began = time.monotonic()
    with pytest.raises(exceptions.DeadlineExceeded):
        service.mutate_campaign_budgets(customer_id=script.account, operations=[operation], timeout=0.4)
    assert time.monotonic() - began < 5
    assert budgets(script) == (["Lost"] if when == "after" else [])


def test_a_request_that_is_processed_twice_meets_its_own_name(sandbox, script):
    sandbox.faults.add([Fault(front="google", effect="twice", method=MUTATE)])
    with pytest.raises(GoogleAdsException) as raised:
        script.add_budget("Twice")
    assert code_of(raised) == "DUPLICATE_NAME"
    assert budgets(script) == ["Twice"]


def test_a_stale_read_shows_what_the_same_query_showed_before(sandbox, script):
    script.add_budget("First")
    assert budgets(script) == ["First"]
    script.add_budget("Second")
    sandbox.faults.add([Fault(front="google", effect="stale", method="GoogleAdsService.Search*")])
    assert budgets(script) == ["First"]
    assert budgets(script) == ["First", "Second"]


def test_a_delay_is_a_late_answer(sandbox, script):
    sandbox.faults.add([Fault(front="google", effect="delay", seconds=0.3)])
    began = time.monotonic()
    script.add_budget("Late")
    assert time.monotonic() - began > 0.3


def test_a_client_that_retries_unavailable_succeeds(sandbox, client, script):
    sandbox.faults.add([Fault(front="google", effect="error", status="UNAVAILABLE", times=2)])
    service = client.get_service("GoogleAdsService")
    retry = Retry(predicate=lambda error: isinstance(error, exceptions.ServiceUnavailable), initial=0.01, maximum=0.02)
    assert list(service.search(customer_id=script.account, query=BUDGETS, retry=retry)) == []


# Time


def test_a_call_happens_at_the_time_it_carries(sandbox, client, script):
    at = sandbox.world.now() + timedelta(hours=5)
    operation = client.get_type("CampaignBudgetOperation")
    operation.create.name, operation.create.amount_micros = "Stamped", 10_000_000
    service = client.get_service("CampaignBudgetService")
    stamp = (TIME_HEADER, at.isoformat())
    service.mutate_campaign_budgets(customer_id=script.account, operations=[operation], metadata=(stamp,))
    assert sandbox.world.now() == at
    row = script.rows(
        "SELECT change_event.change_date_time FROM change_event WHERE change_event.change_date_time"
        f" >= '{sandbox.today()}' AND change_event.change_date_time <= '{sandbox.today() + timedelta(days=1)}' LIMIT 5"
    )[0]
    assert row.change_event.change_date_time.startswith(at.astimezone(sandbox.spec.zone).strftime("%Y-%m-%d %H:%M"))
    early = (TIME_HEADER, (at - timedelta(hours=1)).isoformat())
    with pytest.raises(exceptions.InvalidArgument, match="time does not run backwards"):
        service.mutate_campaign_budgets(customer_id=script.account, operations=[operation], metadata=(early,))
