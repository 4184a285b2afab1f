"""Phase 2: does the market reproduce logged campaigns, and would this agent have done better than whoever made them?"""

import time
from contextlib import closing

from gaelp.config.fingerprint import fingerprint
from gaelp.config.settings import Settings
from gaelp.config.write import write_models
from gaelp.errors import BadInput
from gaelp.gates import Evidence, judge
from gaelp.history.fidelity import FittedAccount, compare_play, fit_account, play_account
from gaelp.history.fidelity_report import FidelityReport
from gaelp.history.log_checks import LogCheck, check_log
from gaelp.history.split_windows import Splits
from gaelp.history.splits import read_window
from gaelp.market.build import configured_personas
from gaelp.market.calibration.report_fit import fit_reports
from gaelp.phases.agent_bundle import Agent, load_bundle, write_bundle
from gaelp.phases.data_evidence import asks_for_data, judge_with_data
from gaelp.phases.data_job import DataJob
from gaelp.phases.declaration import Assignment
from gaelp.phases.history_gate import gate_for_log
from gaelp.phases.history_judging import judge_agent
from gaelp.phases.history_pictures import write_pictures
from gaelp.phases.history_result import HistoryResult, as_phase_result
from gaelp.phases.history_source import provide_history
from gaelp.phases.history_windows import ReportWindows, fix_windows, open_sealed_window, read_windows
from gaelp.phases.log_judgement import look_options
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.stage_report import StageReport
from gaelp.storage.backends import build_store

__all__ = ["validate_on_history"]


def validate_on_history(given: Assignment) -> PhaseResult:
    """Carry out phase 2; an attempt that was finished is not computed again, and takes no further look."""
    if given.previous is None:
        raise BadInput("phase history judges the agent of phase simulation; saw none: train one first")
    started = time.monotonic()
    settings = given.settings
    history = provide_history(settings, given.on_report)
    splits = fix_windows(settings, history, given.clock)
    model = write_bundle(settings, given.previous, given.folder.path / "agent")
    agent = load_bundle(given.folder.path / "agent", settings)
    readable = _check_readable(settings, splits)
    gate = gate_for_log(given.gate, readable, settings.gate)
    windows = read_windows(settings, splits)
    account, fidelity = _measure_fidelity(given, agent, windows)
    given.on_report(StageReport(f"opening the sealed window for gate {gate.name}"))
    opened = open_sealed_window(settings, splits, given.folder, given.previous.model_hash, gate, given.clock)
    judged = judge_agent(given, agent, account, opened, splits, by_market=readable.needs_model)
    evidence = Evidence(
        run_id=given.folder.run_id,
        agent=given.previous.agent,
        learned=given.previous.learned,
        config_hash=fingerprint(settings.history),
        measured_at=given.clock.now(),
        metrics={**fidelity.metrics, **judged.metrics},
    )
    verdict = judge(gate, evidence, given.clock.now())
    if asks_for_data(gate):
        given.on_report(StageReport("checking the stored data"))
        job = DataJob(settings, given.folder, evidence.measured_at, sources=splits.sources, ticket=opened.ticket)
        verdict = judge_with_data(verdict, job, given.run_job)
    result = HistoryResult(
        run_id=given.folder.run_id,
        agent=given.previous.agent,
        learned=given.previous.learned,
        model_hash=given.previous.model_hash,
        model=model.relative_to(given.folder.path).as_posix(),
        splits=splits,
        look=opened.ticket.look,
        confidence=look_options(settings.history.replicates).confidence,
        fidelity=fidelity,
        log_problems=judged.doubts,
        lift=judged.lift,
        incumbent_lift=judged.incumbent_lift,
        rivals=judged.rivals,
        groups=judged.groups,
        model_based=judged.model,
        ranking=judged.ranking,
        truth=judged.truth,
        seconds=time.monotonic() - started,
        verdict=verdict,
    )
    write_models({given.folder.details: result})
    return as_phase_result(result, given.folder)


def _check_readable(settings: Settings, splits: Splits) -> LogCheck:
    """Refuse a log whose figures would be wrong on what anyone may read: a look is too precious to find that out."""
    with closing(build_store(settings)) as store:
        logged = read_window(store, splits, "validation")
    check = check_log(logged, window=splits.validation)
    check.require_usable()
    return check


def _measure_fidelity(given: Assignment, agent: Agent, windows: ReportWindows) -> tuple[FittedAccount, FidelityReport]:
    settings = given.settings
    given.on_report(StageReport("fitting the market to the calibration window"))
    spec = agent.market.spec
    fit = fit_reports(windows.calibration, spec)
    account = fit_account(windows.calibration, fit, spec)
    given.on_report(StageReport("playing logged bids in the market"))
    seed, personas = settings.evaluation.seed, configured_personas(settings)
    play = play_account(account, windows.validation, personas, seed=seed, copies=settings.history.copies)
    report = compare_play(account, windows.validation, play, seed=seed)
    write_pictures(given.folder, report, play)
    return account, report
