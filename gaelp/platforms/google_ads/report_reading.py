"""Read costs by day and hours by ad group from the reports of an account, in its time zone."""

import math
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from gaelp.money import MICROS_PER_UNIT
from gaelp.platforms.google_ads.account_reading import CampaignRow
from gaelp.platforms.google_ads.connection import AdsConnection
from gaelp.platforms.google_ads.gaql import between, query
from gaelp.platforms.platform import CampaignHour, DayCost

__all__ = ["ReportedNames", "read_day_costs", "read_hour_rows"]

_KEPT_HOURS = 2048
_DAY = timedelta(days=1)


_HOUR_FIELDS = (
    "campaign.id",
    "ad_group.name",
    "segments.date",
    "segments.hour",
    "metrics.cost_micros",
    "metrics.impressions",
    "metrics.clicks",
    "metrics.conversions",
    "metrics.conversions_value",
)


class ReportedNames:
    """Under which names the rows of a campaign are reported: those of a treatment under its campaign's."""

    def __init__(self, campaigns: Iterable[CampaignRow]) -> None:
        rows = list(campaigns)
        by_name = {row.resource_name: row for row in rows}
        self._names = {row.id: (by_name[row.base].name if row.base else row.name) for row in rows}
        self._prefixes = {row.id: f"{_trial_name(row, by_name)}/" if row.base else "" for row in rows}

    def campaign(self, campaign_id: int) -> str | None:
        """The campaign's name; None if it is not GAELP's."""
        return self._names.get(campaign_id)

    def target(self, campaign_id: int, ad_group: str) -> str:
        """The target's name, with that of the experiment before it."""
        return self._prefixes[campaign_id] + ad_group


def _trial_name(row: CampaignRow, by_name: dict[str, CampaignRow]) -> str:
    """The experiment of a treatment: its campaign is called `NAME [EXPERIMENT]`."""
    return row.name.removeprefix(by_name[row.base].name).strip().removeprefix("[").removesuffix("]")


def read_day_costs(connection: AdsConnection, names: ReportedNames, first: date, last: date) -> tuple[DayCost, ...]:
    """The cost of each campaign-day that has any."""
    sums: dict[tuple[str, date], int] = defaultdict(int)
    fields = ("campaign.id", "segments.date", "metrics.cost_micros")
    for row in connection.search_plain(query("campaign", *fields, where=[between(first, last)])):
        if (campaign := names.campaign(row.campaign.id)) is not None:
            sums[campaign, date.fromisoformat(row.segments.date)] += row.metrics.cost_micros
    return tuple(DayCost(campaign, day, micros) for (campaign, day), micros in sorted(sums.items()))


def read_hour_rows(
    connection: AdsConnection, names: ReportedNames, since: datetime, now: datetime, zone: ZoneInfo
) -> tuple[CampaignHour, ...]:
    """The hours of each ad group from `since` on; a conversion that had begun to count before it is not known here."""
    rows = [
        row
        for conditions in _conditions(since.astimezone(zone), now.astimezone(zone).date())
        for row in connection.search_plain(query("ad_group", *_HOUR_FIELDS, where=conditions))
    ]
    by_target: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for row in rows:
        if (campaign := names.campaign(row.campaign.id)) is not None:
            by_target[campaign, names.target(row.campaign.id, row.ad_group.name)].append(row)
    hours = [hour for key, each in sorted(by_target.items()) for hour in _hours_of(*key, each, zone)]
    return tuple(hour for hour in hours if hour.start >= since)


def _conditions(since: datetime, last: date) -> list[list[str]]:
    """The queries that have the hours from an instant of the account's clock on: no hours of the day before it."""
    first = since.date()
    if since.hour == 0 or first > last:
        return [[between(first, last)]]
    begun = [between(first, first), f"segments.hour >= {since.hour}"]
    return [begun] if first == last else [begun, [between(first + _DAY, last)]]


def _hours_of(campaign: str, target: str, rows: list[Any], zone: ZoneInfo) -> list[CampaignHour]:
    """The hours of one target, in order; fractions of conversions count as soon as they add up to a whole one."""
    hours, conversions_so_far = [], 0.0
    for row in sorted(rows, key=lambda each: (each.segments.date, each.segments.hour)):
        before = math.floor(conversions_so_far)
        conversions_so_far += row.metrics.conversions
        hours.append(
            CampaignHour(
                campaign=campaign,
                start=_start(row.segments.date, row.segments.hour, zone),
                cost_micros=row.metrics.cost_micros,
                impressions=row.metrics.impressions,
                clicks=row.metrics.clicks,
                conversions=math.floor(conversions_so_far + 1e-9) - before,
                target=target,
                value_micros=round(row.metrics.conversions_value * MICROS_PER_UNIT),
            )
        )
    return hours


@lru_cache(_KEPT_HOURS)
def _start(day: str, hour: int, zone: ZoneInfo) -> datetime:
    """The instant at which an hour begins; when clocks go back, Google reports the repeated hour with the first."""
    local = datetime.combine(date.fromisoformat(day), datetime.min.time(), zone)
    return local.replace(hour=hour).astimezone(UTC)
