"""Read the invoices of the business that pays for the account: what was served, and what was credited."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from gaelp.money import MICROS_PER_UNIT
from gaelp.platforms.meta_ads.connection import GraphConnection
from gaelp.platforms.platform import InvoiceAmount, PlatformInvoice

__all__ = ["read_month_invoices"]

_FIELDS = "invoice_id,type,billing_period,invoice_date,amount,ad_account_ids"
_INVOICE = "INV"


def read_month_invoices(connection: GraphConnection, first: date, last: date) -> tuple[PlatformInvoice, ...]:
    """The invoices of the months that begin on these days; a credit note belongs to the invoice of its month.

    Meta does not say why it credited something, nor for which campaign.
    """
    business = connection.settings.business_id
    if business is None:
        return ()
    documents: dict[date, list[dict[str, Any]]] = defaultdict(list)
    days = {"start_date": first.isoformat(), "end_date": last.isoformat()}
    for row in connection.read_all(business, "business_invoices", fields=_FIELDS, **days):
        if connection.settings.account_id in row.get("ad_account_ids", ()):
            documents[date.fromisoformat(row["billing_period"]).replace(day=1)].append(row)
    return tuple(_invoice(month, rows) for month, rows in sorted(documents.items()) if first <= month <= last)


def _invoice(month: date, rows: list[dict[str, Any]]) -> PlatformInvoice:
    ordered = sorted(rows, key=lambda row: (row["type"] != _INVOICE, row["invoice_id"]))
    issued = datetime.strptime(ordered[0]["invoice_date"], "%Y-%m-%dT%H:%M:%S%z").astimezone(UTC)
    return PlatformInvoice(ordered[0]["invoice_id"], month, issued, tuple(_amount(row) for row in ordered))


def _amount(row: Mapping[str, Any]) -> InvoiceAmount:
    micros = int(Decimal(row["amount"]["amount"]) * MICROS_PER_UNIT)
    return InvoiceAmount("clicks" if row["type"] == _INVOICE else "other", micros)
