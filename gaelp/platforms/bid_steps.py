"""Bound how fast the bids under a mandate change: within any hour, by a limited percentage up and down.

A bidder and a platform that react to each other can oscillate. A mandate's ceiling alone does not prevent that.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta

from gaelp.budget.ledger import find_transfer
from gaelp.money import Micros, Money
from gaelp.platforms.guard import Guard
from gaelp.platforms.order import Order
from gaelp.platforms.order_book import newest_orders
from gaelp.platforms.unknown_outcomes import was_sent

__all__ = ["BidBound", "bid_bounds", "bid_steps_beyond"]

_WINDOW_MS = int(timedelta(hours=1).total_seconds() * 1000)


def bid_steps_beyond(guard: Guard, order: Order) -> Iterator[str]:
    """List every bid of an order that is too far from the bids that its target had during the last hour."""
    bounds = bid_bounds(guard, order.campaign, [bid.target for bid in order.bids], but=order.key)
    for bid in order.bids:
        bound = bounds.get(bid.target)
        if bound is not None and not bound.least_micros <= bid.micros <= bound.most_micros:
            least, most = _shown(guard, bound.least_micros), _shown(guard, bound.most_micros)
            yield (
                f"a bid of {_shown(guard, bid.micros)} for {bid.target}, which had"
                f" {_shown(guard, min(bound.recent))} to {_shown(guard, max(bound.recent))} within the last hour,"
                f" allowed: {least} to {most} ({guard.bid_change_percent}% an hour)"
            )


@dataclass(frozen=True, slots=True)
class BidBound:
    """What a target's next bid may be, after the bids that it had during the last hour."""

    recent: tuple[Micros, ...]
    least_micros: Micros
    most_micros: Micros


def bid_bounds(guard: Guard, campaign: str, targets: Iterable[str], *, but: str = "") -> dict[str, BidBound]:
    """The bounds of those targets that had a bid; the order with the key `but` does not count."""
    percent = 100 + guard.bid_change_percent
    return {
        target: BidBound(tuple(recent), -(-max(recent) * 100 // percent), min(recent) * percent // 100)
        for target, recent in _recent_bids(guard, campaign, set(targets), but).items()
    }


def _recent_bids(guard: Guard, campaign: str, missing: set[str], but: str) -> dict[str, list[Micros]]:
    """The bids of targets during the last hour, beginning with the one in force before it.

    An order with an unknown outcome may be in force, and so may the one it was to replace.
    """
    since_ms = guard.ledger.now_ms() - _WINDOW_MS
    recent: dict[str, list[Micros]] = {}
    for row in newest_orders(guard.ledger, guard.account.id, campaign, "bid"):
        if not missing:
            break
        if row.key == but or not was_sent(guard, row):
            continue
        is_before = row.outcome == "done" and find_transfer(guard.ledger, row.key).created_at_ms <= since_ms
        for bid in row.order.bids:
            if bid.target in missing:
                recent.setdefault(bid.target, []).append(bid.micros)
                missing -= {bid.target} if is_before else set()
    return recent


def _shown(guard: Guard, micros: Micros) -> Money:
    return Money(micros, guard.account.currency)
