"""Simulated pilots, judged: an agent is driven by reports that lag, and a chosen true return is met."""

from types import SimpleNamespace

import numpy as np
import pytest

from gaelp.bench.pilot_driver import DrivenPilot
from gaelp.bench.pilot_trials import CASES, PilotSize, draw_world, run_case, summary
from gaelp.bench.pilot_world import Flight, fly, pilot_hours
from gaelp.config import load_settings
from gaelp.config.load import load_model
from gaelp.config.objective import Objective
from gaelp.config.places import repository_root
from gaelp.gates import load_gate
from gaelp.market.baselines.tuned import TunedRules
from gaelp.market.build import build_market, configured_personas, load_market_spec
from gaelp.phases.agent_bundle import Agent
from gaelp.pilot.forecast import plan_estimates
from gaelp.sandbox.spec import load_sandbox_spec

SIZE = PilotSize(campaigns=4, days=3)


@pytest.fixture(scope="module")
def agent():
    """The tuned rule in the place of an agent: training takes longer than this test may."""
    settings = load_settings("quick-test", environ={}).settings
    market = build_market(load_market_spec("shop"), configured_personas(settings), Objective(kind="profit"))
    tuned = load_model(TunedRules, repository_root() / "configs" / "baselines" / "shop-profit.yaml")
    return Agent(description=None, policy=tuned.build("mpc"), market=market, tuned=tuned)


@pytest.fixture(scope="module")
def world(agent):
    return draw_world(load_sandbox_spec("default"), 78, agent, SIZE)


class Recorder:
    """In the place of a controller: bids the same all the time and keeps what it is given."""

    def __init__(self, bid_micros):
        self.decision, self.reports, self.hours = SimpleNamespace(bids=SimpleNamespace(bid_micros=bid_micros)), [], 0

    def report(self, figures):
        self.reports.append((self.hours, figures))

    def decide(self):
        return self.decision

    def pass_hour(self, _bids):
        self.hours += 1


@pytest.mark.slow
def test_an_agent_hears_of_hours_three_hours_late_and_of_sales_when_they_are_reported(world):
    flight = Flight(days=3, settle_days=7)
    estimates = plan_estimates(world.account.estimates, world.plan)
    recorder = Recorder(np.rint(estimates.usual_bid_micros).astype(np.int64))
    pilot = DrivenPilot(world.world, estimates, recorder, pilot_hours(world.world, flight))
    outcome = fly(world.world, flight, pilot, world.incumbents)
    assert all(figures.until == hour - 3 for hour, figures in recorder.reports)
    last = recorder.reports[-1][1]
    assert last.clicks.sum() <= outcome.clicks.sum() * 1.05 + 1
    assert 0 < last.conversions.sum() < outcome.conversions.sum()
    sold = [figures.conversions.sum() for _, figures in recorder.reports]
    assert sold == sorted(sold)


@pytest.mark.slow
def test_every_bidder_is_judged_and_scaled_bids_meet_their_true_return(world):
    gate = load_gate("pilot")
    results = [run_case(world, case, key, gate) for case in CASES for key in range(2)]
    rows = summary(results)
    assert rows["true ROI 0%"]["true_roi"]["mean"] == pytest.approx(0.0, abs=0.12)
    assert rows["true ROI -10%"]["true_roi"]["mean"] < rows["true ROI 0%"]["true_roi"]["mean"]
    assert rows["agent"]["true_roi"]["mean"] > rows["incumbent"]["true_roi"]["mean"]
    assert rows["agent"]["passed"] == 0  # four campaigns are too few for any verdict
    assert all(row["pilots"] == 2 for row in rows.values())
