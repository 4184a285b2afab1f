"""Read the account: which campaigns are GAELP's, their budgets and keys, their ad sets, adverts and bids."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, cast
from zoneinfo import ZoneInfo

from gaelp.errors import BadInput, GaelpError
from gaelp.money import Micros
from gaelp.platforms.meta_ads.connection import GraphConnection
from gaelp.platforms.platform import CampaignState

__all__ = [
    "CENT_MICROS",
    "MARK",
    "AdAccountRow",
    "AdSetRow",
    "MetaCampaignRow",
    "PublishedAdvert",
    "as_state",
    "creative_name",
    "key_label",
    "read_account",
    "read_ad_sets",
    "read_campaign_rows",
    "read_named_ids",
    "read_published",
]

MARK = "gaelp"  # the label of every campaign that GAELP created
CENT_MICROS = 10_000
_KEY = "gaelp key "
_DIGITS = 40  # of a hash
_NO_END = date(9999, 12, 31)
_CAMPAIGN_FIELDS = "name,status,daily_budget,lifetime_budget,stop_time,adlabels{name}"
_AD_SET_FIELDS = "name,campaign_id,bid_amount,status"
_PUBLISHED = re.compile(r"gaelp/(?P<campaign>\d+)/(?P<hash>[0-9a-f]{64})")
_ALL = ["ACTIVE", "PAUSED", "DELETED", "ARCHIVED", "IN_PROCESS", "WITH_ISSUES"]


@dataclass(frozen=True, slots=True)
class AdAccountRow:
    """The account itself."""

    zone: ZoneInfo
    currency: str


@dataclass(frozen=True, slots=True)
class MetaCampaignRow:
    """A campaign of GAELP; `labels` are in the order in which they were created."""

    id: str
    name: str
    status: str
    daily_micros: Micros
    through: date
    labels: tuple[tuple[str, str], ...]  # id and name

    @property
    def is_gone(self) -> bool:
        """Whether it is deleted or archived; its costs remain."""
        return self.status in ("DELETED", "ARCHIVED")

    def has_key(self, key: str) -> bool:
        """Whether the change of this key was made here."""
        return any(name == key_label(key) for _, name in self.labels)


@dataclass(frozen=True, slots=True)
class AdSetRow:
    """An ad set, which is a target of its campaign."""

    id: str
    name: str
    campaign: str
    bid_micros: Micros


@dataclass(frozen=True, slots=True)
class PublishedAdvert:
    """An advert that GAELP published in a campaign."""

    id: str
    campaign: str
    creative_hash: str
    keys: tuple[str, ...]


def key_label(key: str) -> str:
    """The name of the label that a change leaves behind."""
    return _KEY + hashlib.sha256(key.encode(errors="backslashreplace")).hexdigest()[:_DIGITS]


def creative_name(campaign: str, digest: str) -> str:
    """The name of an advert: of which campaign, and exactly which creative it shows."""
    return f"gaelp/{campaign}/{digest}"


def read_account(connection: GraphConnection) -> AdAccountRow:
    """Time zone and currency of the account; raises without an answer."""
    row = connection.read(connection.account, fields="timezone_name,currency")
    if not row.get("timezone_name") or not row.get("currency"):
        raise GaelpError(f"Meta says nothing about {connection.account}: check its id and the rights of the token")
    return AdAccountRow(ZoneInfo(row["timezone_name"]), row["currency"])


def read_campaign_rows(connection: GraphConnection, zone: ZoneInfo, *, gone: bool = False) -> list[MetaCampaignRow]:
    """Every campaign that GAELP created, oldest first; deleted and archived ones only if asked for."""
    wanted = {"effective_status": _ALL} if gone else {}
    rows = connection.read_all(connection.account, "campaigns", fields=_CAMPAIGN_FIELDS, **wanted)
    ours = [row for row in rows if any(label["name"] == MARK for label in row.get("adlabels", ()))]
    return sorted((_campaign(row, zone) for row in ours), key=lambda row: int(row.id))


def read_named_ids(connection: GraphConnection, names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Name and status of campaigns of the account by id, whoever created them; BadInput names one that is missing."""
    wanted = set(names)
    rows = connection.read_all(connection.account, "campaigns", fields="name,status")
    named = {row["id"]: (row["name"], row["status"]) for row in rows if row["name"] in wanted}
    if missing := sorted(wanted - {name for name, _ in named.values()}):
        raise BadInput(f"the account {connection.account} has no campaign {missing[0]!r}: check the names")
    return named


def _campaign(row: dict[str, Any], zone: ZoneInfo) -> MetaCampaignRow:
    labels = sorted(((label["id"], label["name"]) for label in row.get("adlabels", ())), key=lambda each: int(each[0]))
    return MetaCampaignRow(
        id=row["id"],
        name=row["name"],
        status=row["status"],
        daily_micros=int(row.get("daily_budget", 0)) * CENT_MICROS,
        through=_last_day(row.get("stop_time"), zone),
        labels=tuple(labels),
    )


def _last_day(stop_time: str | None, zone: ZoneInfo) -> date:
    """The day on which it still delivers: it stops at an instant, normally midnight after that day."""
    if not stop_time:
        return _NO_END
    stop = datetime.strptime(stop_time, "%Y-%m-%dT%H:%M:%S%z").astimezone(UTC)
    return (stop - timedelta(seconds=1)).astimezone(zone).date()


def read_ad_sets(connection: GraphConnection, campaigns: Iterable[str]) -> dict[str, list[AdSetRow]]:
    """The ad sets of these campaigns, by the campaign's id, oldest first."""
    by_campaign: dict[str, list[AdSetRow]] = {campaign: [] for campaign in campaigns}
    if not by_campaign:
        return by_campaign
    within = [{"field": "campaign.id", "operator": "IN", "value": list(by_campaign)}]
    for row in connection.read_all(connection.account, "adsets", fields=_AD_SET_FIELDS, filtering=within):
        bid_micros = int(row.get("bid_amount", 0)) * CENT_MICROS
        by_campaign[row["campaign_id"]].append(AdSetRow(row["id"], row["name"], row["campaign_id"], bid_micros))
    for ad_sets in by_campaign.values():
        ad_sets.sort(key=lambda ad_set: int(ad_set.id))
    return by_campaign


def read_published(connection: GraphConnection) -> list[PublishedAdvert]:
    """The adverts that GAELP published, of all campaigns, oldest first."""
    rows = connection.read_all(connection.account, "adcreatives", fields="name,adlabels{name}")
    published = []
    for row in sorted(rows, key=lambda each: int(each["id"])):
        if match := _PUBLISHED.search(row.get("name", "")):
            keys = tuple(label["name"] for label in row.get("adlabels", ()))
            published.append(PublishedAdvert(row["id"], match["campaign"], match["hash"], keys))
    return published


def as_state(campaign: MetaCampaignRow, ad_sets: list[AdSetRow], published: Iterable[PublishedAdvert]) -> CampaignState:
    """A campaign as GAELP's protocol has it."""
    hashes = {row.creative_hash for row in published if row.campaign == campaign.id}
    status = {"ACTIVE": "enabled", "PAUSED": "paused"}.get(campaign.status, campaign.status)
    return CampaignState(
        campaign=campaign.name,
        status=cast("Any", status),  # any other status counts as running
        daily_micros=campaign.daily_micros,
        through=campaign.through,
        creatives=tuple(sorted(hashes)),
        bids=tuple(sorted((ad_set.name, ad_set.bid_micros) for ad_set in ad_sets)),
    )
