"""Shadow days: what is decided, what is kept, and that nothing is sent."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from gaelp.config.google_ads_settings import GoogleAdsSettings
from gaelp.errors import BadInput, DataError, WaitingForPerson
from gaelp.pilot.local_campaigns import local_creative
from gaelp.pilot.own_campaigns import OwnCampaign, provide_own_campaigns
from gaelp.pilot.policy_inputs import input_names
from gaelp.pilot.shadow import run_shadow_days
from gaelp.pilot.shadow_check import watched_campaigns
from gaelp.pilot.shadow_record import ShadowFolder
from gaelp.platforms.google_ads import GoogleAds
from gaelp.platforms.google_ads.account_reading import read_ad_groups, read_named_campaigns
from gaelp.platforms.google_ads.connection import AdsConnection
from gaelp.sandbox.certificate import folder_certificate
from gaelp.sandbox.faults import FaultInjector
from gaelp.sandbox.google.server import start_google_front
from gaelp.sandbox.spec import load_sandbox_spec
from gaelp.sandbox.world import open_world


@pytest.fixture(scope="module")
def shop(watched, account_parts):
    return watched.shop(account_parts.estimates_of(["spring", "summer", "autumn"]))


@pytest.fixture(scope="module")
def whole(shop, watched, tmp_path_factory):
    """The record of two days that nothing interrupted."""
    campaigns, personas, policy = shop
    platform = watched.MarketPlatform(campaigns, personas, 7)
    folder = ShadowFolder(tmp_path_factory.mktemp("whole"))
    return run_shadow_days(platform, campaigns.controller(policy), campaigns.plan, folder, platform.wait_until)


def test_every_hour_is_decided_and_kept_with_what_the_policy_saw(whole, shop):
    names = input_names(shop[0].market.objective)
    assert whole.decided.all()
    assert whole.inputs.shape == (48, 3, 8, len(names))
    assert np.isfinite(whole.inputs).all()
    assert (whole.would_bid_micros > 0).all()
    assert len(np.unique(whole.would_bid_micros[-1])) > 1
    assert (whole.bid_micros == shop[0].reference_bid_micros).all()
    hour = whole.inputs[:, 0, 0, names.index("time_elapsed")]
    assert hour[0] == 0
    assert (np.diff(hour) > 0).all()


def test_figures_are_those_that_were_reported_by_the_end(whole):
    assert whole.reported_hours == 45
    assert whole.impressions[:45].sum() > 500
    assert whole.impressions[45:].sum() == 0


def test_after_an_interruption_the_same_bids_follow(whole, shop, watched, tmp_path):
    campaigns, personas, policy = shop
    platform = watched.MarketPlatform(campaigns, personas, 7)

    def interrupted(instant):
        return platform.wait_until(instant) and platform.now < 20

    with pytest.raises(WaitingForPerson, match="before hour 20 of 48"):
        run_shadow_days(platform, campaigns.controller(policy), campaigns.plan, ShadowFolder(tmp_path), interrupted)
    again = run_shadow_days(
        platform, campaigns.controller(policy), campaigns.plan, ShadowFolder(tmp_path), platform.wait_until
    )
    assert again.decided.all()
    assert np.array_equal(again.would_bid_micros, whole.would_bid_micros)
    assert np.array_equal(again.inputs, whole.inputs)


def test_hours_that_passed_meanwhile_are_missed_and_not_decided_afterwards(whole, shop, watched, tmp_path):
    campaigns, personas, policy = shop
    platform = watched.MarketPlatform(campaigns, personas, 7)

    def away(instant):
        platform.wait_until(instant)
        if platform.now == 20:
            platform.now = 25
        return True

    record = run_shadow_days(platform, campaigns.controller(policy), campaigns.plan, ShadowFolder(tmp_path), away)
    assert np.flatnonzero(~record.decided).tolist() == [20, 21, 22, 23, 24]
    assert np.isnan(record.inputs[20]).all()
    assert (record.would_bid_micros[20:25] == 0).all()
    assert np.array_equal(record.would_bid_micros[:20], whole.would_bid_micros[:20])


def test_a_damaged_file_is_named(shop, watched, tmp_path):
    (tmp_path / "state.npz").write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"state\.npz cannot be read"):
        ShadowFolder(tmp_path).state()


def test_shadow_days_begin_at_midnight_of_the_account(shop):
    given = (shop[0].plan.campaigns, shop[0].market, shop[0].account, shop[0].rules)
    with pytest.raises(BadInput, match="allowed: midnight"):
        watched_campaigns(*given, begins=shop[0].plan.begins, days=2, time_zone="America/New_York")


def test_nothing_is_sent_to_a_real_server(watched, account_parts, tmp_path, monkeypatch):
    spec = load_sandbox_spec().model_copy(update={"time_zone": "UTC", "start": watched.BEGINS - timedelta(hours=12)})
    world = open_world(tmp_path / "world", spec)
    certificate = folder_certificate(tmp_path / "world", datetime.now(UTC))
    front = start_google_front(world, certificate, FaultInjector(), 0)
    connection = AdsConnection(
        GoogleAdsSettings(
            customer_id=spec.customer_ids[0],
            endpoint=f"localhost:{front.port}",
            certificate=certificate.path,
            calls_per_second=1000,
            deadline_seconds=60,
        )
    )
    campaigns, _, policy = watched.shop(account_parts.estimates_of(["spring"]))
    bids = tuple(campaigns.reference_bid_micros[0].tolist())
    own = OwnCampaign("spring", 80_000_000, campaigns.plan.targets[0], bids, local_creative("shop-01.example/offers"))
    provide_own_campaigns(connection, [own])

    def refuse(*_given, **_named):
        raise AssertionError("a change was sent")

    monkeypatch.setattr(AdsConnection, "mutate", refuse)
    platform = GoogleAds(connection, report_lag=timedelta(hours=3))
    before = [(group.name, group.bid_micros) for group in _groups(connection)]

    def wait_until(instant):
        if world.now() < instant:
            world.advance(instant)
        return True

    record = run_shadow_days(
        platform, campaigns.controller(policy), campaigns.plan, ShadowFolder(tmp_path / "shadow"), wait_until
    )
    assert record.decided.all()
    assert record.impressions.sum() > 50
    assert (record.would_bid_micros != record.bid_micros).any()  # it would have bid otherwise
    assert [(group.name, group.bid_micros) for group in _groups(connection)] == before
    front.stop()
    world.close()


def _groups(connection):
    [groups] = read_ad_groups(connection, read_named_campaigns(connection, ["spring"])).values()
    return groups
