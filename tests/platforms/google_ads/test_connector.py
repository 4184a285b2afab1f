"""Which world and time a Google Ads account has, and what its changes leave in the account."""

from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gaelp.budget.ledger import AdAccount, Cap, CapKind, set_limit
from gaelp.config import load_settings
from gaelp.content import Creative, creative_hash
from gaelp.errors import ComponentMissing, GaelpError, Refused
from gaelp.guard_bootstrap import create_books, opened_guard
from gaelp.money import Money
from gaelp.platforms import Done, Rejected, Unknown
from gaelp.platforms.catalog import connect_platform
from gaelp.platforms.google_ads.gaql import query
from gaelp.sandbox.certificate import folder_certificate
from gaelp.sandbox.faults import FaultInjector
from gaelp.sandbox.google import accounts
from gaelp.sandbox.google.server import start_google_front

ADVERT = Creative(
    id="bread-1",
    advertiser="Shop",
    headline="Fresh Bread | Warm Rolls",
    description="Baked every morning. Delivered before eight.",
    landing_url="https://www.shop.example/bread",
)


def today(platform):
    return platform.now().date()


def rows(platform, source, *fields, where=()):
    return platform._connection.search(query(source, *fields, where=where))


# Which world


@pytest.fixture
def live_account(monkeypatch):
    """Accounts of the sandbox say that they are no test accounts."""
    said = accounts.Customers.message

    def message(self, call, customer):
        answer = said(self, call, customer)
        answer.test_account = False
        return answer

    monkeypatch.setattr(accounts.Customers, "message", message)


@pytest.fixture
def other_server(sandbox, tmp_path):
    """A server with another certificate than the sandbox's."""
    certificate = folder_certificate(tmp_path / "other", datetime.now(UTC))
    front = start_google_front(sandbox.world, certificate, FaultInjector(), 0)
    yield front.port, certificate.path
    front.stop()


def test_the_server_with_the_sandboxs_own_certificate_is_the_sandbox(sandbox, live_account):
    assert sandbox.connect().world == "sandbox"


def test_a_certificate_that_the_server_does_not_present_makes_no_sandbox(sandbox, other_server, live_account):
    port, certificate = other_server
    assert sandbox.connect(endpoint=f"localhost:{port}", deadline_seconds=2).world == "live"
    assert sandbox.connect(certificate=certificate, deadline_seconds=2).world == "live"


def test_a_certificate_of_another_name_is_not_the_sandboxs(sandbox, tmp_path, live_account, monkeypatch):
    monkeypatch.setattr("gaelp.sandbox.certificate.ORGANISATION", "Another company")
    certificate = folder_certificate(tmp_path / "renamed", datetime.now(UTC))
    front = start_google_front(sandbox.world, certificate, FaultInjector(), 0)
    platform = sandbox.connect(endpoint=f"localhost:{front.port}", certificate=certificate.path)
    assert platform.read_campaigns() == ()  # it answers
    assert platform.world == "live"
    assert abs(platform.now() - datetime.now(UTC)) < timedelta(minutes=1)
    front.stop()


def test_a_test_account_is_a_sandbox_whatever_the_server(sandbox, tmp_path, monkeypatch):
    monkeypatch.setattr("gaelp.sandbox.certificate.ORGANISATION", "Another company")
    certificate = folder_certificate(tmp_path / "renamed", datetime.now(UTC))
    front = start_google_front(sandbox.world, certificate, FaultInjector(), 0)
    platform = sandbox.connect(endpoint=f"localhost:{front.port}", certificate=certificate.path)
    assert platform.world == "sandbox"
    front.stop()


@pytest.mark.parametrize("status", ["UNAVAILABLE", "PERMISSION_DENIED", "UNIMPLEMENTED"])
def test_without_an_answer_about_the_account_it_is_live(sandbox, monkeypatch, status):
    monkeypatch.setattr("gaelp.platforms.server_world.presents_sandbox_certificate", lambda *_: False)
    platform = sandbox.connect()
    sandbox.fail("error", method="*.Search*", status=status, times=None)
    assert platform.world == "live"
    sandbox.fail()
    assert platform.world == "sandbox"  # asked again: no answer is not remembered


@pytest.mark.parametrize("changes", [{"endpoint": "localhost:1"}, {"certificate": Path("/nowhere/certificate.pem")}])
def test_a_wrong_endpoint_or_certificate_file_is_live(sandbox, changes):
    assert sandbox.connect(deadline_seconds=0.5, **changes).world == "live"


# From settings


@pytest.fixture
def settings(sandbox, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def make(*more, customer=None):
        ads = sandbox.settings(customer)
        given = [
            f"home={tmp_path / '.gaelp'}",
            "platform.name=google-ads",
            "platform.account=acc",
            f"platform.google_ads.customer_id={ads.customer_id}",
            f"platform.google_ads.endpoint={ads.endpoint}",
            f"platform.google_ads.certificate={ads.certificate}",
            "budget.conversion_value_micros=25000000",
            "budget.loss_cap_micros=500000000",
            *more,
        ]
        return load_settings(None, overrides=given, environ={}).settings

    with closing(create_books(make(), AdAccount("acc", "USD", "UTC"))) as ledger:
        set_limit(ledger, Cap(CapKind.ACCOUNT_DAY, "acc"), Money(10**8, "USD"), account_id="acc")
    return make


def test_the_connector_is_found_by_its_name_and_calls_nobody(settings):
    platform = connect_platform(settings("platform.google_ads.endpoint=localhost:1"))
    assert platform.name == "google-ads"


def test_a_sandbox_needs_no_signatures_and_its_time_is_that_of_the_ledger(settings, sandbox):
    with opened_guard(settings()) as guard:
        assert guard.platform.world == "sandbox"
        assert guard.ledger.clock.now() == sandbox.world.now()
        assert abs(guard.wall_now() - datetime.now(UTC)) < timedelta(minutes=1)
        assert guard.terms.report_lag_hours == 3


def refuse_without_signatures(made):
    with pytest.raises(Refused, match="accepts names without signatures, but real money can move"), opened_guard(made):
        pass


def test_a_wrong_endpoint_is_refused_without_signatures(settings):
    refuse_without_signatures(settings("platform.google_ads.endpoint=localhost:1"))


def test_a_live_account_with_the_settings_of_the_sandbox_is_refused_without_signatures(
    settings, monkeypatch, live_account
):
    monkeypatch.setattr("gaelp.platforms.server_world.presents_sandbox_certificate", lambda *_: False)
    refuse_without_signatures(settings())


def test_a_missing_answer_about_the_test_account_is_refused_without_signatures(settings, sandbox, monkeypatch):
    monkeypatch.setattr("gaelp.platforms.server_world.presents_sandbox_certificate", lambda *_: False)
    sandbox.fail("error", method="*.Search*", status="UNAVAILABLE", times=None)
    refuse_without_signatures(settings("platform.google_ads.deadline_seconds=0.5"))


def test_without_its_settings_the_platform_says_what_to_name(tmp_path):
    given = ("platform.name=google-ads", "platform.account=acc", f"home={tmp_path}")
    with pytest.raises(ComponentMissing, match=r"platform\.google_ads is not set"):
        connect_platform(load_settings(None, overrides=given, environ={}).settings)


# Time


def test_its_time_is_the_simulated_one(platform, sandbox):
    before = platform.now()
    assert before == sandbox.world.now()
    sandbox.advance(hours=5)
    assert platform.now() == before + timedelta(hours=5)


def test_a_sandbox_that_does_not_tell_its_time_is_an_error(platform, monkeypatch):
    monkeypatch.setattr(type(platform._connection), "sandbox_time", lambda _: None)
    with pytest.raises(GaelpError, match="did not say its time"):
        platform.now()


# What a change leaves in the account


def test_a_campaign_has_a_budget_of_its_own_ends_with_its_last_day_and_is_marked(platform):
    assert platform.set_budget("spring", 5_000_000, today(platform), key="k1") == Done()
    [row] = rows(
        platform,
        "campaign",
        "campaign.name",
        "campaign.end_date_time",
        "campaign_budget.name",
        "campaign_budget.explicitly_shared",
        "campaign_budget.amount_micros",
    )
    assert row.campaign.end_date_time == f"{today(platform)} 23:59:59"
    budget = (row.campaign_budget.name, row.campaign_budget.explicitly_shared, row.campaign_budget.amount_micros)
    assert budget == ("gaelp spring", False, 5_000_000)
    [label] = rows(platform, "campaign_label", "label.name")
    assert label.label.name == "gaelp"


def test_an_advert_has_the_texts_of_its_creative_alone_and_its_hash(platform):
    platform.set_budget("spring", 5_000_000, today(platform), key="k1")
    platform.set_bids("spring", {"bread | rolls": 300_000}, key="k2")
    assert platform.publish("spring", ADVERT, key="k3") == Done()
    assert platform.set_bids("spring", {"cakes": 300_000}, key="k4") == Done()  # a later group gets the advert too
    found = rows(
        platform,
        "ad_group_ad",
        "ad_group.name",
        "ad_group.status",
        "ad_group_ad.ad.url_custom_parameters",
        "ad_group_ad.ad.responsive_search_ad.headlines",
    )
    statuses = {row.ad_group.name: row.ad_group.status.name for row in found}
    assert statuses == {"bread | rolls": "ENABLED", "cakes": "ENABLED", "gaelp adverts": "PAUSED"}
    for row in found:
        texts = [asset.text for asset in row.ad_group_ad.ad.responsive_search_ad.headlines]
        assert texts == ["Fresh Bread", "Warm Rolls", "Shop", "shop.example"]
        assert [each.value for each in row.ad_group_ad.ad.url_custom_parameters] == [creative_hash(ADVERT)]
    [state] = platform.read_campaigns()
    assert (state.creatives, state.bids) == ((creative_hash(ADVERT),), (("bread | rolls", 300_000), ("cakes", 300_000)))
    keywords = rows(platform, "ad_group_criterion", "ad_group_criterion.keyword.text")
    assert sorted(row.ad_group_criterion.keyword.text for row in keywords) == ["bread", "cakes", "rolls"]


def test_a_creative_with_too_few_texts_is_rejected_with_what_is_missing(platform):
    platform.set_budget("spring", 5_000_000, today(platform), key="k1")
    outcome = platform.publish("spring", Creative(id="x", headline="One", landing_url="https://a.example"), key="k2")
    assert isinstance(outcome, Rejected)
    assert "has 2 headlines, a responsive search ad needs 3" in outcome.reason


def test_a_refusal_has_googles_own_code_and_request(platform):
    outcome = platform.set_budget("spring", 5_000_001, today(platform), key="k1")
    assert isinstance(outcome, Rejected)
    assert "campaign_budget_error.NON_MULTIPLE_OF_MINIMUM_CURRENCY_UNIT" in outcome.reason
    assert "(request " in outcome.reason


def test_a_campaign_that_lost_its_mark_or_its_budgets_name_is_still_listed(platform):
    platform.set_budget("spring", 5_000_000, today(platform), key="k1")
    [label] = rows(platform, "label", "label.resource_name", where=["label.name = 'gaelp'"])
    operation = platform._connection.message("MutateOperation")
    operation.label_operation.remove = label.label.resource_name
    platform._connection.mutate([operation])
    assert [state.campaign for state in platform.read_campaigns()] == ["spring"]


def test_campaigns_of_others_are_not_listed(platform):
    platform.set_budget("spring", 5_000_000, today(platform), key="k1")
    budget, campaign = (platform._connection.message("MutateOperation") for _ in range(2))
    budget.campaign_budget_operation.create.resource_name = platform._connection.name_of("campaignBudgets", -1)
    budget.campaign_budget_operation.create.name = "somebody else's"
    budget.campaign_budget_operation.create.amount_micros = 9_000_000
    enums, created = platform._connection.client.enums, campaign.campaign_operation.create
    created.name, created.campaign_budget = "theirs", platform._connection.name_of("campaignBudgets", -1)
    created.advertising_channel_type = enums.AdvertisingChannelTypeEnum.SEARCH
    created.manual_cpc.enhanced_cpc_enabled = False
    political = enums.EuPoliticalAdvertisingStatusEnum
    created.contains_eu_political_advertising = political.DOES_NOT_CONTAIN_EU_POLITICAL_ADVERTISING
    platform._connection.mutate([budget, campaign])
    assert [state.campaign for state in platform.read_campaigns()] == ["spring"]
    assert isinstance(platform.pause("theirs", key="k2"), Rejected)


def test_a_pause_pauses_the_treatment_of_an_experiment_too(platform):
    platform.set_budget("spring", 5_000_000, today(platform), key="k1")
    platform.set_bids("spring", {"bread": 300_000}, key="k2")
    platform.enable("spring", key="k3")
    assert platform.start_experiment("trial", "spring", 50, {"bread": 310_000}, key="k4") == Done()
    assert platform.pause("spring", key="k5") == Done()
    statuses = {
        row.campaign.name: row.campaign.status.name
        for row in rows(platform, "campaign", "campaign.name", "campaign.status")
    }
    assert statuses == {"spring": "PAUSED", "spring [trial]": "PAUSED"}


def test_an_experiment_that_was_set_up_and_not_started_is_unknown_and_goes_on_when_repeated(platform, sandbox):
    platform.set_budget("spring", 5_000_000, today(platform), key="k1")
    platform.set_bids("spring", {"bread": 300_000}, key="k2")
    sandbox.fail("error", method="ExperimentService.ScheduleExperiment", status="UNAVAILABLE")
    outcome = platform.start_experiment("trial", "spring", 50, {"bread": 310_000}, key="k3")
    assert isinstance(outcome, Unknown)
    assert isinstance(platform.look_up("k3"), Unknown)
    assert platform.start_experiment("trial", "spring", 50, {"bread": 310_000}, key="k3") == Done()
    assert platform.look_up("k3") == Done()
    assert [state.status for state in platform.read_experiments()] == ["running"]


def test_no_secret_is_sent_to_a_server_that_must_be_the_sandbox(sandbox, monkeypatch):
    secrets = dict.fromkeys(("developer_token", "client_id", "client_secret", "refresh_token"), "planted-secret")
    platform = sandbox.connect(**secrets)
    seen = []
    known = accounts.read_caller

    def spy(metadata):
        seen.append(str(dict(metadata)))
        return known(metadata)

    monkeypatch.setattr("gaelp.sandbox.google.api.read_caller", spy)
    platform.read_campaigns()
    assert seen
    assert not any("planted-secret" in metadata for metadata in seen)


def test_bids_of_ad_groups_that_were_replaced_meanwhile_are_planned_again(platform, sandbox):
    """What a connector remembers of ad groups is only a guess: a refusal makes it read them again."""
    through = platform.now().date()
    assert platform.set_budget("spring", 5_000_000, through, key="b") == Done()
    assert platform.set_bids("spring", {"offers": 1_000_000}, key="p1") == Done()
    platform.read_campaigns()
    known = platform._known_groups["spring"]
    known["offers"] = known["offers"].rsplit("/", 1)[0] + "/999999999"  # an ad group that is not there
    assert platform.set_bids("spring", {"offers": 1_200_000}, key="p2") == Done()
    [state] = platform.read_campaigns()
    assert dict(state.bids) == {"offers": 1_200_000}
    assert platform.set_bids("spring", {"offers": 1_200_000}, key="p2") == Done()  # the same key again


@pytest.fixture
def searches(platform, monkeypatch):
    """The queries that were sent."""
    sent, known = [], platform._connection._stream
    monkeypatch.setattr(platform._connection, "_stream", lambda text: (sent.append(text), known(text))[1])
    return sent


def test_a_campaign_that_was_read_is_changed_without_a_search(platform, searches):
    through = platform.now().date()
    assert platform.set_budget("spring", 5_000_000, through, key="b1") == Done()
    assert platform.set_bids("spring", {"offers": 1_000_000}, key="p1") == Done()
    platform.read_campaigns()
    searches.clear()
    assert platform.set_budget("spring", 6_000_000, through, key="b2") == Done()
    assert platform.enable("spring", key="e1") == Done()
    assert searches == []
    [state] = platform.read_campaigns()
    assert (state.daily_micros, state.status) == (6_000_000, "enabled")
    assert platform.set_budget("spring", 6_000_000, through, key="b2") == Done()  # the same key again has no effect


def test_a_budget_that_was_replaced_meanwhile_is_looked_for_again(platform):
    """What a connector remembers of a campaign is only a guess, as with its ad groups."""
    through = platform.now().date()
    assert platform.set_budget("spring", 5_000_000, through, key="b1") == Done()
    platform.read_campaigns()
    [arm] = platform._known_arms["spring"]
    platform._known_arms["spring"] = [replace(arm, budget=arm.budget.rsplit("/", 1)[0] + "/999999999")]
    assert platform.set_budget("spring", 6_000_000, through, key="b2") == Done()
    [state] = platform.read_campaigns()
    assert state.daily_micros == 6_000_000


def test_a_pause_looks_for_treatments_that_were_not_known(platform, sandbox):
    through = platform.now().date() + timedelta(days=2)
    platform.set_budget("spring", 5_000_000, through, key="k1")
    platform.set_bids("spring", {"bread": 300_000}, key="k2")
    platform.read_campaigns()
    known = dict(platform._known_arms)
    assert platform.start_experiment("trial", "spring", 50, {"bread": 310_000}, key="k3") == Done()
    platform._known_arms = known
    assert platform.pause("spring", key="k4") == Done()
    assert {arm.status for arm in platform._arms("spring")} == {"PAUSED"}
    assert len(platform._arms("spring")) == 2
