"""Read campaigns that somebody else runs in the account: hours by ad group, bids as they are now, shares by day."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from gaelp.money import Micros
from gaelp.platforms.google_ads.account_reading import CampaignRow
from gaelp.platforms.google_ads.connection import AdsConnection
from gaelp.platforms.google_ads.gaql import between, query
from gaelp.platforms.google_ads.report_reading import ReportedNames, read_hour_rows
from gaelp.platforms.running_campaigns import DayShare, RunningReport

__all__ = ["read_running_campaigns"]

_BID_FIELDS = ("campaign.id", "ad_group.name", "ad_group.cpc_bid_micros")
_SHARE_FIELDS = ("campaign.id", "ad_group.name", "segments.date", "metrics.search_impression_share")


def read_running_campaigns(
    connection: AdsConnection,
    campaigns: Sequence[CampaignRow],
    since: datetime,
    now: datetime,
    zone: ZoneInfo,
    *,
    report_lag: timedelta,
) -> RunningReport:
    """One report of these campaigns; only searches are sent."""
    names = ReportedNames(campaigns)
    bids = _read_bids(connection, {row.id: row.name for row in campaigns if row.status == "ENABLED"})
    hours = read_hour_rows(connection, names, since, now, zone)
    return RunningReport(now, now - report_lag, hours, bids, _read_shares(connection, names, since, now, zone))


def _read_bids(connection: AdsConnection, names: Mapping[int, str]) -> dict[tuple[str, str], Micros]:
    """Bids by campaign and ad group. Adverts are not read: they are most of an account."""
    if not names:
        return {}
    within = f"campaign.id IN ({', '.join(map(str, sorted(names)))})"
    rows = connection.search(query("ad_group", *_BID_FIELDS, where=[within, "ad_group.status = 'ENABLED'"]))
    return {(names[row.campaign.id], row.ad_group.name): row.ad_group.cpc_bid_micros for row in rows}


def _read_shares(
    connection: AdsConnection, names: ReportedNames, since: datetime, now: datetime, zone: ZoneInfo
) -> tuple[DayShare, ...]:
    """Of the days that are over; a day without impressions has none."""
    first, last = since.astimezone(zone).date(), now.astimezone(zone).date() - timedelta(days=1)
    if last < first:
        return ()
    return tuple(
        DayShare(
            campaign,
            names.target(row.campaign.id, row.ad_group.name),
            date.fromisoformat(row.segments.date),
            row.metrics.search_impression_share,
        )
        for row in connection.search(query("ad_group", *_SHARE_FIELDS, where=[between(first, last)]))
        if (campaign := names.campaign(row.campaign.id)) is not None and row.metrics.search_impression_share > 0
    )
