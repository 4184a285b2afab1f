"""A pilot's loop as a program of its own, to be killed: FOLDER and a seed name everything else."""

import json
import sys
from contextlib import closing
from pathlib import Path

import numpy as np

from gaelp.clock import SystemClock
from gaelp.config import load_settings
from gaelp.config.objective import Objective
from gaelp.guard_bootstrap import opened_guard
from gaelp.history.logged_bidders import KnownSegments
from gaelp.market.baselines.tuned import load_tuned_file
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.market.from_reports import brief_from_estimates
from gaelp.pilot.assembly import PilotAgent, prepare_run
from gaelp.pilot.decision_book import book_place
from gaelp.pilot.loop import PilotLoop
from gaelp.pilot.pilot_plan import PilotPlan
from gaelp.pilot.timekeeper import SandboxTime
from gaelp.sandbox.control_client import connect_sandbox
from gaelp.types import SegmentBelief


def agent_of(plan, rule="mpc", market_name="shop"):
    """A tuned rule with plausible knowledge of the plan's campaigns."""
    market = build_market(load_market_spec(market_name), load_persona_table("personas"), Objective(kind="profit"))
    shape = (len(plan.campaigns), len(plan.campaigns[0].targets))
    clicked, bought = 0.05, 0.06
    brief = brief_from_estimates(
        market,
        volume_per_hour=np.full(shape, 4.5),
        price_level_log=np.full(shape, np.log(1_000_000 * clicked)),
        conversion_value_micros=np.array([each.conversion_value_micros for each in plan.campaigns]),
        daily_budget_micros=np.array([each.daily_micros for each in plan.campaigns]),
        start_hour_of_week=np.full(len(plan.campaigns), 24 * plan.first_day.weekday()),
        click_rate=np.full(shape, clicked),
        conversion_rate=np.full(shape, bought),
        report_lag_hours=3,
    )
    worth = np.log(clicked * bought * brief.conversion_value_micros.astype(float))[:, None]
    belief = SegmentBelief(np.broadcast_to(worth, shape).copy(), np.full(shape, 0.3))
    known = KnownSegments(brief, belief, np.full(shape, clicked), np.ones(shape))
    return PilotAgent(load_tuned_file(f"{market_name}-profit").build(rule), known, market)


def main(folder, on_interval=lambda _: None, interrupted=lambda: False):
    """Run or resume the pilot of a folder; returns how it ended."""
    plan = PilotPlan.model_validate_json((folder / "plan.json").read_bytes())
    settings = load_settings(folder / "home" / "pilot.yaml", environ={}).settings
    mandate = json.loads((folder / "mandate.json").read_text())
    with connect_sandbox(folder / "sandbox") as handle, opened_guard(settings) as guard:
        run = prepare_run(
            guard,
            plan,
            agent_of(plan),
            mandate=mandate,
            run_id="run-1",
            place=book_place(settings),
            timekeeper=SandboxTime(handle),
            budget=settings.budget,
            settings=settings.pilot,
            wall_clock=SystemClock(),
            on_interval=on_interval,
            interrupted=interrupted,
        )
        with closing(run.book):
            return PilotLoop(run).run()


if __name__ == "__main__":
    print(main(Path(sys.argv[1])))  # noqa: T201 - read by the test
