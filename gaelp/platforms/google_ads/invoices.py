"""Read the invoices of an account: what was served, and what was credited for invalid clicks and overdelivery."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

from gaelp.platforms.google_ads.connection import AdsConnection
from gaelp.platforms.google_ads.gaql import query
from gaelp.platforms.platform import InvoiceAmount, PlatformInvoice

__all__ = ["read_month_invoices"]

_DECEMBER = 12


def read_month_invoices(connection: AdsConnection, first: date, last: date) -> tuple[PlatformInvoice, ...]:
    """The invoices of the months that begin on these days; an account without billing has none."""
    approved = ["billing_setup.status = 'APPROVED'"]
    setups = connection.search(query("billing_setup", "billing_setup.resource_name", where=approved))
    invoices = [
        _invoice(invoice, month)
        for month in _months(first, last)
        for setup in setups
        for invoice in _issued(connection, setup.billing_setup.resource_name, month)
    ]
    return tuple(sorted(invoices, key=lambda invoice: (invoice.month, invoice.id)))


def _issued(connection: AdsConnection, billing_setup: str, month: date) -> list[Any]:
    """Google issues the invoice of a month in the month after it."""
    issued = _next(month)
    request = connection.message("ListInvoicesRequest")
    request.customer_id, request.billing_setup = connection.customer_id, billing_setup
    request.issue_year = str(issued.year)
    request.issue_month = connection.client.enums.MonthOfYearEnum(issued.month + 1)  # 2 is JANUARY
    request.include_granular_level_invoice_details = True
    service, seconds = connection.service("InvoiceService"), connection.settings.deadline_seconds
    return list(
        connection.with_retries(lambda: service.list_invoices(request=request, timeout=seconds, retry=None)).invoices
    )


def _invoice(invoice: Any, month: date) -> PlatformInvoice:
    amounts = [amount for summary in invoice.account_budget_summaries for amount in _amounts(summary)]
    rest = invoice.subtotal_amount_micros - sum(amount.micros for amount in amounts)
    if rest:
        amounts.append(InvoiceAmount("other", rest))
    issued_at = datetime.fromisoformat(invoice.issue_date).replace(tzinfo=UTC)
    return PlatformInvoice(id=invoice.id, month=month, issued_at=issued_at, amounts=tuple(amounts))


def _amounts(summary: Any) -> Iterator[InvoiceAmount]:
    """What was served, and the credits, as negative amounts."""
    if summary.served_amount_micros:
        yield InvoiceAmount("clicks", summary.served_amount_micros)
    if summary.invalid_activity_amount_micros:
        yield InvoiceAmount("invalid clicks", -abs(summary.invalid_activity_amount_micros))
    if summary.overdelivery_amount_micros:
        yield InvoiceAmount("overdelivery", -abs(summary.overdelivery_amount_micros))


def _months(first: date, last: date) -> Iterator[date]:
    month = first if first.day == 1 else _next(first)
    while month <= last:
        yield month
        month = _next(month)


def _next(day: date) -> date:
    return date(day.year + day.month // _DECEMBER, day.month % _DECEMBER + 1, 1)
