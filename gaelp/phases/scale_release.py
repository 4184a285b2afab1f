"""The control loop of a run's release: the agent beside its control, day by day, and what came of it."""

from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime

from gaelp.errors import WaitingForPerson
from gaelp.guard_bootstrap import opened_guard
from gaelp.phases.declaration import Assignment
from gaelp.phases.pilot_account import AllowedSpending, PilotAccount
from gaelp.phases.pilot_planning import PilotKnowledge
from gaelp.phases.pilot_result import LoopCounts
from gaelp.phases.pilot_spending import driving_agent, known_figures, loop_counts, money_so_far
from gaelp.phases.scale_incident import write_incident
from gaelp.phases.simulation_episodes import source_of
from gaelp.phases.stage_report import StageReport
from gaelp.pilot.assembly import prepare_run
from gaelp.pilot.decision_book import PilotEvent, book_place
from gaelp.pilot.evidence_rows import EvidenceRows, PilotSource
from gaelp.pilot.loop import PilotLoop, PilotRun
from gaelp.pilot.pilot_figures import PilotFigures
from gaelp.pilot.stops import StopRules
from gaelp.release.control_bids import ScaledIncumbent
from gaelp.release.release_controller import DaysBefore
from gaelp.release.release_plan import ReleasePlan
from gaelp.release.release_record import agents_campaigns, day_events, exposure_text
from gaelp.release.running_release import (
    CONTROL,
    ReleaseParts,
    RunGetter,
    controller_of,
    note_restored,
    release_controller,
    usual_bids,
)
from gaelp.storage.backends import build_store
from gaelp.types import Phase

__all__ = ["CONTROL", "Released", "day_events", "release_agent"]


@dataclass(frozen=True, slots=True)
class Released:
    """What came of a release."""

    world: str
    ended: str  # promoted, rolled_back, aborted, stopped (all paused), or nothing: the days were over before a proof
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
    parts = ReleaseParts(
        plan=plan,
        late=known.late,
        objective=known.agent.description.objective,
        control=ScaledIncumbent(usual_bids(campaigns)),
        decide_hours=settings.scale.decide_hours,
    )
    with opened_guard(settings) as guard, closing(build_store(settings)) as store:
        run = prepare_run(
            guard,
            campaigns,
            driving_agent(known, campaigns, seed=settings.evaluation.seed),
            mandate=allowed.mandate,
            run_id=campaigns.name,
            place=book_place(settings),
            timekeeper=account.timekeeper,
            budget=settings.budget.model_copy(update={"rules": settings.scale.rules}),
            settings=settings.pilot.model_copy(update={"days": campaigns.days}),
            wall_clock=given.clock,
            decide_hours=settings.scale.decide_hours,
            whole_read_days=settings.scale.step_days,
            make_controller=lambda agent, looker: release_controller(agent, looker, parts, lambda: run),
            evidence=lambda places: EvidenceRows(store, campaigns, places, _source(given, known, lambda: run)),
            stop_rules=StopRules(loss_cap_micros=campaigns.loss_cap_micros, looks=campaigns.days),
            on_interval=lambda hour: _after_interval(given, run, hour),
        )
        end = PilotLoop(run).run()
        write_incident(given.folder.path, run)
        if end.how == "interrupted":
            raise WaitingForPerson(f"the release {campaigns.name} was interrupted: `gaelp resume` continues it")
        released = controller_of(run)
        return Released(
            world=guard.platform.world,
            ended="stopped" if end.how == "stopped" else released.exposure.ended,
            why=end.why if end.how == "stopped" else _why(run),
            mandate=allowed.mandate,
            before=released.days_before(),
            figures=known_figures(run, account, store, source_of(given.folder)),
            factors=tuple(float(each) for each in parts.control.factor),
            counts=loop_counts(run.book),
            violations=run.watch.violations(),
            events=tuple(run.book.events()),
        )


def _source(given: Assignment, known: PilotKnowledge, run: RunGetter) -> PilotSource:
    description = known.agent.description

    def decided_by(campaign: str, at: datetime) -> str:
        places = run().places
        own = controller_of(run()).treated_in(places.hour(at))[places.campaigns[campaign]]
        return description.name if own else CONTROL

    return PilotSource(source_of(given.folder), description.name, description.objective.kind, Phase.SCALE, decided_by)


def _why(run: PilotRun) -> str:
    decided = day_events(run.book.events())
    return decided[-1].what if decided else "no day was decided"


def _after_interval(given: Assignment, run: PilotRun, hour: int) -> None:
    """Record what a rollback has restored, and report where the release is."""
    if note_restored(run):
        write_incident(given.folder.path, run)
    given.on_report(_progress(run, hour))


def _progress(run: PilotRun, hour: int) -> StageReport:
    total, figures = run.hours, money_so_far(run)
    if days := day_events(run.book.events()):
        split = f"{agents_campaigns(run.book.events(), run.plan)} of {len(run.plan.campaigns)} campaigns"
        figures += f", {exposure_text(days[-1])}, {split}"
    if hour >= total or controller_of(run).has_ended:
        return StageReport("waiting for late conversions", figures=figures)
    return StageReport("release", hour + 1, total, "hours", figures=figures)
