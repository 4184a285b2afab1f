"""Phase 2: does the market reproduce logged campaigns, and would this agent have done better than whoever made them?"""

import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from gaelp.config.fingerprint import fingerprint
from gaelp.config.settings import Settings
from gaelp.config.write import write_models
from gaelp.errors import BadInput
from gaelp.gates import Evidence, judge
from gaelp.history.fidelity import FittedAccount, fit_account, measure_fidelity
from gaelp.history.fidelity_report import FidelityReport
from gaelp.history.log_checks import LogCheck, check_log
from gaelp.history.logged_bidders import bidders_on_log
from gaelp.history.logged_lift import GroupLift, LiftOptions, PolicyLift, group_lifts, policy_lift
from gaelp.history.sealed_window import OpenedWindow, alpha_of_look
from gaelp.history.split_windows import Splits
from gaelp.history.splits import read_window
from gaelp.market.build import configured_personas
from gaelp.market.calibration.report_fit import fit_reports
from gaelp.phases.agent_bundle import Agent, load_bundle, write_bundle
from gaelp.phases.champion_policy import champion_of
from gaelp.phases.data_evidence import asks_for_data, judge_with_data
from gaelp.phases.data_job import DataJob
from gaelp.phases.declaration import Assignment
from gaelp.phases.history_result import HARM_SHARE, HistoryResult, as_phase_result
from gaelp.phases.history_source import provide_history
from gaelp.phases.history_windows import ReportWindows, fix_windows, open_sealed_window, read_windows
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.stage_report import StageReport
from gaelp.storage.backends import build_store

__all__ = ["validate_on_history"]

ALPHA = 0.05  # of all looks at a sealed window together
_NOTHING_KNOWN = (0.0, -1.0, 100.0)  # a lift that the log cannot tell: anything is possible
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
        confidence=1 - alpha_of_look(ALPHA),
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


@dataclass(frozen=True, slots=True)
class _Judged:
    """What the sealed window says of the agent."""

    check: LogCheck
    lift: PolicyLift | None = None
    incumbent_lift: PolicyLift | None = None
    rivals: tuple[PolicyLift, ...] = ()
    groups: tuple[GroupLift, ...] = ()

    @property
    def metrics(self) -> dict[str, float]:
        """The figures of gate 2 about the agent; without propensities there are none."""
        if self.lift is None:
            return {}
        conclusive = not self.check.problems and self.lift.judged.lift is not None
        sample = self.lift.judged.diagnostics.effective_decisions if conclusive else 0.0
        return {
            "effective_sample": sample,
            **_lift_metrics("lift_over_logging", self.lift, conclusive=conclusive),
            **_lift_metrics("lift_over_incumbent", self.incumbent_lift or self.lift, conclusive=conclusive),
            "harmed_groups": float(sum(group.upper < -HARM_SHARE for group in self.groups)),
        }


def _lift_metrics(name: str, lift: PolicyLift, *, conclusive: bool) -> Mapping[str, float]:
    report = lift.judged
    if conclusive and report.lift is not None and report.lift_lower is not None and report.lift_upper is not None:
        value, lower, upper = report.lift, report.lift_lower, report.lift_upper
    else:
        value, lower, upper = _NOTHING_KNOWN
    return {name: value, f"{name}_lower_95": lower, f"{name}_upper_95": min(upper, _NOTHING_KNOWN[2])}


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
) -> _Judged:
    settings = given.settings
    check = check_log(opened.logged, window=opened.window, others=(splits.calibration, splits.validation))
    check.require_usable()
    if check.needs_model:
        return _Judged(check)
    champion = champion_of(settings, given.folder.run_id)
    bidders = {"agent": agent.policy, **{key: agent.tuned.build(key) for key in _RIVALS if key in agent.tuned.bidders}}
    if champion is not None:
        bidders["champion"] = champion.policy
    given.on_report(StageReport("asking what the agent would have bid"))
    policies = bidders_on_log(bidders, agent.market, account.estimates, opened.logged, reach=settings.history.reach)
    rng = np.random.default_rng([settings.evaluation.seed, 23])
    options = LiftOptions(confidence=1 - alpha_of_look(ALPHA), replicates=settings.history.replicates)
    lifts = {name: policy_lift(opened.logged, policy, rng, options) for name, policy in policies.items()}
    against = policies.get("champion")
    return _Judged(
        check,
        lift=lifts["agent"],
        incumbent_lift=None
        if against is None
        else policy_lift(opened.logged, policies["agent"], rng, options, against),
        rivals=tuple(lift for name, lift in lifts.items() if name != "agent"),
        groups=group_lifts(opened.logged, policies["agent"], confidence=options.confidence),
    )
