"""The sandbox with its Meta front in this process, and connectors to fresh accounts of it over HTTPS."""

import pytest

from gaelp.config.meta_ads_settings import MetaAdsSettings
from gaelp.platforms.meta_ads import MetaAds
from gaelp.platforms.meta_ads.connection import GraphConnection
from gaelp.sandbox.meta.server import start_meta_front

ACCOUNTS = tuple(str(5_000_000_000 + number) for number in range(100))


def _settings(account, **values):
    return MetaAdsSettings(**{"account_id": account, "page_id": "1"} | values)


def _connector(settings, lag):
    return MetaAds(GraphConnection(settings, sleep=lambda _: None), report_lag=lag)


@pytest.fixture(scope="session")
def served(tmp_path_factory, served_front):
    kind = served_front.FrontKind("meta", start_meta_front, _settings, _connector, changes="POST *")
    with served_front.serving(kind, tmp_path_factory.mktemp("meta"), meta_account_ids=ACCOUNTS) as front:
        yield front
