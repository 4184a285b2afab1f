"""One product on the exchange: its traits, its state, and the past states that bid simulations start from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gaelp.errors import BadInput
from gaelp.money import Micros
from gaelp.sandbox.auctions.account_calendar import AccountCalendar
from gaelp.sandbox.auctions.exchange_arrays import ProductState
from gaelp.sandbox.auctions.exchange_rules import ExchangeRules
from gaelp.sandbox.auctions.product import ProductTraits
from gaelp.sandbox.campaign_rows import place_campaign
from gaelp.sandbox.exchange_events import ExchangeEvents
from gaelp.sandbox.product_run import run_ticks
from gaelp.sandbox.served_campaign_json import campaign_from_json, campaign_to_json
from gaelp.sandbox.serving import ManualBids, ServedCampaign
from gaelp.sandbox.state_bytes import pack_state, unpack_state
from gaelp.sandbox.world_call import BidPoint

__all__ = ["PastState", "ProductMarket"]

_SAVE_EVERY_TICKS = 7 * 1440
_REACH_TICKS = (
    9 * 1440
)  # how far back a simulation may begin: seven complete days, the current one and a change of clocks


@dataclass(frozen=True, slots=True)
class PastState:
    """A product as it was at a tick, and every campaign as it served then."""

    tick: int
    packed: bytes  # the state
    served: Mapping[int, ServedCampaign]


@dataclass(slots=True)
class ProductMarket:
    """What the exchange keeps of one product."""

    name: str
    traits: ProductTraits
    state: ProductState
    served: dict[int, ServedCampaign] = field(default_factory=dict)
    past: list[PastState] = field(default_factory=list)  # oldest first
    changes: list[tuple[int, str]] = field(default_factory=list)  # campaigns as JSON, since the oldest past state

    def place(self, campaign: ServedCampaign, tick: int) -> None:
        """Serve a campaign like this from a tick on."""
        self.state = place_campaign(self.state, campaign)
        self.served[campaign.id] = campaign
        if not self.past:
            self.save(tick)
        self.changes.append((tick, campaign_to_json(campaign)))

    def forget(self, campaign: int, tick: int) -> None:
        """A campaign has gone to another product: simulations begin no earlier than now."""
        del self.served[campaign]
        self.past.clear()
        self.changes.clear()
        self.save(tick)

    def save(self, tick: int) -> None:
        """Keep the present state, and forget those that no simulation can need any more."""
        self.past.append(PastState(tick, pack_state(self.state), dict(self.served)))
        while len(self.past) > 1 and self.past[1].tick <= tick - _REACH_TICKS:
            del self.past[0]
        self.changes = [change for change in self.changes if change[0] >= self.past[0].tick]

    def run(
        self, rules: ExchangeRules, calendar: AccountCalendar, ticks: tuple[int, int]
    ) -> tuple[list[ExchangeEvents], int]:
        """Run ticks; returns what happened in parts, and the number of searches."""
        tick, last = ticks
        parts: list[ExchangeEvents] = []
        searches = 0
        while tick < last:
            day = calendar.day_at(tick)
            end = min(last, int(day.ticks[-1]))
            if tick == day.ticks[0] and tick >= self.past[-1].tick + _SAVE_EVERY_TICKS:
                self.save(tick)
            self.state, events, count = run_ticks(self.traits, rules, self.state, day, (tick, end))
            parts += events
            searches += count
            tick = end
        return parts, searches

    def simulate(
        self,
        rules: ExchangeRules,
        calendar: AccountCalendar,
        group: tuple[int, int],
        bid_micros: Micros,
        ticks: tuple[int, int, int],
    ) -> BidPoint:
        """What a group, given by campaign and id, would have had from the first tick up to the second, with this bid.

        The campaign's budget does not limit it: a point says what the bid alone decides. Conversions are those reported
        by the third tick. Nothing of the product changes.
        """
        first, last, now = ticks
        past = self._past_at(first)
        trial = ProductMarket(self.name, self.traits, unpack_state(past.packed))
        changes = [(past.tick, campaign) for campaign in past.served.values() if campaign.id == group[0]]
        changes += [(at, campaign_from_json(text)) for at, text in self.changes if at >= past.tick]
        parts: list[ExchangeEvents] = []
        tick = past.tick
        for at, campaign in changes:
            if at < last:
                parts += trial._run_quietly(rules, calendar, (tick, at))
                trial.state = place_campaign(trial.state, _with_bid(campaign, group, bid_micros))
                tick = at
        parts += trial._run_quietly(rules, calendar, (tick, last))
        return _bid_point(parts, group, bid_micros, (first, last, now))

    def _run_quietly(
        self, rules: ExchangeRules, calendar: AccountCalendar, ticks: tuple[int, int]
    ) -> list[ExchangeEvents]:
        tick, last = ticks
        parts: list[ExchangeEvents] = []
        while tick < last:
            day = calendar.day_at(tick)
            end = min(last, int(day.ticks[-1]))
            self.state, events, _ = run_ticks(self.traits, rules, self.state, day, (tick, end))
            parts += events
            tick = end
        return parts

    def _past_at(self, tick: int) -> PastState:
        older = [past for past in self.past if past.tick <= tick]
        if not older:
            raise BadInput(f"saw first tick {tick}; simulations of {self.name} can begin from {self.past[0].tick} on")
        return older[-1]


def _with_bid(campaign: ServedCampaign, group: tuple[int, int], bid_micros: Micros) -> ServedCampaign:
    """The campaign as the simulation serves it: another bid and no budget; campaigns beside it are unchanged."""
    if campaign.id != group[0]:
        return campaign
    groups = tuple(
        replace(served, bid_micros=bid_micros) if served.id == group[1] else served for served in campaign.groups
    )
    return replace(campaign, groups=groups, daily_micros=None, total_micros=None, strategy=ManualBids())


def _bid_point(
    parts: Sequence[ExchangeEvents], group: tuple[int, int], bid_micros: Micros, ticks: tuple[int, int, int]
) -> BidPoint:
    first, last, now = ticks
    impressions = clicks = cost = value = conversions = 0
    for part in parts:
        ours = part.hours[(part.hours["campaign"] == group[0]) & (part.hours["group"] == group[1])]
        ours = ours[(ours["hour_tick"] >= first) & (ours["hour_tick"] < last)]
        impressions += int(ours["impressions"].sum())
        clicks += int(ours["clicks"].sum())
        cost += int(ours["cost_micros"].sum())
        sales = part.conversions
        sales = sales[(sales["campaign"] == group[0]) & (sales["group"] == group[1])]
        sales = sales[(sales["click_tick"] >= first) & (sales["click_tick"] < last) & (sales["reported_tick"] <= now)]
        conversions += len(sales)
        value += int(sales["value_micros"].sum())
    return BidPoint(bid_micros, impressions, clicks, cost, float(conversions), value)
