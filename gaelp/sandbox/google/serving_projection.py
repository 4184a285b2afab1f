"""Translate a Google campaign with its groups, adverts and criteria to what the exchange serves, now and later."""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from urllib.parse import urlsplit

from gaelp.sandbox.google.account_store import AccountStore, is_removed
from gaelp.sandbox.google.ad_review import AdReviews
from gaelp.sandbox.google.campaign_checks import LAST_MOMENT, bidding_of, local_time
from gaelp.sandbox.google.criteria import criterion_type
from gaelp.sandbox.google.experiments import arms_of
from gaelp.sandbox.google.messages import Message, enum_name
from gaelp.sandbox.serving import (
    DEVICES,
    BiddingStrategy,
    ManualBids,
    MaximizeConversions,
    OverdeliveryLimits,
    ServedCampaign,
    ServedGroup,
    TargetCpa,
    TargetRoas,
)
from gaelp.sandbox.topics import topic_of

__all__ = ["CampaignProjection", "product_of"]

_LOWEST_BID_MICROS = 10_000  # of a group without a bid
_WEEKDAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")
_HOURS_OF_WEEK = 168


def product_of(url: str) -> str:
    """What a landing page sells: host and path in lower case, without scheme, query and trailing slash."""
    parts = urlsplit(url)
    return f"{parts.hostname or ''}{parts.path}".rstrip("/").lower()


class CampaignProjection:
    """How one campaign serves, by the resources of its account as they are now."""

    def __init__(
        self, store: AccountStore, reviews: AdReviews, campaign: Message, overdelivery: OverdeliveryLimits
    ) -> None:
        self._store, self._reviews, self._campaign, self._overdelivery = store, reviews, campaign, overdelivery
        self._groups = store.children("ad_group", "campaign", campaign.resource_name)
        self._share = _TrafficShare(store, campaign)

    def served(self, *, suspended: bool) -> Iterator[tuple[datetime, ServedCampaign]]:
        """From when on it serves how: now, and again at each moment when a review or an experiment changes that.

        Nothing is yielded for a campaign that never had an advert: nobody knows what it sells.
        """
        product = self._product()
        if not product:
            return
        for moment in self._moments():
            yield moment, self._at(moment, product, suspended=suspended)

    def _moments(self) -> list[datetime]:
        now = self._store.call.now
        reviews = {self._reviews.approved_at(advert.ad.id) for group in self._groups for advert in self._adverts(group)}
        return sorted({now} | {moment for moment in reviews | self._share.moments() if moment > now})

    def _adverts(self, group: Message) -> list[Message]:
        adverts = self._store.children("ad_group_ad", "ad_group", group.resource_name)
        return [advert for advert in adverts if enum_name(advert, "status") == "ENABLED"]

    def _product(self) -> str:
        """Of the first advert that is enabled; otherwise of any, because clicks may still arrive."""
        enabled = [advert for group in self._groups for advert in self._adverts(group)]
        if enabled:
            return product_of(min(enabled, key=lambda advert: advert.ad.id).ad.final_urls[0])
        names = {
            group.resource_name
            for group in self._store.all("ad_group")
            if group.campaign == self._campaign.resource_name
        }
        adverts = [
            advert for advert in self._store.all("ad_group_ad") if advert.ad_group in names and advert.ad.final_urls
        ]
        return product_of(adverts[0].ad.final_urls[0]) if adverts else ""

    def _at(self, moment: datetime, product: str, *, suspended: bool) -> ServedCampaign:
        campaign = self._campaign
        budget = self._store.existing(campaign.campaign_budget)
        lowest, highest = self._share.users(moment)
        is_total = enum_name(budget, "period") == "CUSTOM_PERIOD"
        enabled = enum_name(campaign, "status") == "ENABLED" and not suspended and not is_removed(budget)
        return ServedCampaign(
            id=campaign.id,
            account=self._store.account,
            product=product,
            enabled=enabled and self._share.serves(moment),
            groups=tuple(self._served_groups(moment)),
            overdelivery=self._overdelivery,
            daily_micros=None if is_total else budget.amount_micros * (highest - lowest) // 100,
            total_micros=budget.total_amount_micros if is_total else None,
            first_day=_day(campaign.start_date_time),
            last_day=None if campaign.end_date_time == LAST_MOMENT else _day(campaign.end_date_time),
            strategy=self._strategy(),
            users_from=lowest / 100,
            users_to=highest / 100,
        )

    def _served_groups(self, moment: datetime) -> Iterator[ServedGroup]:
        for group in self._groups:
            adverts = [advert for advert in self._adverts(group) if self._reviews.approved_at(advert.ad.id) <= moment]
            keywords = [
                criterion
                for criterion in self._store.children("ad_group_criterion", "ad_group", group.resource_name)
                if criterion_type(criterion) == "keyword"
                and not criterion.negative
                and enum_name(criterion, "status") == "ENABLED"
            ]
            if enum_name(group, "status") == "ENABLED" and adverts and keywords:
                yield ServedGroup(
                    id=group.id,
                    topics=tuple(sorted({topic_of(criterion.keyword.text) for criterion in keywords})),
                    bid_micros=_mean_bid(group, keywords),
                    device_factors=self._device_factors(group),
                    hour_factors=self._hour_factors(),
                )

    def _strategy(self) -> BiddingStrategy:
        source, name = self._campaign, bidding_of(self._campaign)
        if name == "bidding_strategy":
            source = self._store.existing(self._campaign.bidding_strategy)
            name = source.WhichOneof("scheme")
        if name == "manual_cpc":
            return ManualBids()
        scheme = getattr(source, name)
        if name in {"target_cpa", "maximize_conversions"} and scheme.target_cpa_micros:
            return TargetCpa(scheme.target_cpa_micros)
        if name in {"target_roas", "maximize_conversion_value"} and scheme.target_roas:
            return TargetRoas(scheme.target_roas)
        return MaximizeConversions()

    def _device_factors(self, group: Message) -> tuple[float, ...]:
        """Modifiers of the group count instead of the campaign's; automated bidding keeps only -100%."""
        campaign = self._store.children("campaign_criterion", "campaign", self._campaign.resource_name)
        modifiers = self._store.children("ad_group_bid_modifier", "ad_group", group.resource_name)
        factors = {
            enum_name(item.device, "type").lower(): item.bid_modifier
            for item in (*campaign, *modifiers)
            if criterion_type(item) == "device" and item.HasField("bid_modifier")
        }
        manual = isinstance(self._strategy(), ManualBids)
        return tuple(factors.get(device, 1.0) if manual or factors.get(device) == 0 else 1.0 for device in DEVICES)

    def _hour_factors(self) -> tuple[float, ...]:
        """With schedules, adverts serve only inside them; a modifier changes the bids there."""
        criteria = self._store.children("campaign_criterion", "campaign", self._campaign.resource_name)
        schedules = [criterion for criterion in criteria if criterion_type(criterion) == "ad_schedule"]
        if not schedules:
            return ()
        factors = [0.0] * _HOURS_OF_WEEK
        manual = isinstance(self._strategy(), ManualBids)
        for criterion in schedules:
            first = 24 * _WEEKDAYS.index(enum_name(criterion.ad_schedule, "day_of_week"))
            factor = criterion.bid_modifier if manual and criterion.HasField("bid_modifier") else 1.0
            for hour in range(criterion.ad_schedule.start_hour, criterion.ad_schedule.end_hour):
                factors[first + hour] = factor
        return tuple(factors)


def _mean_bid(group: Message, keywords: list[Message]) -> int:
    """Keywords with bids of their own count with these, the others with the group's."""
    base = group.cpc_bid_micros or _LOWEST_BID_MICROS
    return sum(criterion.cpc_bid_micros or base for criterion in keywords) // len(keywords)


def _day(text: str) -> date | None:
    moment = local_time(text)
    return None if moment is None else moment.date()


class _TrafficShare:
    """Which users a campaign has, in percent of all: the arms of a running experiment split them."""

    def __init__(self, store: AccountStore, campaign: Message) -> None:
        self._store = store
        self._is_trial = enum_name(campaign, "experiment_type") in {"DRAFT", "EXPERIMENT"}
        self._experiment, self._split = self._find(campaign.resource_name)

    def _find(self, name: str) -> tuple[Message | None, int]:
        """The running experiment of a campaign, and the control's percentage."""
        for experiment in self._store.present("experiment"):
            control, treatment = arms_of(self._store, experiment.resource_name)
            is_arm = (
                control is not None and treatment is not None and name in {*control.campaigns, *treatment.campaigns}
            )
            if is_arm and control is not None and enum_name(experiment, "status") == "ENABLED":
                return experiment, control.traffic_split
        return None, 100

    def _window(self) -> tuple[datetime, datetime]:
        """Start and end of the experiment, both midnights of the account."""
        experiment = self._experiment
        first = date.fromisoformat(experiment.start_date) if experiment is not None else date.min
        last = (
            date.fromisoformat(experiment.end_date)
            if experiment is not None and experiment.end_date
            else date(2037, 12, 30)
        )
        zone = self._store.zone
        return datetime.combine(first, time(), zone), datetime.combine(last + timedelta(days=1), time(), zone)

    def moments(self) -> set[datetime]:
        """When the experiment starts and ends."""
        return set(self._window()) if self._experiment is not None else set()

    def _runs(self, moment: datetime) -> bool:
        if self._experiment is None:
            return False
        start, end = self._window()
        return start <= moment < end

    def serves(self, moment: datetime) -> bool:
        """A treatment's campaign serves only while its experiment runs."""
        return not self._is_trial or self._runs(moment)

    def users(self, moment: datetime) -> tuple[int, int]:
        """First and last percent of the users."""
        if not self._runs(moment):
            return (0, 100)
        return (self._split, 100) if self._is_trial else (0, self._split)
