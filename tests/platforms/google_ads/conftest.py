"""The sandbox with its Google front in this process, and connectors to fresh accounts of it over TLS gRPC."""

import pytest

from gaelp.config.google_ads_settings import GoogleAdsSettings
from gaelp.platforms.google_ads import GoogleAds
from gaelp.platforms.google_ads.connection import AdsConnection
from gaelp.sandbox.google.server import start_google_front

ACCOUNTS = tuple(str(4_000_000_000 + number) for number in range(900))


def _settings(account, **values):
    return GoogleAdsSettings(**{"customer_id": account} | values)


def _connector(settings, lag):
    return GoogleAds(AdsConnection(settings, sleep=lambda _: None), report_lag=lag)


@pytest.fixture(scope="session")
def served(tmp_path_factory, served_front):
    kind = served_front.FrontKind("google", start_google_front, _settings, _connector, changes="*.Mutate*")
    with served_front.serving(kind, tmp_path_factory.mktemp("google"), customer_ids=ACCOUNTS) as front:
        yield front
