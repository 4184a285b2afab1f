"""A release on a small account: its plan, its loop with every part real but the platform, and agents that get worse."""

import json
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from gaelp.clock import SystemClock
from gaelp.config import load_settings
from gaelp.config.objective import Objective
from gaelp.gates.lift_test import LiftPlan
from gaelp.guard_bootstrap import opened_guard
from gaelp.market.spec import DelaySpec
from gaelp.phases.scale_incident import write_incident
from gaelp.pilot.assembly import prepare_run
from gaelp.pilot.decision_book import book_place
from gaelp.pilot.late_value import LateValue
from gaelp.pilot.loop import PilotLoop
from gaelp.pilot.stops import StopRules
from gaelp.pilot.timekeeper import SandboxTime
from gaelp.release.campaign_flights import FlightRules
from gaelp.release.control_bids import ScaledIncumbent
from gaelp.release.exposure import ExposurePlan, ExposureStep
from gaelp.release.exposure_checks import CheckLimits
from gaelp.release.pairs import PairRules
from gaelp.release.release_plan import ReleasePlan
from gaelp.release.running_release import ReleaseParts, note_restored, release_controller, usual_bids
from gaelp.sandbox.control_client import connect_sandbox
from tests.pilot.pilot_process import agent_of

SOON = DelaySpec(mean_hours=6.0, window_hours=720)
DECIDE_HOURS = 6


def release_plan(campaigns, *, percents=(50, 100), loss_cap_micros=None, cost_spike_factor=2.0):
    """A release of these campaigns that promotes where the lift is shown."""
    *early, proving, full = percents
    steps = [ExposureStep(percent=percent, days_min=2, pairs_min=0) for percent in early]
    steps.append(ExposureStep(percent=proving, days_min=2, pairs_min=4, lift_lower_min=0.15))
    steps.append(ExposureStep(percent=full, days_min=0, pairs_min=0))
    cap = loss_cap_micros or campaigns.loss_cap_micros
    return ReleasePlan(
        campaigns=campaigns,
        exposure=ExposurePlan(
            strategy="canary",
            steps=steps,
            hold_deadline_days=max(campaigns.days, 2),
            limits=CheckLimits(loss_cap_micros=cap, cost_spike_factor=cost_spike_factor),
        ),
        pairs=PairRules(unit_micros=campaigns.campaigns[0].daily_micros // 2, age_days_min=1),
        lift=LiftPlan(alpha=0.05, minimum=4, clip_at=8),
        flights=FlightRules(spend_micros=10 * campaigns.campaigns[0].daily_micros),
        full_days=2,
    )


class Spoiled:
    """A controller whose bids are multiplied from an hour on."""

    def __init__(self, controller, *, times, from_hour, most_micros):
        self._controller, self._times, self._from, self._most = controller, times, from_hour, most_micros

    def __getattr__(self, name):
        return getattr(self._controller, name)

    def decide(self):
        decision = self._controller.decide()
        if decision.hour < self._from:
            return decision
        bids = np.minimum(decision.bids.bid_micros * self._times, self._most).astype(np.int64)
        return replace(decision, bids=replace(decision.bids, bid_micros=bids))


def build_run(guard, plan, agent, *, folder, spoil=None, **options):
    """A release that can start or resume; it writes its incident report into the folder."""
    campaigns = plan.campaigns
    parts = ReleaseParts(
        plan=plan,
        late=LateValue(delay=SOON, shortest=SOON, longest=SOON),
        objective=Objective(kind="profit"),
        control=ScaledIncumbent(usual_bids(campaigns)),
        decide_hours=DECIDE_HOURS,
    )

    def controller(inner, looker):
        inner = inner if spoil is None else Spoiled(inner, most_micros=campaigns.bid_ceiling_micros, **spoil)
        return release_controller(inner, looker, parts, lambda: run)

    def after(hour):
        if note_restored(run):
            write_incident(folder, run)

    run = prepare_run(
        guard,
        campaigns,
        agent,
        run_id="run-1",
        decide_hours=DECIDE_HOURS,
        make_controller=controller,
        stop_rules=StopRules(loss_cap_micros=10**12, looks=campaigns.days),
        on_interval=after,
        **options,
    )
    return run


def run_release(guard, plan, agent, *, folder, **options):
    """Run it to its end, and report the incident if there was one."""
    run = build_run(guard, plan, agent, folder=folder, **options)
    with closing(run.book):
        end = PilotLoop(run).run()
        write_incident(folder, run)
    return end


def run_folder(folder, **options):
    """Run or resume the release of a folder on its sandbox."""
    plan = ReleasePlan.model_validate_json((folder / "release.json").read_bytes())
    settings = load_settings(folder / "home" / "pilot.yaml", environ={}).settings
    mandate = json.loads((folder / "mandate.json").read_text())
    with connect_sandbox(folder / "sandbox") as handle, opened_guard(settings) as guard:
        return run_release(
            guard,
            plan,
            agent_of(plan.campaigns),
            folder=folder,
            mandate=mandate,
            place=book_place(settings),
            timekeeper=SandboxTime(handle),
            budget=settings.budget,
            settings=settings.pilot,
            wall_clock=SystemClock(),
            **options,
        )


if __name__ == "__main__":
    print(run_folder(Path(sys.argv[1])))  # noqa: T201 - read by the test
