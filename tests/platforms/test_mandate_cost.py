"""Real cost that a mandate's campaign was not reserved for ends the mandate, whoever ordered on that day."""

from datetime import date, timedelta

import pytest

from gaelp.budget.ledger import MandateClosed, find_transfer, mandate_use, overview, verify
from gaelp.platforms import Done, guarded, reconcile

DAY = date(2026, 11, 16)
NEXT = DAY + timedelta(days=1)


@pytest.fixture
def granted(door, double):
    return double.grant(door, double.mandate())


def running(door, double, granted, **options):
    for key, kind in (("b1", "budget"), ("e1", "enable")):
        assert guarded(door.guard, double.under(granted, key, kind, **options)) == Done()


def is_closed(door, granted):
    return mandate_use(door.ledger, granted).closed


def test_cost_on_a_day_without_a_reservation_closes_the_mandate_of_its_campaign(door, double, granted):
    running(door, double, granted, until=DAY)
    door.clock.advance(timedelta(days=1))
    door.platform.charge("spring", NEXT, 1_000_000)
    door.clock.advance(timedelta(hours=4))
    reconcile(door.guard)
    assert is_closed(door, granted)
    rules = [result.rule for result in door.guard.violations.list()]
    assert "mandate-overspent" in rules
    with pytest.raises(MandateClosed):
        guarded(door.guard, double.under(granted, "b2", campaign="summer"))
    reconcile(door.guard)
    assert [result.rule for result in door.guard.violations.list()].count("mandate-overspent") == 1
    assert verify(door.ledger).findings == ()


def test_excess_of_a_day_with_a_signed_order_too_closes_the_mandate_before_the_cost_is_final(door, double, granted):
    assert guarded(door.guard, double.approve(door, double.order("x1", daily=1_000_000))) == Done()
    running(door, double, granted, until=DAY)
    door.platform.charge("spring", DAY, 10_000_001)
    door.clock.advance(timedelta(hours=4))
    reconcile(door.guard)
    assert is_closed(door, granted)


def test_cost_within_what_is_reserved_leaves_the_mandate_open(door, double, granted):
    running(door, double, granted, until=DAY)
    door.platform.charge("spring", DAY, 10_000_000)
    for _ in range(6):
        door.clock.advance(timedelta(days=1))
        reconcile(door.guard)
    assert not is_closed(door, granted)


def test_a_mandate_is_not_closed_by_the_cost_of_another_campaign_or_of_before_its_first_order(door, double, granted):
    door.platform.charge("spring", DAY, 1_000_000)
    door.platform.charge("summer", NEXT, 1_000_000)
    door.clock.advance(timedelta(days=1))
    running(door, double, granted)
    door.clock.advance(timedelta(hours=4))
    reconcile(door.guard)
    assert not is_closed(door, granted)


def test_cost_on_a_day_without_a_reservation_is_shown_as_spent_under_the_mandate(door, double, granted):
    running(door, double, granted, until=DAY)
    door.clock.advance(timedelta(days=1))
    door.platform.charge("spring", NEXT, 1_000_000)
    door.clock.advance(timedelta(hours=4))
    reconcile(door.guard)
    assert mandate_use(door.ledger, granted).spent.micros == 1_000_000
    door.platform.charge("spring", NEXT, 500_000)
    door.clock.advance(timedelta(days=5))
    for _ in range(2):
        reconcile(door.guard)
        assert mandate_use(door.ledger, granted).spent.micros == 1_500_000
    assert verify(door.ledger).findings == ()


def test_excess_of_a_day_with_a_signed_order_too_is_shown_as_spent_under_the_mandate(door, double, granted):
    assert guarded(door.guard, double.approve(door, double.order("x1", daily=1_000_000))) == Done()
    running(door, double, granted, until=DAY)
    door.platform.charge("spring", DAY, 15_000_000)
    door.clock.advance(timedelta(days=5))
    reconcile(door.guard)
    in_all = overview(door.ledger).caps
    assert [cap.posted_micros for cap in in_all if cap.kind == "total"] == [15_000_000]
    signed_micros = find_transfer(door.ledger, "x1").posted_micros
    assert find_transfer(door.ledger, "x1").adjusted_micros == 0
    assert mandate_use(door.ledger, granted).spent.micros == 15_000_000 - signed_micros
    assert verify(door.ledger).findings == ()


def test_cost_is_shown_under_the_mandate_of_the_last_budget_alone(door, double, granted):
    other = double.grant(door, double.mandate(name="second"))
    running(door, double, granted, until=DAY)
    assert guarded(door.guard, double.under(other, "b2", until=DAY)) == Done()
    door.clock.advance(timedelta(days=1))
    door.platform.charge("spring", NEXT, 1_000_000)
    door.clock.advance(timedelta(hours=4))
    reconcile(door.guard)
    assert [mandate_use(door.ledger, each).spent.micros for each in (granted, other)] == [0, 1_000_000]
    assert is_closed(door, granted)
    assert is_closed(door, other)
