"""Sales of the shop behind the adverts: named by campaign and ad group, refunds included, importable as a feed."""

from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner

from gaelp.bootstrap import open_store
from gaelp.cli.main import app
from gaelp.config import load_settings
from gaelp.config.google_ads_settings import GoogleAdsSettings
from gaelp.config.places import repository_root
from gaelp.errors import BadInput
from gaelp.pilot.local_campaigns import local_creative
from gaelp.pilot.own_campaigns import OwnCampaign, provide_own_campaigns
from gaelp.pilot.sales_feed import read_sales
from gaelp.platforms.google_ads.connection import AdsConnection
from gaelp.sandbox.certificate import folder_certificate
from gaelp.sandbox.faults import FaultInjector
from gaelp.sandbox.google.server import start_google_front
from gaelp.sandbox.sales_csv import write_sales
from gaelp.sandbox.shop_sales import shop_sales
from gaelp.sandbox.spec import load_sandbox_spec
from gaelp.sandbox.topics import TOPICS, keywords_for
from gaelp.sandbox.world import open_world

TARGETS = tuple(keywords_for(topic, 1)[0] for topic in range(TOPICS))
OWN = OwnCampaign("spring-sale", 400_000_000, TARGETS, (2_500_000,) * TOPICS, local_creative("shop-01.example/offers"))


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A world after ten days of one campaign, its fronts, and the days; sales are often sent back, and soon."""
    spec = load_sandbox_spec()
    sales = spec.sales.model_copy(update={"refund_share": 0.5, "refund_mean_hours": 24.0})
    folder = tmp_path_factory.mktemp("shop")
    world = open_world(folder, spec.model_copy(update={"sales": sales}))
    certificate = folder_certificate(folder, datetime.now(UTC))
    front = start_google_front(world, certificate, FaultInjector(), 0)
    ads = GoogleAdsSettings(
        customer_id=spec.customer_ids[0],
        endpoint=f"localhost:{front.port}",
        certificate=certificate.path,
        calls_per_second=1000,
        deadline_seconds=60,
    )
    provide_own_campaigns(AdsConnection(ads), [OWN])
    began = world.now()
    world.advance(began + timedelta(days=10))
    first = began.astimezone(spec.zone).date()
    yield world, {"google": front}, first, first + timedelta(days=9)
    front.stop()
    world.close()


def test_sales_have_the_names_of_campaign_and_ad_group_and_some_are_sent_back(shop):
    sales = shop_sales(shop[0], shop[1], None, *shop[2:])
    assert len(sales) > 10
    assert {sale.campaign for sale in sales} == {"spring-sale"}
    assert {sale.segment for sale in sales} <= set(TARGETS)
    assert 0 < sum(sale.refunded_at is not None for sale in sales) < len(sales)
    assert all(sale.click_at <= sale.at <= shop[0].now() for sale in sales)


def test_the_shop_knows_a_sale_before_the_platform_reports_it(shop):
    world, fronts, first, last = shop
    with world.call() as call:
        reported = sum(row.conversions for row in call.report(world.spec.customer_ids[0], first, last))
    assert len(shop_sales(world, fronts, None, first, last)) >= reported


def test_an_account_that_there_is_not_and_days_in_reverse_are_refused(shop):
    world, fronts, first, last = shop
    with pytest.raises(BadInput, match="account '77' is not in this sandbox"):
        shop_sales(world, fronts, "77", first, last)
    with pytest.raises(BadInput, match="name the earlier day first"):
        shop_sales(world, fronts, None, last, first)


def test_the_exported_file_is_imported_as_the_feed_of_a_pilot_and_twice_stores_once(shop, tmp_path):
    world, fronts, first, last = shop
    sales = shop_sales(world, fronts, None, first, last)
    file = tmp_path / "sales.csv"
    write_sales(file, sales)
    mapping = repository_root() / "configs" / "pilot" / "sales.yaml"
    home = f"home={tmp_path / 'home'}"
    for _ in range(2):
        given = ["data", "import", str(file), "--mapping", str(mapping), "--phase", "pilot", "--set", home]
        result = CliRunner().invoke(app, given)
        assert result.exit_code == 0, result.output
    days = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    with closing(open_store(load_settings(None, overrides=[home], environ={}).settings)) as store:
        feed = read_sales(store, ("spring-sale",), days, world.spec.time_zone, world.now())
    kept = [sale for sale in sales if sale.refunded_at is None]
    assert (feed.sales.sum(), feed.unmatched) == (len(kept), 0)
    assert feed.value_micros.sum() == sum(sale.value_micros for sale in kept)


def test_a_file_that_is_there_is_not_overwritten(tmp_path):
    (tmp_path / "sales.csv").write_text("mine")
    with pytest.raises(BadInput, match="exists already"):
        write_sales(tmp_path / "sales.csv", [])
