"""The control loop of a run's pilot: limits and mandate, the agent's hours, and what came of them in figures."""

from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field, replace

from gaelp.errors import WaitingForPerson
from gaelp.guard_bootstrap import opened_guard
from gaelp.history.logged_bidders import known_segments
from gaelp.money import Money
from gaelp.phases.declaration import Assignment
from gaelp.phases.pilot_account import AllowedSpending, PilotAccount
from gaelp.phases.pilot_planning import PilotKnowledge
from gaelp.phases.pilot_result import LoopCounts
from gaelp.phases.planned_pilot import PlannedPilot
from gaelp.phases.simulation_episodes import source_of
from gaelp.phases.stage_report import StageReport
from gaelp.pilot.assembly import PilotAgent, pilot_begins, prepare_run
from gaelp.pilot.decision_book import DecisionBook, book_place
from gaelp.pilot.evidence_rows import EvidenceRows, PilotSource
from gaelp.pilot.forecast import plan_estimates
from gaelp.pilot.loop import PilotEnd, PilotLoop, PilotRun
from gaelp.pilot.observation_ranges import measure_ranges
from gaelp.pilot.pilot_figures import PilotFigures
from gaelp.pilot.pilot_plan import PilotPlan
from gaelp.pilot.sales_feed import read_sales, sales_table
from gaelp.pilot.seen_hours import pilot_figures
from gaelp.pilot.stops import StopRules
from gaelp.storage.backends import build_store
from gaelp.storage.schema import TableName
from gaelp.storage.store import EpisodeStore

__all__ = ["Spent", "driving_agent", "known_figures", "loop_counts", "money_so_far", "spend_budget"]

_DAY_HOURS = 24
_CENT_MICROS = 10_000


@dataclass(frozen=True, slots=True)
class Spent:
    """What came of the control loop."""

    world: str
    ended: str
    mandate: str = ""
    counts: LoopCounts = field(default_factory=lambda: LoopCounts(decided=0, missed=0))
    figures: PilotFigures | None = None
    violations: tuple[str, ...] = ()


def spend_budget(
    given: Assignment, known: PilotKnowledge, account: PilotAccount, planned: PlannedPilot, allowed: AllowedSpending
) -> Spent:
    """Let the agent run the hours of the plan, and return what came of them; resumes where it was."""
    plan, expected, settings, mandate = planned.plan, planned.expected, allowed.settings, allowed.mandate
    source = PilotSource(source_of(given.folder), known.agent.description.name, known.agent.description.objective.kind)
    with opened_guard(settings) as guard, closing(build_store(settings)) as store:
        run = prepare_run(
            guard,
            plan,
            driving_agent(known, plan, seed=settings.evaluation.seed),
            mandate=mandate,
            run_id=plan.name,
            place=book_place(settings),
            timekeeper=account.timekeeper,
            budget=settings.budget,
            settings=settings.pilot,
            wall_clock=given.clock,
            evidence=lambda places: EvidenceRows(store, plan, places, source),
            stop_rules=StopRules(
                loss_cap_micros=plan.loss_cap_micros,
                looks=plan.days,
                expected_value_per_dollar=1 + max(expected.roi.value, 0.0),
            ),
            on_interval=lambda hour: given.on_report(_progress(run, plan, hour)),
        )
        end = PilotLoop(run).run()
        if end.how == "interrupted":
            raise WaitingForPerson(f"the pilot {plan.name} was interrupted: `gaelp resume {plan.name}` continues it")
        figures = known_figures(run, account, store, source.source)
        return Spent(
            world=guard.platform.world,
            ended=_ended(end),
            mandate=mandate,
            counts=loop_counts(run.book),
            figures=figures,
            violations=run.watch.violations(),
        )


def _progress(run: PilotRun, plan: PilotPlan, hour: int) -> StageReport:
    """Where the pilot is: hours decided, money, and what needs attention."""
    total, figures = _DAY_HOURS * plan.days, money_so_far(run)
    if hour >= total:
        return StageReport("waiting for late conversions", figures=figures)
    return StageReport("pilot", hour + 1, total, "hours", figures=figures)


def money_so_far(run: PilotRun) -> str:
    """What was spent of the budgets, what it returned so far, and who waits for a person."""
    known, plan = run.looker.seen, run.plan
    spend, value = int(known.spend_by_hour.sum()), int(known.value_micros.sum())
    spent = Money(spend // _CENT_MICROS * _CENT_MICROS, plan.currency)
    figures = f"{spent} of {Money(plan.budget_micros, plan.currency)} spent"
    if spend:
        figures += f", {value / spend - 1:+.0%} so far"
    if held := len(run.book.held()):
        figures += f", {held} held"
    return figures


def known_figures(run: PilotRun, account: PilotAccount, store: EpisodeStore, source: str) -> PilotFigures:
    """What is known now, with the advertiser's own sales where there is a feed; what people imported counts too."""
    plan = run.plan
    figures = pilot_figures(run.looker.seen, plan, pilot_begins(plan), account.timekeeper.now())
    if account.feed is not None:
        fed = account.feed(plan.first_day, plan.last_day)
        store.append({TableName.CONVERSIONS: sales_table(fed, source=source)})
    sold = read_sales(store, figures.campaigns, figures.days, plan.time_zone, figures.as_of)
    return figures if sold is None else replace(figures, sales=sold.sales, sale_value_micros=sold.value_micros)


def driving_agent(known: PilotKnowledge, plan: PilotPlan, *, seed: int) -> PilotAgent:
    """The agent with what is known of the plan's campaigns."""
    market, policy = known.agent.market, known.agent.policy
    ranges = measure_ranges(policy, market, seed=seed)  # before the policy begins with these campaigns
    estimates = plan_estimates(known.fitted.estimates, plan)
    segments = known_segments(market, estimates, plan.first_day.weekday() * _DAY_HOURS)
    return PilotAgent(policy=policy, known=segments, market=market, outside=ranges.outside)


def _ended(end: PilotEnd) -> str:
    return "finished" if end.how == "finished" else end.why


def loop_counts(book: DecisionBook) -> LoopCounts:
    """What the loop did so far."""
    intervals = Counter(row.state for row in book.intervals())
    orders = Counter(note.word for note in book.orders(0))
    return LoopCounts(decided=intervals["decided"], missed=intervals["missed"], orders=dict(orders))
