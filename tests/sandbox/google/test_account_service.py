"""Invoices: one a month, which explains itself line by line."""
# ruff: noqa: S608 - these queries are GAQL


def test_the_invoice_of_a_month_is_issued_in_the_next_and_sums_up(sandbox, client, script):
    script.add_serving_campaign()
    sandbox.advance(days=35)
    issued = sandbox.today()
    service = client.get_service("InvoiceService")
    month = client.enums.MonthOfYearEnum[issued.strftime("%B").upper()]
    setup = f"customers/{script.account}/billingSetups/1"
    answer = service.list_invoices(
        customer_id=script.account, billing_setup=setup, issue_year=str(issued.year), issue_month=month
    )
    (invoice,) = answer.invoices
    assert invoice.service_date_range.end_date < invoice.issue_date <= issued.isoformat()
    lines = [(line.account_budget_name, line.total_amount_micros) for line in invoice.account_budget_summaries]
    assert invoice.total_amount_micros == sum(micros for _, micros in lines) > 0
    assert any(name.endswith(": clicks") for name, _ in lines)
    credited = sum(micros for name, micros in lines if not name.endswith(": clicks"))
    assert invoice.adjustments_total_amount_micros == credited <= 0
    first = invoice.service_date_range.start_date
    last = invoice.service_date_range.end_date
    reported = script.rows(
        f"SELECT metrics.cost_micros FROM customer WHERE segments.date BETWEEN '{first}' AND '{last}'"
    )
    assert invoice.total_amount_micros <= reported[0].metrics.cost_micros - credited
    earlier = client.enums.MonthOfYearEnum.JANUARY
    none = service.list_invoices(
        customer_id=script.account, billing_setup=setup, issue_year="2026", issue_month=earlier
    )
    assert not none.invoices
