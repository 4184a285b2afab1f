"""The plan of a run's release, with its test fitted to the account, and what it could show before anybody signs."""

from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path

from gaelp.clock import Clock
from gaelp.config.settings import Settings
from gaelp.config.write import write_models
from gaelp.gates import Gate
from gaelp.phases.agent_bundle import load_bundle
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.pilot_planning import PilotKnowledge, read_account
from gaelp.phases.scale_planning import plan_release, read_pilot
from gaelp.phases.stage_report import OnReport, StageReport
from gaelp.pilot.forecast import forecast_pilot
from gaelp.release.control_forecast import expected_lift, forecast_control
from gaelp.release.release_draws import ReleaseGround
from gaelp.release.release_plan import ReleasePlan
from gaelp.release.release_power import ReleasePower, refuse_without_power, release_power, tightened_test

__all__ = ["PlannedRelease", "fix_release_plan", "ground_of", "play_release", "preview_release"]


@dataclass(frozen=True, slots=True)
class PlannedRelease:
    """What people sign, what it is expected to show, and how well."""

    plan: ReleasePlan
    ground: ReleaseGround
    power: ReleasePower


def fix_release_plan(
    path: Path,
    settings: Settings,
    known: PilotKnowledge,
    pilot: PhaseResult,
    on_report: OnReport,
    *,
    gate: Gate,
    today: date,
) -> ReleasePlan:
    """The plan in the file; made, checked and stored if it is not there yet. BadInput if it could show nothing."""
    if not path.exists():
        planned = play_release(settings, known, pilot, gate, on_report, first_day=today + timedelta(days=1))
        refuse_without_power(planned.power, planned.ground, gate, seed=settings.evaluation.seed)
        write_models({path: planned.plan})
    return ReleasePlan.model_validate_json(path.read_bytes())


def preview_release(
    settings: Settings, pilot: PhaseResult, gate: Gate, clock: Clock, on_report: OnReport
) -> PlannedRelease:
    """What phase 4 would plan for the agent of a run now."""
    known = read_account(settings, load_bundle(pilot.model_file(settings.home).parent, settings), clock, on_report)
    first_day = read_pilot(settings, pilot).plan.settled_day + timedelta(days=1)
    return play_release(settings, known, pilot, gate, on_report, first_day=first_day)


def play_release(
    settings: Settings,
    known: PilotKnowledge,
    pilot: PhaseResult,
    gate: Gate,
    on_report: OnReport,
    *,
    first_day: date,
) -> PlannedRelease:
    """Make the plan, and draw releases of its size."""
    seed = settings.evaluation.seed
    on_report(StageReport("playing the control in the market"))
    ground = ground_of(settings, known, pilot, gate, first_day=first_day)
    on_report(StageReport("checking what the plan can show"))
    return PlannedRelease(ground.plan, ground, release_power(ground, gate, seed=seed))


def ground_of(
    settings: Settings, known: PilotKnowledge, pilot: PhaseResult, gate: Gate, *, first_day: date
) -> ReleaseGround:
    """The plan with its test fitted to the account, and what releases are drawn from."""
    flown, seed = read_pilot(settings, pilot), settings.evaluation.seed
    plan = plan_release(settings, pilot, gate, first_day=first_day)
    account = known.forecast(settings)
    played = plan.campaigns.model_copy(update={"days": flown.plan.days})  # with the budgets of the release
    expected = flown.expected
    if plan.campaigns.daily_micros != flown.plan.daily_micros:
        expected = forecast_pilot(played, known.agent.policy, account, seed=seed)
    ground = ReleaseGround(
        plan=plan,
        expected=expected,
        expected_lift=expected_lift(expected, forecast_control(played, account, seed=seed)),
        chance=account.chance,
    )
    return replace(ground, plan=plan.model_copy(update={"lift": tightened_test(ground, seed=seed)}))
