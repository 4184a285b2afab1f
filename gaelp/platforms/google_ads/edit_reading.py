"""Read who else has changed a campaign: the account's change events that no API client made."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from gaelp.platforms.google_ads.account_reading import CampaignRow
from gaelp.platforms.google_ads.connection import AdsConnection
from gaelp.platforms.google_ads.gaql import query
from gaelp.platforms.platform import ForeignEdit

__all__ = ["read_foreign_edits"]

_FIELDS = (
    "change_event.change_date_time",
    "change_event.user_email",
    "change_event.client_type",
    "change_event.change_resource_type",
    "change_event.change_resource_name",
    "change_event.changed_fields",
    "change_event.resource_change_operation",
    "change_event.campaign",
)
_FORMAT = "%Y-%m-%d %H:%M:%S"
_OWN_CLIENT = "GOOGLE_ADS_API"
_MOST_EDITS = 10_000  # of one query, by Google's rules
_MOST_DAYS = timedelta(days=29)  # Google keeps events for 30 days


def read_foreign_edits(
    connection: AdsConnection,
    read_campaigns: Callable[[], list[CampaignRow]],
    since: datetime,
    now: datetime,
    zone: ZoneInfo,
) -> tuple[ForeignEdit, ...]:
    """The edits of these campaigns from `since` on, oldest first; the campaigns are read if there is any edit."""
    first = max(since, now - _MOST_DAYS).astimezone(zone)
    last = (now + timedelta(days=1)).astimezone(zone)
    rows = connection.search(
        query(
            "change_event",
            *_FIELDS,
            where=[
                f"change_event.change_date_time >= '{first.strftime(_FORMAT)}'",
                f"change_event.change_date_time <= '{last.strftime(_FORMAT)}'",
                f"change_event.client_type != '{_OWN_CLIENT}'",
            ],
            end=f"ORDER BY change_event.change_date_time DESC LIMIT {_MOST_EDITS}",
        )
    )
    if not rows:
        return ()
    campaigns = read_campaigns()
    names = {row.resource_name: row.name for row in campaigns}
    budgets = {row.budget: row.name for row in campaigns}
    edits = []
    for row in reversed(rows):
        event = row.change_event
        campaign = names.get(event.campaign) or budgets.get(event.change_resource_name)
        if campaign is not None and event.client_type.name != _OWN_CLIENT:
            edits.append(ForeignEdit(campaign, _instant(event.change_date_time, zone), event.user_email, _what(event)))
    return tuple(edit for edit in edits if edit.at >= since)


def _what(event: Any) -> str:
    """Such as: update of campaign_budget (amount_micros)."""
    fields = ", ".join(event.changed_fields.paths)
    kind = f"{event.resource_change_operation.name.lower()} of {event.change_resource_type.name.lower()}"
    return f"{kind} ({fields})" if fields else kind


def _instant(text: str, zone: ZoneInfo) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone).astimezone(UTC)
