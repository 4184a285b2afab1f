"""Suspend a Google account of the sandbox, as the platform does, or let it advertise again."""

from gaelp.errors import BadInput
from gaelp.sandbox.google.accounts import AdsCaller, Customers
from gaelp.sandbox.google.change_events import Editor
from gaelp.sandbox.google.session import AdsSession
from gaelp.sandbox.world import SandboxWorld

__all__ = ["set_suspended"]


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
