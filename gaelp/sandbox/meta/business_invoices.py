"""The invoices of the business that an ad account belongs to: one for a month's clicks, one for each kind of credit."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from gaelp.money import MICROS_PER_UNIT
from gaelp.sandbox.meta.account_objects import AccountObjects
from gaelp.sandbox.meta.graph_error import GraphError
from gaelp.sandbox.world_call import Invoice

__all__ = ["BUSINESS_PREFIX", "business_invoices"]

BUSINESS_PREFIX = "9"  # the business of ad account 2000000001 is 92000000001
_INVOICE, _CREDIT = "INV", "CM"


def business_invoices(objects: AccountObjects, parameters: Mapping[str, str]) -> list[dict[str, Any]]:
    """The documents whose month begins from `start_date` to `end_date`, both included and both optional."""
    first, last = _day(parameters, "start_date", date.min), _day(parameters, "end_date", date.max)
    invoices = objects.call.invoices(objects.account.id)
    return [
        document for invoice in invoices if first <= invoice.month <= last for document in _documents(objects, invoice)
    ]


def _documents(objects: AccountObjects, invoice: Invoice) -> Iterator[dict[str, Any]]:
    sums: dict[str, int] = defaultdict(int)
    for line in invoice.lines:
        sums[line.kind] += line.amount_micros
    for number, (kind, micros) in enumerate(sorted(sums.items())):
        amount = (Decimal(micros) / MICROS_PER_UNIT).quantize(Decimal("0.01"), ROUND_HALF_EVEN)
        name = f"{objects.account.id}{invoice.month:%Y%m}{number}"
        yield {
            "id": name,
            "invoice_id": name,
            "type": _INVOICE if kind == "clicks" else _CREDIT,
            "billing_period": invoice.month.isoformat(),
            "invoice_date": invoice.issued_at.astimezone(objects.account.zone).strftime("%Y-%m-%dT%H:%M:%S%z"),
            "amount": {"amount": str(amount), "currency": objects.account.currency},
            "currency": objects.account.currency,
            "ad_account_ids": [objects.account.id],
        }


def _day(parameters: Mapping[str, str], name: str, default: date) -> date:
    try:
        return date.fromisoformat(parameters[name]) if name in parameters else default
    except ValueError:
        raise GraphError(f"Param {name} must be a day such as 2026-09-01; got {parameters[name][:40]!r}") from None
