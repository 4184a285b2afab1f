"""A pilot on the platform double: real books, guard and loop; time and traffic are made by the test."""

from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np

from gaelp.budget.ledger import CapKind
from gaelp.clock import ManualClock
from gaelp.config import load_settings
from gaelp.pilot.assembly import prepare_run
from gaelp.pilot.loop import PilotLoop
from gaelp.pilot.pilot_plan import PilotCampaign, PilotPlan, pilot_mandate
from gaelp.platforms.platform import CampaignHour
from tests.pilot.pilot_process import agent_of
from tests.platforms import platform_double as double

MIDNIGHT = datetime(2026, 11, 17, tzinfo=UTC)
TARGETS = tuple(f"group-{number}" for number in range(8))
LIMITS = {
    CapKind.CAMPAIGN_DAY: 20_000_000,
    CapKind.CAMPAIGN: 400_000_000,
    CapKind.ACCOUNT_DAY: 40_000_000,
    CapKind.ACCOUNT: 800_000_000,
    CapKind.TOTAL: 800_000_000,
}


def double_plan(days=7, **changes):
    """Two campaigns at 10 a day."""
    campaigns = tuple(
        PilotCampaign(
            name=name,
            logged_as=f"logged-{name}",
            daily_micros=10_000_000,
            conversion_value_micros=20_000_000,
            targets=TARGETS,
            reference_bids_micros=(1_000_000,) * len(TARGETS),
            creative=double.ADVERT,
        )
        for name in double.CAMPAIGNS
    )
    values = {
        "name": "pilot-1",
        "account": "acc",
        "currency": "USD",
        "time_zone": "UTC",
        "model_hash": double.MODEL,
        "campaigns": campaigns,
        "first_day": MIDNIGHT.date(),
        "days": days,
        "settle_days": 1,
        "reach": 1.5,
        "bid_ceiling_micros": 3_000_000,
        "loss_cap_micros": 300_000_000,
    }
    return PilotPlan(**values | changes)


class Traffic:
    """Time that the loop lets pass: each hour of a running campaign has impressions, clicks and some sales."""

    def __init__(self, door, *, value_share=1.5):
        self.door, self.value_share = door, value_share
        self.rng = np.random.default_rng(1)
        self.calls, self.at_hour = [], {}

    def now(self):
        return self.door.clock.now()

    def wait_until(self, instant, interrupted):
        while self.door.clock.now() < instant:
            if interrupted():
                return False
            self._pass_hour()
        act = self.at_hour.pop(round((instant - MIDNIGHT) / timedelta(hours=1)), None)
        if act is not None:
            act()
        return not interrupted()

    def _pass_hour(self):
        platform, start = self.door.platform, self.door.clock.now()
        for state in platform.campaigns.values():
            if state.status == "enabled" and state.through >= start.date():
                for target, _ in state.bids:
                    clicks = int(self.rng.poisson(0.05))
                    cost = clicks * 800_000
                    sales = int(self.rng.binomial(clicks, 0.06 * self.value_share))
                    hour = CampaignHour(
                        state.campaign, start, cost, 1 + clicks, clicks, sales, target, sales * 20_000_000
                    )
                    platform.hours.append(hour)
                    if cost:
                        platform.charge(state.campaign, start.date(), cost)
        self.door.clock.advance(timedelta(hours=1))


class DoublePilot:
    """A signed pilot that has not begun."""

    def __init__(self, folder, *, days=7, **plan):
        self.folder = folder
        self.clock = ManualClock(MIDNIGHT - timedelta(hours=1))
        self.door = double.build_door(folder, clock=self.clock, limits=LIMITS)
        self.plan = double_plan(days, **plan)
        self.mandate = double.grant(self.door, pilot_mandate(self.plan, double.TERMS))
        self.traffic = Traffic(self.door)
        self.settings = load_settings(environ={}).settings
        budget = self.settings.budget.model_copy(
            update={"conversion_value_micros": 20_000_000, "loss_cap_micros": 10_000_000_000}
        )
        self.settings = self.settings.model_copy(update={"budget": budget})
        self.agent = agent_of(self.plan)
        self.hours = []

    def run(self, *, until=None, at_step=None, **options):
        """Run the loop; `until` interrupts it before that hour."""
        guard = self.door.guard if at_step is None else replace(self.door.guard, at_step=at_step)
        run = prepare_run(
            guard,
            self.plan,
            self.agent,
            mandate=self.mandate,
            run_id="run-1",
            place=self.folder / "pilot.db",
            timekeeper=self.traffic,
            budget=self.settings.budget,
            settings=self.settings.pilot,
            wall_clock=self.clock,
            on_interval=self.hours.append,
            interrupted=lambda: until is not None and len(set(self.hours)) >= until,
            **options,
        )
        with closing(run.book):
            return PilotLoop(run).run()
