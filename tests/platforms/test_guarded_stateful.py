"""Whatever is ordered, lost, delayed, stopped, retried and booked, in any order: spending stays within every cap."""

import importlib.util
import shutil
import sys
import uuid
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from gaelp.budget import kill_switch
from gaelp.budget.ledger import CapKind, SpendingStopped, verify
from gaelp.errors import GaelpError
from gaelp.platforms import guarded, pause, reconcile


def _loaded(name, folder):
    if name not in sys.modules:
        path = Path(__file__).resolve().parents[1] / folder / f"{name}.py"
        spec = importlib.util.spec_from_file_location(name, path)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


double = _loaded("platform_double", "platforms")
databases = _loaded("ledger_databases", "budget")

LIMITS = {
    CapKind.CAMPAIGN_DAY: 12_000_000,  # low, or the check of the account's day would hide it
    CapKind.CAMPAIGN: 60_000_000,
    CapKind.ACCOUNT_DAY: 30_000_000,
    CapKind.ACCOUNT: 100_000_000,
    CapKind.TOTAL: 90_000_000,
}
# What a platform may do within its terms; one that ignores orders can only be detected and paused.
FAULTS = ("", "", "", "reject", "lose answer", "lose call", "delay call", "raise after", "raise before")


class Spending(RuleBasedStateMachine):
    """An advertiser in a hurry, a platform with a bad line, and a clock; `kind` of database, `steps` are counted."""

    orders = Bundle("orders")
    kind = steps = None

    def __init__(self):
        super().__init__()
        self.steps.begin()
        self.folder = databases.quick_folder() / uuid.uuid4().hex
        self.folder.mkdir()
        self.place = databases.fresh_place(self.kind, self.folder)
        self.door = double.build_door(self.folder, place=self.place, limits=LIMITS)
        self.platform, self.clock, self.stopped, self.count = self.door.platform, self.door.clock, False, 0

    def teardown(self):
        self.door.ledger.close()
        shutil.rmtree(self.folder)
        if self.kind == "postgres":
            databases.drop_schema(self.place)

    def send(self, order, fault=""):
        """Order it; refusals are fine, a call while stopped is not."""
        before = len(self.platform.sent("set_budget", "enable", "publish"))
        self.platform.faults.extend([fault] if fault else [])
        try:
            guarded(self.door.guard, order)
        except SpendingStopped:
            assert self.stopped
        except GaelpError:
            pass
        self.platform.faults.clear()
        sent = len(self.platform.sent("set_budget", "enable", "publish")) - before
        assert sent <= (0 if self.stopped else 1)

    @initialize(target=orders, cents=st.integers(300, 600))
    def both_run(self, cents):
        self.steps.make("both_run", cents)
        return multiple(*(each for name in double.CAMPAIGNS for each in self.launched(name, cents, "")))

    @rule(
        target=orders,
        kind=st.sampled_from(["budget", "budget", "enable", "publish"]),
        campaign=st.sampled_from(double.CAMPAIGNS),
        cents=st.integers(1, 1_300),
        days=st.integers(0, 5),
        fault=st.sampled_from(FAULTS),
    )
    def ordered(self, kind, campaign, cents, days, fault):
        self.steps.make("ordered", kind, campaign, cents, days, fault)
        return self.order(kind, campaign, cents, days, fault)

    def order(self, kind, campaign, cents, days, fault):
        self.count += 1
        until = (self.clock.now() + timedelta(days=days)).date()
        state = self.platform.campaigns.get(campaign)
        daily = cents * 10_000 if kind == "budget" or state is None else state.daily_micros
        each = double.order(f"o{self.count}", kind, campaign, daily=daily, until=until)
        double.approve(self.door, each)
        self.send(each, fault)
        return each

    @rule(
        target=orders,
        campaign=st.sampled_from(double.CAMPAIGNS),
        cents=st.integers(300, 1_300),
        fault=st.sampled_from(FAULTS),
    )
    def launch(self, campaign, cents, fault):
        self.steps.make("launch", campaign, cents, fault)
        return multiple(*self.launched(campaign, cents, fault))

    def launched(self, campaign, cents, fault):
        """A budget and the switch to it, as is usual."""
        values = {"campaign": campaign, "daily": cents * 10_000, "until": (self.clock.now() + timedelta(days=9)).date()}
        pair = [double.order(f"o{self.count + n}", kind, **values) for n, kind in ((1, "budget"), (2, "enable"))]
        self.count += 2
        for each in pair:
            double.approve(self.door, each)
            self.send(each, fault if each.kind == "budget" else "")
        return pair

    @rule(each=orders, fault=st.sampled_from(FAULTS))
    def retry(self, each, fault):
        self.steps.make("retry", each.key, fault)
        self.send(each, fault)

    @rule(percent=st.sampled_from([10, 50, 100]), late_hours=st.integers(0, 24))
    def deliver(self, percent, late_hours):
        self.steps.make("deliver", percent, late_hours)
        self.platform.deliver(percent, known_after=timedelta(hours=late_hours))

    @rule(minutes=st.sampled_from([1, 15, 40, 90, 600, 1440, 4320]))
    def wait(self, minutes):
        self.steps.make("wait", minutes)
        self.clock.advance(timedelta(minutes=minutes))

    @rule()
    def reconcile(self):
        self.steps.make("reconcile")
        self.platform.deliver(100)  # what can be spent before anybody looks, is
        reconcile(self.door.guard)
        self.platform.deliver(100)

    @rule(percent=st.integers(1, 100), back=st.integers(0, 6))
    def refund(self, percent, back):
        self.steps.make("refund", percent, back)
        day = self.platform.today - timedelta(days=back)
        for campaign in double.CAMPAIGNS:
            if known := self.platform.spent(campaign, day) * percent // 100:
                # Later than any cost of that day: a platform gives back only what it has charged.
                self.platform.charge(campaign, day, -known, known_after=timedelta(hours=25))

    @rule(campaign=st.sampled_from(double.CAMPAIGNS))
    def pause(self, campaign):
        self.steps.make("pause", campaign)
        if campaign in self.platform.campaigns:
            pause(self.platform, campaign)
            assert self.platform.campaigns[campaign].status == "paused"

    @rule(days=st.integers(1, 5), percent=st.sampled_from([5, 40, 100]))
    def days_go_by(self, days, percent):
        """As in production: spent in the evening, reconciled after midnight."""
        self.steps.make("days_go_by", days, percent)
        for _ in range(days):
            self.platform.deliver(percent)
            midnight = datetime.combine(self.platform.today + timedelta(days=1), time(0, 5), UTC)
            self.clock.advance(midnight - self.clock.now())
            self.platform.deliver(percent)  # nothing is left of yesterday's lease
            reconcile(self.door.guard)

    @precondition(lambda self: not self.stopped)
    @rule(campaign=st.sampled_from(double.CAMPAIGNS), for_long=st.sampled_from([False, False, True]))
    def stop(self, campaign, for_long):
        self.steps.make("stop", campaign, for_long)
        self.door.guard.switch.stop(by="ann", reason="drill")
        self.stopped = True
        assert {state.status for state in self.platform.campaigns.values()} <= {"paused"}
        if not for_long:
            self.order("enable", campaign, 1, 1, "")
            self.release()

    @precondition(lambda self: self.stopped)
    @rule()
    def released(self):
        self.steps.make("released")
        self.release()

    def release(self):
        self.door.guard.switch.release(lambda _: None)
        self.stopped = False

    @invariant()
    def spent_within_every_cap(self):
        # Charges alone: money that came back had left before.
        charged = [(name, day, micros) for _, name, day, micros in self.platform.events if micros > 0]
        for day in {day for _, day, _ in charged}:
            of_day = [(name, micros) for name, on, micros in charged if on == day]
            assert sum(micros for _, micros in of_day) <= LIMITS[CapKind.ACCOUNT_DAY]
            for campaign in double.CAMPAIGNS:
                assert sum(micros for name, micros in of_day if name == campaign) <= LIMITS[CapKind.CAMPAIGN_DAY]
        for campaign in double.CAMPAIGNS:
            assert self.platform.spent(campaign) <= LIMITS[CapKind.CAMPAIGN]
        assert self.platform.spent() <= LIMITS[CapKind.TOTAL]

    @invariant()
    def the_books_are_in_order(self):
        checked = verify(self.door.ledger)
        assert checked.balances
        assert checked.breached_caps == ()


@pytest.fixture
def quick_stop(monkeypatch):
    """Nobody else spends here, so a stop need not wait for them."""
    monkeypatch.setattr(kill_switch, "_SETTLE_SECONDS", 0.0)


@pytest.fixture
def walk(random_walks, quick_stop):
    """Make at least that many different random steps."""

    def run(kind, at_least, *, first_seed, examples, length):
        steps = random_walks.Steps()
        machine = type("Machine", (Spending,), {"kind": kind, "steps": steps})
        return random_walks.walk(machine, steps, at_least, first_seed=first_seed, examples=examples, length=length)

    return run


@pytest.mark.parametrize(("kind", "at_least"), [("sqlite", 120), ("postgres", 24)])
def test_what_is_spent_stays_within_every_cap(walk, kind, at_least):
    assert walk(kind, at_least, first_seed=0, examples=at_least // 12, length=20) >= at_least


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("kind", "at_least"), [("sqlite", 4_000), ("postgres", 1_000)])
def test_what_is_spent_stays_within_every_cap_for_long(walk, random_walks, kind, at_least):
    assert walk(kind, at_least, first_seed=random_walks.new_seed(), examples=25, length=40) >= at_least
