"""Read costs by day and hours by ad set from the insights of an account, in its time zone."""

import math
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from gaelp.money import MICROS_PER_UNIT, Micros
from gaelp.platforms.meta_ads.connection import GraphConnection
from gaelp.platforms.platform import CampaignHour, DayCost

__all__ = ["read_day_costs", "read_hour_rows"]

_HOUR = "hourly_stats_aggregated_by_advertiser_time_zone"
_HOUR_FIELDS = "campaign_id,adset_id,adset_name,spend,impressions,clicks,actions,action_values"
_PURCHASES = ("offsite_conversion.fb_pixel_purchase", "omni_purchase", "purchase")  # the first that is there counts


def read_day_costs(
    connection: GraphConnection, names: Mapping[str, str], first: date, last: date
) -> tuple[DayCost, ...]:
    """The cost of each campaign-day that has any; `names` are those of GAELP's campaigns, by id."""
    sums: dict[tuple[str, date], Micros] = defaultdict(int)
    rows = _insights(connection, "campaign_id,spend", first, last, level="campaign")
    for row in rows:
        if (campaign := names.get(row["campaign_id"])) is not None:
            sums[campaign, date.fromisoformat(row["date_start"])] += _micros(row.get("spend", "0"))
    return tuple(DayCost(campaign, day, micros) for (campaign, day), micros in sorted(sums.items()))


def read_hour_rows(
    connection: GraphConnection, names: Mapping[str, str], since: datetime, now: datetime, zone: ZoneInfo
) -> tuple[CampaignHour, ...]:
    """The hours of each ad set from `since` on."""
    first, last = since.astimezone(zone).date(), now.astimezone(zone).date()
    by_target: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in _insights(connection, _HOUR_FIELDS, first, last, level="adset", breakdowns=[_HOUR]):
        if (campaign := names.get(row["campaign_id"])) is not None:
            by_target[campaign, row["adset_name"]].append(row)
    hours = [hour for key, rows in sorted(by_target.items()) for hour in _hours_of(*key, rows, zone)]
    return tuple(hour for hour in hours if hour.start >= since)


def _insights(
    connection: GraphConnection, fields: str, first: date, last: date, **parameters: Any
) -> list[dict[str, Any]]:
    days = {"since": first.isoformat(), "until": last.isoformat()}
    return connection.read_all(
        connection.account, "insights", fields=fields, time_range=days, time_increment=1, **parameters
    )


def _hours_of(campaign: str, target: str, rows: list[dict[str, Any]], zone: ZoneInfo) -> list[CampaignHour]:
    """The hours of one target, in order; fractions of conversions count as soon as they add up to a whole one.

    Two ad sets of one name, such as a deleted one and its successor, are one target.
    """
    by_start: dict[datetime, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_start[_start(row, zone)].append(row)
    hours, conversions_so_far = [], 0.0
    for start, same in sorted(by_start.items()):
        before = math.floor(conversions_so_far + 1e-9)
        conversions_so_far += sum(float(_purchases(row, "actions")) for row in same)
        hours.append(
            CampaignHour(
                campaign=campaign,
                start=start,
                cost_micros=sum(_micros(row.get("spend", "0")) for row in same),
                impressions=sum(int(row.get("impressions", 0)) for row in same),
                clicks=sum(int(row.get("clicks", 0)) for row in same),
                conversions=math.floor(conversions_so_far + 1e-9) - before,
                target=target,
                value_micros=sum(_micros(_purchases(row, "action_values")) for row in same),
            )
        )
    return hours


def _purchases(row: Mapping[str, Any], field: str) -> str:
    values = {action["action_type"]: str(action["value"]) for action in row.get(field, ())}
    return next((values[name] for name in _PURCHASES if name in values), "0")


def _start(row: Mapping[str, Any], zone: ZoneInfo) -> datetime:
    """The instant at which an hour begins; when clocks go back, Meta reports the repeated hour with the first."""
    local = datetime.combine(date.fromisoformat(row["date_start"]), datetime.min.time(), zone)
    return local.replace(hour=int(row[_HOUR][:2])).astimezone(UTC)


def _micros(amount: str) -> Micros:
    return int(Decimal(amount) * MICROS_PER_UNIT)
