"""A plan with what it should earn and what it can show, fixed once before the first dollar of an attempt."""

from datetime import date
from pathlib import Path

from gaelp.budget.ledger import AdAccount
from gaelp.config.base import Frozen
from gaelp.config.settings import Settings
from gaelp.config.write import write_models
from gaelp.gates import Gate
from gaelp.phases.pilot_planning import PilotKnowledge, make_plan
from gaelp.phases.stage_report import OnReport, StageReport
from gaelp.pilot.expectation import PilotExpectation
from gaelp.pilot.forecast import forecast_pilot
from gaelp.pilot.pilot_plan import PilotPlan
from gaelp.pilot.power import PilotPower, PowerGround, pilot_power, refuse_without_power

__all__ = ["PLAN_FILE", "PlannedPilot", "fix_plan", "play_plan"]

PLAN_FILE = "plan.json"  # in the folder of the attempt


class PlannedPilot(Frozen):
    """What people sign, what it should earn, and how well it separates a good agent from a worthless one."""

    plan: PilotPlan
    expected: PilotExpectation
    power: PilotPower


def fix_plan(
    path: Path,
    settings: Settings,
    known: PilotKnowledge,
    account: AdAccount,
    gate: Gate,
    on_report: OnReport,
    *,
    name: str,
    model_hash: str,
    first_day: date,
) -> PlannedPilot:
    """The plan in the file; made, checked and stored if it is not there yet. BadInput if it could show nothing."""
    if not path.exists():
        plan = make_plan(settings, known, account, name=name, model_hash=model_hash, first_day=first_day)
        planned = play_plan(settings, known, plan, gate, on_report)
        most = len(known.fitted.estimates.campaign_names)
        refuse_without_power(
            planned.power,
            planned.expected,
            _ground(settings, known, plan, gate),
            seed=settings.evaluation.seed,
            campaigns_most=most,
        )
        write_models({path: planned})
    return PlannedPilot.model_validate_json(path.read_bytes())


def play_plan(
    settings: Settings, known: PilotKnowledge, plan: PilotPlan, gate: Gate, on_report: OnReport
) -> PlannedPilot:
    """Play a plan in the market fitted to the account, and draw pilots of its size."""
    on_report(StageReport("playing the plan in the market"))
    seed = settings.evaluation.seed
    expected = forecast_pilot(plan, known.agent.policy, known.forecast(settings), seed=seed)
    on_report(StageReport("checking what the plan can show"))
    power = pilot_power(expected, _ground(settings, known, plan, gate), seed=seed)
    return PlannedPilot(plan=plan, expected=expected, power=power)


def _ground(settings: Settings, known: PilotKnowledge, plan: PilotPlan, gate: Gate) -> PowerGround:
    return PowerGround(
        gate=gate,
        chance=known.forecast(settings).chance,
        late=known.late,
        time_zone=plan.time_zone,
        settle_days=plan.settle_days,
        daily_micros=settings.pilot.daily_micros,
    )
