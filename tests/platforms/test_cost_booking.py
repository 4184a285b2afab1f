"""Whatever a platform reports, real cost gets into the books, and an invalid report is a failure and frees nothing."""

from datetime import UTC, date, datetime, timedelta

import pytest

from gaelp.budget.ledger import CapKind, TransferState, find_transfer, overview, verify
from gaelp.errors import Refused
from gaelp.platforms import CostReport, DayCost, Done, Unknown, guarded, reconcile

DAY = date(2026, 11, 16)
OWN = "unreserved/2026-11-16/acc/"


def running(door, double, campaign="spring", number=1):
    for key, kind in ((f"b{number}", "budget"), (f"e{number}", "enable")):
        each = double.order(key, kind, campaign=campaign, until=DAY)
        assert guarded(door.guard, double.approve(door, each)) == Done()


def report(door, *costs, as_of=None):
    """From now on the platform reports exactly this."""
    door.platform.read_costs = lambda *_: CostReport(as_of or door.clock.now(), costs)


def caps(door):
    return {cap.id: cap for cap in overview(door.ledger).caps}


def booked(door):
    total = caps(door)["total:all"]
    return total.reserved_micros, total.posted_micros


@pytest.mark.parametrize("after", [timedelta(hours=1), timedelta(days=9)])
@pytest.mark.parametrize("campaign", ["stray", "summer"])
def test_cost_that_nobody_ordered_is_a_violation_and_booked_once(door, campaign, after):
    door.platform.set_budget(campaign, 1_000_000, DAY, key="by hand")
    door.clock.advance(after)
    report(door, DayCost(campaign, DAY, 7))
    assert [reconcile(door.guard).adjusted_micros for _ in range(2)] == [7, 0]
    assert (booked(door), reconcile(door.guard).failures) == ((0, 7), ())
    assert [result.rule for result in door.guard.violations.list()] == ["cost-beyond-reservation"]
    assert caps(door)["account_day:acc:2026-11-16"].posted_micros == 7
    assert verify(door.ledger).findings == ()


def test_cost_that_nobody_ordered_follows_its_revisions_down_to_nothing(door):
    for cost in (7, 9, 0, 4):
        report(door, DayCost("stray", DAY, cost))
        reconcile(door.guard)
        assert booked(door) == (0, cost)
    assert verify(door.ledger).findings == ()


def test_cost_that_nobody_ordered_closes_the_caps_it_breaks(door, double):
    report(door, DayCost("stray", DAY, 100_000_001))
    reconcile(door.guard)
    assert caps(door)["account_day:acc:2026-11-16"].breached
    with pytest.raises(Refused):
        guarded(door.guard, double.approve(door, double.order()))
    assert verify(door.ledger).findings == ()


def test_an_order_after_unordered_cost_is_booked_beside_it_and_the_sum_is_the_cost(door, double):
    report(door, DayCost("spring", DAY, 3_000_000))
    reconcile(door.guard)
    running(door, double)
    door.clock.advance(timedelta(days=5))
    report(door, DayCost("spring", DAY, 8_000_000))
    assert reconcile(door.guard).posted_micros == 5_000_000
    assert booked(door) == (0, 8_000_000)
    assert find_transfer(door.ledger, f"{OWN}spring").adjusted_micros == 3_000_000


def test_cost_beyond_the_room_of_an_unknown_outcome_is_booked(door, double):
    door.platform.faults.append("lose call")
    guarded(door.guard, double.approve(door, double.order()))
    door.platform.look_up = lambda _: Unknown("still")
    door.clock.advance(timedelta(days=5))
    report(door, DayCost("spring", DAY, 12_000_000))
    assert reconcile(door.guard).adjusted_micros == 12_000_000
    assert booked(door) == (10_000_000, 12_000_000)


def test_cost_that_no_cap_can_count_is_reported_with_each_pass(make_door):
    door = make_door(caps=(CapKind.CAMPAIGN,))
    door.platform.set_budget("stray", 1_000_000, DAY, key="by hand")
    report(door, DayCost("stray", DAY, 7))
    for _ in range(2):
        assert ["not booked" in failure for failure in reconcile(door.guard).failures] == [True]
    assert [result.rule for result in door.guard.violations.list()] == ["cost-beyond-reservation"]


def test_a_name_too_long_for_a_key_is_still_booked(door):
    report(door, DayCost("s" * 150, DAY, 7))
    reconcile(door.guard)
    assert booked(door) == (0, 7)


NONSENSE = [-5, 1.5, float("nan"), True, "7", None, 2**61]


@pytest.mark.parametrize("micros", NONSENSE, ids=repr)
def test_a_cost_that_is_none_is_reported_frees_nothing_and_keeps_no_other_from_being_booked(door, double, micros):
    running(door, double)
    running(door, double, "summer", 2)
    door.clock.advance(timedelta(days=5))
    report(door, DayCost("spring", DAY, micros), DayCost("summer", DAY, 4_000_000))
    result = reconcile(door.guard)
    assert (result.posted_micros, ["spring cost" in each for each in result.failures]) == (4_000_000, [True])
    assert find_transfer(door.ledger, "b1").state is TransferState.IN_FLIGHT
    assert booked(door) == (10_000_000, 4_000_000)
    assert door.heard.rules == ["not-reconciled"]


def test_a_campaign_day_that_is_listed_twice_is_a_failure_and_not_booked(door, double):
    running(door, double)
    door.clock.advance(timedelta(days=5))
    report(door, DayCost("spring", DAY, 3_000_000), DayCost("spring", DAY, 4_000_000))
    result = reconcile(door.guard)
    assert (result.posted_micros, ["more than once" in each for each in result.failures]) == (0, [True])
    assert booked(door) == (10_000_000, 0)


@pytest.mark.parametrize(
    "entry",
    [None, DayCost(None, DAY, 7), DayCost("", DAY, 7), DayCost("spring", datetime(2026, 11, 16, tzinfo=UTC), 7)],
)
def test_a_cost_that_may_be_of_any_campaign_or_day_frees_no_room_that_it_may_belong_to(door, double, entry):
    running(door, double)
    running(door, double, "summer", 2)
    door.clock.advance(timedelta(days=5))
    report(door, entry, DayCost("summer", DAY, 4_000_000))
    result = reconcile(door.guard)
    assert (result.posted_micros, len(result.failures)) == (4_000_000, 1)
    assert find_transfer(door.ledger, "b1").state is TransferState.IN_FLIGHT


def test_reports_of_one_instant_that_differ_are_followed_and_reported_as_they_are_booked(door, double):
    running(door, double)
    door.clock.advance(timedelta(days=5))
    as_of = door.clock.now()
    report(door, DayCost("spring", DAY, 7), as_of=as_of)
    assert reconcile(door.guard).posted_micros == 7
    for cost, difference in ((8, 1), (7, -1), (8, 1), (8, 0), (7, -1), (8, 1)):
        report(door, DayCost("spring", DAY, cost), as_of=as_of)
        assert reconcile(door.guard).adjusted_micros == difference
        assert booked(door) == (0, cost)
    assert verify(door.ledger).findings == ()
