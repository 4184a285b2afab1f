"""The advertiser's own campaigns, in a sandbox in this process."""

from datetime import UTC, datetime, timedelta

import pytest

from gaelp.config.google_ads_settings import GoogleAdsSettings
from gaelp.errors import BadInput
from gaelp.pilot.local_campaigns import local_creative
from gaelp.pilot.own_campaigns import OwnCampaign, pause_own_campaigns, provide_own_campaigns
from gaelp.platforms.google_ads import GoogleAds
from gaelp.platforms.google_ads.connection import AdsConnection
from gaelp.platforms.running_campaigns import ReadsRunning
from gaelp.sandbox.certificate import folder_certificate
from gaelp.sandbox.faults import FaultInjector
from gaelp.sandbox.google.server import start_google_front
from gaelp.sandbox.spec import load_sandbox_spec
from gaelp.sandbox.topics import TOPICS, keywords_for
from gaelp.sandbox.world import open_world

LAG = timedelta(hours=3)
TARGETS = tuple(keywords_for(topic, 1)[0] for topic in range(TOPICS))
BIDS = tuple(1_400_000 + 10_000 * place for place in range(TOPICS))
OWN = OwnCampaign("Spring sale", 200_000_000, TARGETS, BIDS, local_creative("shop-01.example/offers"))


@pytest.fixture(scope="module")
def account(tmp_path_factory):
    """The world, a connection, and the first instant of the campaign; two days have passed."""
    folder = tmp_path_factory.mktemp("own")
    world = open_world(folder, load_sandbox_spec())
    certificate = folder_certificate(folder, datetime.now(UTC))
    front = start_google_front(world, certificate, FaultInjector(), 0)
    ads = GoogleAdsSettings(
        customer_id=world.spec.customer_ids[0],
        endpoint=f"localhost:{front.port}",
        certificate=certificate.path,
        calls_per_second=1000,
        deadline_seconds=60,
    )
    connection, began = AdsConnection(ads), world.now()
    provide_own_campaigns(connection, [OWN])
    world.advance(began + timedelta(hours=50))
    yield world, connection, began
    front.stop()
    world.close()


@pytest.fixture
def platform(account):
    return GoogleAds(account[1], report_lag=LAG)


def test_it_runs_and_is_none_of_gaelps_campaigns(account, platform):
    assert platform.read_campaigns() == ()
    assert platform.read_hours(account[2]).hours == ()
    report = platform.read_running(["Spring sale"], account[2])
    assert sum(hour.impressions for hour in report.hours) > 100
    assert {hour.campaign for hour in report.hours} == {"Spring sale"}


def test_hours_bids_and_shares_are_those_of_the_ad_groups(account, platform):
    assert isinstance(platform, ReadsRunning)
    world, _, began = account
    report = platform.read_running(["Spring sale"], began)
    assert report.as_of == world.now() - LAG
    assert report.bids_micros == {("Spring sale", target): bid for target, bid in zip(TARGETS, BIDS, strict=True)}
    assert {hour.target for hour in report.hours} <= set(TARGETS)
    assert max(hour.start for hour in report.hours) < report.as_of
    assert {share.day for share in report.shares} == {began.astimezone(world.spec.zone).date()}
    assert all(0 < share.impression_share <= 1 for share in report.shares)


def test_a_campaign_that_the_account_does_not_have_is_refused(account, platform):
    with pytest.raises(BadInput, match="has no campaign 'Autumn sale'"):
        platform.read_running(["Spring sale", "Autumn sale"], account[2])


def test_reading_sends_no_change(account, platform, monkeypatch):
    def refuse(*_given, **_named):
        raise AssertionError("a change was sent")

    monkeypatch.setattr(AdsConnection, "mutate", refuse)
    assert platform.read_running(["Spring sale"], account[2]).hours


def test_the_advertiser_creates_each_campaign_once_and_pauses_it(account, platform):
    world, connection, _ = account
    provide_own_campaigns(connection, [OWN])
    pause_own_campaigns(connection, [OWN])
    paused_at = world.now()
    world.advance(paused_at + timedelta(hours=12))
    late = platform.read_running(["Spring sale"], paused_at + timedelta(hours=3))
    assert sum(hour.impressions for hour in late.hours) == 0
    assert late.bids_micros == {}  # a paused campaign bids nothing
