"""What can be queried FROM: each view's resources joined, and which hour rows belong to each of its rows."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from gaelp.sandbox.google.account_store import AccountStore, is_removed, key_of
from gaelp.sandbox.google.accounts import Customers
from gaelp.sandbox.google.bid_simulator import simulated_group
from gaelp.sandbox.google.computed_fields import ReadableResources
from gaelp.sandbox.google.criteria import criterion_type
from gaelp.sandbox.google.messages import Message, enum_name, new, set_enum

__all__ = ["VIEWS", "EntityScope", "GaqlView", "ViewEntity", "ViewReader"]


@dataclass(frozen=True, slots=True)
class EntityScope:
    """Which hour rows count: of these campaigns (None: all), of this group, and which equal part of them."""

    campaigns: frozenset[int] | None = None
    group: int | None = None
    part: int = 0
    parts: int = 1


@dataclass(frozen=True, slots=True)
class ViewEntity:
    """One row of a view before segments: its resources by name."""

    resources: Mapping[str, Message]
    scope: EntityScope = field(default_factory=EntityScope)


@dataclass(frozen=True, slots=True)
class ViewReader:
    """Reads the entities of one account; drafts of experiments are hidden unless asked for.

    Kinds in `shown` get the fields that the platform computes; of the others, nobody reads one.
    """

    readable: ReadableResources
    customers: Customers
    include_drafts: bool
    with_campaigns: bool  # whether a budget is joined with its campaigns
    shown: frozenset[str]

    @property
    def store(self) -> AccountStore:
        """The account's resources."""
        return self.readable.store

    def _show(self, kind: str, stored: Message) -> dict[str, Message]:
        return {kind: self.readable.show(kind, stored) if kind in self.shown else stored}

    def _by_name(self, kind: str) -> dict[str, dict[str, Message]]:
        """All resources of a kind that others refer to, by resource name."""
        return {stored.resource_name: self._show(kind, stored) for stored in self.store.all(kind)}

    def customer(self) -> Iterator[ViewEntity]:
        """The account itself."""
        yield ViewEntity({"customer": self.customers.message(self.store.call, self.store.account)})

    def customer_client(self) -> Iterator[ViewEntity]:
        """The account, and below a manager its clients."""
        own = self.store.account
        clients = self.customers.spec.customer_ids if self.customers.is_manager(own) else ()
        for level, customer in ((0, own), *((1, client) for client in clients)):
            source = self.customers.message(self.store.call, customer)
            shown = new(
                "resources.CustomerClient",
                resource_name=f"customers/{own}/customerClients/{customer}",
                client_customer=source.resource_name,
                id=source.id,
                level=level,
                manager=source.manager,
                test_account=True,
                descriptive_name=source.descriptive_name,
                currency_code=source.currency_code,
                time_zone=source.time_zone,
            )
            set_enum(shown, "status", enum_name(source, "status"))
            yield ViewEntity({"customer_client": shown, "customer": source})

    def campaign(self) -> Iterator[ViewEntity]:
        """Campaigns with budget and portfolio strategy."""
        base = next(self.customer()).resources
        joined = {name: self._by_name(name) for name in ("campaign_budget", "bidding_strategy")}
        for stored in self.store.all("campaign"):
            if enum_name(stored, "experiment_type") == "DRAFT" and not self.include_drafts:
                continue
            resources = {**base, **self._show("campaign", stored)}
            for name, known in joined.items():
                if getattr(stored, name):
                    resources |= known[getattr(stored, name)]
            yield ViewEntity(resources, EntityScope(campaigns=frozenset({stored.id})))

    def campaign_budget(self) -> Iterator[ViewEntity]:
        """Budgets; one row for each of its campaigns if fields of campaigns are selected."""
        campaigns = list(self.campaign())
        base = next(self.customer()).resources
        for stored in self.store.all("campaign_budget"):
            own = {**base, **self._show("campaign_budget", stored)}
            users = [user for user in campaigns if user.resources["campaign"].campaign_budget == stored.resource_name]
            if self.with_campaigns:
                yield from (replace(user, resources={**user.resources, **own}) for user in users)
            else:
                yield ViewEntity(own, EntityScope(campaigns=frozenset(user.resources["campaign"].id for user in users)))

    def ad_group(self) -> Iterator[ViewEntity]:
        """Ad groups with their campaign."""
        campaigns = {entity.resources["campaign"].resource_name: entity.resources for entity in self.campaign()}
        for stored in self.store.all("ad_group"):
            if stored.campaign in campaigns:
                yield ViewEntity(
                    {**campaigns[stored.campaign], **self._show("ad_group", stored)}, EntityScope(group=stored.id)
                )

    def _below(self, kind: str, owner: str, owners: Iterator[ViewEntity]) -> Iterator[ViewEntity]:
        """The resources of a kind, each with its owner's row."""
        by_name = {entity.resources[owner].resource_name: entity for entity in owners}
        for stored in self.store.all(kind):
            above = by_name.get(getattr(stored, owner))
            if above is not None:
                yield ViewEntity({**above.resources, **self._show(kind, stored)}, above.scope)

    def ad_group_ad(self) -> Iterator[ViewEntity]:
        """Adverts; the figures of a group are split evenly between its adverts that are not removed."""
        yield from _split(list(self._below("ad_group_ad", "ad_group", self.ad_group())), "ad_group_ad")

    def ad_group_criterion(self) -> Iterator[ViewEntity]:
        """Keywords and other criteria of ad groups."""
        yield from self._below("ad_group_criterion", "ad_group", self.ad_group())

    def keyword_view(self) -> Iterator[ViewEntity]:
        """Keywords; the figures of a group are split evenly between its keywords that are not removed."""
        entities = [
            entity
            for entity in self.ad_group_criterion()
            if criterion_type(entity.resources["ad_group_criterion"]) == "keyword"
            and not entity.resources["ad_group_criterion"].negative
        ]
        for entity in _split(entities, "ad_group_criterion"):
            key = key_of(entity.resources["ad_group_criterion"].resource_name)
            name = self.store.resource_name("keywordViews", key)
            view = new("resources.KeywordView", resource_name=name)
            yield replace(entity, resources={**entity.resources, "keyword_view": view})

    def campaign_criterion(self) -> Iterator[ViewEntity]:
        """Places, devices, schedules and other criteria of campaigns."""
        yield from self._below("campaign_criterion", "campaign", self.campaign())

    def ad_group_bid_modifier(self) -> Iterator[ViewEntity]:
        """Bid modifiers of ad groups."""
        yield from self._below("ad_group_bid_modifier", "ad_group", self.ad_group())

    def plain(self, kind: str) -> Iterator[ViewEntity]:
        """Resources that belong to the account alone."""
        base = next(self.customer()).resources
        for stored in self.store.all(kind):
            yield ViewEntity({**base, **self._show(kind, stored)})

    def _attached(self, link: str, owner: str, owners: Iterator[ViewEntity]) -> Iterator[ViewEntity]:
        for entity in self._below(link, owner, owners):
            label = self.store.existing(entity.resources[link].label)
            yield ViewEntity({**entity.resources, "label": label})

    def campaign_label(self) -> Iterator[ViewEntity]:
        """Labels on campaigns."""
        yield from self._attached("campaign_label", "campaign", self.campaign())

    def ad_group_label(self) -> Iterator[ViewEntity]:
        """Labels on ad groups."""
        yield from self._attached("ad_group_label", "ad_group", self.ad_group())

    def billing_setup(self) -> Iterator[ViewEntity]:
        """How the account is invoiced: every account of a sandbox is, from its first day on."""
        name = self.store.resource_name("billingSetups", 1)
        shown = new("resources.BillingSetup", resource_name=name, id=1)
        set_enum(shown, "status", "APPROVED")
        yield ViewEntity({**next(self.customer()).resources, "billing_setup": shown})

    def experiment_arm(self) -> Iterator[ViewEntity]:
        """Arms with their experiment."""
        yield from self._below("experiment_arm", "experiment", self.plain("experiment"))

    def ad_group_simulation(self) -> Iterator[ViewEntity]:
        """Groups that have a bid to simulate; the points are added once the row is known to be wanted."""
        for entity in self.ad_group():
            simulation = simulated_group(self.store, entity.resources["campaign"], entity.resources["ad_group"])
            if simulation is not None:
                yield ViewEntity({**entity.resources, "ad_group_simulation": simulation}, entity.scope)


def _split(entities: list[ViewEntity], kind: str) -> Iterator[ViewEntity]:
    """Give each of the entities of one group that are not removed an equal part of its figures."""
    present: dict[int | None, list[int]] = {}
    for place, entity in enumerate(entities):
        if not is_removed(entity.resources[kind]):
            present.setdefault(entity.scope.group, []).append(place)
    for place, entity in enumerate(entities):
        sharing = present.get(entity.scope.group, [])
        if place in sharing:
            yield replace(entity, scope=replace(entity.scope, part=sharing.index(place), parts=len(sharing)))
        else:
            yield replace(entity, scope=EntityScope(campaigns=frozenset()))  # a removed one has no figures


@dataclass(frozen=True, slots=True)
class GaqlView:
    """What FROM may name: the resources whose fields can be selected with it, and whether it has metrics."""

    read: Callable[[ViewReader], Iterator[ViewEntity]]
    resources: tuple[str, ...]
    has_metrics: bool = False


_CAMPAIGN = ("campaign", "campaign_budget", "bidding_strategy", "customer")
_GROUP = ("ad_group", "campaign", "bidding_strategy", "customer")

VIEWS: Mapping[str, GaqlView] = MappingProxyType(
    {
        "customer": GaqlView(ViewReader.customer, ("customer",), has_metrics=True),
        "customer_client": GaqlView(ViewReader.customer_client, ("customer_client", "customer")),
        "campaign": GaqlView(ViewReader.campaign, _CAMPAIGN, has_metrics=True),
        "campaign_budget": GaqlView(
            ViewReader.campaign_budget, ("campaign_budget", "campaign", "customer"), has_metrics=True
        ),
        "ad_group": GaqlView(ViewReader.ad_group, _GROUP, has_metrics=True),
        "ad_group_ad": GaqlView(ViewReader.ad_group_ad, ("ad_group_ad", *_GROUP), has_metrics=True),
        "ad_group_criterion": GaqlView(ViewReader.ad_group_criterion, ("ad_group_criterion", *_GROUP)),
        "keyword_view": GaqlView(
            ViewReader.keyword_view, ("keyword_view", "ad_group_criterion", *_GROUP), has_metrics=True
        ),
        "campaign_criterion": GaqlView(
            ViewReader.campaign_criterion, ("campaign_criterion", "campaign", "bidding_strategy", "customer")
        ),
        "ad_group_bid_modifier": GaqlView(ViewReader.ad_group_bid_modifier, ("ad_group_bid_modifier", *_GROUP)),
        "billing_setup": GaqlView(ViewReader.billing_setup, ("billing_setup", "customer")),
        "label": GaqlView(lambda reader: reader.plain("label"), ("label", "customer")),
        "campaign_label": GaqlView(
            ViewReader.campaign_label, ("campaign_label", "label", "campaign", "bidding_strategy", "customer")
        ),
        "ad_group_label": GaqlView(ViewReader.ad_group_label, ("ad_group_label", "label", *_GROUP)),
        "bidding_strategy": GaqlView(lambda reader: reader.plain("bidding_strategy"), ("bidding_strategy", "customer")),
        "experiment": GaqlView(lambda reader: reader.plain("experiment"), ("experiment", "customer")),
        "experiment_arm": GaqlView(ViewReader.experiment_arm, ("experiment_arm", "experiment", "customer")),
        "ad_group_simulation": GaqlView(ViewReader.ad_group_simulation, ("ad_group_simulation", *_GROUP)),
    }
)
