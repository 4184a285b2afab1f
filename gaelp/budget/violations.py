"""What went wrong with money, how bad it was, and who settled it: a record that is added to and never deleted from.

One SQLite file. A violation is resolved once, by somebody, with words; the tables refuse anything else themselves.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, Field, JsonValue, TypeAdapter

from gaelp.config.base import Frozen
from gaelp.config.private_files import make_private_file
from gaelp.errors import BadInput, ComponentMissing, Refused
from gaelp.observability.redact import mask, mask_text

__all__ = ["Resolution", "Severity", "Violation", "ViolationStore"]

Severity = Literal["info", "warning", "critical"]

_SEVERITIES: tuple[Severity, ...] = ("info", "warning", "critical")
_BUSY_MS = 5000
_ID_MAX = 2**63 - 1
_TABLES = """
CREATE TABLE IF NOT EXISTS violations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    severity TEXT NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
    scope TEXT NOT NULL CHECK (length(scope) BETWEEN 1 AND 200),
    rule TEXT NOT NULL CHECK (length(rule) BETWEEN 1 AND 200),
    what TEXT NOT NULL CHECK (length(what) BETWEEN 1 AND 4000),
    at TEXT NOT NULL,
    context TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS resolutions (
    violation_id INTEGER PRIMARY KEY REFERENCES violations (id),
    resolution TEXT NOT NULL CHECK (length(trim(resolution)) > 0),
    resolved_by TEXT NOT NULL CHECK (length(trim(resolved_by)) > 0),
    resolved_at TEXT NOT NULL
) STRICT;
"""
_GUARDS = "\n".join(
    f"CREATE TRIGGER IF NOT EXISTS no_{verb}_of_{table} BEFORE {verb} ON {table}"
    f" BEGIN SELECT RAISE(ABORT, '{table} are kept as they were written'); END;"
    for table in ("violations", "resolutions")
    for verb in ("UPDATE", "DELETE")
)
_SELECT = """
SELECT id, severity, scope, rule, what, at, context, resolution, resolved_by, resolved_at
FROM violations LEFT JOIN resolutions ON violation_id = id
"""


def _in_utc(instant: datetime) -> datetime:
    return instant.astimezone(UTC)


Instant = Annotated[AwareDatetime, AfterValidator(_in_utc)]
_context = TypeAdapter(dict[str, JsonValue])


class Resolution(Frozen):
    """How a violation was settled, and by whom."""

    text: str = Field(min_length=1, max_length=4000, pattern=r"\S")
    by: str = Field(min_length=1, max_length=200, pattern=r"\S")
    at: Instant


class Violation(Frozen):
    """One thing that went wrong; `id` is 0 before it is stored."""

    id: int = 0
    severity: Severity
    scope: str = Field(min_length=1, max_length=200, description="the account, campaign or episode it happened to")
    rule: str = Field(min_length=1, max_length=200, description="the id of the rule or guard that saw it")
    what: str = Field(min_length=1, max_length=4000)
    at: Instant
    context: dict[str, JsonValue] = Field(default_factory=dict)
    resolution: Resolution | None = None


class ViolationStore:
    """Violations in one SQLite file; every call is one transaction and is on disk when it returns."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._make_private()
        with self._transaction() as database:
            # executescript would commit the transaction it runs in; each statement is safe to repeat.
            for statement in (*_TABLES.split(";\n"), *_GUARDS.splitlines()):
                if statement.strip():
                    database.execute(statement)

    def add(self, violation: Violation) -> Violation:
        """Store a violation, its secrets masked; return it with its number."""
        if violation.id or violation.resolution is not None:
            raise BadInput(
                f"violation {violation.id} is stored or resolved already: add a new one, then resolve it by number"
            )
        context = _context.dump_json(_context.validate_python(mask(violation.context))).decode()
        row = (violation.severity, violation.scope, violation.rule, mask_text(violation.what))
        with self._transaction() as database:
            added = database.execute(
                "INSERT INTO violations (severity, scope, rule, what, at, context) VALUES (?, ?, ?, ?, ?, ?)",
                (*row, violation.at.isoformat(), context),
            )
            return _one(database, int(added.lastrowid or 0))

    def resolve(self, violation_id: int, resolution: Resolution) -> Violation:
        """Settle an open violation; settling it twice is refused, so the first word stands."""
        if not resolution.by.isprintable():  # here and not in the model: what was stored before must stay readable
            raise BadInput(f"resolved by {resolution.by[:40]!r}; allowed: one printable line. Say who settles it")
        with self._transaction() as database:
            found = _one(database, violation_id)
            if found.resolution is not None:
                raise Refused(
                    f"violation {violation_id} was resolved by {found.resolution.by} at"
                    f" {found.resolution.at.isoformat()}: that stands; add a new violation if it came back"
                )
            if resolution.at < found.at:
                raise BadInput(f"resolved at {resolution.at.isoformat()}, before it happened: {found.at.isoformat()}")
            database.execute(
                "INSERT INTO resolutions (violation_id, resolution, resolved_by, resolved_at) VALUES (?, ?, ?, ?)",
                (violation_id, mask_text(resolution.text), resolution.by, resolution.at.isoformat()),
            )
            return _one(database, violation_id)

    def get(self, violation_id: int) -> Violation:
        """One violation by its number."""
        with self._transaction() as database:
            return _one(database, violation_id)

    def list(
        self, *, open_only: bool = False, severity: Severity | None = None, scope: str | None = None
    ) -> tuple[Violation, ...]:
        """Violations in the order in which they were added."""
        wanted = {"severity": severity, "scope": scope}
        clauses = [f"{column} = :{column}" for column, value in wanted.items() if value is not None]
        clauses += ["violation_id IS NULL"] if open_only else []
        where = f"WHERE {' AND '.join(clauses)} " if clauses else ""
        with self._transaction() as database:
            return tuple(_violation(row) for row in database.execute(f"{_SELECT}{where}ORDER BY id", wanted))

    def counts(self) -> dict[tuple[Severity, bool], int]:
        """How many there are by severity and whether they are open; all six are named, zeros too."""
        counted = dict.fromkeys(product(_SEVERITIES, (True, False)), 0)
        for violation in self.list():
            counted[violation.severity, violation.resolution is None] += 1
        return counted

    def _make_private(self) -> None:
        try:
            make_private_file(self._path)
        except OSError as error:
            raise self._unusable(error) from error

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            database = sqlite3.connect(self._path, timeout=_BUSY_MS / 1000, isolation_level=None)
        except sqlite3.Error as error:
            raise self._unusable(error) from error
        try:
            database.execute("PRAGMA synchronous = FULL")
            database.execute("PRAGMA foreign_keys = ON")
            database.execute("BEGIN IMMEDIATE")
            yield database
            database.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._unusable(error) from error
        finally:
            database.close()  # what was not committed is gone with it

    def _unusable(self, error: sqlite3.Error | OSError) -> ComponentMissing:
        return ComponentMissing(f"the record of violations in {self._path} cannot be used: {error}. Check the file.")


def _one(database: sqlite3.Connection, violation_id: int) -> Violation:
    fits = 0 < violation_id <= _ID_MAX  # more than that SQLite cannot even be asked for
    row = database.execute(f"{_SELECT}WHERE id = ?", (violation_id,)).fetchone() if fits else None
    if row is None:
        raise BadInput(f"there is no violation {violation_id}: list them to see their numbers")
    return _violation(row)


def _violation(row: tuple[int, Severity, str, str, str, str, str, str | None, str | None, str | None]) -> Violation:
    violation_id, severity, scope, rule, what, at, context, resolution, resolved_by, resolved_at = row
    settled = None
    if resolution is not None and resolved_by is not None and resolved_at is not None:
        settled = Resolution(text=resolution, by=resolved_by, at=datetime.fromisoformat(resolved_at))
    return Violation(
        id=violation_id,
        severity=severity,
        scope=scope,
        rule=rule,
        what=what,
        at=datetime.fromisoformat(at),
        context=_context.validate_json(context),
        resolution=settled,
    )
