"""Explain an invoice: from what the ledger has booked to what reports say, and from there to what is charged.

Reports are net of every credit found so far. An invoice charges all clicks of its month, and gives back the invalid
clicks that were found in it, whatever month they are of. So the two never agree for one month alone.
"""

from calendar import monthrange
from collections import defaultdict
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from pydantic import Field

from gaelp.budget.ledger import UNRESERVED, CapKind, Transfer, TransferState, transfers_of_days
from gaelp.config.base import Frozen
from gaelp.errors import GaelpError
from gaelp.money import Micros
from gaelp.platforms.cost_reading import Costs, read_report
from gaelp.platforms.guard import Guard
from gaelp.platforms.platform import PlatformInvoice

__all__ = ["ExplainedInvoice", "InvoicePart", "explain_invoices"]

_MOST_DAYS = 400
_USUAL_CREDIT_PERCENT = 10
_CampaignDay = tuple[str, date]


class InvoicePart(Frozen):
    """One reason why two sums differ, and by how much."""

    why: str
    micros: Micros


class ExplainedInvoice(Frozen):
    """The invoice of a month: `booked_micros` and all parts add up to `invoiced_micros`."""

    invoice: str
    month: date
    invoiced_micros: Micros
    reported_micros: Micros
    booked_micros: Micros
    parts: tuple[InvoicePart, ...]
    unexplained_micros: Micros = Field(description="what no known reason accounts for; 0 unless something is wrong")
    notes: tuple[str, ...] = ()


def explain_invoices(guard: Guard) -> tuple[ExplainedInvoice, ...]:
    """Explain every invoice of the last year that reports cover, oldest first; raises if something cannot be read."""
    today = guard.today()
    first = (today - timedelta(days=_MOST_DAYS)).replace(day=1)
    explained = []
    due = 0  # credits of clicks that were invoiced, and that no invoice has given back yet
    for invoice in guard.platform.read_invoices(first, today):
        month = _Month(guard, invoice)
        if month.as_of < month.end:
            continue
        due += max(month.credited_micros, 0) - month.given_back_micros
        explained.append(month.explained(due))
        due = max(due, 0)
    return tuple(explained)


class _Month:
    """A month's invoice, reports and bookings."""

    def __init__(self, guard: Guard, invoice: PlatformInvoice) -> None:
        self._guard, self._invoice = guard, invoice
        first, last = invoice.month, _last_day(invoice.month)
        report = guard.platform.read_costs(first, last)
        self.as_of = report.as_of
        self.end = datetime.combine(last + timedelta(days=1), time(), ZoneInfo(guard.account.time_zone))
        days = [first + timedelta(days=number) for number in range((last - first).days + 1)]
        self._costs = _valid(read_report(report, days))
        self._transfers = transfers_of_days(guard.ledger, guard.account.id, first, last)

    @property
    def credited_micros(self) -> Micros:
        """Credits of this month's clicks so far: reports no longer have them, the invoice did."""
        return self._of_kind("clicks") - self._reported

    @property
    def given_back_micros(self) -> Micros:
        """Credits that this invoice gives back, of clicks of any month."""
        return -self._of_kind("invalid clicks")

    @property
    def _reported(self) -> Micros:
        return sum(self._costs.values())

    def _of_kind(self, kind: str) -> Micros:
        return sum(amount.micros for amount in self._invoice.amounts if amount.kind == kind)

    def explained(self, due_micros: Micros) -> ExplainedInvoice:
        """The result; `due_micros` below zero means that more was given back than reports have lost."""
        invoiced = sum(amount.micros for amount in self._invoice.amounts)
        parts = [InvoicePart(why=why, micros=micros) for why, micros in self._parts(min(due_micros, 0)) if micros]
        unexplained = self._of_kind("other") + min(self.credited_micros, 0) + min(due_micros, 0)
        return ExplainedInvoice(
            invoice=self._invoice.id,
            month=self._invoice.month,
            invoiced_micros=invoiced,
            reported_micros=self._reported,
            booked_micros=sum(self._booked().values()),
            parts=tuple(parts),
            unexplained_micros=unexplained,
            notes=tuple(self._notes(due_micros)),
        )

    def _parts(self, too_much_micros: Micros) -> Iterator[tuple[str, Micros]]:
        booked, waiting = self._booked(), self._waiting()
        differences = {day: self._costs.get(day, 0) - booked.get(day, 0) for day in self._costs.keys() | booked.keys()}
        yield (
            "cost of days whose reservation is still held",
            sum(differences[day] for day in differences if day in waiting),
        )
        yield (
            "revised by the platform since it was booked",
            sum(difference for day, difference in differences.items() if day not in waiting),
        )
        yield "invalid clicks of this month, credited when they were found", max(self.credited_micros, 0)
        yield "invalid clicks given back on this invoice", self._of_kind("invalid clicks") - too_much_micros
        yield "spent beyond the platform's own limits, not charged", self._of_kind("overdelivery")

    def _notes(self, due_micros: Micros) -> Iterator[str]:
        beside = sum(_cost(each) for each in self._transfers if each.key.startswith(UNRESERVED))
        if beside:
            yield f"{beside} micros were booked without a reservation: clicks after a campaign was paused or had ended"
        clicks = self._of_kind("clicks")
        if self.credited_micros * 100 > clicks * _USUAL_CREDIT_PERCENT:
            yield (
                f"{self.credited_micros} of {clicks} micros are missing from the reports, more than invalid clicks"
                " usually are: the invoice may contain campaigns that GAELP did not create"
            )
        if due_micros > 0:
            yield f"{due_micros} micros were credited after the month ended, and are due on a later invoice"

    def _booked(self) -> dict[_CampaignDay, Micros]:
        sums: dict[_CampaignDay, Micros] = defaultdict(int)
        for transfer in self._transfers:
            if cost := _cost(transfer):
                sums[_campaign_day(transfer)] += cost
        return sums

    def _waiting(self) -> set[_CampaignDay]:
        """Campaign-days with a reservation whose cost is not posted yet."""
        open_states = (TransferState.RESERVED, TransferState.IN_FLIGHT)
        return {_campaign_day(transfer) for transfer in self._transfers if transfer.state in open_states}


def _valid(costs: Costs) -> dict[_CampaignDay, Micros]:
    if costs.problems:
        raise GaelpError(f"the cost report is invalid ({'; '.join(costs.problems)}): fix that, then try again")
    return dict(costs.micros)


def _cost(transfer: Transfer) -> Micros:
    return transfer.posted_micros + transfer.adjusted_micros


def _campaign_day(transfer: Transfer) -> _CampaignDay:
    campaign = next((cap.subject for cap in transfer.caps if cap.kind is CapKind.CAMPAIGN), "")
    return campaign, date.fromisoformat(transfer.day)


def _last_day(month: date) -> date:
    return month.replace(day=monthrange(month.year, month.month)[1])
