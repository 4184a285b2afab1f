"""Two phases behind their gates, without a server: what is handed on, what a second attempt is, what doubt means."""

import dataclasses
import itertools
import logging
from datetime import timedelta

import pytest
import yaml

import flows.gate
from flows.answers import FormAnswer
from flows.gate import pass_gate, pass_gates
from flows.run import GateClosed, Run
from gaelp.clock import SystemClock
from gaelp.config import load_settings
from gaelp.errors import Refused
from gaelp.gates import Evidence, judge
from gaelp.gates.decisions import GateDecision
from gaelp.phases.declaration import PhaseDeclaration, carry_out, file_hash
from gaelp.phases.gate_approval import gate_approvals
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.run_folder import RunFolder
from gaelp.types import Phase, RunId

GATE = {
    "follows": "pilot",
    "criteria": [
        {
            "metric": "roi",
            "bound": "at_least",
            "threshold": 0.05,
            "compare": "value",
            "sample_metric": "campaigns",
            "minimum_sample": 5,
            "why": "tried out",
        }
    ],
}


class Toy:
    """The work of a phase that takes no time; each call measures the next of the given figures."""

    def __init__(self, *figures):
        self._figures = iter(figures or itertools.repeat({}))
        self.given = []

    def __call__(self, given):
        self.given.append(given)
        model = given.folder.path / "model.bin"
        model.parent.mkdir(parents=True, exist_ok=True)
        before = given.previous.model_file(given.settings.home).read_bytes() if given.previous else b"made of"
        model.write_bytes(before + f" {given.folder.phase}".encode())
        now = given.clock.now()
        evidence = Evidence(
            run_id=given.folder.run_id,
            agent="toy",
            learned=True,
            config_hash="c",
            measured_at=now,
            metrics={"roi": 0.3, "campaigns": 20.0} | next(self._figures),
        )
        return PhaseResult(
            phase=given.folder.phase,
            run_id=given.folder.run_id,
            attempt=given.attempt,
            extension=given.extension,
            agent="toy",
            learned=True,
            model="model.bin",
            model_hash=file_hash(model),
            verdict=judge(given.gate, evidence, now),
            seconds=0,
            judged_on="toy",
        )


@pytest.fixture
def declare(tmp_path):
    def make(phase, work, **more):
        path = tmp_path / f"{phase}.yaml"
        path.write_text(yaml.safe_dump(GATE | {"name": str(phase), "follows": str(phase)}), encoding="utf-8")
        rest = {"second_attempt": "another_draw", "inconclusive": "hold", "gate": path} | more
        return PhaseDeclaration(phase=phase, work=work, **rest)

    return make


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run whose tasks are plain calls."""
    monkeypatch.setattr(flows.gate, "do_phase", plain_phase)
    monkeypatch.setattr(flows.gate, "show_verdict", shown_page)
    monkeypatch.setattr(flows.gate, "get_run_logger", lambda: logging.getLogger("tests"))
    settings = load_settings(overrides=[f"home={tmp_path}"], environ={}).settings
    store = gate_approvals(settings).decisions()
    return Run(RunFolder(tmp_path, RunId("r")), settings, "base", [], "auto", "flow-run", False, store)


def shown_page(_code, outcome, _attempt, _looks, expires, **_):
    """Show no page; one on which somebody has to decide says until when."""
    assert outcome == "inconclusive" or bool(expires) == (outcome == "pass")
    return "/page"


def plain_phase(_phase, _run_id, _attempt, extension, *, declared, assign):
    return str(carry_out(declared, assign(extension, lambda report: None)))


class Suspended(BaseException):
    """The process of the run is gone."""


class Server:
    """What Prefect does at a gate: it keeps what was answered, and runs the flow again from the top."""

    def __init__(self, monkeypatch):
        self.asked, self.sent = [], []
        monkeypatch.setattr(flows.gate, "suspend_flow_run", self._suspend)
        monkeypatch.setattr(flows.gate, "answers_to", self._answers)
        monkeypatch.setattr(flows.gate, "pause_key", lambda _, question: f"{question.code}-{len(self.asked) + 1}")

    def _suspend(self, *, wait_for_input, timeout, key):
        self.asked.append(key)
        self.form = wait_for_input._description
        raise Suspended

    def _answers(self, _flow_run_id, question):
        return [answer for opened_at, answer in self.sent if opened_at == question.opened_at]

    def send(self, question, decision, *, code=None, at=None):
        fields = {"decision": decision, "verdict": code or question.code, "who": "Ada", "why": "looked at it"}
        self.sent.append((question.opened_at, FormAnswer(fields, at or SystemClock().now())))


@pytest.fixture
def server(monkeypatch):
    return Server(monkeypatch)


@pytest.fixture
def waiting(run):
    return dataclasses.replace(run, approval="person")


def question_of(run):
    return run.decisions.history(run.run_id)[-1][0]


def test_a_second_phase_sees_what_the_first_proved(run, declare, tmp_path):
    first, second = Toy(), Toy()
    passed = pass_gates(run, (declare(Phase.SIMULATION, first), declare(Phase.PILOT, second)))
    assert [result.phase for result in passed] == [Phase.SIMULATION, Phase.PILOT]
    assert first.given[0].previous is None
    assert second.given[0].previous == passed[0]
    assert passed[1].model_file(tmp_path).read_bytes() == b"made of simulation pilot"
    assert passed[0].model_file(tmp_path).parent == tmp_path / "runs" / "r" / "simulation" / "1"


def test_an_agent_that_fails_the_first_gate_does_not_reach_the_second_phase(run, declare):
    second = Toy()
    with pytest.raises(GateClosed, match="fails, 1 of 1 rules") as closed:
        pass_gates(run, (declare(Phase.SIMULATION, Toy({"roi": 0.01})), declare(Phase.PILOT, second)))
    assert closed.value.name == "Refused"
    assert second.given == []


def test_a_run_that_is_started_again_computes_nothing_that_spends_a_second_time(run, declare):
    work = Toy()
    pilot = declare(Phase.PILOT, work, second_attempt="never_spend_again")
    assert pass_gate(run, pilot, None) == pass_gate(run, pilot, None)
    assert len(work.given) == 1


def test_an_inconclusive_phase_is_extended_until_its_data_settle_it(run, declare):
    work = Toy({"campaigns": 2.0}, {"campaigns": 4.0}, {"campaigns": 6.0})
    pilot = declare(Phase.PILOT, work, second_attempt="never_spend_again", inconclusive="extend", extensions_max=5)
    passed = pass_gate(run, pilot, None)
    assert (passed.extension, passed.verdict.outcome, len(work.given)) == (2, "pass", 3)


@pytest.mark.parametrize(("meaning", "name"), [("hold", "Rejected"), ("refuse", "Refused")])
def test_what_inconclusive_means_is_declared(run, declare, meaning, name):
    with pytest.raises(GateClosed) as closed:
        pass_gate(run, declare(Phase.PILOT, Toy({"campaigns": 2.0}), inconclusive=meaning), None)
    assert closed.value.name == name


def test_a_model_exchanged_while_a_person_decides_does_not_continue(waiting, declare, server, tmp_path):
    pilot = declare(Phase.PILOT, Toy(), second_attempt="never_spend_again")
    with pytest.raises(Suspended):
        pass_gate(waiting, pilot, None)
    server.send(question_of(waiting), "approve")
    (tmp_path / "runs/r/pilot/1/model.bin").write_bytes(b"another model")
    with pytest.raises(Refused, match="the model of phase pilot"):
        pass_gate(waiting, pilot, None)


def test_a_result_altered_to_name_another_model_does_not_continue(waiting, declare, server, tmp_path):
    pilot = declare(Phase.PILOT, Toy(), second_attempt="never_spend_again")
    with pytest.raises(Suspended):
        pass_gate(waiting, pilot, None)
    server.send(question_of(waiting), "approve")
    folder = tmp_path / "runs/r/pilot/1"
    before = file_hash(folder / "model.bin")
    (folder / "model.bin").write_bytes(b"another model")
    text = (folder / "result.json").read_text(encoding="utf-8").replace(before, file_hash(folder / "model.bin"))
    (folder / "result.json").write_text(text, encoding="utf-8")
    with pytest.raises(Suspended):  # it is another question: the answer was about another model
        pass_gate(waiting, pilot, None)
    assert question_of(waiting).model_hash == file_hash(folder / "model.bin")


# An answer that the server accepted


@pytest.mark.parametrize("choice", ["approve", "reject"])
def test_an_accepted_answer_is_recorded_by_the_next_process(waiting, declare, server, choice):
    pilot = declare(Phase.PILOT, Toy())
    with pytest.raises(Suspended):
        pass_gate(waiting, pilot, None)
    question = question_of(waiting)
    server.send(question, choice)
    if choice == "approve":
        pass_gate(waiting, declare(Phase.PILOT, pilot.work, second_attempt="never_spend_again"), None)
    else:
        with pytest.raises(GateClosed, match="rejected by Ada"):
            pass_gate(waiting, declare(Phase.PILOT, pilot.work, second_attempt="never_spend_again"), None)
    assert waiting.decisions.decision(question).choice == choice
    assert len(server.asked) == 1


@pytest.mark.parametrize("step", ["answers_to", "read_answer", "decide", "find_decision"])
def test_killed_at_any_step_between_the_answer_and_the_record_the_rejection_is_recorded(
    waiting, declare, server, monkeypatch, step
):
    pilot = declare(Phase.PILOT, Toy(), second_attempt="never_spend_again")
    with pytest.raises(Suspended):
        pass_gate(waiting, pilot, None)
    server.send(question_of(waiting), "reject")
    with monkeypatch.context() as killed:

        def kill(*_, **__):
            raise Suspended

        if step == "decide":
            killed.setattr(type(waiting.decisions), "decide", kill)
        else:
            killed.setattr(flows.gate, step, kill)
        with pytest.raises(Suspended):
            pass_gate(waiting, pilot, None)
    with pytest.raises(GateClosed, match="rejected by Ada at gate pilot: looked at it"):
        pass_gate(waiting, pilot, None)
    assert waiting.decisions.decision(question_of(waiting)).choice == "reject"
    assert len(server.asked) == 1, "it is not asked a second time"


def test_an_answer_given_in_time_counts_although_the_run_had_its_turn_after_the_question_expired(
    waiting, declare, server, monkeypatch
):
    pilot = declare(Phase.PILOT, Toy(), second_attempt="never_spend_again")
    with pytest.raises(Suspended):
        pass_gate(waiting, pilot, None)
    question = question_of(waiting)
    server.send(question, "reject", at=question.opened_at + timedelta(minutes=1))
    days = SystemClock().now() + timedelta(days=30)
    monkeypatch.setattr(flows.gate.SystemClock, "now", lambda self: days)
    with pytest.raises(GateClosed, match="rejected by Ada"):
        pass_gate(waiting, pilot, None)


def test_an_answer_is_on_record_although_the_evidence_is_too_old_meanwhile(
    waiting, declare, server, monkeypatch, tmp_path
):
    pilot = declare(Phase.PILOT, Toy(), second_attempt="never_spend_again")
    gate = yaml.safe_load(pilot.gate.read_text(encoding="utf-8"))
    gate["criteria"][0]["maximum_age_hours"] = 24
    pilot.gate.write_text(yaml.safe_dump(gate), encoding="utf-8")
    with pytest.raises(Suspended):
        pass_gate(waiting, pilot, None)
    question = question_of(waiting)
    server.send(question, "reject")
    days = SystemClock().now() + timedelta(days=30)
    monkeypatch.setattr(flows.gate.SystemClock, "now", lambda self: days)
    with pytest.raises(GateClosed, match="fails, 1 of 1 rules"):
        pass_gate(waiting, pilot, None)
    assert waiting.decisions.decision(question).choice == "reject"


def test_a_second_phase_that_takes_longer_than_the_first_one_s_evidence_stays_fresh_is_not_lost(
    run, declare, monkeypatch
):
    first = declare(Phase.SIMULATION, Toy(), second_attempt="never_look_again")
    gate = yaml.safe_load(first.gate.read_text(encoding="utf-8"))
    gate["criteria"][0]["maximum_age_hours"] = 24
    first.gate.write_text(yaml.safe_dump(gate), encoding="utf-8")
    phases = (first, declare(Phase.PILOT, Toy(), second_attempt="never_spend_again"))
    passed = pass_gates(run, phases)
    days = SystemClock().now() + timedelta(days=30)
    monkeypatch.setattr(flows.gate.SystemClock, "now", lambda self: days)
    assert pass_gates(run, phases) == passed


def test_an_answer_about_another_verdict_is_logged_and_asked_again_and_the_next_one_counts(
    waiting, declare, server, caplog
):
    pilot = declare(Phase.PILOT, Toy(), second_attempt="never_spend_again")
    with pytest.raises(Suspended):
        pass_gate(waiting, pilot, None)
    server.send(question_of(waiting), "approve", code="0" * 8)
    with pytest.raises(Suspended):
        pass_gate(waiting, pilot, None)
    assert "gate pilot asks again, the last answer does not count" in caplog.text
    assert server.form.startswith("**The last answer does not count.**")
    assert waiting.decisions.decision(question_of(waiting)) is None
    caplog.clear()
    server.send(question_of(waiting), "approve")
    assert pass_gate(waiting, pilot, None).verdict.outcome == "pass"
    assert "does not count" not in caplog.text, "the notice is about the last answer only"


def test_the_log_says_which_run_waits_at_which_gate(waiting, declare, server, caplog):
    caplog.set_level(logging.INFO)
    with pytest.raises(Suspended):
        pass_gate(waiting, declare(Phase.PILOT, Toy()), None)
    assert "run r waits at gate pilot for a person" in caplog.text


def test_a_decision_on_the_command_line_counts_before_any_form(waiting, declare, server):
    pilot = declare(Phase.PILOT, Toy(), second_attempt="never_spend_again")
    with pytest.raises(Suspended):
        pass_gate(waiting, pilot, None)
    question = question_of(waiting)
    said = {"run_id": "r", "gate": "pilot", "evidence_hash": question.evidence_hash, "through": "command"}
    waiting.decisions.decide(GateDecision(**said, choice="reject", who="Bob", why="no", decided_at=SystemClock().now()))
    server.send(question, "approve")
    with pytest.raises(GateClosed, match="rejected by Bob"):
        pass_gate(waiting, pilot, None)
