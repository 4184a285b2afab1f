"""Every figure of phase 4, and the part of it that is passed on."""

from pydantic import Field

from gaelp.config.base import Frozen
from gaelp.gates import Verdict
from gaelp.money import Money
from gaelp.phases.phase_result import PhaseResult, ResultTable
from gaelp.phases.pilot_result import LoopCounts
from gaelp.phases.run_folder import PhaseFolder
from gaelp.phases.scale_release import CONTROL, Released, day_events
from gaelp.phases.scale_transfer import transfer_table
from gaelp.release.exposure_plot import exposure_png
from gaelp.release.pairs import ArmTotals
from gaelp.release.release_metrics import ReleaseMetrics
from gaelp.release.release_plan import ReleasePlan
from gaelp.release.transfer import TransferResult
from gaelp.types import Phase

__all__ = ["EXPOSURE_PICTURE", "ExposureDay", "ScaleResult", "as_phase_result", "draw_exposure", "exposure_days"]

EXPOSURE_PICTURE = "exposure.png"  # in the folder of the attempt

_ENDS = {
    "promoted": "The improvement was shown, and the agent got all campaigns.",
    "rolled_back": "It was rolled back: every campaign has the control's bids again.",
    "aborted": "It was aborted: every campaign has the control's bids again.",
    "stopped": "It was stopped: every campaign is paused.",
    "": "Its days ended before the improvement was shown.",
}


class ExposureDay(Frozen):
    """What was decided at the start of a day, and what was known then."""

    day: int
    percent: float
    outcome: str
    lift: float | None = None
    lift_lower_95: float | None = None
    lift_upper_95: float | None = None
    pairs: int = 0


class ScaleResult(Frozen):
    """What phase 4 measured, stored in scale.json."""

    run_id: str
    agent: str
    learned: bool
    model_hash: str
    model: str = Field(description="the hashed file, relative to the attempt's folder")
    world: str = Field(description="live, or sandbox: no real money moved")
    plan: ReleasePlan
    mandate: str
    ended: str = Field(description="promoted, rolled_back, aborted, stopped, or empty: its days ended without a proof")
    why: str
    days: tuple[ExposureDay, ...]
    comparison: ReleaseMetrics
    transfer: TransferResult
    factors: tuple[float, ...] = Field(description="of the control's bids at the end, by campaign")
    counts: LoopCounts
    violations: tuple[str, ...] = ()
    seconds: float
    verdict: Verdict


def exposure_days(released: Released) -> tuple[ExposureDay, ...]:
    """The decisions of a release about its days."""
    names = ExposureDay.model_fields
    return tuple(
        ExposureDay.model_validate({name: value for name, value in event.figures.items() if name in names})
        for event in day_events(released.events)
    )


def draw_exposure(result: ScaleResult) -> bytes:
    """A picture (PNG) of exposure and lift, day by day."""
    days = result.days
    proving = [step.lift_lower_min for step in result.plan.exposure.steps if step.lift_lower_min is not None]
    return exposure_png(
        [day.day for day in days],
        [day.percent for day in days],
        [_lift(day) for day in days],
        threshold=proving[-1],
    )


def _lift(day: ExposureDay) -> tuple[float, float, float] | None:
    """The lift and its bounds; one that excludes nothing lies beyond every picture."""
    if day.lift is None:
        return None
    lower, upper = day.lift_lower_95, day.lift_upper_95
    return (day.lift, -1.0 if lower is None else lower, 1e9 if upper is None else upper)


def as_phase_result(result: ScaleResult, folder: PhaseFolder) -> PhaseResult:
    """Return the result of phase 4 in the common form."""
    plan = result.plan.campaigns
    return PhaseResult(
        phase=Phase.SCALE,
        run_id=result.run_id,
        attempt=folder.attempt,
        agent=result.agent,
        learned=result.learned,
        model_hash=result.model_hash,
        model=result.model,
        verdict=result.verdict,
        seconds=result.seconds,
        judged_on=f"release {plan.name} from {plan.first_day} on",
        text=_meaning(result),
        tables=(_arms(result), _steps(result), transfer_table(result.transfer)),
    )


def _arms(result: ScaleResult) -> ResultTable:
    plan, measured = result.plan.campaigns, result.comparison
    sides = ((result.agent, measured.treatment), (CONTROL, measured.control))
    return ResultTable(
        columns=("bidder", "campaign-days", "spend", "value", "value per dollar", "profit a day"),
        rows=tuple(_arm(name, arm, plan.currency) for name, arm in sides),
        above=(
            f"{len(plan.campaigns)} campaigns, from {plan.first_day} on, {plan.settle_days} days to settle;"
            f" {_world(result)}"
        ),
        below="Both bid on the same campaigns, on days drawn at random; only days that were compared are counted.",
    )


def _arm(name: str, arm: ArmTotals, currency: str) -> tuple[str, ...]:
    rate = "-" if arm.value_per_dollar is None else f"{arm.value_per_dollar:.2f}"
    amounts = (_money(micros, currency) for micros in (arm.spend_micros, arm.value_micros))
    return (name, str(arm.campaign_days), *amounts, rate, _money(arm.profit_per_day_micros, currency))


def _steps(result: ScaleResult) -> ResultTable:
    """One row for each stretch of days with the same exposure."""
    rows: list[tuple[str, ...]] = []
    for day in result.days:
        lift = "-" if day.lift is None else f"{day.lift:+.1%}"
        shown = "-" if day.lift_lower_95 is None else f"{day.lift_lower_95:+.1%}"
        if rows and rows[-1][1] == f"{day.percent:g}%":
            rows[-1] = (
                rows[-1][0].split(" to ")[0] + f" to {day.day + 1}",
                *rows[-1][1:3],
                lift,
                shown,
                str(day.pairs),
            )
        else:
            rows.append((str(day.day + 1), f"{day.percent:g}%", day.outcome, lift, shown, str(day.pairs)))
    return ResultTable(
        columns=("days", "exposure", "decision", "lift", "shown", "pairs"),
        rows=tuple(rows) or (("none", "", "", "", "", ""),),
        above="Exposure: the share of the campaigns that the agent bids for.",
    )


def _meaning(result: ScaleResult) -> str:
    lines = [f"Violation: {text}" for text in result.violations]
    lines.append(_ENDS[result.ended])
    if result.ended != "promoted":
        lines.append(f"The last decision: {result.why}")
    counts = result.counts
    sent = counts.orders.get("sent", 0)
    lines.append(f"{counts.decided} intervals were decided, {sent} changes sent and {counts.missed} hours missed.")
    return "\n".join([*lines, f"Run {result.run_id}: {_sentence(result)}"])


def _sentence(result: ScaleResult) -> str:
    lift = result.comparison.improvement
    if lift.value is None:
        return "nothing was compared, so no improvement is shown."
    lower, upper = ("unlimited" if bound is None else f"{bound:+.1%}" for bound in (lift.lower_95, lift.upper_95))
    return (
        f"value per dollar is {lift.value:+.1%} against the control ({lower} .. {upper}), over {lift.pairs} pairs of"
        f" campaign-days; {_world(result)}."
    )


def _world(result: ScaleResult) -> str:
    return "real money" if result.world == "live" else "on the local ad platform, no real money"


def _money(micros: int, currency: str) -> str:
    return str(Money(round(micros / 10_000) * 10_000, currency))
