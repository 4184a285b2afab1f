"""The double keeps the contract of a platform, and the contract sees those that do not."""

import importlib.util
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from gaelp.clock import SystemClock
from gaelp.platforms import CampaignHour, Done, ForeignEdit, HourReport, Rejected
from gaelp.platforms.conformance import EXPERIMENT_CHECKS, ExperimentConformance, PlatformConformance, check_platform

if "platform_double" not in sys.modules:
    _spec = importlib.util.spec_from_file_location("platform_double", Path(__file__).with_name("platform_double.py"))
    sys.modules["platform_double"] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules["platform_double"])
PlatformDouble = sys.modules["platform_double"].PlatformDouble


class TestTheDouble(PlatformConformance, ExperimentConformance):
    def make(self):
        return PlatformDouble(SystemClock())

    def disconnected(self):
        platform = self.make()
        platform.down = True
        return platform


class ForgetsKeys(PlatformDouble):
    def _faulty(self, fault, what, campaign, key, values):
        self.answers.pop(key, None)
        return super()._faulty(fault, what, campaign, key, values)


class StartsEnabled(PlatformDouble):
    def set_budget(self, campaign, daily_micros, through, *, key):
        done = super().set_budget(campaign, daily_micros, through, key=key)
        self.enable(campaign, key=f"{key}-on")
        return done


class Rounds(PlatformDouble):
    def set_budget(self, campaign, daily_micros, through, *, key):
        return super().set_budget(campaign, daily_micros // 10_000 * 10_000, through, key=key)


class PausesOnce(PlatformDouble):
    def pause(self, campaign, *, key):
        if self.campaigns[campaign].status == "paused":
            return Rejected("paused already")
        return super().pause(campaign, key=key)


class FindsEverything(PlatformDouble):
    def look_up(self, key):
        return Done()


class ReportsHoursTwice(PlatformDouble):
    def read_hours(self, since):
        hour = CampaignHour("one", since, 1, 1, 1, 1)
        return HourReport(self.clock.now(), (hour, hour))


class KnowsHoursToCome(PlatformDouble):
    def read_hours(self, since):
        return HourReport(self.clock.now() + timedelta(hours=1), ())


class ForgetsTheZone(PlatformDouble):
    def now(self):
        return super().now().replace(tzinfo=None)


class CallsItselfForeign(PlatformDouble):
    def read_edits(self, since):
        return (ForeignEdit("one", self.now(), "somebody", "its budget"),)


KINDS = [
    ForgetsKeys,
    StartsEnabled,
    Rounds,
    PausesOnce,
    FindsEverything,
    ReportsHoursTwice,
    KnowsHoursToCome,
    ForgetsTheZone,
    CallsItselfForeign,
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_platform_that_breaks_the_contract_is_noticed(kind):
    with pytest.raises(AssertionError):
        check_platform(lambda: kind(SystemClock()))


class NeverEnds(PlatformDouble):
    def end_experiment(self, name, *, key):
        return Done()


class ChangesTheCampaignToo(PlatformDouble):
    def set_treatment_bids(self, name, bids, *, key):
        self.campaigns["one"] = replace(self.campaigns["one"], bids=tuple(bids.items()))
        return super().set_treatment_bids(name, bids, key=key)


@pytest.mark.parametrize("kind", [NeverEnds, ChangesTheCampaignToo])
def test_experiments_that_break_the_contract_are_noticed(kind):
    def check_experiments():
        for check in EXPERIMENT_CHECKS:
            check(kind(SystemClock()))

    with pytest.raises(AssertionError):
        check_experiments()
