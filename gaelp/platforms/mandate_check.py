"""Check an order against its mandate; a refusal names the actual and the allowed value."""

from collections.abc import Iterator
from datetime import date
from itertools import chain

from gaelp.approvals import Mandate, SignedAction
from gaelp.budget.ledger import MandateClosed, MandateRoom, close_mandate, mandate_use, signed_before_release
from gaelp.budget.platform_budget import day_worst_micros
from gaelp.content import creative_hash
from gaelp.errors import Refused
from gaelp.money import Micros
from gaelp.platforms.bid_steps import bid_steps_beyond
from gaelp.platforms.cost_booking import reserved_micros
from gaelp.platforms.guard import Guard
from gaelp.platforms.order import Order
from gaelp.platforms.order_book import budgets_of_campaign, orders_of_campaign, orders_of_day
from gaelp.platforms.unknown_outcomes import transfers_of, was_sent

__all__ = [
    "check_budget_holds",
    "check_mandate",
    "close_overspent",
    "excesses",
    "highest_before_micros",
    "mandates_behind",
    "require_mandate",
]


def check_mandate(guard: Guard, order: Order) -> MandateRoom | None:
    """The ceilings for an order's reservation; None without a mandate, Refused if the order is outside its mandate."""
    if order.mandate is None:
        return None
    mandate = require_mandate(guard, order.mandate)
    before = highest_before_micros(guard, order.campaign, guard.today())
    wrongs = chain(excesses(mandate, order, guard.today(), before), bid_steps_beyond(guard, order))
    if wrong := next(wrongs, None):
        raise Refused(f"{order.key} is outside the mandate {mandate.name} ({order.mandate[:12]}): {wrong}")
    return MandateRoom(order.mandate, mandate.total_micros, mandate.account_daily_micros)


def require_mandate(guard: Guard, mandate_id: str) -> Mandate:
    """The mandate with this id; Refused unless it is signed, in force today and for this account."""
    authority = guard.authority
    action = authority.store.in_force(mandate_id, authority.policy, authority.trust())
    mandate = _mandate_of(action)
    actual = (guard.account.id, guard.account.currency, guard.platform.world)
    signed = (mandate.account, mandate.currency, action.world)
    if actual != signed:
        raise Refused(f"the mandate {mandate.name} is for {' '.join(signed)}, not {' '.join(actual)}: sign another")
    if guard.today() > mandate.last_day:
        raise Refused(
            f"the mandate {mandate.name} ended with {mandate.last_day}, today is {guard.today()}: sign another"
        )
    use = mandate_use(guard.ledger, mandate_id)
    if use is None or use.closed:
        state = "was never opened in this ledger" if use is None else "has ended in this ledger"
        raise MandateClosed(f"the mandate {mandate.name} ({mandate_id[:12]}) {state}: have a new one signed")
    # The ledger says open, but anybody may have edited it: the signatures must be newer than the last release too.
    signed_at = (approval.statement.issued_at for approval in authority.store.approvals(action))
    if signed_before_release(guard.ledger, signed_at):
        raise MandateClosed(
            f"the mandate {mandate.name} ({mandate_id[:12]}) was signed before the kill switch was released: have a"
            " new one signed, and run `gaelp ledger verify`, for somebody has reopened this one in the database"
        )
    return mandate


def excesses(mandate: Mandate, order: Order, today: date, before_micros: Micros | None) -> Iterator[str]:
    """List everything in an order that its mandate does not allow.

    `before_micros` is the highest daily budget of the campaign on its last day with a budget before today.
    """
    money = mandate.money
    if order.model_hash != mandate.model_hash:
        yield f"it was decided by the model {str(order.model_hash)[:12]}, allowed is {mandate.model_hash[:12]}"
    if order.campaign not in mandate.campaigns:
        yield f"the campaign is {order.campaign!r}, allowed: {', '.join(mandate.campaigns)}"
    if max(order.until, today) > mandate.last_day:
        yield f"it is for days until {max(order.until, today)}, allowed: until {mandate.last_day}"
    if order.daily_micros > mandate.campaign_daily_micros:
        yield f"a daily budget of {money(order.daily_micros)}, allowed: {money(mandate.campaign_daily_micros)}"
    allowed = mandate.raised_daily_micros(before_micros)
    if order.kind == "budget" and order.daily_micros > allowed:
        had = "none before" if before_micros is None else f"{money(before_micros)} at most on its last day"
        yield f"a daily budget of {money(order.daily_micros)} after {had}, allowed: {money(allowed)} today"
    if order.creative is not None and creative_hash(order.creative) not in mandate.creatives:
        yield f"the advert {creative_hash(order.creative)[:12]}, which is none of its {len(mandate.creatives)}"
    for bid in order.bids:
        if bid.micros > mandate.bid_micros:
            yield f"a bid of {money(bid.micros)} for {bid.target}, allowed: {money(mandate.bid_micros)}"


def check_budget_holds(guard: Guard, order: Order) -> None:
    """Refuse an order unless its campaign has this budget today, with its worst case reserved.

    That is why bids, and orders under a mandate other than budgets, need no room of their own.
    """
    rows = [
        row
        for row in orders_of_day(guard.ledger, guard.account.id, guard.today().isoformat(), order.campaign)
        if row.outcome == "done"
    ]
    budgets = [row for row in rows if row.kind == "budget"]
    if not budgets:
        raise Refused(f"{order.key}: {order.campaign} has no budget for {guard.today()}: order one first")
    daily_micros = budgets[-1].daily_micros
    if order.daily_micros != daily_micros:
        raise Refused(f"{order.key} expects a daily budget of {order.daily_micros} micros, in force is {daily_micros}")
    held = reserved_micros(transfers_of(guard, [row for row in rows if row.amount_micros]))  # others hold nothing
    worst = day_worst_micros(daily_micros, guard.terms)
    if held < worst:
        raise Refused(f"{order.key}: {order.campaign} may cost {worst} micros today and {held} are reserved")


def highest_before_micros(guard: Guard, campaign: str, day: date) -> Micros | None:
    """The highest daily budget of a campaign on its last day with a budget before `day`."""
    budgets = budgets_of_campaign(guard.ledger, guard.account.id, campaign, before=day.isoformat())
    last = max((row.day for row in budgets), default=None)
    return max((row.daily_micros for row in budgets if row.day == last), default=None)


def close_overspent(guard: Guard, campaign: str, day: date) -> tuple[str, ...]:
    """Close the mandates of a campaign that cost more on a day than was reserved; return those that were open.

    The excess cannot be attributed to an order, so every mandate with an order for the campaign by that day is closed.
    """
    rows = orders_of_campaign(guard.ledger, guard.account.id, campaign)
    sent = [row.order.mandate for row in rows if row.day <= day.isoformat() and was_sent(guard, row)]
    uses = {mandate_id: mandate_use(guard.ledger, mandate_id) for mandate_id in sent if mandate_id is not None}
    still_open = [mandate_id for mandate_id, use in uses.items() if use and not use.closed]
    return tuple(mandate_id for mandate_id in still_open if close_mandate(guard.ledger, mandate_id))


def mandates_behind(guard: Guard, campaign: str) -> tuple[str, ...]:
    """The mandates behind a campaign's budget and bids: those of the newest orders that were sent.

    An order with an unknown outcome may be in force, and so may the one it was to replace.
    """
    behind: dict[str, None] = {}
    replaced: set[str | None] = set()  # targets of bids; None is the budget
    for row in orders_of_campaign(guard.ledger, guard.account.id, campaign):
        if row.kind not in ("bid", "budget") or not was_sent(guard, row):
            continue
        order = row.order
        sets = {bid.target for bid in order.bids} if row.kind == "bid" else {None}
        if order.mandate is not None and not sets <= replaced:
            behind[order.mandate] = None
        if row.outcome == "done":
            replaced |= sets
    return tuple(behind)


def _mandate_of(action: SignedAction) -> Mandate:
    if action.mandate is None:
        raise Refused(f"what was signed is a {action.kind}, not a mandate: name the mandate that the order is under")
    return action.mandate
