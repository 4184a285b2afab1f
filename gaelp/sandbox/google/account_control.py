"""What the sandbox's control asks of a Google account: suspend it as the platform does, and name its ad groups."""

from gaelp.errors import BadInput
from gaelp.sandbox.google.account_store import AccountStore
from gaelp.sandbox.google.accounts import AdsCaller, Customers
from gaelp.sandbox.google.change_events import Editor
from gaelp.sandbox.google.session import AdsSession
from gaelp.sandbox.world import SandboxWorld

__all__ = ["group_names", "set_suspended"]


def group_names(world: SandboxWorld, customer: str) -> dict[int, tuple[str, str]]:
    """Names of campaign and ad group by the ad group's id, removed ones included."""
    with world.call() as call:
        store = AccountStore(call, customer, world.spec.zone)
        campaigns = {campaign.resource_name: campaign.name for campaign in store.all("campaign")}
        return {group.id: (campaigns[group.campaign], group.name) for group in store.all("ad_group")}


def set_suspended(world: SandboxWorld, customer: str, *, suspended: bool) -> None:
    """Suspend a customer, whose campaigns stop at once and who can change nothing, or reinstate it."""
    customers = Customers(world.spec)
    if customer not in world.spec.customer_ids:
        raise BadInput(f"saw customer {customer!r}; this sandbox has {', '.join(world.spec.customer_ids)}")
    caller = AdsCaller("", Editor("platform@sandbox.example", "INTERNAL_TOOL"), None)
    with world.call() as call:
        customers.set_suspended(call, customer, suspended=suspended)
        session = AdsSession(call, world.spec, caller, "suspension", customer)
        store = session.store()
        session.serve(store, [campaign.resource_name for campaign in store.present("campaign")])
