"""The exchange of the local ad platform: serves campaigns in ticks of one simulated minute."""

from collections.abc import Sequence
from typing import Self

from gaelp.config.fingerprint import fingerprint
from gaelp.errors import BadInput
from gaelp.money import Micros
from gaelp.sandbox.auctions.account_calendar import TICK_SECONDS, AccountCalendar
from gaelp.sandbox.auctions.exchange_arrays import new_state
from gaelp.sandbox.auctions.exchange_rules import exchange_rules
from gaelp.sandbox.auctions.product import ProductTraits
from gaelp.sandbox.campaign_rows import move_campaign, row_of
from gaelp.sandbox.exchange_events import ExchangeEvents, join_events
from gaelp.sandbox.exchange_snapshot import read_snapshot, write_snapshot
from gaelp.sandbox.product_market import ProductMarket
from gaelp.sandbox.rehearsal import product_traits
from gaelp.sandbox.served_check import check_served
from gaelp.sandbox.serving import ManualBids, ServedCampaign
from gaelp.sandbox.spec import SandboxSpec
from gaelp.sandbox.world_call import BidPoint

__all__ = ["TICK_SECONDS", "Exchange"]


class Exchange:
    """Auctions, clicks and conversions of all campaigns; the same spec and calls give the same events to the bit."""

    def __init__(self, spec: SandboxSpec) -> None:
        self.spec = spec
        self.tick = 0  # since spec.start
        self.searches = 0  # auctions run by this object
        self.calendar = AccountCalendar(spec.start, spec.zone)
        self._rules = exchange_rules(spec)
        self._products: dict[str, ProductMarket] = {}
        self._product_of: dict[int, str] = {}

    def serve(self, campaign: ServedCampaign) -> None:
        """Serve a campaign like this from the current tick on; the last call for an id counts."""
        check_served(campaign)
        before = self._product_of.get(campaign.id, campaign.product)
        target = self._product(campaign.product)
        if before != campaign.product:
            source = self._products[before]
            source.state, target.state = move_campaign(source.state, target.state, campaign.id)
            source.forget(campaign.id, self.tick)
        target.place(campaign, self.tick)
        self._product_of[campaign.id] = campaign.product

    def served(self) -> list[ServedCampaign]:
        """Every campaign as it is served now, by id."""
        return [self._products[product].served[id_] for id_, product in sorted(self._product_of.items())]

    def advance(self, to_tick: int) -> ExchangeEvents:
        """Run all ticks before `to_tick` that have not run yet."""
        if to_tick < self.tick:
            raise BadInput(f"cannot advance from tick {self.tick} back to {to_tick}: restore a snapshot instead")
        parts: list[ExchangeEvents] = []
        for product in self._products.values():
            events, searches = product.run(self._rules, self.calendar, (self.tick, to_tick))
            parts += events
            self.searches += searches
        self.tick = to_tick
        return join_events(parts)

    def snapshot(self) -> bytes:
        """Everything the exchange knows, for `restore`."""
        return write_snapshot(self.tick, fingerprint(self.spec), self._products.values())

    @classmethod
    def restore(cls, spec: SandboxSpec, data: bytes) -> Self:
        """The exchange that a snapshot was taken of; `spec` has to be the same."""
        exchange = cls(spec)
        exchange.tick, stored = read_snapshot(data, fingerprint(spec))
        for product in stored:
            exchange._products[product.name] = ProductMarket(
                traits=product_traits(spec, product.name), **product._asdict()
            )
            exchange._product_of |= dict.fromkeys(product.served, product.name)
        return exchange

    def bid_points(
        self, campaign: int, group: int, bids_micros: Sequence[Micros], first_tick: int, last_tick: int
    ) -> list[BidPoint]:
        """What the group would have had in the ticks from `first_tick` up to, not including, `last_tick`, by bid.

        The auctions of that time are run again. The campaign's budget does not limit them; see `simulate`.
        """
        product = self._products.get(self._product_of.get(campaign, ""))
        served = product.served.get(campaign) if product else None
        if product is None or served is None or group not in [known.id for known in served.groups]:
            raise BadInput(f"campaign {campaign} with ad group {group} is not served: ask for one that is")
        if not isinstance(served.strategy, ManualBids):
            raise BadInput(
                f"campaign {campaign} has automated bidding, so there is no bid to simulate: set manual bids"
            )
        if not first_tick <= last_tick <= self.tick:
            raise BadInput(
                f"saw ticks {first_tick} to {last_tick}; allowed: rising, up to the current one, {self.tick}"
            )
        ticks = (max(first_tick, product.past[0].tick), last_tick, self.tick)
        return [product.simulate(self._rules, self.calendar, (campaign, group), bid, ticks) for bid in bids_micros]

    def price_levels(self, product: str) -> tuple[Micros, ...]:
        """Typical bids of rivals, by topic: an estimate such as platforms show for a keyword."""
        return tuple(int(price) for price in product_traits(self.spec, product).price_micros)

    def expected_value_micros(self, campaign: int) -> float:
        """The expected value of all billed clicks of a campaign: the truth behind its sales, for measurements only."""
        state = self._products[self._product_of[campaign]].state
        row = row_of(state, campaign)
        return float(state.campaigns["expected_value"][row])

    def traits(self, product: str) -> ProductTraits:
        """What a product is like: the truth that no advertiser knows, for measurements only."""
        return self._product(product).traits

    def _product(self, name: str) -> ProductMarket:
        if name not in self._products:
            traits = product_traits(self.spec, name)
            self._products[name] = ProductMarket(name, traits, new_state(traits, self.spec.users.per_product))
        return self._products[name]
