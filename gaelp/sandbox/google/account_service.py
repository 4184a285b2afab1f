"""CustomerService and InvoiceService: which accounts can be used, and their monthly invoices."""

from datetime import timedelta

from gaelp.sandbox.google.failures import AdsError, AdsRefusal
from gaelp.sandbox.google.messages import Message, enum_name, load_service, new, set_enum
from gaelp.sandbox.google.session import AdsSession
from gaelp.sandbox.world_call import Invoice

__all__ = ["list_accessible_customers", "list_invoices"]

load_service("customer_service")
load_service("invoice_service")

_DUE = timedelta(days=30)
_AMOUNTS = {
    "clicks": "served_amount_micros",
    "invalid clicks": "invalid_activity_amount_micros",
    "overdelivery": "overdelivery_amount_micros",
}


def list_accessible_customers(session: AdsSession, _request: Message) -> Message:
    """CustomerService.ListAccessibleCustomers."""
    answer = new("services.ListAccessibleCustomersResponse")
    answer.resource_names.extend(f"customers/{customer}" for customer in session.customers.accessible)
    return answer


def list_invoices(session: AdsSession, request: Message) -> Message:
    """InvoiceService.ListInvoices: the invoice issued in a month, which is that of the month before."""
    month = enum_name(request, "issue_month")
    if not request.issue_year.isdigit() or month in {"UNSPECIFIED", "UNKNOWN"}:
        text = "issue_year (four digits) and issue_month are required."
        raise AdsRefusal(AdsError("request_error", "REQUIRED_FIELD_MISSING", text, (("issue_year", None),)))
    answer = new("services.ListInvoicesResponse")
    for invoice in session.call.invoices(session.customer):
        issued = invoice.issued_at.astimezone(session.spec.zone)
        if (str(issued.year), issued.strftime("%B").upper()) == (request.issue_year, month):
            answer.invoices.append(_invoice(session, invoice, request.billing_setup))
    return answer


def _invoice(session: AdsSession, invoice: Invoice, billing_setup: str) -> Message:
    issued = invoice.issued_at.astimezone(session.spec.zone).date()
    number = f"{invoice.month:%Y%m}{session.customer}"
    month_end = (invoice.month + timedelta(days=31)).replace(day=1) - timedelta(days=1)
    total = sum(line.amount_micros for line in invoice.lines)
    credited = sum(line.amount_micros for line in invoice.lines if line.kind != "clicks")
    message = new(
        "resources.Invoice",
        resource_name=f"customers/{session.customer}/invoices/{number}",
        id=number,
        billing_setup=billing_setup,
        issue_date=issued.isoformat(),
        due_date=(issued + _DUE).isoformat(),
        currency_code=session.spec.currency,
        adjustments_subtotal_amount_micros=credited,
        adjustments_total_amount_micros=credited,
        subtotal_amount_micros=total,
        tax_amount_micros=0,
        total_amount_micros=total,
    )
    set_enum(message, "type", "INVOICE")
    message.service_date_range.start_date = invoice.month.isoformat()
    message.service_date_range.end_date = month_end.isoformat()
    for line in invoice.lines:
        _add_line(message, session, line.campaign, line.kind, line.amount_micros)
    return message


def _add_line(message: Message, session: AdsSession, campaign: int, kind: str, micros: int) -> None:
    """One budget summary per campaign and kind: the API has no lines by campaign, so its name says which.

    Credits are negative, as in the subtotals.
    """
    summary = message.account_budget_summaries.add(
        customer=f"customers/{session.customer}",
        customer_descriptive_name=f"Sandbox account {session.customer}",
        account_budget_name=f"campaign {campaign}: {kind}",
        subtotal_amount_micros=micros,
        tax_amount_micros=0,
        total_amount_micros=micros,
    )
    setattr(summary, _AMOUNTS[kind], micros)
    summary.billed_amount_micros = micros
    summary.billable_activity_date_range.CopyFrom(message.service_date_range)
