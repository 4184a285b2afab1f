"""The Meta Ads connector on the sandbox: what it reads back, what it refuses, and whose money it is."""

import socket
from datetime import UTC, date, datetime, timedelta

import pytest
from pydantic import ValidationError

from gaelp.checks.raised import in_words
from gaelp.config import load_settings
from gaelp.config.meta_ads_settings import MetaAdsSettings
from gaelp.content import Creative
from gaelp.errors import BadInput, ConfigError
from gaelp.platforms import Done, Rejected, Unknown
from gaelp.platforms.meta_ads import campaign_changes, connect
from gaelp.platforms.meta_ads.connection import GraphConnection
from gaelp.sandbox.certificate import folder_certificate

ADVERT = Creative(id="a1", headline="Fresh bread", description="Baked today.", landing_url="https://shop.example/bread")


def day(platform, days=0):
    return platform.now().date() + timedelta(days=days)


def start(platform, daily_micros=30_000_000, days=30, bid_micros=1_500_000):
    """A running campaign with one target."""
    assert platform.set_budget("spring", daily_micros, day(platform, days), key="b") == Done()
    assert platform.publish("spring", ADVERT, key="p") == Done()
    assert platform.set_bids("spring", {"Baking | Bread": bid_micros}, key="s") == Done()
    assert platform.enable("spring", key="e") == Done()


def report(sandbox, account, first, last):
    with sandbox.world.call() as call:
        return call.report(account, first, last)


def test_costs_by_day_and_hours_by_target_are_those_of_the_exchange(sandbox):
    platform = sandbox.connect(account := sandbox.free.pop())
    first = day(platform)
    start(platform)
    sandbox.advance(days=5)
    rows = report(sandbox, account, first, day(platform))
    costs = platform.read_costs(first, day(platform))
    assert costs.as_of == sandbox.world.now() - timedelta(hours=3)
    by_day = {}
    for row in rows:
        by_day[row.start.date()] = by_day.get(row.start.date(), 0) + row.cost_micros
    assert {cost.day for cost in costs.costs if cost.micros} == {each for each in by_day if by_day[each]}
    assert all(abs(cost.micros - by_day[cost.day]) <= 5_000 for cost in costs.costs)  # Meta reports whole cents
    hours = platform.read_hours(datetime.combine(first, datetime.min.time(), UTC)).hours
    assert {hour.target for hour in hours} == {"Baking | Bread"}
    assert sum(hour.clicks for hour in hours) == sum(row.clicks for row in rows) > 20
    assert sum(hour.impressions for hour in hours) == sum(row.impressions for row in rows)
    assert sum(hour.conversions for hour in hours) == sum(row.conversions for row in rows)


def test_campaigns_that_somebody_else_created_are_read_by_name_without_a_change(sandbox, monkeypatch):
    platform = sandbox.connect()
    start(platform)
    sandbox.advance(days=2)
    since = sandbox.world.now() - timedelta(days=2)
    own = platform.read_hours(since).hours
    monkeypatch.setattr("gaelp.platforms.meta_ads.account_reading.MARK", "another label")
    monkeypatch.setattr(GraphConnection, "change", lambda *_given, **_named: pytest.fail("a change was sent"))
    assert platform.read_campaigns() == ()
    report = platform.read_running(["spring"], since)
    assert report.hours == own
    assert own
    assert set(report.bids_micros) == {("spring", "Baking | Bread")}
    with pytest.raises(BadInput, match="has no campaign 'autumn'"):
        platform.read_running(["autumn"], since)


def test_no_day_spends_more_than_meta_may_of_a_budget(sandbox):
    platform = sandbox.connect()
    first = day(platform)
    start(platform, daily_micros=10_000_000, bid_micros=4_000_000)
    sandbox.advance(days=8)
    costs = [cost.micros for cost in platform.read_costs(first, day(platform)).costs]
    assert max(costs) <= 17_500_000
    assert sum(costs) > 0


def test_a_lease_ends_with_its_day(sandbox):
    platform = sandbox.connect()
    start(platform, days=0)
    last = day(platform)
    sandbox.advance(days=3)
    assert {cost.day for cost in platform.read_costs(last, day(platform)).costs} <= {last}
    assert platform.read_campaigns()[0].through == last


def test_a_target_made_later_shows_the_adverts_too(sandbox):
    platform = sandbox.connect()
    start(platform)
    assert platform.set_bids("spring", {"Cakes": 900_000}, key="s2") == Done()
    sandbox.advance(days=4)
    hours = platform.read_hours(sandbox.world.now() - timedelta(days=4)).hours
    assert {hour.target for hour in hours} == {"Baking | Bread", "Cakes"}


@pytest.mark.parametrize("micros", [5_000_001, 0, -10_000])
def test_an_amount_that_is_not_whole_cents_is_rejected_and_nothing_is_sent(sandbox, micros):
    platform = sandbox.connect()
    assert isinstance(platform.set_budget("spring", micros, day(platform), key="b"), Rejected)
    assert platform.read_campaigns() == ()
    platform.set_budget("spring", 5_000_000, day(platform), key="b2")
    outcome = platform.set_bids("spring", {"Baking": micros}, key="s")
    assert isinstance(outcome, Rejected)
    assert "whole cents" in outcome.reason
    assert platform.read_campaigns()[0].bids == ()


def test_a_currency_that_meta_counts_in_whole_units_is_rejected(sandbox, monkeypatch):
    platform = sandbox.connect()
    answered = GraphConnection.read

    def in_yen(self, *path, **asked):
        answer = answered(self, *path, **asked)
        return answer | {"currency": "JPY"} if "currency" in answer else answer

    monkeypatch.setattr(GraphConnection, "read", in_yen)
    outcome = platform.set_budget("spring", 5_000_000, day(platform), key="b")
    assert isinstance(outcome, Rejected)
    assert "counts JPY in whole units" in outcome.reason


def test_bids_are_all_set_or_none(sandbox):
    platform = sandbox.connect()
    start(platform)
    before = platform.read_campaigns()
    sandbox.fail("error", method="POST /*", status="400", skip=2)  # two ad sets are made, the call that bids is refused
    outcome = platform.set_bids("spring", {"Baking | Bread": 500_000, "New": 300_000}, key="s2")
    assert isinstance(outcome, Rejected)
    assert platform.read_campaigns() == before
    assert platform.look_up("s2") is None


def test_only_the_last_keys_are_kept_on_a_campaign(sandbox, monkeypatch):
    monkeypatch.setattr(campaign_changes, "_KEPT_KEYS", 2)
    platform = sandbox.connect()
    platform.set_budget("spring", 5_000_000, day(platform), key="first")
    for number in range(3):
        assert platform.enable("spring", key=f"k{number}") == Done()
    assert [platform.look_up(key) for key in ("first", "k0", "k1", "k2")] == [None, Done(), Done(), Done()]
    assert len(platform.read_campaigns()) == 1  # the mark that it is GAELP's stays


def test_edits_by_another_application_are_foreign(sandbox):
    platform = sandbox.connect(account := sandbox.free.pop())
    since = platform.now()
    start(platform)
    other = GraphConnection(sandbox.settings(account))
    other._api._session.requests.params["access_token"] = "of somebody else"
    [campaign] = other.read_all(other.account, "campaigns", fields="name")
    sandbox.advance(minutes=5)
    other.change(campaign["id"], daily_budget=9_900)
    [edit] = platform.read_edits(since)
    assert (edit.campaign, edit.at, "daily_budget" in edit.what) == ("spring", sandbox.world.now(), True)


def test_invoices_are_those_of_the_month_with_credits(sandbox):
    account = sandbox.free.pop()
    platform = sandbox.connect(account, business_id=f"9{account}")
    first = day(platform)
    start(platform, days=40)
    sandbox.advance(days=40)
    with sandbox.world.call() as call:
        issued = [invoice for invoice in call.invoices(account) if invoice.lines]  # Meta sends none for an idle month
    invoices = platform.read_invoices(first.replace(day=1), day(platform))
    assert [invoice.month for invoice in invoices] == [invoice.month for invoice in issued]
    total = sum(amount.micros for invoice in invoices for amount in invoice.amounts)
    true = sum(line.amount_micros for invoice in issued for line in invoice.lines)
    assert true > 0
    assert abs(total - true) <= 20_000  # whole cents
    assert sandbox.connect(account).read_invoices(first, day(platform)) == ()  # without a business there are none


# Whose money it is


def test_the_world_is_the_sandbox_only_if_its_server_proves_it(sandbox, tmp_path):
    assert sandbox.connect().world == "sandbox"
    other = folder_certificate(tmp_path / "other", datetime.now(UTC))
    assert sandbox.connect(certificate=other.path).world == "live"
    assert sandbox.connect(endpoint="localhost:1").world == "live"
    live = {"access_token": "a-live-token-1", "app_secret": "an-app-secret-1", "certificate": None}
    assert sandbox.connect(**live).world == "live"


def test_a_server_without_tls_is_live_and_answers_nothing(sandbox):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        platform = sandbox.connect(endpoint=f"localhost:{listener.getsockname()[1]}", deadline_seconds=0.3)
        assert platform.world == "live"
        assert isinstance(platform.set_budget("spring", 5_000_000, date(2100, 1, 1), key="b"), Unknown)


def test_no_secret_is_in_any_outcome_or_exception(sandbox):
    secrets = {"access_token": "EAAB-token-nobody-sees", "app_secret": "app-secret-nobody-sees"}
    platform = sandbox.connect(**secrets, certificate=None, endpoint="localhost:1", deadline_seconds=0.3)
    proof = platform._connection._api._session.appsecret_proof
    outcome = platform.set_budget("spring", 5_000_000, date(2100, 1, 1), key="b")
    with pytest.raises(Exception, match="Max retries") as caught:
        platform.read_campaigns()
    for text in (str(outcome), in_words(caught.value), repr(platform._connection.settings)):
        assert not [secret for secret in (*secrets.values(), proof) if secret in text]


def test_a_live_account_needs_its_secrets():
    with pytest.raises(ValidationError, match="GAELP__PLATFORM__META_ADS__ACCESS_TOKEN"):
        MetaAdsSettings(account_id="1", page_id="2")


def test_it_is_found_by_its_name_and_needs_its_settings(tmp_path, sandbox):
    overrides = [f"home={tmp_path}", "platform.name=meta-ads", "platform.account=acc"]
    with pytest.raises(ConfigError, match=r"platform\.meta_ads is not set"):
        connect(load_settings(None, overrides=overrides).settings)
    settings = {"account_id": "1", "page_id": "2", "certificate": str(sandbox.certificate.path)}
    overrides += [f"platform.meta_ads.{name}={value}" for name, value in settings.items()]
    assert connect(load_settings(None, overrides=overrides).settings).name == "meta-ads"
