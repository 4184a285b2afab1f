"""The orders of a pilot under its mandate; a key names pilot, campaign and interval, so a retry never sends twice."""

from dataclasses import dataclass
from typing import Any

from gaelp.money import Micros
from gaelp.pilot.pilot_plan import PilotCampaign, PilotPlan
from gaelp.platforms import Bid, Order
from gaelp.platforms.order import OrderKind

__all__ = ["PilotOrders"]


@dataclass(frozen=True, slots=True)
class PilotOrders:
    """Builds orders; `mandate` is the id of the signed mandate."""

    plan: PilotPlan
    mandate: str
    run_id: str
    requester: str = "pilot"

    def key(self, campaign: str, interval: int, kind: OrderKind) -> str:
        """The same for every attempt at the same thing."""
        return f"{self.plan.name}/{campaign}/{interval}/{kind}"

    def budget(self, campaign: PilotCampaign, interval: int) -> Order:
        """The daily budget, until the last day of the plan."""
        return self._order(campaign, interval, "budget")

    def publish(self, campaign: PilotCampaign, interval: int) -> Order:
        """The advert of the plan."""
        return self._order(campaign, interval, "publish", creative=campaign.creative)

    def bid(self, campaign: PilotCampaign, interval: int, bids_micros: tuple[Micros, ...]) -> Order:
        """One bid for each target."""
        pairs = zip(campaign.targets, bids_micros, strict=True)
        return self._order(
            campaign, interval, "bid", bids=tuple(Bid(target=target, micros=micros) for target, micros in pairs)
        )

    def enable(self, campaign: PilotCampaign, interval: int) -> Order:
        """Let it deliver."""
        return self._order(campaign, interval, "enable")

    def _order(self, campaign: PilotCampaign, interval: int, kind: OrderKind, **more: Any) -> Order:
        return Order(
            key=self.key(campaign.name, interval, kind),
            kind=kind,
            campaign=campaign.name,
            daily_micros=campaign.daily_micros,
            until=self.plan.last_day,
            run_id=self.run_id,
            requester=self.requester,
            mandate=self.mandate,
            model_hash=self.plan.model_hash,
            **more,
        )
