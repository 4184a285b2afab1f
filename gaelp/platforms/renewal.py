"""One more day for a campaign that was approved for several: the same budget and approval or mandate, reserved again.

A platform's budget is leased for one day at a time, because the ledger sets money aside for one day at a time. What is
not renewed ends by itself.
"""

from datetime import date

from gaelp.approvals import action_hash
from gaelp.errors import Refused
from gaelp.platforms.guard import Guard
from gaelp.platforms.order import RENEWAL, Order, action_of
from gaelp.platforms.order_book import OrderRow, orders_of_campaign

__all__ = ["budget_in_force", "check_renewal", "renewal_of"]


def budget_in_force(guard: Guard, campaign: str) -> OrderRow | None:
    """The approved order that gave a campaign its budget: the newest that was carried out, renewals aside."""
    for row in orders_of_campaign(guard.ledger, guard.account.id, campaign):
        if row.kind == "budget" and row.outcome == "done" and not row.renews:
            return row
    return None


def renewal_of(guard: Guard, campaign: str, day: date) -> Order | None:
    """The order that lets a campaign run on this day too; nothing if nobody approved that."""
    approved = budget_in_force(guard, campaign)
    if approved is None or approved.order.until < day:
        return None
    prefix = f"{RENEWAL}{day.isoformat()}/{campaign}/"
    rows = orders_of_campaign(guard.ledger, guard.account.id, campaign)
    # An attempt that came to nothing has used up its key; one that is under way keeps it.
    over = sum(row.key.startswith(prefix) and row.outcome == "rejected" for row in rows)
    return approved.order.model_copy(update={"key": f"{prefix}{over + 1}", "renews": approved.key})


def check_renewal(guard: Guard, order: Order) -> None:
    """Refuse unless it is exactly the budget in force, approved for today too, and that approval was really used."""
    approved = budget_in_force(guard, order.campaign)
    if approved is None or approved.key != order.renews:
        seen = "none" if approved is None else approved.key
        raise Refused(f"{order.key} renews {order.renews!r}, the budget in force is {seen}: have a new one approved")
    base = approved.order
    if order.model_copy(update={"key": base.key, "renews": ""}) != base:
        raise Refused(f"{order.key} differs from {base.key}, which it renews: have what is new in it approved")
    if base.mandate is not None:
        return  # the door holds it against the mandate like any order
    # Asking again under the same key gives the same answer, and holds the tables against the audit log.
    action, authority = action_of(base, guard.account, guard.platform.world), guard.authority
    used = authority.store.consume(action, authority.policy, authority.trust(), consumer=base.key)
    if used.action_hash != action_hash(action):
        raise Refused(f"{base.key} was approved as another action: have the budget approved again")
