"""The question at a gate as a person at a terminal meets it; the progress bar is the one of `gaelp run`."""

import sys
from datetime import UTC, datetime, timedelta

import pytest

from flows.prompt import ask_in_terminal
from gaelp.clock import SystemClock
from gaelp.config import load_settings
from gaelp.errors import WaitingForPerson
from gaelp.gates.decisions import GateDecision, GateQuestion
from gaelp.phases.gate_approval import gate_approvals

ASK = """
import sys
from gaelp.cli.training_progress import shown_progress
from gaelp.config import load_settings
from gaelp.errors import WaitingForPerson
from gaelp.phases.gate_approval import gate_approvals
from gaelp.phases.stage_report import StageReport
from flows.prompt import ask_in_terminal

store = gate_approvals(load_settings(overrides=sys.argv[1:], environ={}).settings).decisions()
[question] = store.open_questions()
with shown_progress() as screen:
    screen.report(StageReport("training", 3, 15, "round"))
    with screen.paused():
        try:
            decision = ask_in_terminal(question, store, "No better than the rule it started from (mpc).")
            print(f"ENDED {decision.choice} by {decision.who}: {decision.why}")
        except WaitingForPerson as waiting:
            print(f"{waiting}\\nENDED waiting")
"""


@pytest.fixture
def settings(tmp_path):
    return load_settings(overrides=[f"home={tmp_path}"], environ={}).settings


@pytest.fixture
def question(settings, passing_verdict):
    at, verdict = datetime.now(UTC), passing_verdict()
    times = {"opened_at": at, "remind_at": at + timedelta(hours=1), "expires_at": at + timedelta(hours=2)}
    asked = GateQuestion(run_id="r", gate=verdict.gate.name, attempt=1, verdict=verdict, model_hash="0" * 64, **times)
    return gate_approvals(settings).decisions().ask(asked)


@pytest.fixture
def asked(question, tmp_path, terminal):
    """A terminal that shows the question."""

    def show(columns=80, *overrides):
        screen = terminal([sys.executable, "-c", ASK, f"home={tmp_path}", *overrides], columns)
        screen.expect("approve, reject or rerun? ")
        return screen

    return show


def decided(settings, question):
    return gate_approvals(settings).decisions().decision(question)


@pytest.mark.parametrize(("columns", "key"), [(80, "\x03"), (170, "\x04")])
def test_the_question_is_visible_at_any_width_and_ctrl_c_or_ctrl_d_leaves_the_run_waiting(
    asked, settings, question, columns, key
):
    screen = asked(columns)
    screen.wait(1.5)  # a bar that is still drawn would have covered the question by now
    lines = screen.lines()
    assert lines[-1] == "approve, reject or rerun? "
    assert max(map(len, lines)) <= columns
    assert any(line.startswith("lead_over_best_rule") and "pass" in line for line in lines)
    assert "No better than the rule it started from (mpc)." in lines
    assert any(line.startswith("Approving does not allow any spending.") for line in lines)
    for sentence in (
        "It is the first run judged on these data.",
        "Approve continues, reject ends the run, rerun trains with another seed.",
        "Ctrl-C leaves the run waiting",
    ):
        assert sentence in " ".join(lines)
    screen.press(key)
    screen.expect("ENDED waiting")
    text = screen.text()
    for command in ("gaelp gate show r", f"gaelp gate approve r --verdict {question.code} --why WHY", "gaelp resume r"):
        assert command in text
    assert decided(settings, question) is None


def test_enter_alone_decides_nothing_and_an_answer_is_recorded_with_name_and_reason(asked, settings, question):
    screen = asked()
    for typed, shown in (("", "type the whole word"), ("yes", "'yes' is not one of the answers")):
        screen.type(typed)
        screen.expect(shown)
        screen.expect("approve, reject or rerun? ")
        assert decided(settings, question) is None
    screen.type("approve")
    screen.expect("Your name [")
    screen.type("Ada")
    screen.expect("Why: ")
    screen.type("")
    screen.expect("Why: ")
    screen.type("every rule holds")
    screen.expect("ENDED approve by Ada: every rule holds")
    assert decided(settings, question).through == "prompt"


def test_an_answer_recorded_elsewhere_ends_the_question_within_seconds_and_names_who_decided(asked, settings, question):
    screen = asked()
    answer = {"run_id": "r", "gate": question.gate, "evidence_hash": question.evidence_hash, "through": "command"}
    gate_approvals(settings).decisions().decide(
        GateDecision(**answer, choice="reject", who="Bob", why="the market moved", decided_at=SystemClock().now())
    )
    screen.expect("Bob decided by `gaelp gate`: reject (the market moved)", seconds=10)
    screen.expect("ENDED reject by Bob: the market moved")


def test_where_signatures_are_needed_the_way_is_shown_and_the_question_stays(asked, settings, question):
    screen = asked(80, "approvals.policy=live")
    for typed, follows in (("approve", "Your name ["), ("Ada", "Why: "), ("good", "takes signed approvals only")):
        screen.type(typed)
        screen.expect(follows)
    screen.expect("approve, reject or rerun? ")
    assert decided(settings, question) is None


def test_without_a_terminal_nobody_is_asked(settings, question):
    with pytest.raises(WaitingForPerson, match="nobody can be asked here, so run r waits at gate simulation"):
        ask_in_terminal(question, gate_approvals(settings).decisions())
