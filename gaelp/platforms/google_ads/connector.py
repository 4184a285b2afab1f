"""Google Ads as an AdPlatform: a campaign with its own budget, an ad group for each target, a label for each key.

A budget is a daily one, and the campaign ends with its last day: Google then stops by itself. A total budget
(CUSTOM_PERIOD) would be an exact cap, but it cannot be renewed day by day, and experiments refuse it; so the worst case
of a daily budget is reserved instead (configs/budget/platforms.yaml).
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any, Literal

from gaelp.budget.platform_budget import load_platform_terms
from gaelp.config.settings import Settings
from gaelp.content import Creative, creative_hash
from gaelp.errors import ConfigError, GaelpError, Refused
from gaelp.money import Micros
from gaelp.platforms.calling import attempt
from gaelp.platforms.experiments import ExperimentState
from gaelp.platforms.google_ads.account_reading import (
    MARK_QUERY,
    AdGroupRow,
    CampaignRow,
    CustomerRow,
    as_state,
    read_ad_groups,
    read_campaigns,
    read_customer,
    read_named_campaigns,
)
from gaelp.platforms.google_ads.call_errors import describe, is_refusal
from gaelp.platforms.google_ads.connection import AdsConnection
from gaelp.platforms.google_ads.edit_reading import read_foreign_edits
from gaelp.platforms.google_ads.invoices import read_month_invoices
from gaelp.platforms.google_ads.key_labels import change_once, find_trace
from gaelp.platforms.google_ads.operations import MARK, Operations
from gaelp.platforms.google_ads.report_reading import ReportedNames, read_day_costs, read_hour_rows
from gaelp.platforms.google_ads.running_reading import read_running_campaigns
from gaelp.platforms.google_ads.search_ads import fill_search_ad, hash_of_ad
from gaelp.platforms.google_ads.trials import Trials
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
from gaelp.platforms.running_campaigns import RunningReport
from gaelp.platforms.server_world import ServerWorld

__all__ = ["NAME", "GoogleAds", "connect"]

NAME = "google-ads"


def connect(settings: Settings) -> "GoogleAds":
    """The platform of these settings; nothing is sent before the first call."""
    if settings.platform.google_ads is None:
        raise ConfigError("platform.google_ads is not set: name at least its customer_id (docs/google-ads.md)")
    lag = timedelta(hours=load_platform_terms().of(NAME).report_lag_hours)
    return GoogleAds(AdsConnection(settings.platform.google_ads), report_lag=lag)


class GoogleAds:
    """One Google Ads account; `report_lag` is how long its reports take."""

    name = NAME

    def __init__(self, connection: AdsConnection, *, report_lag: timedelta) -> None:
        self._connection, self._report_lag = connection, report_lag
        self._trials = Trials(connection)
        self._server = ServerWorld(connection)
        self._customer: CustomerRow | None = None
        # Of campaigns that were read last: resource names of groups by target, and the campaign with its treatments.
        self._known_groups: dict[str, dict[str, str]] = {}
        self._known_arms: dict[str, list[CampaignRow]] = {}

    # Which world, which time

    @property
    def world(self) -> Literal["live", "sandbox"]:
        """Sandbox only if the server has the sandbox's certificate or the account is a test account; else live."""
        try:
            return "sandbox" if self._server.is_sandbox() or self._known_customer().is_test else "live"
        except Exception:  # noqa: BLE001 - no answer is never a reason to believe that no money can move
            return "live"

    def now(self) -> datetime:
        """Simulated time if the server is the sandbox, wall time otherwise."""
        return self._server.now()

    def _known_customer(self) -> CustomerRow:
        if self._customer is None:
            self._customer = read_customer(self._connection)
        return self._customer

    # Changes

    def set_budget(self, campaign: str, daily_micros: Micros, through: date, *, key: str) -> CallResult:
        """Create a paused campaign with this budget, or change the budget and the last day of an existing one."""
        plan = partial(self._budget_operations, campaign, daily_micros, through)
        return self._change_known(campaign, "set_budget", key, plan, is_known=campaign in self._known_arms)

    def publish(self, campaign: str, creative: Creative, *, key: str) -> CallResult:
        """Add an advert to every ad group of a campaign, and to those to come."""
        return self._change("publish", key, partial(self._publish_operations, campaign, creative))

    def set_bids(self, campaign: str, bids: Mapping[str, Micros], *, key: str) -> CallResult:
        """Set the bids of ad groups; a missing one is created with its keywords and the campaign's adverts."""
        plan = partial(self._bid_operations, campaign, dict(bids))
        is_known = bids.keys() <= self._known_groups.get(campaign, {}).keys()
        return self._change_known(campaign, "set_bids", key, plan, is_known=is_known)

    def enable(self, campaign: str, *, key: str) -> CallResult:
        """Let a campaign and the treatments of its experiments deliver."""
        plan = partial(self._enable_operations, campaign)
        return self._change_known(campaign, "enable", key, plan, is_known=campaign in self._known_arms)

    def pause(self, campaign: str, *, key: str) -> CallResult:  # noqa: ARG002 - pausing twice is harmless: no label
        """Pause a campaign and the treatments of its experiments, without waiting for the rate limit."""
        return attempt(partial(self._pause, campaign))

    def look_up(self, key: str) -> CallResult | None:
        """Done if the label of the key is there."""
        trace = find_trace(self._connection, key)
        return None if trace is None else self._trials.outcome_of(trace)

    def start_experiment(
        self, name: str, campaign: str, percent: int, bids: Mapping[str, Micros], *, key: str
    ) -> CallResult:
        """Give a share of a campaign's users to a copy of it with these bids."""
        self._known_arms.pop(campaign, [])
        return attempt(partial(self._trials.start, name, campaign, percent, bids, key))

    def set_treatment_bids(self, name: str, bids: Mapping[str, Micros], *, key: str) -> CallResult:
        """Set bids of the treatment of a running experiment."""
        return attempt(partial(self._trials.set_bids, name, bids, key))

    def end_experiment(self, name: str, *, key: str) -> CallResult:
        """Give all users back to the campaign."""
        self._known_arms.clear()
        return attempt(partial(self._trials.end, name, key))

    def _change_known(
        self, campaign: str, trace: str, key: str, plan: Callable[[], list[Any]], *, is_known: bool
    ) -> CallResult:
        """Change a campaign by what was read of it last, without a search before; a refusal is planned again."""
        if is_known:
            outcome = attempt(partial(change_once, self._connection, key, trace, plan, search_first=False))
            if not isinstance(outcome, Rejected):
                return outcome
            # What was known of it may be old, and a refused request had no effect.
            self._known_groups.pop(campaign, {})
            self._known_arms.pop(campaign, [])
        return self._change(trace, key, plan)

    def _change(self, trace: str, key: str, plan: Callable[[], list[Any]]) -> CallResult:
        return attempt(partial(change_once, self._connection, key, trace, plan))

    def _pause(self, campaign: str) -> CallResult:
        """One attempt: whoever pauses tries again, and must not wait for a network that is down."""
        try:
            self._connection.mutate(self._pause_operations(campaign), urgent=True)
        except Refused as refusal:
            return Rejected(str(refusal))
        except Exception as error:  # noqa: BLE001 - only the campaign itself shows whether it is paused
            if all(arm.status == "PAUSED" for arm in self._arms(campaign)):
                return Done()
            return Unknown(describe(error))  # even if refused: it has to be paused, so it is tried again
        return Done()

    # Plans: what a change consists of, from what the account has now

    def _budget_operations(self, campaign: str, daily_micros: Micros, through: date) -> list[Any]:
        operations, arms = Operations(self._connection), self._known_arms.get(campaign) or self._arms(campaign)
        if not arms:
            return operations.create_campaign(campaign, daily_micros, through, self._mark())
        if arms[0].budget_is_shared:
            raise Refused(f"{campaign} shares its budget with other campaigns: give it one of its own in Google Ads")
        amount = operations.set_amount(arms[0].budget, daily_micros)
        return [amount, *(operations.set_end(arm.resource_name, through) for arm in arms)]

    def _publish_operations(self, campaign: str, creative: Creative) -> list[Any]:
        operations, row = Operations(self._connection), self._required(campaign)[0]
        groups = self._groups(row)
        if creative_hash(creative) in as_state(row, groups).creatives:
            raise Refused(f"the advert {creative.id} is published in {campaign} already")
        ad = self._connection.message("Ad")
        fill_search_ad(self._connection, ad, creative)
        names, made = [group.resource_name for group in groups], list[Any]()
        if not any(group.is_library for group in groups):
            library, made = operations.create_library(row.resource_name)
            names.append(library)
        return [*made, *(operations.create_ad(name, ad) for name in names)]

    def _bid_operations(self, campaign: str, bids: dict[str, Micros]) -> list[Any]:
        operations, known = Operations(self._connection), self._known_groups.get(campaign, {})
        if bids.keys() <= known.keys():
            return [operations.set_bid(known[target], micros) for target, micros in sorted(bids.items())]
        row = self._required(campaign)[0]
        groups = self._groups(row)
        adverts = {
            digest: self._connection.wrapped("Ad", ad)
            for group in groups
            for ad in group.ads
            if (digest := hash_of_ad(ad))
        }
        existing = {group.name: group.resource_name for group in groups}
        result = []
        for target, micros in sorted(bids.items()):
            if target in existing:
                result.append(operations.set_bid(existing[target], micros))
                continue
            name, made = operations.create_group(row.resource_name, target, micros)
            result += [*made, *(operations.create_ad(name, ad) for ad in adverts.values())]
        return result

    def _enable_operations(self, campaign: str) -> list[Any]:
        operations = Operations(self._connection)
        arms = self._known_arms.get(campaign) or self._required(campaign)
        return [operations.set_status(arm.resource_name, "ENABLED") for arm in arms]

    def _pause_operations(self, campaign: str) -> list[Any]:
        """From what the account has now: a treatment that was not known would still run."""
        operations = Operations(self._connection)
        return [operations.set_status(arm.resource_name, "PAUSED") for arm in self._required(campaign)]

    def _required(self, campaign: str) -> list[CampaignRow]:
        if arms := self._arms(campaign):
            return arms
        raise Refused(f"there is no campaign {campaign!r} that GAELP created: order a budget for it first")

    def _arms(self, campaign: str) -> list[CampaignRow]:
        """A campaign, and the treatments of experiments on it."""
        return _arms_of(campaign, read_campaigns(self._connection))

    def _groups(self, row: CampaignRow) -> list[AdGroupRow]:
        return read_ad_groups(self._connection, [row])[row.id]

    def _mark(self) -> str:
        """The label of GAELP's campaigns, created once; that it exists alone changes nothing."""
        for _ in range(2):
            if rows := self._connection.search(MARK_QUERY):
                return str(rows[0].label.resource_name)
            try:
                self._connection.mutate([Operations(self._connection).create_label(MARK)])
            except Exception as error:
                if not is_refusal(error):  # a refusal may mean that somebody else has just created it
                    raise
        raise GaelpError(f"the label {MARK!r} cannot be created in the account: create it in Google Ads by hand")

    # Reading

    def read_campaigns(self) -> tuple[CampaignState, ...]:
        """Every campaign that GAELP created and nobody removed."""
        listed = read_campaigns(self._connection)
        rows = [row for row in listed if not row.is_removed and not row.base]
        groups = read_ad_groups(self._connection, rows)
        self._known_arms = {row.name: _arms_of(row.name, listed) for row in rows}
        self._known_groups = {row.name: {each.name: each.resource_name for each in groups[row.id]} for row in rows}
        return tuple(as_state(row, groups[row.id]) for row in rows)

    def read_costs(self, first: date, last: date) -> CostReport:
        """The costs of campaigns with those of their experiments, as of the end of what reports cover."""
        as_of = self.now() - self._report_lag
        names = ReportedNames(read_campaigns(self._connection))
        return CostReport(as_of, read_day_costs(self._connection, names, first, last))

    def read_hours(self, since: datetime) -> HourReport:
        """The hours of each ad group; conversions are those of the hour's clicks, as far as they are known."""
        now, zone = self.now(), self._known_customer().zone
        names = ReportedNames(read_campaigns(self._connection))
        return HourReport(now - self._report_lag, read_hour_rows(self._connection, names, since, now, zone))

    def read_running(self, campaigns: Sequence[str], since: datetime) -> RunningReport:
        """Hours, bids and shares of campaigns that run in the account, whoever created them; nothing is changed."""
        now, zone = self.now(), self._known_customer().zone
        rows = read_named_campaigns(self._connection, campaigns)
        return read_running_campaigns(self._connection, rows, since, now, zone, report_lag=self._report_lag)

    def read_edits(self, since: datetime) -> tuple[ForeignEdit, ...]:
        """What was changed in Google's own interfaces, or by rules and scripts in them."""
        zone = self._known_customer().zone
        return read_foreign_edits(self._connection, partial(read_campaigns, self._connection), since, self.now(), zone)

    def read_invoices(self, first: date, last: date) -> tuple[PlatformInvoice, ...]:
        """The monthly invoices; an account that is not invoiced has none."""
        return read_month_invoices(self._connection, first, last)

    def read_experiments(self) -> tuple[ExperimentState, ...]:
        """Every experiment that has started."""
        return self._trials.states()


def _arms_of(campaign: str, listed: Sequence[CampaignRow]) -> list[CampaignRow]:
    rows = [row for row in listed if not row.is_removed]
    bases = [row for row in rows if row.name == campaign and not row.base]
    return [*bases, *(row for row in rows if row.base in {base.resource_name for base in bases})]
