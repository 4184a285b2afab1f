"""Bound how fast the bids under a mandate change: within any hour, by a limited percentage up and down.

A bidder and a platform that react to each other can oscillate. A mandate's ceiling alone does not prevent that.
"""

from collections.abc import Iterator
from datetime import timedelta

from gaelp.budget.ledger import find_transfer
from gaelp.money import Micros, Money
from gaelp.platforms.guard import Guard
from gaelp.platforms.order import Order
from gaelp.platforms.order_book import newest_orders
from gaelp.platforms.unknown_outcomes import was_sent

__all__ = ["bid_steps_beyond"]

_WINDOW_MS = int(timedelta(hours=1).total_seconds() * 1000)


def bid_steps_beyond(guard: Guard, order: Order) -> Iterator[str]:
    """List every bid of an order that is too far from the bids that its target had during the last hour."""
    percent, had = 100 + guard.bid_change_percent, _recent_bids(guard, order)
    for bid in order.bids:
        if recent := had.get(bid.target):
            least, most = -(-max(recent) * 100 // percent), min(recent) * percent // 100
            if not least <= bid.micros <= most:
                yield (
                    f"a bid of {_shown(guard, bid.micros)} for {bid.target}, which had {_shown(guard, min(recent))} to"
                    f" {_shown(guard, max(recent))} within the last hour, allowed: {_shown(guard, least)} to"
                    f" {_shown(guard, most)} ({guard.bid_change_percent}% an hour)"
                )


def _recent_bids(guard: Guard, order: Order) -> dict[str, list[Micros]]:
    """The bids of each target of an order during the last hour, beginning with the one in force before it.

    An order with an unknown outcome may be in force, and so may the one it was to replace.
    """
    since_ms = guard.ledger.now_ms() - _WINDOW_MS
    recent: dict[str, list[Micros]] = {}
    missing = {bid.target for bid in order.bids}
    for row in newest_orders(guard.ledger, guard.account.id, order.campaign, "bid"):
        if not missing:
            break
        if row.key == order.key or not was_sent(guard, row):
            continue
        is_before = row.outcome == "done" and find_transfer(guard.ledger, row.key).created_at_ms <= since_ms
        for bid in row.order.bids:
            if bid.target in missing:
                recent.setdefault(bid.target, []).append(bid.micros)
                missing -= {bid.target} if is_before else set()
    return recent


def _shown(guard: Guard, micros: Micros) -> Money:
    return Money(micros, guard.account.currency)
