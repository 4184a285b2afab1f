"""Phase 4: the agent beside its control on the account of the pilot, with exposure and budgets that grow by proof."""

import time
from datetime import date

from gaelp.clock import account_day
from gaelp.config.fingerprint import fingerprint
from gaelp.config.write import write_models
from gaelp.errors import BadInput
from gaelp.gates import Evidence
from gaelp.phases.agent_bundle import copy_bundle, load_bundle
from gaelp.phases.data_evidence import judge_attempt
from gaelp.phases.declaration import Assignment
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.pilot_account import PilotAccount, allow_spending, opened_account
from gaelp.phases.pilot_planning import PilotKnowledge, read_account
from gaelp.phases.scale_planning import RELEASE_PLAN_FILE
from gaelp.phases.scale_preview import fix_release_plan
from gaelp.phases.scale_release import Released, release_agent
from gaelp.phases.scale_result import EXPOSURE_PICTURE, ScaleResult, as_phase_result, draw_exposure, exposure_days
from gaelp.phases.scale_transfer import transfer_of_bundle
from gaelp.release.day_judge import days_of_release
from gaelp.release.pairs import ReleaseDays
from gaelp.release.release_controller import DaysBefore
from gaelp.release.release_metrics import ServiceCounts, measure_release
from gaelp.release.release_plan import ReleasePlan

__all__ = ["run_scale"]


def run_scale(given: Assignment) -> PhaseResult:
    """Carry out phase 4; interrupted, it resumes: what was planned, signed, decided and spent stays as it is."""
    if given.previous is None:
        raise BadInput("phase scale releases the agent of phase pilot; saw none: pilot one first")
    started = time.monotonic()
    settings, folder, previous = given.settings, given.folder, given.previous
    model = copy_bundle(settings, previous, folder.path / "agent")
    known = read_account(settings, load_bundle(folder.path / "agent", settings), given.clock, given.on_report)
    with opened_account(settings, previous.folder(settings.home), given.clock) as account:
        path = folder.path / RELEASE_PLAN_FILE
        plan = fix_release_plan(
            path, settings, known, previous, given.on_report, gate=given.gate, today=_today(account)
        )
        released = release_agent(given, known, account, plan, allow_spending(account, plan.campaigns))
    days = _final_days(known, plan, released)
    transfer = transfer_of_bundle(
        settings, folder.path / "agent", seed=settings.evaluation.seed, clock=given.clock, on_report=given.on_report
    )
    decided, missed = released.counts.decided, released.counts.missed
    counts = ServiceCounts(safety_violations=len(released.violations), decisions=decided + missed, errors=missed)
    measured = measure_release(days, plan.pairs, plan.lift, flights=plan.flights, counts=counts)
    evidence = Evidence(
        run_id=folder.run_id,
        agent=previous.agent,
        learned=previous.learned,
        config_hash=fingerprint(settings.scale),
        measured_at=given.clock.now(),
        metrics=measured.metrics | transfer.metrics,
    )
    result = ScaleResult(
        run_id=folder.run_id,
        agent=previous.agent,
        learned=previous.learned,
        model_hash=previous.model_hash,
        model=model.relative_to(folder.path).as_posix(),
        world=released.world,
        plan=plan,
        mandate=released.mandate,
        ended=released.ended,
        why=released.why,
        days=exposure_days(released),
        comparison=measured,
        transfer=transfer,
        factors=released.factors,
        counts=released.counts,
        violations=released.violations,
        seconds=time.monotonic() - started,
        verdict=judge_attempt(given, evidence),
    )
    (folder.path / EXPOSURE_PICTURE).write_bytes(draw_exposure(result))
    write_models({folder.details: result})
    return as_phase_result(result, folder)


def _today(account: PilotAccount) -> date:
    return account_day(account.timekeeper.now(), account.account.time_zone)


def _final_days(known: PilotKnowledge, plan: ReleasePlan, released: Released) -> ReleaseDays:
    """The days of the release as they are known after settling, by the advertiser's own sales where there is a feed."""
    figures, before = released.figures, released.before
    count = min(len(before.decided), len(figures.days))  # a stop may come before anything of its day is reported
    sold = figures.sale_value_micros
    value = figures.value_micros if sold is None else sold
    return days_of_release(
        value[:count],
        figures.spend_micros[:count],
        DaysBefore(before.treated[:count], before.decided[:count], before.daily_micros[:count]),
        late=known.late if sold is not None else known.late.model_copy(update={"refunds": None}),
        dates=figures.days[:count],
        as_of=(figures.as_of,) * count,
        time_zone=plan.campaigns.time_zone,
    )
