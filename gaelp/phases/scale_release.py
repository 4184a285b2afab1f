"""The control loop of a run's release: the agent beside its control, day by day, and what came of it."""

import math
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from gaelp.arrays import Ints
from gaelp.errors import WaitingForPerson
from gaelp.guard_bootstrap import opened_guard
from gaelp.phases.declaration import Assignment
from gaelp.phases.pilot_account import AllowedSpending, PilotAccount
from gaelp.phases.pilot_planning import PilotKnowledge
from gaelp.phases.pilot_result import LoopCounts
from gaelp.phases.pilot_spending import driving_agent, known_figures, loop_counts, money_so_far
from gaelp.phases.simulation_episodes import source_of
from gaelp.phases.stage_report import StageReport
from gaelp.pilot.assembly import prepare_run
from gaelp.pilot.controller import Controller
from gaelp.pilot.decision_book import DecisionBook, PilotEvent, book_place
from gaelp.pilot.evidence_rows import EvidenceRows, PilotSource
from gaelp.pilot.looking import Looker
from gaelp.pilot.loop import PilotLoop, PilotRun
from gaelp.pilot.pilot_figures import PilotFigures
from gaelp.pilot.pilot_plan import PilotPlan
from gaelp.pilot.stops import StopRules
from gaelp.platforms.guard import Guard, send_alert
from gaelp.release.budget_record import budget_rules, note_budgets
from gaelp.release.budget_room import allowed_budgets
from gaelp.release.budget_rules import next_budgets
from gaelp.release.control_bids import ScaledIncumbent
from gaelp.release.day_judge import ReleaseJudge, spend_of_day
from gaelp.release.release_controller import DayDecision, DaysBefore, ReleaseController, ReleaseSetup
from gaelp.release.release_plan import ReleasePlan
from gaelp.storage.backends import build_store
from gaelp.types import Phase

__all__ = ["CONTROL", "Released", "day_events", "release_agent", "usual_bids"]

RunGetter = Callable[[], PilotRun]  # the run that is being put together, once it is

CONTROL = "incumbent, scaled until its budget lasts"
_DAY_HOURS = 24
_DAY_NOTE = "exposure"  # marks the events of the record that are decisions about a day


@dataclass(frozen=True, slots=True)
class Released:
    """What came of a release."""

    world: str
    ended: str  # promoted, rolled_back, aborted or nothing: the days were over before a proof
    why: str
    mandate: str
    before: DaysBefore
    figures: PilotFigures
    factors: tuple[float, ...]  # of the control's bids at the end
    counts: LoopCounts = field(default_factory=lambda: LoopCounts(decided=0, missed=0))
    violations: tuple[str, ...] = ()
    events: tuple[PilotEvent, ...] = ()


def release_agent(
    given: Assignment, known: PilotKnowledge, account: PilotAccount, plan: ReleasePlan, allowed: AllowedSpending
) -> Released:
    """Run the release to its end, and return what came of it; resumes where it was."""
    settings, campaigns = allowed.settings, plan.campaigns
    control = ScaledIncumbent(usual_bids(campaigns))
    with opened_guard(settings) as guard, closing(build_store(settings)) as store:
        run = prepare_run(
            guard,
            campaigns,
            driving_agent(known, campaigns, seed=settings.evaluation.seed),
            mandate=allowed.mandate,
            run_id=campaigns.name,
            place=book_place(settings),
            timekeeper=account.timekeeper,
            budget=settings.budget,
            settings=settings.pilot.model_copy(update={"days": campaigns.days}),
            wall_clock=given.clock,
            decide_hours=settings.scale.decide_hours,
            whole_read_days=settings.scale.step_days,
            make_controller=lambda agent, looker: _controller(agent, looker, plan, known, control, lambda: run),
            evidence=lambda places: EvidenceRows(store, campaigns, places, _source(given, known, lambda: run)),
            stop_rules=StopRules(loss_cap_micros=campaigns.loss_cap_micros, looks=campaigns.days),
            on_interval=lambda hour: given.on_report(_progress(run, hour)),
        )
        end = PilotLoop(run).run()
        if end.how == "interrupted":
            raise WaitingForPerson(f"the release {campaigns.name} was interrupted: `gaelp resume` continues it")
        released = _released_controller(run)
        return Released(
            world=guard.platform.world,
            ended=released.exposure.ended,
            why=end.why if end.how == "stopped" else _why(run.book),
            mandate=allowed.mandate,
            before=released.days_before(),
            figures=known_figures(run, account, store, source_of(given.folder)),
            factors=tuple(float(each) for each in control.factor),
            counts=loop_counts(run.book),
            violations=run.watch.violations(),
            events=tuple(run.book.events()),
        )


def usual_bids(plan: PilotPlan) -> Ints:
    """The usual bids of a plan's campaigns, (N, S); 0 where a campaign has fewer targets."""
    bids = np.zeros((len(plan.campaigns), max(len(campaign.targets) for campaign in plan.campaigns)), np.int64)
    for row, campaign in enumerate(plan.campaigns):
        bids[row, : len(campaign.targets)] = campaign.reference_bids_micros
    return bids


def _controller(
    agent: Controller,
    looker: Looker,
    plan: ReleasePlan,
    known: PilotKnowledge,
    control: ScaledIncumbent,
    run: RunGetter,
) -> ReleaseController:
    campaigns, bids = plan.campaigns, usual_bids(plan.campaigns)
    judge = ReleaseJudge(
        campaigns=campaigns,
        exposure=plan.exposure,
        rules=plan.pairs,
        lift=plan.lift,
        late=known.late,
        reported=lambda: looker.seen,
        known_at=looker.known_at,
        violations=lambda: run().watch.violations(open_only=True),
        next_budgets=lambda evidence: next_budgets(
            budget_rules(plan, run().guard.terms, known.agent.description.objective),
            evidence,
            lambda: allowed_budgets(run().guard, campaigns),
        ),
    )
    setup = ReleaseSetup(
        key=campaigns.name,
        campaigns=tuple(campaign.name for campaign in campaigns.campaigns),
        plan=plan.exposure,
        reference_bids_micros=np.where(bids > 0, bids, campaigns.bid_ceiling_micros).astype(np.float64),
        daily_micros=np.array([campaign.daily_micros for campaign in campaigns.campaigns], np.int64),
        full_days=plan.full_days,
    )
    return ReleaseController(
        agent,
        control,
        setup,
        judge,
        spend_of_day=lambda day: spend_of_day(looker.seen, day),
        on_day=lambda decided: _note_day(run().book, run().guard, campaigns, decided),
    )


def _source(given: Assignment, known: PilotKnowledge, run: RunGetter) -> PilotSource:
    description = known.agent.description

    def decided_by(campaign: str, at: datetime) -> str:
        treated, places = _released_controller(run()).treated(), run().places
        day = places.hour(at) // _DAY_HOURS
        own = 0 <= day < len(treated) and treated[day, places.campaigns[campaign]]
        return description.name if own else CONTROL

    return PilotSource(source_of(given.folder), description.name, description.objective.kind, Phase.SCALE, decided_by)


def _released_controller(run: PilotRun) -> ReleaseController:
    if not isinstance(run.controller, ReleaseController):
        raise TypeError(f"a release is driven by a ReleaseController; saw {type(run.controller).__name__}")
    return run.controller


# The record


def _note_day(book: DecisionBook, guard: Guard, plan: PilotPlan, decided: DayDecision) -> None:
    """Record the decision about a day once, and alert people where the release ends badly."""
    if any(event.figures["day"] == decided.day for event in day_events(book.events())):
        return
    note_budgets(book, decided, guard.wall_now())
    exposure = decided.exposure
    why = "; ".join(finding.text for finding in exposure.findings)
    figures = {"subject": _DAY_NOTE, "day": decided.day, "percent": exposure.percent, "outcome": exposure.outcome}
    for finding in exposure.findings:
        figures |= {name: value for name, value in finding.figures.items() if _is_plain(value)}
    what = f"day {decided.day + 1}: {exposure.outcome}, {exposure.percent:g}% of the campaigns are the agent's: {why}"
    book.add_event("note", what, guard.wall_now(), figures=figures)
    if exposure.outcome in ("roll_back", "abort"):
        send_alert(guard, "critical", scope=plan.name, rule=f"release-{exposure.outcome}", what=what)


def day_events(events: list[PilotEvent] | tuple[PilotEvent, ...]) -> list[PilotEvent]:
    """The decisions about single days, in their order."""
    return [event for event in events if event.figures.get("subject") == _DAY_NOTE]


def _why(book: DecisionBook) -> str:
    decided = day_events(book.events())
    return decided[-1].what if decided else "no day was decided"


def _is_plain(value: object) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _progress(run: PilotRun, hour: int) -> StageReport:
    total, figures = run.hours, money_so_far(run)
    days = day_events(run.book.events())
    if days:
        figures += f", {days[-1].figures['percent']:g}% exposure"
        if (lift := days[-1].figures.get("lift")) is not None:
            figures += f", lift {lift:+.0%}"
    controller = _released_controller(run)
    if hour >= total or controller.has_ended:
        return StageReport("waiting for late conversions", figures=figures)
    return StageReport("release", hour + 1, total, "hours", figures=figures)
