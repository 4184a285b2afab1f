"""What waits for a person: doubtful creatives, and decisions that hold for exactly the case that was shown."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime, Field

from gaelp.clock import Clock
from gaelp.config.base import Frozen
from gaelp.content.creative import Creative, creative_hash
from gaelp.content.verdict import ContentVerdict, case_of, overall
from gaelp.errors import BadInput, GaelpError, Refused

__all__ = ["Choice", "Decision", "QueuedCase", "ReviewQueue", "reviews_path"]

Choice = Literal["approve", "reject"]

_PREFIX_MIN = 8
_LOCK_SECONDS = 10.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS cases (
    id TEXT PRIMARY KEY CHECK (length(id) = 64),
    creative TEXT NOT NULL,
    verdict TEXT NOT NULL,
    added_at TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS decisions (
    case_id TEXT PRIMARY KEY REFERENCES cases (id),
    choice TEXT NOT NULL CHECK (choice IN ('approve', 'reject')),
    who TEXT NOT NULL CHECK (trim(who) <> ''),
    why TEXT NOT NULL CHECK (trim(why) <> ''),
    decided_at TEXT NOT NULL
) STRICT;
"""


class Decision(Frozen):
    """What a person decided on one case, and why."""

    choice: Choice
    who: str = Field(min_length=1, max_length=200, pattern=r"\S")
    why: str = Field(min_length=1, max_length=2_000, pattern=r"\S")
    decided_at: AwareDatetime


class QueuedCase(Frozen):
    """A creative with what was found in it; without a decision it waits."""

    case: str
    creative: Creative
    verdict: ContentVerdict
    added_at: AwareDatetime
    decision: Decision | None = None


def reviews_path(home: Path) -> Path:
    """Where the queue of a home is kept."""
    return home / "content" / "reviews.sqlite"


class ReviewQueue:
    """Cases in an SQLite file; every change is one transaction, and nothing is ever changed or deleted."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock

    def add(self, creative: Creative, verdict: ContentVerdict) -> bool:
        """Queue a case for review; False if it is there already. What is allowed or blocked needs no person."""
        _check_case(creative, verdict)
        row = (verdict.case, creative.model_dump_json(), verdict.model_dump_json(), _text(self._clock.now()))
        with self._transaction() as database:
            added = database.execute("INSERT INTO cases VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING", row)
            return added.rowcount == 1

    def cases(self, *, waiting_only: bool = True) -> list[QueuedCase]:
        """The cases in the order in which they came."""
        with self._transaction() as database:
            rows = database.execute(_SELECT + " ORDER BY added_at, id").fetchall()
        found = [_case(row) for row in rows]
        return [case for case in found if case.decision is None] if waiting_only else found

    def decide(self, prefix: str, choice: Choice, *, who: str, why: str) -> QueuedCase:
        """Record a person's decision on the one case that begins with `prefix`; a second decision is refused."""
        if not who.strip() or not why.strip():
            raise BadInput("a decision needs to say who decided and why; saw an empty one. Give both.")
        decision = Decision(choice=choice, who=who.strip(), why=why.strip(), decided_at=self._clock.now())
        with self._transaction() as database:
            case = _one(database, prefix)
            if case.decision is not None:
                before = case.decision
                raise Refused(
                    f"case {case.case[:12]} was decided by {before.who} on {before.decided_at:%Y-%m-%d %H:%M} UTC:"
                    f" {before.choice}; allowed: one decision. Edit the creative and check it again."
                )
            row = (case.case, choice, decision.who, decision.why, _text(decision.decided_at))
            database.execute("INSERT INTO decisions VALUES (?, ?, ?, ?, ?)", row)
        return case.model_copy(update={"decision": decision})

    def settle(self, verdict: ContentVerdict) -> ContentVerdict:
        """The verdict with a person's decision in it, if there is one on exactly this case; a block stays a block."""
        if verdict.outcome != "review":
            return verdict
        with self._transaction() as database:
            row = database.execute(_SELECT + " WHERE id = ?", (verdict.case,)).fetchone()
        decision = _case(row).decision if row else None
        if decision is None:
            return verdict
        outcome = "allow" if decision.choice == "approve" else "block"
        return verdict.model_copy(update={"outcome": outcome, "decided_by": decision.who})

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing: BEGIN IMMEDIATE, so that of two people who decide at once the second sees the first."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=_LOCK_SECONDS, isolation_level=None)) as database:
                database.executescript("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;" + _SCHEMA)
                database.execute("BEGIN IMMEDIATE")
                try:
                    yield database
                except BaseException:
                    database.execute("ROLLBACK")
                    raise
                database.execute("COMMIT")
        except sqlite3.Error as problem:
            raise GaelpError(
                f"the review queue {self._path} cannot be used: {problem}. Check the file and its rights;"
                " until then nothing that needs a person is allowed."
            ) from problem


_SELECT = (
    "SELECT id, creative, verdict, added_at, choice, who, why, decided_at"
    " FROM cases LEFT JOIN decisions ON decisions.case_id = cases.id"
)


def _check_case(creative: Creative, verdict: ContentVerdict) -> None:
    exact = creative_hash(creative)
    if verdict.creative_hash != exact or verdict.case != case_of(exact, verdict.findings):
        raise BadInput(
            f"the verdict is on creative {verdict.creative_hash[:12]}, saw {exact[:12]}; allowed: the verdict on"
            " exactly this creative. Check it again."
        )
    if verdict.outcome != "review" or overall(verdict.findings) != "review":
        raise BadInput(f"saw a verdict of {verdict.outcome}; allowed: review. Nothing else waits for a person.")


def _one(database: sqlite3.Connection, prefix: str) -> QueuedCase:
    """The only case whose id begins with the prefix."""
    if len(prefix) < _PREFIX_MIN or not set(prefix) <= set("0123456789abcdef"):
        raise BadInput(
            f"saw case {prefix!r}; allowed: at least {_PREFIX_MIN} of its digits 0-9 and a-f."
            " `gaelp content queue` lists the cases."
        )
    rows = database.execute(_SELECT + " WHERE substr(id, 1, ?) = ?", (len(prefix), prefix)).fetchall()
    if len(rows) != 1:
        seen = "no case begins" if not rows else f"{len(rows)} cases begin"
        raise BadInput(f"{seen} with {prefix!r}; allowed: exactly one. `gaelp content queue --all` lists them.")
    return _case(rows[0])


def _case(row: tuple[str, ...]) -> QueuedCase:
    """A row as it was stored; one that was changed behind our back is refused."""
    case, creative_json, verdict_json, added_at, choice, who, why, decided_at = row
    creative = Creative.model_validate_json(creative_json)
    verdict = ContentVerdict.model_validate_json(verdict_json)
    if case != verdict.case or case != case_of(creative_hash(creative), verdict.findings):
        raise GaelpError(f"case {case[:12]} in the review queue does not match its creative: the file was changed.")
    decision = choice and {"choice": choice, "who": who, "why": why, "decided_at": decided_at}
    values = {
        "case": case,
        "creative": creative,
        "verdict": verdict,
        "added_at": added_at,
        "decision": decision or None,
    }
    return QueuedCase.model_validate(values)


def _text(instant: datetime) -> str:
    return instant.isoformat()
