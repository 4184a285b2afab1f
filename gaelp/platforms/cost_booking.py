"""From the platform's costs to the books: final days are posted, revised ones adjusted, unreserved ones reported.

A day's reservation is kept whole until its cost is final: what is given back too early may be spent twice.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from gaelp.budget.ledger import State, Transfer, adjust, post
from gaelp.money import Micros, Money
from gaelp.platforms.guard import Guard
from gaelp.platforms.order_book import OrderRow, orders_of_day
from gaelp.platforms.platform import CostReport
from gaelp.platforms.unknown_outcomes import transfer_of

__all__ = ["Booking", "book_costs", "reserved_micros"]


@dataclass(frozen=True, slots=True)
class Booking:
    """What was done for one campaign-day; `problem` says in words what is wrong with its cost.

    `final_at` is there if its reservation is kept because a report of that instant or later is needed to post it.
    """

    campaign: str
    day: date
    posted_micros: Micros = 0
    adjusted_micros: Micros = 0
    problem: str = ""
    final_at: datetime | None = None


def book_costs(guard: Guard, report: CostReport, days: Iterable[date]) -> list[Booking]:
    """Bring the books of these days in line with a report; running it again changes nothing."""
    costs = {(cost.day, cost.campaign): cost.micros for cost in report.costs}
    bookings = []
    for day in days:
        rows = orders_of_day(guard.ledger, guard.account.id, day.isoformat())
        campaigns = {row.campaign for row in rows} | {campaign for on, campaign in costs if on == day}
        for campaign in sorted(campaigns):
            mine = [row for row in rows if row.campaign == campaign]
            bookings.append(_book(guard, (campaign, day), costs.get((day, campaign), 0), mine, report.as_of))
    return bookings


def reserved_micros(transfers: Iterable[Transfer]) -> Micros:
    """What was set aside for a campaign-day and not given back as unused: its cost may not exceed it."""
    return sum(one.amount_micros for one in transfers if one.state not in (State.VOIDED, State.EXPIRED))


def _book(guard: Guard, of: tuple[str, date], cost_micros: Micros, rows: list[OrderRow], as_of: datetime) -> Booking:
    campaign, day = of
    found = [(row, transfer_of(guard, row.key)) for row in rows]
    transfers = [transfer for _, transfer in found if transfer is not None]
    reserved = reserved_micros(transfers)
    problem = (
        f"{campaign} cost {cost_micros} micros on {day}, reserved were {reserved}" if cost_micros > reserved else ""
    )
    final_at = _end_of(day, guard) + guard.final_after
    if as_of < final_at:
        waits = any(not one.state.is_final for one in transfers)
        return Booking(campaign, day, problem=problem, final_at=final_at if waits else None)
    posted, left = 0, cost_micros - sum(one.posted_micros + one.adjusted_micros for one in transfers)
    unknown_micros = 0  # room of orders that may yet turn out to be what cost the money
    for row, transfer in found:
        if transfer is None or transfer.state.is_final:
            continue
        if row.outcome != "done":
            unknown_micros += transfer.amount_micros
            continue
        share = min(max(left, 0), transfer.amount_micros)
        post(guard.ledger, transfer.key, Money(share, transfer.currency))
        posted, left = posted + share, left - share
    covered = 0 <= left <= unknown_micros
    adjusted = 0 if covered else _adjust(guard, [one.key for one in transfers], left, as_of)
    return Booking(campaign, day, posted, adjusted, problem)


def _adjust(guard: Guard, keys: list[str], left: Micros, as_of: datetime) -> Micros:
    """Book a difference on what is finished, refunds no further than what was paid; the answer is what was booked."""
    booked = 0
    finished = [one for one in (transfer_of(guard, key) for key in keys) if one is not None and one.state.is_final]
    finished.sort(key=lambda one: one.state is not State.POSTED)  # on what was carried out, if there is such
    for transfer in finished:
        share = max(left, -(transfer.posted_micros + transfer.adjusted_micros))
        if share:
            # The same report gives the same key, so that two who book it at once book it once.
            key = f"{transfer.key}/cost/{int(as_of.timestamp() * 1000)}/{share}"
            difference = Money(share, transfer.currency)
            adjust(guard.ledger, key, transfer_key=transfer.key, difference=difference, reason="cost was revised")
            booked, left = booked + share, left - share
    return booked


def _end_of(day: date, guard: Guard) -> datetime:
    return datetime.combine(day + timedelta(days=1), time(), ZoneInfo(guard.account.time_zone))
