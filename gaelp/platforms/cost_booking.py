"""From the platform's costs to the books: final days are posted, revised ones adjusted, unreserved ones booked at once.

A day's reservation is kept whole until its cost is final: what is given back too early may be spent twice. Where
nothing was reserved there is nothing to give back, and the caps must know at once.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from gaelp.budget.ledger import (
    UNRESERVED,
    Cap,
    LedgerBroken,
    LedgerUnavailable,
    Transfer,
    TransferState,
    adjust,
    adjustments_of,
    mandate_caps,
    open_unreserved,
    post,
)
from gaelp.checks.raised import in_words
from gaelp.errors import GaelpError
from gaelp.money import Micros, Money
from gaelp.platforms.cost_reading import Costs
from gaelp.platforms.guard import Guard
from gaelp.platforms.order_book import OrderRow, orders_of_campaign, orders_of_day
from gaelp.platforms.unknown_outcomes import transfer_of, was_sent

__all__ = ["Booking", "book_costs", "reserved_micros"]

_MOST_CHARACTERS = 100  # what a key may take up of the one of its adjustments


@dataclass(frozen=True, slots=True)
class Booking:
    """What was done for one campaign-day; `problem` says in words what is wrong with its cost.

    `final_at` is there if its reservation is kept because a report of that instant or later is needed to post it;
    `failure` says why nothing could be booked.
    """

    campaign: str
    day: date
    posted_micros: Micros = 0
    adjusted_micros: Micros = 0
    problem: str = ""
    final_at: datetime | None = None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class _Day:
    """One campaign-day: its orders, what the platform says it cost, and when it said so."""

    guard: Guard
    campaign: str
    day: date
    rows: list[OrderRow]
    cost_micros: Micros
    as_of: datetime

    @property
    def own_key(self) -> str:
        """The key of the transfer that takes what no order of the day can."""
        whose = f"{self.guard.account.id}/{self.campaign}"
        if len(whose) > _MOST_CHARACTERS:
            whose = hashlib.sha256(whose.encode(errors="backslashreplace")).hexdigest()
        return f"{UNRESERVED}{self.day.isoformat()}/{whose}"


def book_costs(guard: Guard, costs: Costs, as_of: datetime, days: Iterable[date]) -> Iterator[Booking]:
    """Bring the books of these days in line with a report; running it again changes nothing.

    A campaign-day that cannot be booked keeps no other from it, unless the ledger is away.
    """
    for day in days:
        try:
            rows = orders_of_day(guard.ledger, guard.account.id, day.isoformat())
        except LedgerUnavailable:
            raise
        except GaelpError as problem:
            yield Booking("", day, failure=f"the costs of {day} are not booked ({in_words(problem)})")
            continue
        for campaign in sorted({row.campaign for row in rows} | {name for name, on in costs.micros if on == day}):
            cost_micros = costs.of(campaign, day)
            if cost_micros is not None:  # else its room is kept, and the report's problems are told
                mine = [row for row in rows if row.campaign == campaign]
                yield _told(_Day(guard, campaign, day, mine, cost_micros, as_of))


def reserved_micros(transfers: Iterable[Transfer]) -> Micros:
    """What was set aside for a campaign-day and not given back as unused: its cost may not exceed it."""
    return sum(one.amount_micros for one in transfers if one.state not in (TransferState.VOIDED, TransferState.EXPIRED))


def _told(one: _Day) -> Booking:
    try:
        return _book(one)
    except LedgerUnavailable:
        raise
    except GaelpError as problem:
        failure = (
            f"{one.campaign} cost {one.cost_micros} micros on {one.day}, which is not booked ({in_words(problem)})"
        )
        # What nobody ordered is a violation and has to stand still, booked or not.
        return Booking(one.campaign, one.day, problem="" if one.rows else failure, failure=failure)


def _book(one: _Day) -> Booking:
    guard = one.guard
    found = [(row, transfer) for row in one.rows if (transfer := transfer_of(guard, row.key)) is not None]
    ordered = [transfer for _, transfer in found]
    own = transfer_of(guard, one.own_key)
    reserved = reserved_micros(ordered)
    problem = f"{one.campaign} cost {one.cost_micros} micros on {one.day}, reserved were {reserved}"
    problem = problem if one.cost_micros > reserved else ""
    final_at = datetime.combine(one.day + timedelta(days=1), time(), ZoneInfo(guard.account.time_zone))
    final_at += guard.final_after
    if ordered and one.as_of < final_at:
        waits = any(not transfer.state.is_final for transfer in ordered)
        return Booking(one.campaign, one.day, problem=problem, final_at=final_at if waits else None)
    # Orders of older books may have the very key of unreserved cost: each transfer counts once.
    booked = [*ordered, *([own] if own and own.key not in {each.key for each in ordered} else [])]
    posted, left = 0, one.cost_micros - sum(each.posted_micros + each.adjusted_micros for each in booked)
    unknown_micros = 0  # room of orders that may yet turn out to be what cost the money
    for row, transfer in found:
        if transfer.state.is_final:
            continue
        if row.outcome != "done":
            unknown_micros += transfer.amount_micros
            continue
        share = min(max(left, 0), transfer.amount_micros)
        is_new = post(guard.ledger, transfer.key, Money(share, transfer.currency)).is_new
        posted, left = posted + (share if is_new else 0), left - share
    covered = 0 <= left <= unknown_micros
    adjusted = 0 if covered else _adjust(one, [each.key for each in booked], left)
    return Booking(one.campaign, one.day, posted, adjusted, problem)


def _adjust(one: _Day, keys: list[str], left: Micros) -> Micros:
    """Book a difference on what is finished, refunds no further than what was paid; the answer is what was booked.

    Cost for which nothing is finished gets a transfer of its own: it has happened all the same.
    """
    ledger, booked = one.guard.ledger, 0
    finished = [(each, count) for each, count in (adjustments_of(ledger, key) for key in keys) if each.state.is_final]
    # Prefer what was carried out; among those, orders under a mandate, which must show what went beyond it.
    finished.sort(key=lambda pair: (pair[0].state is not TransferState.POSTED, not _is_under_mandate(pair[0])))
    if left > 0 and not finished:
        caps = (*one.guard.caps_of(one.campaign), *_mandate_caps(one))
        open_unreserved(ledger, one.own_key, account_id=one.guard.account.id, day=one.day, caps=caps)
        finished = [adjustments_of(ledger, one.own_key)]
    for transfer, count in finished:
        share = max(left, -(transfer.posted_micros + transfer.adjusted_micros))
        if share:
            # Numbered, so that two who book the same difference at once book it once, and a cost that comes back to
            # what it was is a difference anew.
            key, difference = f"{transfer.key}/cost/{count + 1}", Money(share, transfer.currency)
            reason = f"cost as of {one.as_of.isoformat()}"
            receipt = adjust(ledger, key, transfer_key=transfer.key, difference=difference, reason=reason)
            booked, left = booked + (share if receipt.is_new else 0), left - share
    return booked


def _mandate_caps(one: _Day) -> tuple[Cap, ...]:
    """The caps of the mandate that the campaign's last budget up to this day was ordered under, if any."""
    try:
        rows = orders_of_campaign(one.guard.ledger, one.guard.account.id, one.campaign)
    except LedgerBroken:  # an order that cannot be read must not keep real cost out of the books
        return ()
    until = one.day.isoformat()
    budgets = (row for row in rows if row.kind == "budget" and row.day <= until and was_sent(one.guard, row))
    last = next(budgets, None)
    return () if last is None or last.order.mandate is None else mandate_caps(last.order.mandate)


def _is_under_mandate(transfer: Transfer) -> bool:
    return any(cap.kind.is_of_a_mandate for cap in transfer.caps)
