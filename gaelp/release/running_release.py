"""Put a release around a pilot's loop: who decides, what a day's decision leaves in the record, what is read back."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Ints
from gaelp.config.objective import Objective
from gaelp.pilot.controller import Controller
from gaelp.pilot.late_value import LateValue
from gaelp.pilot.looking import Looker
from gaelp.pilot.loop import PilotRun
from gaelp.pilot.pilot_plan import PilotPlan
from gaelp.platforms.guard import send_alert
from gaelp.release.budget_record import budget_rules, note_budgets
from gaelp.release.budget_room import allowed_budgets
from gaelp.release.budget_rules import next_budgets
from gaelp.release.control_bids import ScaledIncumbent
from gaelp.release.day_judge import ReleaseJudge, spend_of_day
from gaelp.release.release_controller import DayDecision, ReleaseController, ReleaseSetup
from gaelp.release.release_plan import ReleasePlan
from gaelp.release.release_record import incident_event, note_exposure, restored_event
from gaelp.release.restoring import note_read_back, read_back
from gaelp.release.service_counts import DecisionCounts, count_decisions

__all__ = ["CONTROL", "ReleaseParts", "RunGetter", "controller_of", "note_restored", "release_controller", "usual_bids"]

RunGetter = Callable[[], PilotRun]  # the run that is being put together, once it is

CONTROL = "incumbent, scaled until its budget lasts"


@dataclass(frozen=True, slots=True)
class ReleaseParts:
    """What a release is made of, beside its agent."""

    plan: ReleasePlan
    late: LateValue
    objective: Objective
    control: ScaledIncumbent
    decide_hours: int = 1


def usual_bids(plan: PilotPlan) -> Ints:
    """The usual bids of a plan's campaigns, (N, S); 0 where a campaign has fewer targets."""
    bids = np.zeros((len(plan.campaigns), max(len(campaign.targets) for campaign in plan.campaigns)), np.int64)
    for row, campaign in enumerate(plan.campaigns):
        bids[row, : len(campaign.targets)] = campaign.reference_bids_micros
    return bids


def controller_of(run: PilotRun) -> ReleaseController:
    """The controller of a run that is a release."""
    if not isinstance(run.controller, ReleaseController):
        raise TypeError(f"a release is driven by a ReleaseController; saw {type(run.controller).__name__}")
    return run.controller


def release_controller(agent: Controller, looker: Looker, parts: ReleaseParts, run: RunGetter) -> ReleaseController:
    """The agent beside its control; `run` is asked only once the loop runs."""
    plan = parts.plan
    campaigns, bids = plan.campaigns, usual_bids(plan.campaigns)
    names = tuple(campaign.name for campaign in campaigns.campaigns)
    setup = ReleaseSetup(
        key=campaigns.name,
        campaigns=names,
        plan=plan.exposure,
        reference_bids_micros=np.where(bids > 0, bids, campaigns.bid_ceiling_micros).astype(np.float64),
        daily_micros=np.array([campaign.daily_micros for campaign in campaigns.campaigns], np.int64),
        full_days=plan.full_days,
    )
    return ReleaseController(
        agent,
        parts.control,
        setup,
        _judge(looker, parts, run),
        spend_of_day=lambda day: spend_of_day(looker.seen, day),
        budgets_in_force=lambda: _budgets_in_force(looker, names),
        on_day=lambda decided: _note_day(run(), decided),
    )


def _judge(looker: Looker, parts: ReleaseParts, run: RunGetter) -> ReleaseJudge:
    plan, campaigns = parts.plan, parts.plan.campaigns

    def service(first: int, last: int) -> DecisionCounts:
        notes, intervals = run().book.orders(first), run().book.intervals()
        every = parts.decide_hours
        return count_decisions(
            notes, intervals, range(first, last), campaigns=len(campaigns.campaigns), decide_hours=every
        )

    return ReleaseJudge(
        campaigns=campaigns,
        exposure=plan.exposure,
        rules=plan.pairs,
        lift=plan.lift,
        late=parts.late,
        reported=lambda: looker.seen,
        known_at=looker.known_at,
        violations=lambda: run().watch.violations(open_only=True),
        next_budgets=lambda evidence: next_budgets(
            budget_rules(plan, run().guard.terms, parts.objective),
            evidence,
            lambda: allowed_budgets(run().guard, campaigns),
        ),
        service=service,
        stopped=lambda: run().watch.killed(),  # noqa: PLW0108 - the run is put together later
    )


def _budgets_in_force(looker: Looker, names: tuple[str, ...]) -> Ints:
    daily = {state.campaign: state.daily_micros for state in looker.states()}
    return np.array([daily.get(name, 0) for name in names], np.int64)


# The record


def _note_day(run: PilotRun, decided: DayDecision) -> None:
    """Record the decision about a day once, and alert people where the release ends badly."""
    note_budgets(run.book, decided, run.guard.wall_now())
    event = note_exposure(run.book, decided, run.guard.wall_now())
    outcome = decided.exposure.outcome
    if event is not None and outcome in ("roll_back", "abort"):
        send_alert(run.guard, "critical", scope=run.plan.name, rule=f"release-{outcome}", what=event.what)


def note_restored(run: PilotRun) -> bool:
    """After a rollback, record once what was read back from the platform, as soon as nothing is left to restore."""
    controller, events = controller_of(run), run.book.events()
    ended = incident_event(events)
    if ended is None or controller.is_restoring or controller.ended_in < 0 or restored_event(events) is not None:
        return False
    read = read_back(run.looker.states(), run.places, controller.control_bids(), controller.daily_micros())
    hours = controller.hour - controller.ended_in
    what = note_read_back(run.book, read, run.guard.wall_now(), decided=ended, hours=hours)
    if read.is_off:
        send_alert(run.guard, "critical", scope=run.plan.name, rule="release-not-restored", what=what)
    return True
