"""Check an answer at a gate that is given outside the run, under the policy of that run."""

from datetime import datetime

from pydantic import ValidationError

from gaelp.approvals import load_policy, stricter
from gaelp.config import Settings, load_settings
from gaelp.errors import Refused
from gaelp.gates.decision_store import DecisionStore
from gaelp.gates.decisions import GateChoice, GateDecision, GateQuestion, already_decided, check_choice
from gaelp.phases.gate_approval import GateApprovals, gate_approvals
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.run_settings import read_settings
from gaelp.phases.runs import find_run
from gaelp.types import RunId

__all__ = ["answer_problem", "approvals_of_run", "check_answer"]


def approvals_of_run(settings: Settings, run_id: str) -> GateApprovals:
    """Return how the gates of a run are approved: by its own policy, or that of these settings if it is stricter."""
    record = find_run(settings.home, run_id)
    recorded = read_settings(RunFolder(settings.home, RunId(run_id)))
    if recorded is not None:
        policy = recorded.policy_in_force()
    else:  # a run from before policies were recorded
        policy = load_policy(load_settings(record.config, overrides=record.overrides).settings.approvals.policy)
    return gate_approvals(settings, stricter(policy, load_policy(settings.approvals.policy)))


def check_answer(
    store: DecisionStore, question: GateQuestion, choice: GateChoice, now: datetime
) -> GateDecision | None:
    """Raise Refused for an answer that would not be recorded: not offered, too late, or already decided otherwise.

    Return the decision if the same one is on record, None if the answer may be given.
    """
    decided = store.decision(question)
    if decided is None:
        check_choice(question, choice, now)
        return None
    if decided.choice != choice:
        raise already_decided(decided)
    return decided


def answer_problem(problem: Refused | ValidationError) -> str:
    """Return in one line why an answer was not recorded."""
    if isinstance(problem, Refused):
        return str(problem)
    first = problem.errors(include_url=False)[0]
    return f"{first['loc'][0]}: {first['msg'].removeprefix('Value error, ')}"
