"""Phase 3: the agent drives campaigns on a small budget, under a signed mandate, and is judged by what came of it."""

import time
from datetime import date

import numpy as np

from gaelp.clock import account_day
from gaelp.config.fingerprint import fingerprint
from gaelp.config.write import write_models
from gaelp.errors import BadInput
from gaelp.gates import Evidence
from gaelp.phases.agent_bundle import copy_bundle, load_bundle
from gaelp.phases.data_evidence import judge_attempt
from gaelp.phases.declaration import Assignment
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.pilot_account import PilotAccount, allow_spending, end_mandate, opened_account
from gaelp.phases.pilot_planning import PilotKnowledge, first_pilot_day, read_account
from gaelp.phases.pilot_result import CampaignReturn, PilotResult, as_phase_result
from gaelp.phases.pilot_shadow import watch_before_spending
from gaelp.phases.pilot_spending import Spent, spend_budget
from gaelp.phases.planned_pilot import PLAN_FILE, PlannedPilot, fix_plan
from gaelp.pilot.expectation import PilotExpectation
from gaelp.pilot.pilot_figures import PilotFigures
from gaelp.pilot.pilot_metrics import PilotMetrics, measure_pilot
from gaelp.pilot.skew import SkewReport

__all__ = ["run_pilot"]

_SKEWED = "skewed: what the agent sees on the platform is not what training showed, so nothing was spent"


def run_pilot(given: Assignment) -> PhaseResult:
    """Carry out phase 3; interrupted, it resumes: what was planned, signed, watched and spent stays as it is."""
    if given.previous is None:
        raise BadInput("phase pilot spends with the agent of phase history; saw none: validate one first")
    started = time.monotonic()
    settings, folder, previous = given.settings, given.folder, given.previous
    model = copy_bundle(settings, previous, folder.path / "agent")
    known = read_account(settings, load_bundle(folder.path / "agent", settings), given.clock, given.on_report)
    with opened_account(settings, folder, given.clock) as account:
        planned = fix_plan(
            folder.path / PLAN_FILE,
            settings,
            known,
            account.account,
            given.gate,
            given.on_report,
            name=folder.run_id,
            model_hash=previous.model_hash,
            first_day=first_pilot_day(_today(account), settings.pilot),
        )
        allowed = allow_spending(account, planned.plan)
        skew = watch_before_spending(account, known, planned.plan, folder, given.on_report)
        if not skew.is_clean:
            end_mandate(allowed, _SKEWED)
            spent = Spent(_world(account), _SKEWED)
        else:
            spent = spend_budget(given, known, account, planned, allowed)
    metrics = _measured(known, planned, spent)
    evidence = Evidence(
        run_id=folder.run_id,
        agent=previous.agent,
        learned=previous.learned,
        config_hash=fingerprint(settings.pilot),
        measured_at=given.clock.now(),
        metrics={**_shadow_metrics(skew, planned), **(metrics.metrics if metrics else {})},
    )
    result = PilotResult(
        run_id=folder.run_id,
        agent=previous.agent,
        learned=previous.learned,
        model_hash=previous.model_hash,
        model=model.relative_to(folder.path).as_posix(),
        world=spent.world,
        plan=planned.plan,
        mandate=spent.mandate,
        expected=planned.expected,
        skewed_features=tuple(_skew_text(skew)),
        ended=spent.ended,
        counts=spent.counts,
        metrics=metrics,
        campaigns=_by_campaign(planned.expected, spent.figures),
        violations=spent.violations,
        seconds=time.monotonic() - started,
        verdict=judge_attempt(given, evidence),
    )
    write_models({folder.details: result})
    return as_phase_result(result, folder)


def _shadow_metrics(skew: SkewReport, planned: PlannedPilot) -> dict[str, float]:
    return {**skew.metrics, "shadow_hours": float(skew.hours * len(planned.plan.campaigns))}


def _today(account: PilotAccount) -> date:
    return account_day(account.timekeeper.now(), account.account.time_zone)


def _world(account: PilotAccount) -> str:
    return "sandbox" if account.settings.pilot.local else "live"


def _measured(known: PilotKnowledge, planned: PlannedPilot, spent: Spent) -> PilotMetrics | None:
    if spent.figures is None or not spent.figures.spend_micros.any():
        return None
    return measure_pilot(
        spent.figures,
        planned.expected,
        known.late,
        time_zone=planned.plan.time_zone,
        safety_violations=len(spent.violations),
    )


def _by_campaign(expected: PilotExpectation, figures: PilotFigures | None) -> tuple[CampaignReturn, ...]:
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
        CampaignReturn(
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
