"""The log decides which gate judges phase 2."""

from gaelp.config import load_settings
from gaelp.gates import load_gate
from gaelp.history.log_checks import LogCheck, LogProblem, ProblemKind
from gaelp.phases.history_gate import gate_for_log

GATES = load_settings("quick-test", environ={}).settings.gate


def test_a_log_with_densities_is_judged_by_the_usual_gate():
    usual = load_gate("history")
    few = LogProblem(ProblemKind.FEW_CLICKS, "9", "1,000", "wait")
    assert gate_for_log(usual, LogCheck(()), GATES) is usual
    assert gate_for_log(usual, LogCheck((few,)), GATES) is usual


def test_a_log_without_any_is_judged_by_the_one_with_higher_bars_and_its_file_is_named():
    missing = LogProblem(ProblemKind.NO_PROPENSITIES, "none", "some", "log them")
    gate = gate_for_log(load_gate("history"), LogCheck((missing,)), GATES)
    assert gate.file.path.endswith("configs/gates/history-without-propensities.yaml")
    assert gate.follows == "history"
