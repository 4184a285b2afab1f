"""Who owns time: days, leases and money rules follow the platform, signatures, stops and alerts follow the wall."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gaelp.budget.ledger import find_transfer, verify
from gaelp.clock import ManualClock
from gaelp.errors import GaelpError, Refused
from gaelp.platforms import Done, guarded, reconcile
from gaelp.platforms.platform_clock import PlatformClock, ledger_clock

SIMULATED = datetime(2031, 3, 8, 23, 30, tzinfo=UTC)


@pytest.fixture
def simulated(make_door, double):
    """A door to a platform whose time is years ahead and moves by itself."""
    clock = ManualClock(SIMULATED)
    platform = double.PlatformDouble(clock)
    door = make_door(platform=platform)
    ledger = replace(door.ledger, clock=PlatformClock(platform), wall_clock=door.clock)
    door.guard, door.platform_clock = replace(door.guard, ledger=ledger), clock
    return door


def ordered(door, double, key="b1", kind="budget", **more):
    until = (SIMULATED + timedelta(days=30)).date()
    return double.approve(door, double.order(key, kind, until=until, **more))


def test_a_lease_and_its_reservation_are_of_the_platforms_day(simulated, double):
    assert guarded(simulated.guard, ordered(simulated, double)) == Done()
    [state] = simulated.platform.read_campaigns()
    assert state.through.isoformat() == find_transfer(simulated.ledger, "b1").day == "2031-03-08"
    assert verify(simulated.guard.ledger).balances


def test_a_signature_expires_by_the_wall_clock_however_fast_the_platforms_time_runs(simulated, double):
    order, late = ordered(simulated, double), ordered(simulated, double, "b2")
    simulated.platform_clock.advance(timedelta(days=9))
    assert guarded(simulated.guard, order) == Done()
    simulated.clock.advance(timedelta(hours=9))
    with pytest.raises(Refused):
        guarded(simulated.guard, late)


def test_a_budget_is_renewed_at_the_platforms_midnight(simulated, double):
    for key, kind in (("b1", "budget"), ("e1", "enable")):
        guarded(simulated.guard, ordered(simulated, double, key, kind))
    assert reconcile(simulated.guard).renewed == ()
    simulated.platform_clock.advance(timedelta(minutes=30))
    report = reconcile(simulated.guard)
    assert (report.renewed, report.failures) == (("spring",), ())


def test_alerts_and_violations_have_the_time_of_the_people_who_read_them(simulated, double):
    guarded(simulated.guard, ordered(simulated, double))
    simulated.platform.faults.append("double the budget")
    with pytest.raises(Refused):
        guarded(simulated.guard, ordered(simulated, double, "b2", daily=6_000_000))
    assert {alert.at for alert in simulated.heard.alerts} == {simulated.clock.now()}
    assert {each.at for each in simulated.guard.violations.list()} == {simulated.clock.now()}


def test_a_release_after_simulated_orders_is_no_contradiction_in_the_ledger(simulated, double):
    behind = ManualClock(datetime(2020, 1, 1, tzinfo=UTC))  # all orders are older than any signature
    simulated.platform.clock = behind
    simulated.guard.switch.stop(by="ann", reason="drill")
    simulated.guard.switch.wait(10)
    simulated.clock.advance(timedelta(minutes=1))
    double.release(simulated)
    simulated.clock.advance(timedelta(minutes=1))
    granted = double.grant(simulated, double.mandate())
    assert guarded(simulated.guard, double.under(granted)) == Done()
    assert verify(simulated.guard.ledger).balances


def test_a_platform_that_does_not_tell_its_time_gets_no_orders(simulated, double, monkeypatch):
    order = ordered(simulated, double)

    def lost():
        raise ConnectionResetError("the line went dead")

    monkeypatch.setattr(simulated.platform, "now", lost)
    with pytest.raises(GaelpError, match="the time of double is unknown"):
        guarded(simulated.guard, order)
    monkeypatch.setattr(simulated.platform, "now", lambda: SIMULATED.replace(tzinfo=None))
    with pytest.raises(GaelpError, match="without a zone"):
        guarded(simulated.guard, order)
    assert simulated.platform.calls == []


@pytest.mark.parametrize(("world", "follows"), [("sandbox", SIMULATED), ("live", None)])
def test_only_a_sandbox_has_a_time_of_its_own(double, world, follows):
    platform, wall = double.PlatformDouble(ManualClock(SIMULATED)), ManualClock(SIMULATED - timedelta(days=1000))
    platform.world = world
    assert ledger_clock(platform, wall).now() == (follows or wall.now())
