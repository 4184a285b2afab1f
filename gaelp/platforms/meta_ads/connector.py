"""Meta Ads as an AdPlatform: a campaign with its own budget, an ad set for each target, a label for each key.

A budget is a daily one, and the campaign stops at the end of its last day: Meta then stops by itself. Its worst case,
1.75 budgets a day and 7 a week, is reserved (configs/budget/platforms.yaml).
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from threading import Lock
from typing import Literal

from gaelp.budget.platform_budget import load_platform_terms
from gaelp.config.settings import Settings
from gaelp.content import Creative
from gaelp.errors import ConfigError
from gaelp.money import Micros
from gaelp.platforms.calling import attempt
from gaelp.platforms.meta_ads.account_reading import (
    AdAccountRow,
    MetaCampaignRow,
    as_state,
    read_account,
    read_ad_sets,
    read_campaign_rows,
    read_named_ids,
    read_published,
)
from gaelp.platforms.meta_ads.call_errors import ERRORS, describe
from gaelp.platforms.meta_ads.campaign_changes import CampaignChanges
from gaelp.platforms.meta_ads.connection import GraphConnection
from gaelp.platforms.meta_ads.edit_reading import read_foreign_edits
from gaelp.platforms.meta_ads.invoices import read_month_invoices
from gaelp.platforms.meta_ads.report_reading import read_day_costs, read_hour_rows
from gaelp.platforms.platform import (
    CallResult,
    CampaignState,
    CostReport,
    Done,
    ForeignEdit,
    HourReport,
    PlatformInvoice,
    Rejected,
    Unknown,
)
from gaelp.platforms.retrying import make_once
from gaelp.platforms.running_campaigns import RunningReport
from gaelp.platforms.server_world import ServerWorld

__all__ = ["NAME", "MetaAds", "connect"]

NAME = "meta-ads"


def connect(settings: Settings) -> "MetaAds":
    """The platform of these settings; nothing is sent before the first call."""
    if settings.platform.meta_ads is None:
        raise ConfigError("platform.meta_ads is not set: name its account_id and page_id (docs/meta-ads.md)")
    lag = timedelta(hours=load_platform_terms().of(NAME).report_lag_hours)
    return MetaAds(GraphConnection(settings.platform.meta_ads), report_lag=lag)


class MetaAds:
    """One ad account of Meta; `report_lag` is how long its reports take."""

    name = NAME

    def __init__(self, connection: GraphConnection, *, report_lag: timedelta) -> None:
        self._connection, self._report_lag = connection, report_lag
        self._server = ServerWorld(connection)
        self._one_change = Lock()
        self._account: AdAccountRow | None = None

    # Which world, which time

    @property
    def world(self) -> Literal["live", "sandbox"]:
        """Sandbox only if the server has presented the sandbox's own certificate; else live."""
        return "sandbox" if self._server.is_sandbox() else "live"

    def now(self) -> datetime:
        """Simulated time if the server is the sandbox, wall time otherwise."""
        return self._server.now()

    def _known_account(self) -> AdAccountRow:
        if self._account is None:
            self._account = read_account(self._connection)
        return self._account

    # Changes

    def set_budget(self, campaign: str, daily_micros: Micros, through: date, *, key: str) -> CallResult:
        """Create a paused campaign with this budget, or change the budget and the last day of an existing one."""
        return self._change(key, lambda changes: changes.set_budget(campaign, daily_micros, through))

    def publish(self, campaign: str, creative: Creative, *, key: str) -> CallResult:
        """Add an advert to every ad set of a campaign, and to those to come."""
        return self._change(key, lambda changes: changes.publish(campaign, creative))

    def set_bids(self, campaign: str, bids: Mapping[str, Micros], *, key: str) -> CallResult:
        """Set the bids of ad sets; a missing one is created for the interests in its name, with the adverts."""
        return self._change(key, lambda changes: changes.set_bids(campaign, dict(bids)))

    def enable(self, campaign: str, *, key: str) -> CallResult:
        """Let a campaign deliver."""
        return self._change(key, lambda changes: changes.set_status(campaign, "ACTIVE"))

    def pause(self, campaign: str, *, key: str) -> CallResult:  # noqa: ARG002 - pausing twice is harmless: no label
        """Pause a campaign without waiting for the rate limit or for another change."""
        return attempt(partial(self._pause, campaign))

    def look_up(self, key: str) -> CallResult | None:
        """Done if a campaign has the label of the key."""
        return Done() if any(row.has_key(key) for row in self._rows()) else None

    def _change(self, key: str, make: Callable[[CampaignChanges], None]) -> CallResult:
        return attempt(partial(self._change_once, key, make))

    def _change_once(self, key: str, make: Callable[[CampaignChanges], None]) -> CallResult:
        """One change at a time: Meta replaces all labels of a campaign, so two at once could lose one."""
        try:
            changes = CampaignChanges(self._connection, self._known_account(), key)
        except Exception as error:  # noqa: BLE001 - nothing was sent, but nothing is known of an earlier attempt either
            return Unknown(describe(error))
        with self._one_change:
            return make_once(changes.was_made, lambda: make(changes), ERRORS, self._connection.wait)

    def _pause(self, campaign: str) -> CallResult:
        """One attempt: whoever pauses tries again, and must not wait for a network that is down."""
        try:
            rows = [row for row in self._rows() if row.name == campaign]
            if not rows:
                return Rejected(f"there is no campaign {campaign!r} that GAELP created")
            for row in rows:
                self._connection.change(row.id, status="PAUSED", urgent=True)
        except Exception as error:  # noqa: BLE001 - only the campaign itself shows whether it is paused
            if all(row.status == "PAUSED" for row in self._rows() if row.name == campaign):
                return Done()
            return Unknown(describe(error))  # even if refused: it has to be paused, so it is tried again
        return Done()

    def _rows(self, *, gone: bool = False) -> list[MetaCampaignRow]:
        return read_campaign_rows(self._connection, self._known_account().zone, gone=gone)

    # Reading

    def read_campaigns(self) -> tuple[CampaignState, ...]:
        """Every campaign that GAELP created and nobody deleted."""
        rows = self._rows()
        ad_sets = read_ad_sets(self._connection, [row.id for row in rows])
        published = read_published(self._connection) if rows else []
        return tuple(as_state(row, ad_sets[row.id], published) for row in rows)

    def read_costs(self, first: date, last: date) -> CostReport:
        """The costs by day, those of deleted campaigns included, as of the end of what reports cover."""
        as_of = self.now() - self._report_lag
        return CostReport(as_of, read_day_costs(self._connection, self._names(), first, last))

    def read_hours(self, since: datetime) -> HourReport:
        """The hours of each ad set; conversions are those of the hour's clicks, as far as they are known."""
        now, zone = self.now(), self._known_account().zone
        return HourReport(now - self._report_lag, read_hour_rows(self._connection, self._names(), since, now, zone))

    def read_running(self, campaigns: Sequence[str], since: datetime) -> RunningReport:
        """Hours and bids of campaigns that run in the account, whoever created them; Meta gives no shares."""
        now, zone = self.now(), self._known_account().zone
        named = read_named_ids(self._connection, campaigns)
        names = {key: name for key, (name, _) in named.items()}
        ad_sets = read_ad_sets(self._connection, [key for key, (_, status) in named.items() if status == "ACTIVE"])
        bids = {(names[row.campaign], row.name): row.bid_micros for each in ad_sets.values() for row in each}
        hours = read_hour_rows(self._connection, names, since, now, zone)
        return RunningReport(now, now - self._report_lag, hours, bids)

    def read_edits(self, since: datetime) -> tuple[ForeignEdit, ...]:
        """What other applications and the Ads Manager have changed."""
        names = self._names()
        ad_sets = read_ad_sets(self._connection, names)
        below = {ad_set.id: names[campaign] for campaign, each in ad_sets.items() for ad_set in each}
        return read_foreign_edits(self._connection, {**names, **below}, since)

    def read_invoices(self, first: date, last: date) -> tuple[PlatformInvoice, ...]:
        """The monthly invoices of the business; an account without one pays by card and has none."""
        return read_month_invoices(self._connection, first, last)

    def _names(self) -> dict[str, str]:
        """The names of GAELP's campaigns by id, those of deleted ones included."""
        return {row.id: row.name for row in self._rows(gone=True)}
