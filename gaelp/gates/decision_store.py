"""The record of questions and decisions at the gates: one SQLite file, written in transactions, never changed after.

What a workflow tool believes about a run is not asked here: a run goes through a gate if and only if this record holds
an approval of the very verdict at hand. Each question keeps its history: asked again after it expired, it is a new row.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

from gaelp.errors import GaelpError, Refused
from gaelp.gates.decisions import Decision, Question, check_decision

__all__ = ["Authorise", "DecisionStore"]

# Raises Refused where the signatures of a decision do not carry it.
Authorise = Callable[[Question, Decision], None]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS question(
    number INTEGER PRIMARY KEY, run_id TEXT NOT NULL, gate TEXT NOT NULL, evidence_hash TEXT NOT NULL,
    expires_at TEXT NOT NULL, body TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS question_of_run ON question(run_id, gate, evidence_hash);
CREATE TABLE IF NOT EXISTS decision(
    run_id TEXT NOT NULL, gate TEXT NOT NULL, evidence_hash TEXT NOT NULL,
    choice TEXT NOT NULL CHECK(choice IN ('approve', 'reject', 'rerun')), body TEXT NOT NULL,
    PRIMARY KEY(run_id, gate, evidence_hash));
CREATE TRIGGER IF NOT EXISTS decision_stays BEFORE UPDATE ON decision
    BEGIN SELECT RAISE(ABORT, 'a decision is never changed'); END;
CREATE TRIGGER IF NOT EXISTS decision_is_kept BEFORE DELETE ON decision
    BEGIN SELECT RAISE(ABORT, 'a decision is never deleted'); END;
CREATE TRIGGER IF NOT EXISTS question_stays BEFORE UPDATE ON question
    BEGIN SELECT RAISE(ABORT, 'a question is never changed'); END;
CREATE TRIGGER IF NOT EXISTS question_is_kept BEFORE DELETE ON question
    BEGIN SELECT RAISE(ABORT, 'a question is never deleted'); END;
"""
_OF = "WHERE run_id = ? AND gate = ? AND evidence_hash = ?"
_LOCK_WAIT_S = 30.0


def _signatures_not_required(question: Question, decision: Decision) -> None:
    """Where no money can move, a name is enough."""


class DecisionStore:
    """Questions and decisions of all runs below one home."""

    def __init__(self, path: Path, *, authorise: Authorise = _signatures_not_required) -> None:
        self._path = path
        self._authorise = authorise

    def ask(self, question: Question) -> Question:
        """Put a question, or find the same one still open; the one that counts is returned."""
        with self._writing() as connection:
            latest = _latest(connection, question)
            if latest and latest.expires_at > question.opened_at and latest.asks_the_same(question):
                return latest
            _insert(connection, question)
            return question

    def decide(self, decision: Decision) -> Decision:
        """Record an answer to an open question, once; the same answer again changes nothing, another is refused."""
        with self._writing() as connection:
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
            connection.execute(
                "INSERT INTO decision(run_id, gate, evidence_hash, choice, body) VALUES (?, ?, ?, ?, ?)",
                (*_key(decision), decision.choice, decision.model_dump_json()),
            )
            return decision

    def decision(self, question: Question) -> Decision | None:
        """The recorded answer to exactly this verdict, checked again; None while nobody answered."""
        with self._reading() as connection:
            found = _decision(connection, question)
            if found is None:
                return None
            asked = [one for one in _questions(connection, question) if _in_time(one, found)]
        if not asked:
            raise Refused(f"run {question.run_id}: a decision without a question it answers: the record was altered")
        check_decision(asked[-1], found)
        self._authorise(asked[-1], found)
        return found

    def withdraw(self, run_id: str, now: datetime) -> None:
        """Let every open question of a run expire: it was stopped, and whoever goes on with it is asked again."""
        for question in self.open_questions(run_id=run_id):
            if question.expires_at > now:
                over = question.model_copy(update={"opened_at": now, "remind_at": now, "expires_at": now})
                with self._writing() as connection:
                    _insert(connection, over)

    def open_questions(self, *, run_id: str | None = None) -> list[Question]:
        """What nobody has answered yet, the latest time each was asked, expired ones too, oldest first."""
        where, values = ("WHERE q.run_id = ?", (run_id,)) if run_id else ("", ())
        query = f"""SELECT q.body FROM question q LEFT JOIN decision d USING (run_id, gate, evidence_hash) {where}
            {"AND" if where else "WHERE"} d.run_id IS NULL AND q.number = (SELECT MAX(number) FROM question o
            WHERE o.run_id = q.run_id AND o.gate = q.gate) ORDER BY q.number"""  # noqa: S608 - no value is put into it
        with self._reading() as connection:
            return [Question.model_validate_json(body) for (body,) in connection.execute(query, values)]

    def history(self, run_id: str) -> list[tuple[Question, Decision | None]]:
        """Every question a run was asked, oldest first, with the answer where there is one."""
        with self._reading() as connection:
            rows = connection.execute("SELECT body FROM question WHERE run_id = ? ORDER BY number", (run_id,))
            questions = [Question.model_validate_json(body) for (body,) in rows]
            return [(question, _decision(connection, question)) for question in questions]

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._connected() as connection:
            yield connection

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=_LOCK_WAIT_S, isolation_level=None)) as connection:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=FULL")
                connection.executescript(_SCHEMA)
                yield connection
        except (sqlite3.Error, OSError) as problem:
            raise GaelpError(
                f"the record of decisions {self._path} cannot be used: {problem}. Nothing was decided; mend the file or"
                " its folder and try again"
            ) from problem


def _key(about: Question | Decision) -> tuple[str, str, str]:
    return about.run_id, about.gate, about.evidence_hash


def _insert(connection: sqlite3.Connection, question: Question) -> None:
    values = (*_key(question), question.expires_at.isoformat(), question.model_dump_json())
    connection.execute(
        "INSERT INTO question(run_id, gate, evidence_hash, expires_at, body) VALUES (?, ?, ?, ?, ?)", values
    )


def _questions(connection: sqlite3.Connection, about: Question | Decision) -> list[Question]:
    rows = connection.execute(f"SELECT body FROM question {_OF} ORDER BY number", _key(about))  # noqa: S608 - as above
    return [Question.model_validate_json(body) for (body,) in rows]


def _latest(connection: sqlite3.Connection, about: Question | Decision) -> Question | None:
    found = _questions(connection, about)
    return found[-1] if found else None


def _decision(connection: sqlite3.Connection, about: Question | Decision) -> Decision | None:
    row = connection.execute(f"SELECT body FROM decision {_OF}", _key(about)).fetchone()  # noqa: S608 - as above
    return Decision.model_validate_json(row[0]) if row else None


def _in_time(question: Question, decision: Decision) -> bool:
    return question.opened_at <= decision.decided_at < question.expires_at


def _same(earlier: Decision, again: Decision) -> Decision:
    if (earlier.choice, earlier.limits_micros) != (again.choice, again.limits_micros):
        raise Refused(
            f"gate {earlier.gate} of run {earlier.run_id} was decided by {earlier.who} at"
            f" {earlier.decided_at:%Y-%m-%d %H:%M:%S} UTC: {earlier.choice} ({earlier.why}). A decision is not changed"
        )
    return earlier
