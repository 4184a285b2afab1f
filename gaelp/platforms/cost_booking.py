"""Book the platform's costs: final days are posted, revised ones adjusted, unreserved cost is booked at once.

A day's reservation is kept until its cost is final: room that is freed too early may be spent twice. Unreserved cost
holds no room to free, and the caps must count it at once.
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

__all__ = ["Booking", "beyond_reservation", "book_costs", "reserved_micros"]

_MOST_CHARACTERS = 100  # longest name inside a key, so that keys of adjustments fit


@dataclass(frozen=True, slots=True)
class Booking:
    """What was booked for a campaign-day; `problem` says what is wrong with its cost.

    `final_at` is set if the reservation is kept until a report of that instant or later; `failure` says why nothing
    could be booked.
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
    """A campaign-day: its orders, its cost as reported by the platform, and the time of that report."""

    guard: Guard
    campaign: str
    day: date
    rows: list[OrderRow]
    cost_micros: Micros
    as_of: datetime

    @property
    def own_key(self) -> str:
        """The key of the transfer for cost that no order of the day reserved."""
        whose = f"{self.guard.account.id}/{self.campaign}"
        if len(whose) > _MOST_CHARACTERS:
            whose = hashlib.sha256(whose.encode(errors="backslashreplace")).hexdigest()
        return f"{UNRESERVED}{self.day.isoformat()}/{whose}"


def book_costs(guard: Guard, costs: Costs, as_of: datetime, days: Iterable[date]) -> Iterator[Booking]:
    """Book a report for these days; running it again changes nothing.

    A campaign-day that cannot be booked does not affect the others, unless the ledger is away.
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
            if cost_micros is not None:  # otherwise its room is kept, and the report's problem is reported
                mine = [row for row in rows if row.campaign == campaign]
                yield _booked(_Day(guard, campaign, day, mine, cost_micros, as_of))


def reserved_micros(transfers: Iterable[Transfer]) -> Micros:
    """What is reserved for a campaign-day, without freed reservations: its cost must not exceed this."""
    freed = (TransferState.VOIDED, TransferState.EXPIRED)
    return sum(transfer.amount_micros for transfer in transfers if transfer.state not in freed)


def beyond_reservation(campaign: str, day: date, cost_micros: Micros, held_micros: Micros) -> str:
    """What is wrong with the cost of a campaign-day: more than was reserved for it. Empty if nothing is."""
    if cost_micros <= held_micros:
        return ""
    return f"{campaign} cost {cost_micros} micros on {day}, reserved were {held_micros}"


def _booked(entry: _Day) -> Booking:
    try:
        return _book(entry)
    except LedgerUnavailable:
        raise
    except GaelpError as problem:
        cost = f"{entry.campaign} cost {entry.cost_micros} micros on {entry.day}"
        failure = f"{cost}, which is not booked ({in_words(problem)})"
        # A campaign that nobody ordered is a violation and must be paused, booked or not.
        return Booking(entry.campaign, entry.day, problem="" if entry.rows else failure, failure=failure)


def _book(entry: _Day) -> Booking:
    guard = entry.guard
    transfers = [(row, transfer) for row in entry.rows if (transfer := transfer_of(guard, row.key)) is not None]
    ordered = [transfer for _, transfer in transfers]
    own = transfer_of(guard, entry.own_key)
    reserved = reserved_micros(ordered)
    problem = beyond_reservation(entry.campaign, entry.day, entry.cost_micros, reserved)
    final_at = datetime.combine(entry.day + timedelta(days=1), time(), ZoneInfo(guard.account.time_zone))
    final_at += guard.final_after
    if ordered and entry.as_of < final_at:
        waits = any(not transfer.state.is_final for transfer in ordered)
        return Booking(entry.campaign, entry.day, problem=problem, final_at=final_at if waits else None)
    # Orders of an older ledger may use the key of unreserved cost: count each transfer once.
    booked = [*ordered, *([own] if own and own.key not in {each.key for each in ordered} else [])]
    posted, left = 0, entry.cost_micros - sum(each.posted_micros + each.adjusted_micros for each in booked)
    unknown_micros = 0  # room of orders that may turn out to be the source of the cost
    for row, transfer in transfers:
        if transfer.state.is_final:
            continue
        if row.outcome != "done":
            unknown_micros += transfer.amount_micros
            continue
        share = min(max(left, 0), transfer.amount_micros)
        is_new = post(guard.ledger, transfer.key, Money(share, transfer.currency)).is_new
        posted, left = posted + (share if is_new else 0), left - share
    covered = 0 <= left <= unknown_micros
    adjusted = 0 if covered else _adjust(entry, [each.key for each in booked], left)
    return Booking(entry.campaign, entry.day, posted, adjusted, problem)


def _adjust(entry: _Day, keys: list[str], left: Micros) -> Micros:
    """Book a difference on finished transfers, refunds at most what was paid; return what was booked.

    If nothing is finished, the cost gets its own transfer, because it has happened.
    """
    ledger, booked = entry.guard.ledger, 0
    finished = [(each, count) for each, count in (adjustments_of(ledger, key) for key in keys) if each.state.is_final]
    # Prefer what was carried out; among those, orders under a mandate, which must show what went beyond it.
    finished.sort(key=lambda pair: (pair[0].state is not TransferState.POSTED, not _is_under_mandate(pair[0])))
    if left > 0 and not finished:
        caps = (*entry.guard.caps_of(entry.campaign), *_mandate_caps(entry))
        open_unreserved(ledger, entry.own_key, account_id=entry.guard.account.id, day=entry.day, caps=caps)
        finished = [adjustments_of(ledger, entry.own_key)]
    for transfer, count in finished:
        share = max(left, -(transfer.posted_micros + transfer.adjusted_micros))
        if share:
            # Numbered, so that concurrent passes book a difference once, and a cost that returns to an earlier value
            # is booked again.
            key, difference = f"{transfer.key}/cost/{count + 1}", Money(share, transfer.currency)
            reason = f"cost as of {entry.as_of.isoformat()}"
            receipt = adjust(ledger, key, transfer_key=transfer.key, difference=difference, reason=reason)
            booked, left = booked + (share if receipt.is_new else 0), left - share
    return booked


def _mandate_caps(entry: _Day) -> tuple[Cap, ...]:
    """The caps of the mandate that the campaign's last budget up to this day was ordered under, if any."""
    try:
        rows = orders_of_campaign(entry.guard.ledger, entry.guard.account.id, entry.campaign)
    except LedgerBroken:  # an order that cannot be read must not keep real cost out of the ledger
        return ()
    until = entry.day.isoformat()
    budgets = (row for row in rows if row.kind == "budget" and row.day <= until and was_sent(entry.guard, row))
    last = next(budgets, None)
    return () if last is None or last.order.mandate is None else mandate_caps(last.order.mandate)


def _is_under_mandate(transfer: Transfer) -> bool:
    return any(cap.kind.is_of_a_mandate for cap in transfer.caps)
