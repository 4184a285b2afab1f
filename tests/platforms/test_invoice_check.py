"""Every difference between ledger, reports and an invoice has a reason with an amount, or is named as without one."""

from datetime import UTC, date, datetime, timedelta

import pytest

from gaelp.platforms import Done, InvoiceAmount, PlatformInvoice, guarded, reconcile
from gaelp.platforms.invoice_check import explain_invoices

MONTH = date(2026, 11, 1)
ISSUED = datetime(2026, 12, 1, tzinfo=UTC)


@pytest.fixture
def november(door, double):
    """A campaign that cost 4 of its 10 dollars on the 16th; the answer lets an invoice come and time pass."""
    door.platform.report_lag = timedelta(0)
    for key, kind in (("b1", "budget"), ("e1", "enable")):
        until = date(2026, 11, 16)
        assert guarded(door.guard, double.approve(door, double.order(key, kind, until=until))) == Done()
    door.platform.charge("spring", date(2026, 11, 16), 4_000_000)

    def invoice(*amounts, days=16, books=True):
        door.clock.advance(timedelta(days=days))
        if books:
            reconcile(door.guard)
        lines = tuple(InvoiceAmount(kind, micros) for kind, micros in amounts)
        door.platform.invoices.append(PlatformInvoice("n1", MONTH, ISSUED, lines))
        [explained] = explain_invoices(door.guard)
        return explained

    return invoice


def parts(explained):
    return {part.why: part.micros for part in explained.parts}


def adds_up(explained):
    total = explained.booked_micros + sum(parts(explained).values()) + explained.unexplained_micros
    return total == explained.invoiced_micros


def test_an_invoice_of_what_was_booked_needs_no_explanation(november):
    explained = november(("clicks", 4_000_000))
    assert (explained.booked_micros, explained.parts, explained.unexplained_micros) == (4_000_000, (), 0)


def test_credits_are_in_the_reports_at_once_and_on_an_invoice_when_they_are_found(door, november):
    door.platform.charge("spring", date(2026, 11, 16), -300_000, known_after=timedelta(days=1))
    explained = november(("clicks", 4_000_000), ("invalid clicks", -100_000))
    assert parts(explained) == {
        "invalid clicks of this month, credited when they were found": 300_000,
        "invalid clicks given back on this invoice": -100_000,
    }
    assert explained.unexplained_micros == 0
    assert any("200000 micros were credited after the month ended" in note for note in explained.notes)
    assert adds_up(explained)


def test_what_is_not_posted_yet_is_named(door, november):
    explained = november(("clicks", 4_000_000), days=16, books=False)
    assert parts(explained) == {"cost of days whose reservation is still held": 4_000_000}
    assert adds_up(explained)


def test_a_revision_after_the_booking_is_named(door, november):
    door.platform.charge("spring", date(2026, 11, 16), 250_000, known_after=timedelta(days=15, hours=18))
    door.clock.advance(timedelta(days=10))
    reconcile(door.guard)
    explained = november(("clicks", 4_250_000), days=6, books=False)
    assert parts(explained) == {"revised by the platform since it was booked": 250_000}
    assert adds_up(explained)


def test_clicks_after_the_campaign_had_ended_are_booked_and_named(door, november):
    door.platform.charge("spring", date(2026, 11, 17), 50_000)
    explained = november(("clicks", 4_050_000))
    assert (explained.booked_micros, explained.parts) == (4_050_000, ())
    assert any("50000 micros were booked without a reservation" in note for note in explained.notes)


@pytest.mark.parametrize(
    ("amounts", "unexplained"),
    [
        ((("clicks", 4_000_000), ("other", 70_000)), 70_000),
        ((("clicks", 3_900_000),), -100_000),  # reports have clicks that the invoice lacks
        ((("clicks", 4_000_000), ("invalid clicks", -60_000)), -60_000),  # more is given back than reports have lost
    ],
)
def test_what_has_no_reason_is_said_with_its_amount(november, amounts, unexplained):
    explained = november(*amounts)
    assert explained.unexplained_micros == unexplained
    assert adds_up(explained)


def test_an_invoice_far_above_the_reports_may_contain_campaigns_of_others(november):
    explained = november(("clicks", 9_000_000))
    assert any("campaigns that GAELP did not create" in note for note in explained.notes)


def test_a_month_that_reports_do_not_cover_yet_is_left_for_later(door):
    door.clock.advance(timedelta(days=14, hours=12))  # midnight of December 1
    door.platform.invoices.append(PlatformInvoice("n1", MONTH, ISSUED, ()))
    assert explain_invoices(door.guard) == ()  # reports are three hours late
    door.clock.advance(timedelta(hours=3))
    assert len(explain_invoices(door.guard)) == 1
