"""Phase 3: the agent drives campaigns on a small budget, under a signed mandate, and is judged by what came of it."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from gaelp.clock import account_day
from gaelp.config.base import Frozen
from gaelp.config.fingerprint import fingerprint
from gaelp.config.write import write_models
from gaelp.errors import BadInput
from gaelp.gates import Evidence, Verdict, judge
from gaelp.guard_bootstrap import opened_guard
from gaelp.history.logged_bidders import known_segments
from gaelp.phases.agent_bundle import copy_bundle, load_bundle
from gaelp.phases.data_evidence import asks_for_data, judge_with_data
from gaelp.phases.data_job import DataJob
from gaelp.phases.declaration import Assignment
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.pilot_account import PilotAccount, allow_spending, opened_account
from gaelp.phases.pilot_planning import KnownAccount, first_pilot_day, make_plan, read_account
from gaelp.phases.pilot_result import CampaignMoney, LoopCounts, PilotResult, as_phase_result
from gaelp.phases.pilot_shadow import watch_before_spending
from gaelp.phases.stage_report import StageReport
from gaelp.pilot.assembly import PilotAgent, pilot_begins, prepare_run
from gaelp.pilot.decision_book import DecisionBook, book_place
from gaelp.pilot.expectation import PilotExpectation
from gaelp.pilot.forecast import forecast_pilot, plan_estimates
from gaelp.pilot.loop import PilotEnd, PilotLoop
from gaelp.pilot.pilot_figures import PilotFigures
from gaelp.pilot.pilot_metrics import PilotMetrics, measure_pilot
from gaelp.pilot.pilot_plan import PilotPlan
from gaelp.pilot.power import PowerGround, pilot_power, refuse_without_power
from gaelp.pilot.seen_hours import pilot_figures
from gaelp.pilot.skew import SkewReport
from gaelp.pilot.stops import StopRules

__all__ = ["run_pilot"]

_DAY_HOURS = 24
Stored = TypeVar("Stored", bound=Frozen)


def run_pilot(given: Assignment) -> PhaseResult:
    """Carry out phase 3; interrupted, it resumes: what was planned, signed, watched and spent stays as it is."""
    if given.previous is None:
        raise BadInput("phase pilot spends with the agent of phase history; saw none: validate one first")
    started = time.monotonic()
    settings, folder = given.settings, given.folder
    model = copy_bundle(settings, given.previous, folder.path / "agent")
    known = read_account(settings, load_bundle(folder.path / "agent", settings), given.clock, given.on_report)
    with opened_account(settings, folder, given.clock) as account:
        plan, expected = _planned(given, known, account)
        skew = watch_before_spending(account, known, plan, folder, given.on_report)
        if skew.skewed:
            spent = _Spent(world="sandbox" if settings.pilot.local else "live", ended=_SKEWED)
        else:
            spent = _spend(given, known, account, plan, expected)
    metrics = _measured(known, plan, expected, spent)
    evidence = Evidence(
        run_id=folder.run_id,
        agent=given.previous.agent,
        learned=given.previous.learned,
        config_hash=fingerprint(settings.pilot),
        measured_at=given.clock.now(),
        metrics={**skew.metrics, **(metrics.metrics if metrics else {})},
    )
    result = PilotResult(
        run_id=folder.run_id,
        agent=given.previous.agent,
        learned=given.previous.learned,
        model_hash=given.previous.model_hash,
        model=model.relative_to(folder.path).as_posix(),
        world=spent.world,
        plan=plan,
        mandate=spent.mandate,
        expected=expected,
        skewed_features=tuple(_skew_text(skew)),
        ended=spent.ended,
        counts=spent.counts,
        metrics=metrics,
        campaigns=_by_campaign(expected, spent.figures),
        violations=spent.violations,
        seconds=time.monotonic() - started,
        verdict=_verdict(given, evidence),
    )
    write_models({folder.details: result})
    return as_phase_result(result, folder)


# Before the first dollar


def _planned(given: Assignment, known: KnownAccount, account: PilotAccount) -> tuple[PilotPlan, PilotExpectation]:
    """The plan, what it should earn, and whether it can show that; fixed once for the attempt."""
    settings, folder, previous = given.settings, given.folder, given.previous
    if previous is None:
        raise BadInput("a pilot is planned for the agent of phase history; saw none")

    def planned() -> PilotPlan:
        today = account_day(account.timekeeper.now(), account.account.time_zone)
        return make_plan(
            settings,
            known,
            account.account,
            name=folder.run_id,
            model_hash=previous.model_hash,
            first_day=first_pilot_day(today, settings.pilot.shadow_days),
        )

    plan = _once(folder.path / "plan.json", PilotPlan, planned)

    def played() -> PilotExpectation:
        given.on_report(StageReport("playing the plan in the market"))
        expected = forecast_pilot(plan, known.agent.policy, known.forecast(settings), seed=settings.evaluation.seed)
        given.on_report(StageReport("checking what the plan can show"))
        ground = power_ground(given, known, plan)
        power = pilot_power(expected, ground, seed=settings.evaluation.seed)
        most = len(known.fitted.estimates.campaign_names)
        refuse_without_power(power, expected, ground, seed=settings.evaluation.seed, campaigns_most=most)
        write_models({folder.path / "power.json": power})
        return expected

    return plan, _once(folder.path / "expected.json", PilotExpectation, played)


def power_ground(given: Assignment, known: KnownAccount, plan: PilotPlan) -> PowerGround:
    """What the power of a plan is computed with."""
    return PowerGround(
        gate=given.gate,
        chance=known.forecast(given.settings).chance,
        late=known.late,
        time_zone=plan.time_zone,
        settle_days=plan.settle_days,
        daily_micros=given.settings.pilot.daily_micros,
    )


def _once(path: Path, kind: type[Stored], make: Callable[[], Stored]) -> Stored:
    """What the file holds; made and stored if it is not there."""
    if not path.exists():
        write_models({path: make()})
    return kind.model_validate_json(path.read_bytes())


# Spending

_SKEWED = "skewed: what the agent sees on the platform is not what training showed, so nothing was spent"


@dataclass(frozen=True, slots=True)
class _Spent:
    """What came of the control loop."""

    world: str
    ended: str
    mandate: str = ""
    counts: LoopCounts = field(default_factory=lambda: LoopCounts(decided=0, missed=0))
    figures: PilotFigures | None = None
    violations: tuple[str, ...] = ()


def _spend(
    given: Assignment, known: KnownAccount, account: PilotAccount, plan: PilotPlan, expected: PilotExpectation
) -> _Spent:
    settings, mandate = allow_spending(account, plan)
    total = _DAY_HOURS * plan.days
    with opened_guard(settings) as guard:
        run = prepare_run(
            guard,
            plan,
            _pilot_agent(known, plan),
            mandate=mandate,
            run_id=plan.name,
            place=book_place(settings),
            timekeeper=account.timekeeper,
            budget=settings.budget,
            settings=settings.pilot,
            wall_clock=given.clock,
            stop_rules=StopRules(
                loss_cap_micros=plan.loss_cap_micros,
                looks=plan.days,
                expected_value_per_dollar=1 + max(expected.roi.value, 0.0),
            ),
            on_interval=lambda hour: given.on_report(
                StageReport("pilot", min(hour + 1, total), total, "hours")
                if hour < total
                else StageReport("waiting for late conversions")
            ),
        )
        end = PilotLoop(run).run()
        if end.how == "interrupted":
            raise BadInput(f"the pilot {plan.name} was interrupted: resume the run to continue it")
        figures = pilot_figures(run.looker.seen, plan, pilot_begins(plan), account.timekeeper.now())
        return _Spent(
            world=guard.platform.world,
            ended=_ended(end),
            mandate=mandate,
            counts=_counts(run.book),
            figures=figures,
            violations=run.watch.violations(),
        )


def _pilot_agent(known: KnownAccount, plan: PilotPlan) -> PilotAgent:
    market = known.agent.market
    estimates = plan_estimates(known.fitted.estimates, plan)
    segments = known_segments(market, estimates, plan.first_day.weekday() * _DAY_HOURS)
    return PilotAgent(policy=known.agent.policy, known=segments, market=market)


def _ended(end: PilotEnd) -> str:
    return "finished" if end.how == "finished" else end.why


def _counts(book: DecisionBook) -> LoopCounts:
    intervals = Counter(row.state for row in book.intervals())
    orders = Counter(note.word for note in book.orders(0))
    return LoopCounts(decided=intervals["decided"], missed=intervals["missed"], orders=dict(orders))


# Judging


def _measured(known: KnownAccount, plan: PilotPlan, expected: PilotExpectation, spent: _Spent) -> PilotMetrics | None:
    if spent.figures is None or not spent.figures.spend_micros.any():
        return None
    return measure_pilot(
        spent.figures,
        expected,
        known.late,
        time_zone=plan.time_zone,
        safety_violations=len(spent.violations),
    )


def _verdict(given: Assignment, evidence: Evidence) -> Verdict:
    verdict = judge(given.gate, evidence, given.clock.now())
    if not asks_for_data(given.gate):
        return verdict
    given.on_report(StageReport("checking the stored data"))
    job = DataJob(given.settings, given.folder, evidence.measured_at)
    return judge_with_data(verdict, job, given.run_job)


def _by_campaign(expected: PilotExpectation, figures: PilotFigures | None) -> tuple[CampaignMoney, ...]:
    if figures is None:
        return ()
    value = figures.value_micros if figures.sale_value_micros is None else figures.sale_value_micros
    sales = figures.conversions if figures.sales is None else figures.sales
    planned = {
        name: (spend, worth)
        for name, spend, worth in zip(
            expected.campaigns,
            np.sum(expected.spend_micros, axis=0).tolist(),
            np.sum(expected.value_micros, axis=0).tolist(),
            strict=True,
        )
    }
    return tuple(
        CampaignMoney(
            campaign=name,
            spend_micros=int(figures.spend_micros[:, place].sum()),
            value_micros=int(value[:, place].sum()),
            clicks=int(figures.clicks[:, place].sum()),
            conversions=float(sales[:, place].sum()),
            expected_spend_micros=planned[name][0],
            expected_value_micros=planned[name][1],
        )
        for place, name in enumerate(figures.campaigns)
    )


def _skew_text(skew: SkewReport) -> list[str]:
    return [
        f"{each.name} differs ({each.where}): {each.size:.2f}, allowed {each.limit:.2f} ({each.sigmas:.0f} standard"
        " errors)"
        for each in skew.skewed
    ]
