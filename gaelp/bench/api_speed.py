"""How fast the sandbox answers Google's official client: TLS gRPC to a process of its own, one call after another."""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import cycle
from pathlib import Path

import numpy as np

from gaelp.config.base import Frozen
from gaelp.config.google_ads_settings import GoogleAdsSettings
from gaelp.content import Creative
from gaelp.errors import GaelpError
from gaelp.platforms import Done
from gaelp.platforms.google_ads.connection import AdsConnection
from gaelp.platforms.google_ads.connector import GoogleAds
from gaelp.platforms.google_ads.gaql import query
from gaelp.platforms.google_ads.operations import Operations
from gaelp.sandbox.sandbox_process import StartOptions
from gaelp.sandbox.spec import SandboxSpec
from gaelp.sandbox.start_process import running_sandbox
from gaelp.sandbox.topics import TOPICS, keywords_for

__all__ = ["ApiSpeed", "measure_api"]

_CAMPAIGNS = 10
_WARM_UP_CALLS = 40
_SERVED_SECONDS = 3 * 24 * 3600  # before the calls are timed, so that there is something to report
_FASTEST = 1000.0  # calls per second that the connection lets through; no server of this kind reaches it

Call = Callable[[], object]


class ApiSpeed(Frozen):
    """Calls per second of one client, and what a call takes; a fourth each: list, report, look up, change a bid."""

    api_calls: int
    api_calls_per_s: float
    api_p50_ms: float
    api_p99_ms: float


def measure_api(spec: SandboxSpec, *, calls: int) -> ApiSpeed:
    """Time this many calls on an account with ten campaigns of eight ad groups, three days old."""
    seconds = []
    with _connected(spec) as connection:
        make = cycle(_mix(connection))
        for _ in range(_WARM_UP_CALLS):
            next(make)()
        for _ in range(calls):
            began = time.perf_counter()
            next(make)()
            seconds.append(time.perf_counter() - began)
    return ApiSpeed(
        api_calls=calls,
        api_calls_per_s=calls / sum(seconds),
        api_p50_ms=1000 * float(np.quantile(seconds, 0.5)),
        api_p99_ms=1000 * float(np.quantile(seconds, 0.99)),
    )


@contextmanager
def _connected(spec: SandboxSpec) -> Iterator[AdsConnection]:
    """A connection to an account of a new sandbox, which ends with the block."""
    with (
        tempfile.TemporaryDirectory(prefix="gaelp-bench-sandbox-") as folder,
        running_sandbox(Path(folder), StartOptions(spec=spec, fronts=("google",))) as sandbox,
    ):
        settings = GoogleAdsSettings(
            customer_id=spec.customer_ids[0],
            endpoint=f"localhost:{sandbox.ports['google']}",
            certificate=sandbox.certificate_path,
            calls_per_second=_FASTEST,
            deadline_seconds=60,
        )
        connection = AdsConnection(settings)
        _fill(GoogleAds(connection, report_lag=timedelta(hours=spec.reports.lag_hours)))
        sandbox.advance_by(_SERVED_SECONDS)
        yield connection


def _fill(platform: GoogleAds) -> None:
    """Ten campaigns that serve, with an ad group for each topic of their product."""
    bids = {" | ".join(keywords_for(topic)): 1_500_000 for topic in range(TOPICS)}
    for number in range(_CAMPAIGNS):
        name, through = f"Campaign {number}", (platform.now() + timedelta(days=30)).date()
        creative = Creative(
            id=name,
            advertiser="Shop",
            headline="Running shoes",
            description="Shoes for every road. Return them within 60 days.",
            call_to_action="Order Today",
            landing_url=f"https://shop.example/{number}",
        )
        for outcome in (
            platform.set_budget(name, 25_000_000, through, key=f"budget {number}"),
            platform.set_bids(name, bids, key=f"bids {number}"),
            platform.publish(name, creative, key=f"advert {number}"),
            platform.enable(name, key=f"enable {number}"),
        ):
            if outcome != Done():
                raise GaelpError(f"{name} could not be set up in the sandbox: saw {outcome}, expected {Done()}")


def _mix(connection: AdsConnection) -> tuple[Call, ...]:
    """What a bidder asks an account for: its campaigns, a report, one ad group, and another bid for it."""
    groups = connection.search(query("ad_group", "ad_group.resource_name", where=["ad_group.status = 'ENABLED'"]))
    names = cycle(str(row.ad_group.resource_name) for row in groups)
    bids = cycle((1_400_000, 1_600_000))
    listing = query("campaign", "campaign.id", "campaign.name", "campaign.status", "campaign_budget.amount_micros")
    metrics = ("metrics.impressions", "metrics.clicks", "metrics.cost_micros", "metrics.conversions")
    week = ["segments.date DURING LAST_7_DAYS"]
    report = query("campaign", "campaign.id", "segments.date", "segments.device", *metrics, where=week)
    operations = Operations(connection)

    def look_up() -> object:
        named = [f"ad_group.resource_name = '{next(names)}'"]
        return connection.search(query("ad_group", "ad_group.name", "ad_group.cpc_bid_micros", where=named))

    return (
        lambda: connection.search(listing),
        lambda: connection.search(report),
        look_up,
        lambda: connection.mutate([operations.set_bid(next(names), next(bids))]),
    )
