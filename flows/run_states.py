"""The state of each run: from its own files and, where its server answers, from there; with the runs queued there."""

from pathlib import Path

import psutil

from flows.connection import NoServer, connect
from gaelp.clock import SystemClock
from gaelp.config import Settings
from gaelp.config.environment import process_environment
from gaelp.errors import BadInput
from gaelp.gates.decisions import GateDecision, GateQuestion, question_status
from gaelp.phases.gate_approval import gate_approvals
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.runs import RunRecord, all_runs, find_run, phases_done, read_end
from gaelp.types import RunId

__all__ = ["RunStates", "working_process"]

# The server's names for what a run in a terminal is called too.
_AT_WORK = {"Running": "at work", "Pending": "starting", "Submitting": "starting", "Resuming": "starting"}
_DECIDED = {"approve": "approved", "reject": "rejected", "rerun": "to be repeated"}


class RunStates:
    """The runs of one home. The server is asked once whether it answers, and only if it is needed."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._decisions = gate_approvals(settings).decisions()
        self._connected: bool | None = None  # None: not tried yet

    @property
    def home(self) -> Path:
        """Where the runs are."""
        return self._settings.home

    def all(self) -> list[tuple[RunRecord, str]]:
        """Every run with its state, oldest first; those that wait for their turn on the server are last."""
        records = all_runs(self.home)
        known = {record.driver_id for record in records}
        waiting = [(record, state) for record, state in self._queued() if record.driver_id not in known]
        return [(record, self.state(record)) for record in records] + waiting

    def find(self, run_id: str) -> tuple[RunRecord, str]:
        """One run with its state, also if it is only queued."""
        for record, state in self._queued():
            if record.run_id == run_id and not RunFolder(self.home, RunId(run_id)).record.exists():
                return record, state
        record = find_run(self.home, run_id)
        return record, self.state(record)

    def state(self, record: RunRecord) -> str:
        """One line on where a run is."""
        folder = RunFolder(self.home, RunId(record.run_id))
        if record.driver == "deployment":
            return self._state_of_deployment(folder, record)
        at_gate = self._open_question(record.run_id)
        if (process := working_process(folder, record)) is not None:
            return (
                f"waiting at gate {at_gate.gate}, asked in process {process}"
                if at_gate
                else f"at work in process {process}"
            )
        if (end := read_end(folder)) is not None and end.state != "Waiting":
            return end.text
        return self._state_of_files(record)

    def _state_of_files(self, record: RunRecord) -> str:
        """The state of a run that no process works on."""
        results = phases_done(self.home, record.run_id)
        history = self._decisions.history(record.run_id)
        if history:
            return _after_question(*history[-1])
        if results and record.driver == "train":
            return f"trained, gate {results[-1].verdict.gate.name} says {results[-1].verdict.outcome}"
        if results and results[-1].verdict.outcome == "fail":
            return f"Refused: {results[-1].verdict.summary}"
        return f"interrupted: `gaelp resume {record.run_id}`"

    def _state_of_deployment(self, folder: RunFolder, record: RunRecord) -> str:
        end = read_end(folder)
        if end is not None and end.state in {"Completed", "Judged"}:
            return end.text
        if not self._reachable():
            return end.text if end else self._state_without_server(record)
        from flows.flow_runs import state_name  # noqa: PLC0415 - Prefect reads the environment when it is imported

        try:
            state = state_name(record.driver_id)
        except BadInput as problem:
            return end.text if end else f"unknown: {problem}"
        if state.startswith("Suspended"):
            return self._state_of_suspended(record)
        if state.startswith("Completed"):  # of a run from before its end was recorded
            results = phases_done(self.home, record.run_id)
            if results and results[-1].verdict.outcome == "fail":
                return f"Refused: {results[-1].verdict.summary}"
        return f"{_AT_WORK[state]} ({state} in the UI)" if state in _AT_WORK else state

    def _state_without_server(self, record: RunRecord) -> str:
        """The state of a run that waits, or was decided, while its server is down."""
        history = self._decisions.history(record.run_id)
        if not history:
            return "unknown while its server is down: `gaelp up`, or set PREFECT_API_URL to the server it is on"
        question, decision = history[-1]
        if decision is None:
            return f"{_waiting(question)}; its server is down: `gaelp up`"
        return f"{_DECIDED[decision.choice]} at gate {question.gate}, resumes when `gaelp up` runs"

    def _state_of_suspended(self, record: RunRecord) -> str:
        """Where a run waits whose server answers; the server calls each of these states Suspended."""
        history = self._decisions.history(record.run_id)
        question, decision = history[-1] if history else (None, None)
        if question is not None and decision is None:
            return f"{_waiting(question)} (Suspended in the UI)"
        return "waiting for a long phase, or about to resume (Suspended in the UI)"

    def _open_question(self, run_id: str) -> GateQuestion | None:
        now = SystemClock().now()
        questions = self._decisions.open_questions(run_id=run_id)
        return next((asked for asked in reversed(questions) if question_status(asked, now) != "expired"), None)

    def _queued(self) -> list[tuple[RunRecord, str]]:
        if not self._reachable():
            return []
        from flows.flow_runs import queued_runs  # noqa: PLC0415 - Prefect reads the environment when it is imported

        return queued_runs(self.home)

    def _reachable(self) -> bool:
        if self._connected is None:
            try:
                connect(self.home, process_environment())
                self._connected = True
            except NoServer:
                self._connected = False
        return self._connected


def working_process(folder: RunFolder, record: RunRecord) -> int | None:
    """The process that works on a run, also while it only starts or judges; None if none does."""
    if (holder := folder.holder()) is not None:
        return holder
    if record.process is None or folder.end.exists():
        return None
    try:
        created = psutil.Process(record.process).create_time()
    except psutil.NoSuchProcess:
        return None
    # A process that was created after the record was written has been given the id of one that is gone.
    return record.process if created <= folder.record.stat().st_mtime else None


def _after_question(question: GateQuestion, decision: GateDecision | None) -> str:
    """The state of a run in a terminal that no process works on, after its last question."""
    if decision is None:
        return _waiting(question)
    if decision.choice == "reject":
        return f"Rejected by {decision.who} at gate {question.gate}: {decision.why}"
    return f"{_DECIDED[decision.choice]} at gate {question.gate}: `gaelp resume {question.run_id}` resumes it"


def _waiting(question: GateQuestion) -> str:
    status = question_status(question, SystemClock().now())
    if status == "expired":
        return f"expired at gate {question.gate} (`gaelp resume {question.run_id}` asks again)"
    return f"waiting at gate {question.gate}{', overdue' if status == 'overdue' else ''}"
