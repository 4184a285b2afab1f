"""Invoices: one for each month that is over, and every difference from the reports is a credit."""

from datetime import date, timedelta

from gaelp.sandbox.world_call import Invoice

OCTOBER, NOVEMBER = date(2026, 10, 1), date(2026, 11, 1)


def invoices(world):
    with world.call() as call:
        return call.invoices(world.spec.customer_ids[0])


def net(world, first, last):
    with world.call() as call:
        return sum(row.cost_micros for row in call.report(world.spec.customer_ids[0], first, last))


def amounts(invoice, kind):
    return sum(line.amount_micros for line in invoice.lines if line.kind == kind)


def test_a_month_is_billed_when_it_is_over(world, campaign, small_spec):
    with world.call() as call:
        call.serve(campaign())
    end = small_spec.start + timedelta(days=6)  # November 1, midnight of the account
    world.advance(end - timedelta(minutes=1))
    assert invoices(world) == []
    world.advance(end)
    [invoice] = invoices(world)
    assert (invoice.account, invoice.month, invoice.issued_at) == (small_spec.customer_ids[0], OCTOBER, end)
    world.advance(end + timedelta(days=31))
    assert [each.month for each in invoices(world)] == [OCTOBER, NOVEMBER]
    assert invoices(world)[0] == invoice  # an invoice never changes


def test_an_account_that_never_served_gets_no_invoice(world, small_spec):
    world.advance(small_spec.start + timedelta(days=40))
    assert invoices(world) == []


def test_invoices_differ_from_reports_by_credits_across_months(world, campaign, small_spec):
    with world.call() as call:
        call.serve(campaign())
    world.advance(small_spec.start + timedelta(days=60))
    october, november = invoices(world)
    with world.call() as call:
        clicks = call.clicks(small_spec.customer_ids[0], OCTOBER, date(2026, 10, 31))
    late = sum(
        click.cost_micros
        for click in clicks
        if click.credited_at is not None and click.credited_at >= october.issued_at
    )
    assert late > 0
    assert _total(october) - net(world, OCTOBER, date(2026, 10, 31)) == late
    assert amounts(october, "clicks") == sum(click.cost_micros for click in clicks)
    with world.call() as call:
        clicks = call.clicks(small_spec.customer_ids[0], OCTOBER, date(2026, 11, 30))
    in_november = [
        click.cost_micros
        for click in clicks
        if click.credited_at is not None and october.issued_at <= click.credited_at < november.issued_at
    ]
    assert -amounts(november, "invalid clicks") == sum(in_november)  # those of October's clicks too


def _total(invoice: Invoice) -> int:
    return sum(line.amount_micros for line in invoice.lines)
