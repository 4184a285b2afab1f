"""The safety watch runs the money rules: planted faults are paused or stopped in time, healthy campaigns are not."""

import importlib.util
import sys
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
import yaml

from gaelp.bench.campaign_months import DAY_PLAN, simulate, with_fault
from gaelp.bench.rule_trial import STATED_HOURS
from gaelp.clock import ManualClock
from gaelp.config import load_settings
from gaelp.phases.safety_watch import watch
from gaelp.platforms import ALL_CAPS, Done, guarded

START = datetime(2026, 11, 16, tzinfo=UTC)
HOUR = timedelta(hours=1)
WARM_UP_DAYS = 14
DAYS = 17
BUSY = 2  # more than 20 conversions a day


@pytest.fixture(scope="module")
def double():
    if "platform_double" not in sys.modules:
        path = Path(__file__).resolve().parents[1] / "platforms" / "platform_double.py"
        spec = importlib.util.spec_from_file_location("platform_double", path)
        sys.modules["platform_double"] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules["platform_double"]


@pytest.fixture(scope="module")
def world():
    return simulate(6, DAYS, np.random.default_rng(7))


class Site:
    """A campaign of a simulated world that runs on the double, and the watch over it."""

    def __init__(self, double, folder, world, index=BUSY):
        self.double, self.folder = double, folder
        self.clock = ManualClock(START)
        self.door = double.build_door(folder, clock=self.clock, limits=dict.fromkeys(ALL_CAPS, 10**13))
        self.platform = self.door.platform
        self.daily = int(world.budget_micros[index]) // 10_000 * 10_000
        self.value = int(world.value_micros[index])
        self.report(world, index)
        (folder / "plan.yaml").write_text(yaml.safe_dump({"weights": DAY_PLAN.tolist(), "why": "as simulated"}))
        for key, kind in (("b1", "budget"), ("e1", "enable")):
            until = (START + timedelta(days=DAYS)).date()
            order = double.order(key, kind, daily=self.daily, until=until)
            assert guarded(self.door.guard, double.approve(self.door, order)) == Done()
        self.watch()

    def report(self, world, index):
        """Every hour of the world; those that are yet to come are not reported yet."""
        columns = (world.spend_micros, world.impressions, world.clicks, world.conversions)
        rows = zip(*(column[index].tolist() for column in columns), strict=True)
        self.platform.hours = []
        for number, counts in enumerate(rows):
            if any(counts):
                self.platform.report_hour("spring", START + number * HOUR, *counts)

    def settings(self, *overrides):
        given = [
            f"home={self.folder / 'home'}",
            "platform.name=double",
            "platform.account=acc",
            f"budget.plan={self.folder / 'plan.yaml'}",
            f"budget.conversion_value_micros={self.value}",
            f"budget.loss_cap_micros={4 * (self.daily + self.value)}",
        ]
        return load_settings(overrides=[*given, *overrides], environ={}).settings

    def watch(self, *overrides):
        @contextmanager
        def opened():
            yield self.door.guard

        return watch(self.settings(*overrides), clock=self.clock, open_guard=opened)

    def later(self, duration=HOUR):
        self.clock.advance(duration)
        return self

    @property
    def runs(self):
        return self.platform.campaigns["spring"].status == "enabled"


@pytest.fixture
def make_site(double, world, tmp_path):
    made = []

    def make(index=BUSY):
        made.append(Site(double, tmp_path, world, index))
        return made[-1]

    yield make
    for site in made:
        site.door.ledger.close()


def hours_until_it_stands(site, most):
    for hours in range(1, most + 1):
        site.later().watch()
        if not site.runs:
            return hours
    return None


@pytest.mark.parametrize("fault", ["ten_times_the_bid", "pacing_stuck_open", "click_fraud", "tracking_outage"])
def test_a_planted_fault_stands_still_within_the_stated_hours(make_site, world, fault):
    site = make_site()
    site.report(with_fault(fault, world, WARM_UP_DAYS * 24, np.random.default_rng(1)), BUSY)
    for _ in range(WARM_UP_DAYS):
        report = site.later(timedelta(days=1)).watch()
        assert (report.failures, site.runs) == ((), True)
    stated = STATED_HOURS[fault]
    stood = hours_until_it_stands(site, stated["all"] if "all" in stated else stated["busy"])
    assert stood is not None
    assert site.door.guard.violations.list(scope="spring", open_only=True)
    assert "critical" in {alert.severity for alert in site.door.heard.alerts}


def test_a_healthy_campaign_is_left_alone_for_a_week(make_site):
    site = make_site()
    for _ in range(7 * 24):
        report = site.later().watch()
        assert report.failures == ()
    assert report.money_rules.verdicts == {"spring": "allow: all 21 rules allow"}
    assert site.runs
    assert {alert.severity for alert in site.door.heard.alerts} <= {"info", "warning"}
    assert site.door.guard.violations.list() == ()
