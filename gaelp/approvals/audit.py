"""The audit log: rows that are only ever added, each bound to the one before it by its hash."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from gaelp.approvals.canonical import canonical, digest, parse
from gaelp.approvals.database import ApprovalDatabase, Session
from gaelp.approvals.field_types import require_aware
from gaelp.errors import DataError, Refused

__all__ = [
    "ROW_DOMAIN",
    "START",
    "AuditLog",
    "AuditProblem",
    "AuditRow",
    "append",
    "check_no_gap",
    "find_body",
    "has_row",
    "read_rows",
    "row_hash",
    "verify_rows",
]

ROW_DOMAIN = "audit-row"
_KEPT_HASHES = 1024
START = "0" * 64  # the previous_hash of the first row


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One row as it is stored; `body` is canonical JSON."""

    seq: int
    at: str
    kind: str
    body: str
    previous_hash: str
    hash: str

    def own_hash(self) -> str:
        """What `hash` must be; DataError if a column has the wrong type."""
        if type(self.seq) is not int:
            raise DataError(f"seq is {self.seq!r}; allowed: a whole number")
        for text in (self.at, self.kind, self.body, self.previous_hash, self.hash):
            if type(text) is not str:
                raise DataError(f"saw {text!r} where text belongs")
        return _hash_of(self.seq, self.at, self.kind, self.body, self.previous_hash)

    def checked_body(self) -> bytes:
        """The body; Refused if the row was changed."""
        if self.own_hash() != self.hash:
            raise Refused(f"row {self.seq} of the audit log was changed")
        return self.body.encode("utf-8")


@lru_cache(_KEPT_HASHES)
def _hash_of(seq: int, at: str, kind: str, body: str, previous_hash: str) -> str:
    """The same few rows are checked for every order; a row that was changed in any column is hashed again."""
    return row_hash(seq, at, kind, parse(body.encode("utf-8", "surrogatepass")), previous_hash)


@dataclass(frozen=True, slots=True)
class AuditProblem:
    """The first thing that is wrong with the log, and at which row."""

    seq: int
    what: str

    def __str__(self) -> str:
        return f"row {self.seq}: {self.what}"


class AuditLog:
    """The log of one database."""

    def __init__(self, database: ApprovalDatabase) -> None:
        self._database = database

    def append(self, kind: str, body: dict[str, Any], at: datetime) -> AuditRow:
        """Add one row, on disk when this returns; writers in other processes wait their turn."""
        with self._database.writing() as session:
            return append(session, kind, body, at)

    def append_once(self, kind: str, body: dict[str, Any], at: datetime, *, action_hash: str) -> None:
        """Add one row unless the log has one of this kind about this action, so that a retry adds nothing."""
        with self._database.writing() as session:
            if not has_row(session, kind, action_hash):
                append(session, kind, body, at)

    def append_following(
        self, kind: str, bodies: Callable[[tuple[AuditRow, ...]], Iterable[dict[str, Any]]], at: datetime
    ) -> None:
        """Add rows that depend on the earlier ones of their kind, in one transaction."""
        with self._database.writing() as session:
            so_far = tuple(row for row in read_rows(session) if row.kind == kind)
            for body in bodies(so_far):
                append(session, kind, body, at)

    def rows(self) -> tuple[AuditRow, ...]:
        """Every row, the oldest first."""
        with self._database.reading() as session:
            return tuple(read_rows(session))


def append(session: Session, kind: str, body: dict[str, Any], at: datetime) -> AuditRow:
    """Add one row inside a writing transaction, and commit or roll back with it."""
    last = session.execute("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1").fetchone()
    if last and not isinstance(last[0], int):
        raise DataError(f"the last row of the audit log has the number {last[0]!r:.40}: it was changed")
    seq, previous = (last[0] + 1, last[1]) if last else (0, START)
    when = require_aware(at).astimezone(UTC).isoformat(timespec="microseconds")
    text = canonical(body).decode("ascii")
    row = AuditRow(seq, when, kind, text, previous, row_hash(seq, when, kind, body, previous))
    session.execute(
        "INSERT INTO audit (seq, at, kind, body, previous_hash, hash) VALUES (?, ?, ?, ?, ?, ?)",
        (row.seq, row.at, row.kind, row.body, row.previous_hash, row.hash),
    )
    return row


def has_row(session: Session, kind: str, action_hash: str) -> bool:
    """Whether the log has a row of this kind about this action."""
    return find_body(session, kind, action_hash) is not None


def find_body(session: Session, kind: str, action_hash: str) -> str | None:
    """The body of the first row of this kind about this action; None if the log has none."""
    query = "SELECT body FROM audit WHERE kind = ? AND body LIKE ? ORDER BY seq"
    row = session.execute(query, (kind, f'%"action_hash":"{action_hash}"%')).fetchone()
    return None if row is None else str(row[0])


def read_rows(session: Session) -> Iterator[AuditRow]:
    """The rows of the log, the oldest first."""
    for values in session.execute("SELECT seq, at, kind, body, previous_hash, hash FROM audit ORDER BY seq"):
        yield AuditRow(*values)


def check_no_gap(session: Session) -> None:
    """Refuse a log from which rows were taken out; rows missing at its end are not noticed."""
    rows, last = session.execute("SELECT COUNT(*), MAX(seq) FROM audit").one()
    if rows and last != rows - 1:
        lacks = f"lacks {last + 1 - rows} rows" if isinstance(last, int) else f"has a row with the number {last!r:.40}"
        raise Refused(f"the audit log {lacks}")


def verify_rows(rows: Iterable[AuditRow]) -> AuditProblem | None:
    """The first row that is missing, out of order, changed or not bound to the one before it."""
    previous = START
    for seq, row in enumerate(rows):
        if row.seq != seq:
            return AuditProblem(seq, f"missing or out of order: row {row.seq} is in its place")
        try:
            expected = row.own_hash()
        except DataError as problem:
            return AuditProblem(seq, f"damaged: {problem}")
        if row.previous_hash != previous:
            return AuditProblem(seq, f"it follows {row.previous_hash[:12]}…, the row before it is {previous[:12]}…")
        if row.hash != expected:
            return AuditProblem(seq, f"changed: its hash is {row.hash[:12]}…, its content gives {expected[:12]}…")
        previous = row.hash
    return None


def row_hash(seq: int, at: str, kind: str, body: Any, previous_hash: str) -> str:
    """SHA-256 (hex) over a row and the hash of the row before it."""
    value = {"seq": seq, "at": at, "kind": kind, "body": body, "previous_hash": previous_hash}
    return digest(ROW_DOMAIN, value)
