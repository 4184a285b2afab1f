"""Translate Meta campaigns to what the exchange serves, now and at later moments that are known already.

The budget decides what is one campaign to the exchange: a Meta campaign with a budget of its own, or each ad set if
the ad sets have budgets. An ad set is always one group, with the ad set's id.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from gaelp.money import Micros
from gaelp.sandbox.meta.account_objects import AccountObjects, Node
from gaelp.sandbox.meta.bid_strategy import exchange_strategy
from gaelp.sandbox.meta.landing_page import landing_page, product_at
from gaelp.sandbox.meta.node_types import CREATIVE
from gaelp.sandbox.meta.statuses import is_reviewed
from gaelp.sandbox.meta.targeting import targeted_devices, targeted_topics
from gaelp.sandbox.serving import OverdeliveryLimits, ServedCampaign, ServedGroup

__all__ = ["CENT_MICROS", "CampaignDelivery", "product_of_ads"]

CENT_MICROS = 10_000  # Meta's amounts are in minor units
_LEAST_BID_MICROS = CENT_MICROS  # of an ad set that leaves bids to the platform
_INSTANT = timedelta(microseconds=1)


def product_of_ads(objects: AccountObjects, ads: list[Node]) -> str | None:
    """What these ads sell; deleted ones count last, because their clicks may still arrive."""
    for ad in sorted(ads, key=lambda ad: (not ad.is_living, ad.id)):
        creative = objects.find(int(ad.body["creative"]["id"]), CREATIVE)
        if creative is not None:
            return product_at(landing_page(creative.body))
    return None


class CampaignDelivery:
    """How one campaign serves, by the objects of its account as they are now."""

    def __init__(
        self, objects: AccountObjects, campaign: Node, overdelivery: OverdeliveryLimits, *, disabled: bool = False
    ) -> None:
        self._objects, self._campaign, self._overdelivery, self._disabled = objects, campaign, overdelivery, disabled
        self._ad_sets, self._ads = objects.ad_sets_of(campaign), objects.ads_of(campaign)

    def served(self) -> Iterator[tuple[datetime, ServedCampaign]]:
        """What serves from which moment on: now, and again when a review, a start or an end changes it.

        There is nothing for a campaign that never had an ad: nobody knows what it sells.
        """
        product = product_of_ads(self._objects, self._ads)
        if product is None:
            return
        for moment in self._moments():
            for owner, ad_sets in self._budget_owners():
                yield moment, self._at(moment, product, owner, ad_sets)

    def _budget_owners(self) -> list[tuple[Node, list[Node]]]:
        if self._campaign.body.keys() & {"daily_budget", "lifetime_budget"}:
            return [(self._campaign, self._ad_sets)]
        return [(ad_set, [ad_set]) for ad_set in self._ad_sets]

    def _moments(self) -> list[datetime]:
        now = self._objects.now
        times = {datetime.fromisoformat(ad.body["review_ends"]) for ad in self._ads if ad.status == "ACTIVE"}
        for node in (self._campaign, *self._ad_sets):
            times |= {moment for name in ("start_time", "stop_time", "end_time") if (moment := node.at(name))}
        return sorted({now} | {moment for moment in times if moment > now})

    def _at(self, moment: datetime, product: str, owner: Node, ad_sets: list[Node]) -> ServedCampaign:
        groups = tuple(self._group(ad_set) for ad_set in ad_sets if self._serves(ad_set, moment))
        daily, lifetime = owner.body.get("daily_budget"), owner.body.get("lifetime_budget")
        last = owner.at("stop_time") or owner.at("end_time")
        return ServedCampaign(
            id=owner.id,
            account=self._objects.account.id,
            product=product,
            enabled=bool(groups) and not self._disabled and self._runs(self._campaign, moment),
            groups=groups,
            overdelivery=self._overdelivery,
            daily_micros=_micros(daily),
            total_micros=_micros(lifetime),
            first_day=self._day(owner.at("start_time")),
            last_day=self._day(last - _INSTANT if last else None),
            strategy=exchange_strategy(self._campaign, [ad_set for ad_set in ad_sets if ad_set.is_living]),
        )

    def _serves(self, ad_set: Node, moment: datetime) -> bool:
        ads = [ad for ad in self._ads if ad.body["adset_id"] == ad_set.id and ad.status == "ACTIVE"]
        return self._runs(ad_set, moment) and any(is_reviewed(ad, moment) for ad in ads)

    @staticmethod
    def _runs(node: Node, moment: datetime) -> bool:
        start, end = node.at("start_time"), node.at("stop_time") or node.at("end_time")
        return node.status == "ACTIVE" and (start is None or start <= moment) and (end is None or moment < end)

    @staticmethod
    def _group(ad_set: Node) -> ServedGroup:
        targeting = ad_set.body["targeting"]
        return ServedGroup(
            id=ad_set.id,
            topics=targeted_topics(targeting),
            bid_micros=_micros(ad_set.body.get("bid_amount")) or _LEAST_BID_MICROS,
            device_factors=targeted_devices(targeting),
        )

    def _day(self, moment: datetime | None) -> date | None:
        zone: ZoneInfo = self._objects.account.zone
        return None if moment is None else moment.astimezone(UTC).astimezone(zone).date()


def _micros(cents: int | None) -> Micros | None:
    return None if cents is None else cents * CENT_MICROS
