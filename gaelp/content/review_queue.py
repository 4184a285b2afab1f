"""What waits for a person: doubtful creatives, and decisions that hold for exactly the case that was shown."""

from datetime import datetime
from functools import cached_property
from typing import Any, Literal

from pydantic import AwareDatetime, Field
from sqlalchemy import CheckConstraint, Column, Connection, ForeignKey, MetaData, Row, Table, Text, text

from gaelp.clock import Clock
from gaelp.config.base import Frozen
from gaelp.config.settings import Settings
from gaelp.content.creative import Creative, creative_hash
from gaelp.content.verdict import ContentVerdict, case_of, overall
from gaelp.database import Database, Place, Schema, Store, open_database, shared_place_of
from gaelp.database.append_only import add_walls
from gaelp.errors import BadInput, GaelpError, Refused

__all__ = ["STORE", "QueuedCase", "ReviewChoice", "ReviewDecision", "ReviewQueue", "reviews_place"]

ReviewChoice = Literal["approve", "reject"]

_PREFIX_MIN = 8
_APPEND_ONLY = ("review_case", "review_decision")
_metadata = MetaData()
Table(
    "review_case",
    _metadata,
    Column("id", Text, CheckConstraint("length(id) = 64", name="case_is_a_hash"), primary_key=True),
    *(Column(name, Text, nullable=False) for name in ("creative", "verdict", "added_at")),
    sqlite_strict=True,
)
Table(
    "review_decision",
    _metadata,
    Column("case_id", Text, ForeignKey("review_case.id"), primary_key=True),
    *(Column(name, Text, nullable=False) for name in ("choice", "who", "why", "decided_at")),
    CheckConstraint("choice IN ('approve', 'reject')", name="review_choice_is_known"),
    CheckConstraint("trim(who) <> ''", name="review_says_who"),
    CheckConstraint("trim(why) <> ''", name="review_says_why"),
    sqlite_strict=True,
)


def _rename(connection: Connection) -> None:
    """Version 1 was a SQLite file of its own, with names that say too little in a database that stores share."""
    connection.exec_driver_sql("ALTER TABLE cases RENAME TO review_case")
    connection.exec_driver_sql("ALTER TABLE decisions RENAME TO review_decision")
    add_walls(connection, _APPEND_ONLY)


STORE = Store(
    title="the review queue",
    file_name="content/reviews.sqlite",
    lock_key=0x6761_656C_7004,
    schema=Schema(
        "reviews",
        _metadata,
        old_tables=("cases", "decisions"),
        old_on_postgres=False,
        upgrades=(_rename,),
        append_only=_APPEND_ONLY,
    ),
    meanwhile="nothing that needs a person is allowed",
)

_INSERT_CASE = text(
    "INSERT INTO review_case (id, creative, verdict, added_at) VALUES (:id, :creative, :verdict, :added_at)"
    " ON CONFLICT (id) DO NOTHING"
)
_INSERT_DECISION = text(
    "INSERT INTO review_decision (case_id, choice, who, why, decided_at)"
    " VALUES (:case_id, :choice, :who, :why, :decided_at)"
)
_SELECT = (
    "SELECT id, creative, verdict, added_at, choice, who, why, decided_at"
    " FROM review_case LEFT JOIN review_decision ON case_id = id"
)
_ALL, _FIND = text(f"{_SELECT} ORDER BY added_at, id"), text(f"{_SELECT} WHERE id = :id")
_STARTING = text(f"{_SELECT} WHERE substr(id, 1, :length) = :prefix")


class ReviewDecision(Frozen):
    """What a person decided on one case, and why."""

    choice: ReviewChoice
    who: str = Field(min_length=1, max_length=200, pattern=r"\S")
    why: str = Field(min_length=1, max_length=2_000, pattern=r"\S")
    decided_at: AwareDatetime


class QueuedCase(Frozen):
    """A creative with what was found in it; without a decision it waits."""

    case: str
    creative: Creative
    verdict: ContentVerdict
    added_at: AwareDatetime
    decision: ReviewDecision | None = None


def reviews_place(settings: Settings) -> Place:
    """Where the queue is kept."""
    return shared_place_of(settings, STORE.file_name)


class ReviewQueue:
    """Cases of one database; every change is one transaction, and nothing is ever changed or deleted."""

    def __init__(self, place: Place, clock: Clock) -> None:
        self._place = place
        self._clock = clock

    @cached_property
    def _database(self) -> Database:
        return open_database(self._place, STORE)

    def add(self, creative: Creative, verdict: ContentVerdict) -> bool:
        """Queue a case for review; False if it is there already. What is allowed or blocked needs no person."""
        _check_case(creative, verdict)
        values = {
            "id": verdict.case,
            "creative": creative.model_dump_json(),
            "verdict": verdict.model_dump_json(),
            "added_at": _text(self._clock.now()),
        }
        with self._database.writing() as connection:
            return connection.execute(_INSERT_CASE, values).rowcount == 1

    def cases(self, *, waiting_only: bool = True) -> list[QueuedCase]:
        """The cases in the order in which they came."""
        with self._database.reading() as connection:
            cases = [_case(row) for row in connection.execute(_ALL)]
        return [case for case in cases if case.decision is None] if waiting_only else cases

    def decide(self, prefix: str, choice: ReviewChoice, *, who: str, why: str) -> QueuedCase:
        """Record a person's decision on the one case that begins with `prefix`; a second decision is refused."""
        if not who.strip() or not why.strip():
            raise BadInput("a decision needs to say who decided and why; saw an empty one. Give both.")
        decision = ReviewDecision(choice=choice, who=who.strip(), why=why.strip(), decided_at=self._clock.now())
        with self._database.writing() as connection:
            case = _one(connection, prefix)
            if case.decision is not None:
                before = case.decision
                raise Refused(
                    f"case {case.case[:12]} was decided by {before.who} on {before.decided_at:%Y-%m-%d %H:%M} UTC:"
                    f" {before.choice}; allowed: one decision. Edit the creative and check it again."
                )
            values = {**decision.model_dump(), "case_id": case.case, "decided_at": _text(decision.decided_at)}
            connection.execute(_INSERT_DECISION, values)
        return case.model_copy(update={"decision": decision})

    def settle(self, verdict: ContentVerdict) -> ContentVerdict:
        """The verdict with a person's decision in it, if there is one on exactly this case; a block stays a block."""
        if verdict.outcome != "review":
            return verdict
        with self._database.reading() as connection:
            row = connection.execute(_FIND, {"id": verdict.case}).one_or_none()
        decision = _case(row).decision if row else None
        if decision is None:
            return verdict
        outcome = "allow" if decision.choice == "approve" else "block"
        return verdict.model_copy(update={"outcome": outcome, "decided_by": decision.who})


def _check_case(creative: Creative, verdict: ContentVerdict) -> None:
    exact = creative_hash(creative)
    if verdict.creative_hash != exact or verdict.case != case_of(exact, verdict.findings):
        raise BadInput(
            f"the verdict is on creative {verdict.creative_hash[:12]}, saw {exact[:12]}; allowed: the verdict on"
            " exactly this creative. Check it again."
        )
    if verdict.outcome != "review" or overall(verdict.findings) != "review":
        raise BadInput(f"saw a verdict of {verdict.outcome}; allowed: review. Nothing else waits for a person.")


def _one(connection: Connection, prefix: str) -> QueuedCase:
    """The only case whose id begins with the prefix."""
    if len(prefix) < _PREFIX_MIN or not set(prefix) <= set("0123456789abcdef"):
        raise BadInput(
            f"saw case {prefix!r}; allowed: at least {_PREFIX_MIN} of its digits 0-9 and a-f."
            " `gaelp content queue` lists the cases."
        )
    rows = connection.execute(_STARTING, {"length": len(prefix), "prefix": prefix}).all()
    if len(rows) != 1:
        matches = "no case begins" if not rows else f"{len(rows)} cases begin"
        raise BadInput(f"{matches} with {prefix!r}; allowed: exactly one. `gaelp content queue --all` lists them.")
    return _case(rows[0])


def _case(row: Row[Any]) -> QueuedCase:
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
