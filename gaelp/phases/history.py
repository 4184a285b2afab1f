"""Phase 2: does the market reproduce logged campaigns, and would this agent have done better than whoever made them?"""

import time
from contextlib import closing

import numpy as np

from gaelp.config.fingerprint import fingerprint
from gaelp.config.settings import Settings
from gaelp.config.write import write_models
from gaelp.errors import BadInput
from gaelp.gates import Evidence, judge
from gaelp.history.fidelity import FittedAccount, fit_account, measure_fidelity
from gaelp.history.fidelity_report import FidelityReport
from gaelp.history.log_checks import check_log
from gaelp.history.logged_bidders import bidders_on_log
from gaelp.history.sealed_window import OpenedWindow
from gaelp.history.split_windows import Splits
from gaelp.history.splits import read_window
from gaelp.market.build import configured_personas
from gaelp.market.calibration.report_fit import fit_reports
from gaelp.phases.agent_bundle import Agent, load_bundle, write_bundle
from gaelp.phases.champion_policy import champion_of
from gaelp.phases.data_evidence import asks_for_data, judge_with_data
from gaelp.phases.data_job import DataJob
from gaelp.phases.declaration import Assignment
from gaelp.phases.history_result import HistoryResult, as_phase_result
from gaelp.phases.history_source import provide_history
from gaelp.phases.history_windows import ReportWindows, fix_windows, open_sealed_window, read_windows
from gaelp.phases.log_judgement import AGENT, CHAMPION, JudgedLog, judge_on_log, look_options
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.stage_report import StageReport
from gaelp.storage.backends import build_store

__all__ = ["validate_on_history"]

_RIVALS = ("constant", "mpc")


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
    _check_readable(settings, splits)
    windows = read_windows(settings, splits)
    account, fidelity = _measure_fidelity(given, agent, windows)
    given.on_report(StageReport("opening the sealed window"))
    opened = open_sealed_window(settings, splits, given.folder, given.previous.model_hash, given.gate, given.clock)
    judged = _judge_agent(given, agent, account, opened, splits)
    evidence = Evidence(
        run_id=given.folder.run_id,
        agent=given.previous.agent,
        learned=given.previous.learned,
        config_hash=fingerprint(settings.history),
        measured_at=given.clock.now(),
        metrics={**fidelity.metrics, **judged.metrics},
    )
    verdict = judge(given.gate, evidence, given.clock.now())
    if asks_for_data(given.gate):
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
        log_problems=tuple(str(problem) for problem in judged.check.problems),
        lift=judged.lift,
        incumbent_lift=judged.incumbent_lift,
        rivals=judged.rivals,
        groups=judged.groups,
        seconds=time.monotonic() - started,
        verdict=verdict,
    )
    write_models({given.folder.details: result})
    return as_phase_result(result, given.folder)


def _check_readable(settings: Settings, splits: Splits) -> None:
    """Refuse a log whose figures would be wrong on what anyone may read: a look is too precious to find that out."""
    with closing(build_store(settings)) as store:
        logged = read_window(store, splits, "validation")
    check_log(logged, window=splits.validation).require_usable()


def _measure_fidelity(given: Assignment, agent: Agent, windows: ReportWindows) -> tuple[FittedAccount, FidelityReport]:
    settings = given.settings
    given.on_report(StageReport("fitting the market to the calibration window"))
    spec = agent.market.spec
    fit = fit_reports(windows.calibration, spec)
    account = fit_account(windows.calibration, fit, spec)
    given.on_report(StageReport("playing logged bids in the market"))
    report = measure_fidelity(
        account,
        windows.validation,
        configured_personas(settings),
        seed=settings.evaluation.seed,
        copies=settings.history.copies,
    )
    return account, report


def _judge_agent(
    given: Assignment, agent: Agent, account: FittedAccount, opened: OpenedWindow, splits: Splits
) -> JudgedLog:
    settings = given.settings
    check = check_log(opened.logged, window=opened.window, others=(splits.calibration, splits.validation))
    check.require_usable()
    if check.needs_model:
        return JudgedLog(check)
    champion = champion_of(settings, given.folder.run_id)
    bidders = {AGENT: agent.policy, **{key: agent.tuned.build(key) for key in _RIVALS if key in agent.tuned.bidders}}
    if champion is not None:
        bidders[CHAMPION] = champion.policy
    given.on_report(StageReport("asking what the agent would have bid"))
    policies = bidders_on_log(bidders, agent.market, account.estimates, opened.logged, reach=settings.history.reach)
    rng = np.random.default_rng([settings.evaluation.seed, 23])
    return judge_on_log(opened.logged, check, policies, rng, look_options(settings.history.replicates))
