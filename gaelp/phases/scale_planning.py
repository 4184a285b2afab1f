"""The plan of a run's release: the campaigns of its pilot, and steps of exposure by what was proven so far."""

from datetime import date

from gaelp.config.settings import Settings
from gaelp.errors import DataError
from gaelp.gates import Gate
from gaelp.phases.phase_result import PhaseResult, read_result
from gaelp.phases.pilot_result import PilotResult
from gaelp.phases.run_folder import RunFolder
from gaelp.release.release_plan import ProvenLift, ReleasePlan, make_release_plan
from gaelp.types import Phase, RunId

__all__ = ["RELEASE_PLAN_FILE", "plan_release", "read_pilot"]

RELEASE_PLAN_FILE = "plan.json"  # in the folder of the attempt
_LIFT = "lift_over_logging"  # the metric of gate 2


def plan_release(settings: Settings, pilot: PhaseResult, gate: Gate, *, first_day: date) -> ReleasePlan:
    """The plan of the settings for the agent of a pilot, from a day on."""
    flown = read_pilot(settings, pilot)
    proven = _proven(settings, pilot, flown)
    name = f"{pilot.run_id}-scale"
    return make_release_plan(flown.plan, settings.scale, gate, proven, name=name, first_day=first_day)


def read_pilot(settings: Settings, pilot: PhaseResult) -> PilotResult:
    """Every figure of the pilot that the release follows."""
    path = pilot.folder(settings.home).details
    try:
        return PilotResult.model_validate_json(path.read_bytes())
    except (OSError, ValueError) as problem:  # pydantic's own error is a ValueError
        first = (str(problem).splitlines() or [type(problem).__name__])[0]
        raise DataError(
            f"{path} has no pilot that this release reads ({first}): restore it, or run it again"
        ) from problem


def _proven(settings: Settings, pilot: PhaseResult, flown: PilotResult) -> ProvenLift:
    """The lift that gate 2 was shown, and what a campaign of the pilot spent on a day."""
    history = read_result(RunFolder(settings.home, RunId(pilot.run_id)).phase(Phase.HISTORY).result())
    lift, lower = (history.metrics.get(name) for name in (_LIFT, f"{_LIFT}_lower_95"))
    if lift is None or lower is None:
        raise DataError(
            f"run {pilot.run_id} has no {_LIFT} with a lower bound from phase 2, which chooses the steps of exposure:"
            " validate the agent again (`gaelp validate`)"
        )
    if flown.metrics is None:
        raise DataError(
            f"the pilot of run {pilot.run_id} spent nothing, so nothing follows from it: pilot another agent"
        )
    days, spend = len(flown.plan.campaigns) * flown.plan.days, flown.metrics.spend_micros
    conversions = max(sum(campaign.conversions for campaign in flown.campaigns), 1.0)
    return ProvenLift(
        value=lift, lower_95=lower, day_spend_micros=spend // days, conversion_micros=round(spend / conversions)
    )
