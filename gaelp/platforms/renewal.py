"""Renew a campaign that was approved for several days: the same budget and approval or mandate, reserved for one more.

A platform's budget is leased for one day at a time, because the ledger reserves money for one day at a time. A budget
that is not renewed ends by itself.
"""

from datetime import date

from gaelp.approvals import action_hash
from gaelp.errors import Refused
from gaelp.platforms.guard import Guard
from gaelp.platforms.order import RENEWAL, Order, action_of
from gaelp.platforms.order_book import OrderRow, newest_orders, orders_of_day

__all__ = ["budget_in_force", "check_renewal", "renewal_of"]


def budget_in_force(guard: Guard, campaign: str) -> OrderRow | None:
    """The approved order behind a campaign's budget: the newest done one that is not a renewal."""
    for row in newest_orders(guard.ledger, guard.account.id, campaign, "budget"):
        if row.outcome == "done" and not row.renews:
            return row
    return None


def renewal_of(guard: Guard, campaign: str, day: date) -> Order | None:
    """The order that lets a campaign run on this day too; None if that was not approved."""
    approved = budget_in_force(guard, campaign)
    if approved is None or approved.order.until < day:
        return None
    prefix = f"{RENEWAL}{day.isoformat()}/{campaign}/"
    rows = orders_of_day(guard.ledger, guard.account.id, day.isoformat(), campaign)
    # A rejected attempt has used up its key; one in progress keeps it.
    rejected = sum(row.key.startswith(prefix) and row.outcome == "rejected" for row in rows)
    return approved.order.model_copy(update={"key": f"{prefix}{rejected + 1}", "renews": approved.key})


def check_renewal(guard: Guard, order: Order) -> None:
    """Refuse unless the order repeats the budget in force and the approval of that budget was used."""
    approved = budget_in_force(guard, order.campaign)
    if approved is None or approved.key != order.renews:
        in_force = "none" if approved is None else approved.key
        raise Refused(f"{order.key} renews {order.renews!r}, in force is {in_force}: have a new one approved")
    base = approved.order
    if order.model_copy(update={"key": base.key, "renews": ""}) != base:
        raise Refused(f"{order.key} differs from {base.key}, which it renews: have the change approved")
    if base.mandate is not None:
        return  # checked against the mandate like any order
    # Consuming again under the same key returns the same answer, and compares the tables with the audit log.
    action, authority = action_of(base, guard.account, guard.platform.world), guard.authority
    used = authority.store.consume(action, authority.policy, authority.trust(), consumer=base.key)
    if used.action_hash != action_hash(action):
        raise Refused(f"{base.key} was approved as another action: have the budget approved again")
