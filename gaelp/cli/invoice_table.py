"""Print explained invoices: what the ledger has booked, each reason for a difference, and what is charged."""

from collections.abc import Sequence

from gaelp.cli.output import show_paragraph, show_table
from gaelp.errors import GaelpError
from gaelp.money import Money
from gaelp.platforms.invoice_check import ExplainedInvoice

__all__ = ["refuse_unexplained", "show_invoices"]


def show_invoices(invoices: Sequence[ExplainedInvoice], currency: str, *, wanted: bool) -> None:
    """One table for each invoice, whose lines add up."""
    if wanted and not invoices:
        show_paragraph("There is no invoice yet whose month is covered by reports.")
    for invoice in invoices:
        rows = [("booked in the ledger", str(Money(invoice.booked_micros, currency)))]
        rows += [(part.why, str(Money(part.micros, currency))) for part in invoice.parts]
        if invoice.unexplained_micros:
            rows.append(("WITHOUT EXPLANATION", str(Money(invoice.unexplained_micros, currency))))
        rows.append(("charged", str(Money(invoice.invoiced_micros, currency))))
        show_table((f"invoice {invoice.invoice}, {invoice.month:%Y-%m}", currency), rows)
        for note in invoice.notes:
            show_paragraph(f"{note[0].upper()}{note[1:]}.")


def refuse_unexplained(invoices: Sequence[ExplainedInvoice], currency: str) -> None:
    """Fail if an invoice has a difference that nothing explains."""
    wrong = [
        f"{invoice.month:%Y-%m}: {Money(invoice.unexplained_micros, currency)}"
        for invoice in invoices
        if invoice.unexplained_micros
    ]
    if wrong:
        raise GaelpError(f"invoices differ without an explanation ({'; '.join(wrong)}): ask the platform, line by line")
