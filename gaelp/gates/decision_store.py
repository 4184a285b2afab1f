"""The record of questions and decisions at the gates: written in transactions, never changed afterwards.

A run passes a gate if and only if this record holds an approval of exactly its verdict, whatever the workflow tool
reports about the run. A question that is asked again after it expired is a new row, so its history is kept.
"""

from collections.abc import Callable
from datetime import datetime
from functools import cached_property

from sqlalchemy import CheckConstraint, Column, Connection, Index, MetaData, Table, Text, text

from gaelp.config.settings import Settings
from gaelp.database import Database, Place, Schema, Store, big_integer, open_database, shared_place_of
from gaelp.database.append_only import add_walls, drop_walls
from gaelp.errors import Refused
from gaelp.gates.decisions import GateDecision, GateQuestion, already_decided, check_decision

__all__ = ["STORE", "Authorise", "DecisionStore", "decisions_place"]

# Raises Refused where a decision lacks the signatures it needs.
Authorise = Callable[[GateQuestion, GateDecision], None]

_KEY = ("run_id", "gate", "evidence_hash")
_APPEND_ONLY = ("gate_question", "gate_decision")
_metadata = MetaData()
_question_of_run = Index("gate_question_of_run", *_KEY)
Table(
    "gate_question",
    _metadata,
    Column("number", big_integer, primary_key=True, autoincrement=True),
    *(Column(name, Text, nullable=False) for name in (*_KEY, "expires_at", "body")),
    _question_of_run,
)
Table(
    "gate_decision",
    _metadata,
    *(Column(name, Text, primary_key=True) for name in _KEY),
    *(Column(name, Text, nullable=False) for name in ("choice", "body")),
    CheckConstraint("choice IN ('approve', 'reject', 'rerun')", name="decision_choice_is_known"),
)


def _rename(connection: Connection) -> None:
    """Version 1 was a SQLite file of its own, with names that say too little in a database that stores share."""
    drop_walls(connection, ("decision_stays", "decision_is_kept", "question_stays", "question_is_kept"))
    connection.exec_driver_sql("ALTER TABLE question RENAME TO gate_question")
    connection.exec_driver_sql("ALTER TABLE decision RENAME TO gate_decision")
    connection.exec_driver_sql("DROP INDEX question_of_run")
    _question_of_run.create(connection)
    add_walls(connection, _APPEND_ONLY)


STORE = Store(
    title="the record of gate decisions",
    file_name="decisions.db",
    lock_key=0x6761_656C_7002,
    schema=Schema(
        "gates",
        _metadata,
        old_tables=("question", "decision"),
        old_on_postgres=False,
        upgrades=(_rename,),
        append_only=_APPEND_ONLY,
    ),
    meanwhile="nothing was decided",
)

_OF = "WHERE run_id = :run_id AND gate = :gate AND evidence_hash = :evidence_hash"
_INSERT_QUESTION = text(
    "INSERT INTO gate_question (run_id, gate, evidence_hash, expires_at, body)"
    " VALUES (:run_id, :gate, :evidence_hash, :expires_at, :body)"
)
_INSERT_DECISION = text(
    "INSERT INTO gate_decision (run_id, gate, evidence_hash, choice, body)"
    " VALUES (:run_id, :gate, :evidence_hash, :choice, :body)"
)
_QUESTIONS = text(f"SELECT body FROM gate_question {_OF} ORDER BY number")  # noqa: S608 - a constant of this module
_DECISION = text(f"SELECT body FROM gate_decision {_OF}")  # noqa: S608 - as above
_OPEN = (
    "SELECT q.body FROM gate_question q WHERE {where} NOT EXISTS (SELECT 1 FROM gate_decision d WHERE"
    " d.run_id = q.run_id AND d.gate = q.gate AND d.evidence_hash = q.evidence_hash)"
    " AND q.number = (SELECT MAX(number) FROM gate_question o WHERE o.run_id = q.run_id AND o.gate = q.gate)"
    " ORDER BY q.number"
)
_OPEN_OF_ALL, _OPEN_OF_RUN = text(_OPEN.format(where="")), text(_OPEN.format(where="q.run_id = :run_id AND"))
_HISTORY = text("SELECT body FROM gate_question WHERE run_id = :run_id ORDER BY number")


def decisions_place(settings: Settings) -> Place:
    """Where questions and decisions live."""
    return shared_place_of(settings, STORE.file_name)


def _signatures_not_required(question: GateQuestion, decision: GateDecision) -> None:
    """Where no money can move, a name is enough."""


class DecisionStore:
    """Questions and decisions of all runs of one database."""

    def __init__(self, place: Place, *, authorise: Authorise = _signatures_not_required) -> None:
        self._place = place
        self._authorise = authorise

    @cached_property
    def _database(self) -> Database:
        return open_database(self._place, STORE)

    def ask(self, question: GateQuestion) -> GateQuestion:
        """Store a question and return it, or return the same one if it is still open."""
        with self._database.writing() as connection:
            latest = _latest(connection, question)
            if latest and latest.expires_at > question.opened_at and latest.asks_the_same(question):
                return latest
            _insert(connection, question)
            return question

    def decide(self, decision: GateDecision) -> GateDecision:
        """Record the answer to an open question. Repeating it changes nothing, another answer is refused."""
        with self._database.writing() as connection:
            question = _latest(connection, decision)
            if question is None:
                raise Refused(
                    f"no gate {decision.gate} of run {decision.run_id} asks about verdict {decision.evidence_hash[:8]}:"
                    " `gaelp gate list` shows what waits"
                )
            earlier = _decision(connection, decision)
            if earlier is not None:
                return _same(earlier, decision)
            check_decision(question, decision)
            self._authorise(question, decision)
            values = {**_key(decision), "choice": decision.choice, "body": decision.model_dump_json()}
            connection.execute(_INSERT_DECISION, values)
            return decision

    def decision(self, question: GateQuestion) -> GateDecision | None:
        """Return the recorded answer to exactly this verdict, checked again; None while there is none."""
        with self._database.reading() as connection:
            recorded = _decision(connection, question)
            if recorded is None:
                return None
            asked = [earlier for earlier in _questions(connection, question) if _in_time(earlier, recorded)]
        if not asked:
            raise Refused(f"run {question.run_id}: a decision without a question: the record was altered")
        check_decision(asked[-1], recorded)
        self._authorise(asked[-1], recorded)
        return recorded

    def withdraw(self, run_id: str, now: datetime) -> None:
        """Let every open question of a stopped run expire, so that resuming the run asks again."""
        for question in self.open_questions(run_id=run_id):
            if question.expires_at > now:
                over = question.model_copy(update={"opened_at": now, "remind_at": now, "expires_at": now})
                with self._database.writing() as connection:
                    _insert(connection, over)

    def open_questions(self, *, run_id: str | None = None) -> list[GateQuestion]:
        """Return the unanswered questions, oldest first: expired ones too, each as it was last asked."""
        query = _OPEN_OF_RUN.bindparams(run_id=run_id) if run_id else _OPEN_OF_ALL
        with self._database.reading() as connection:
            return [GateQuestion.model_validate_json(body) for body in connection.execute(query).scalars()]

    def history(self, run_id: str) -> list[tuple[GateQuestion, GateDecision | None]]:
        """Return every question of a run, oldest first, with its answer or None."""
        with self._database.reading() as connection:
            rows = connection.execute(_HISTORY, {"run_id": run_id}).scalars()
            questions = [GateQuestion.model_validate_json(body) for body in rows]
            return [(question, _decision(connection, question)) for question in questions]


def _key(about: GateQuestion | GateDecision) -> dict[str, str]:
    return {name: getattr(about, name) for name in _KEY}


def _insert(connection: Connection, question: GateQuestion) -> None:
    values = {**_key(question), "expires_at": question.expires_at.isoformat(), "body": question.model_dump_json()}
    connection.execute(_INSERT_QUESTION, values)


def _questions(connection: Connection, about: GateQuestion | GateDecision) -> list[GateQuestion]:
    rows = connection.execute(_QUESTIONS, _key(about)).scalars()
    return [GateQuestion.model_validate_json(body) for body in rows]


def _latest(connection: Connection, about: GateQuestion | GateDecision) -> GateQuestion | None:
    questions = _questions(connection, about)
    return questions[-1] if questions else None


def _decision(connection: Connection, about: GateQuestion | GateDecision) -> GateDecision | None:
    body = connection.execute(_DECISION, _key(about)).scalar_one_or_none()
    return None if body is None else GateDecision.model_validate_json(body)


def _in_time(question: GateQuestion, decision: GateDecision) -> bool:
    return question.opened_at <= decision.decided_at < question.expires_at


def _same(earlier: GateDecision, again: GateDecision) -> GateDecision:
    if (earlier.choice, earlier.limits_micros) != (again.choice, again.limits_micros):
        raise already_decided(earlier)
    return earlier
