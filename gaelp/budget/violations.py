"""Violations of the money rules, their severity and who resolved them: an append-only record.

A violation is resolved once, by somebody, with an explanation; the tables themselves refuse anything else.
"""

from datetime import datetime
from itertools import product
from typing import Any

from pydantic import Field, JsonValue, TypeAdapter
from sqlalchemy import CheckConstraint, Column, Connection, ForeignKey, MetaData, Row, Table, Text, text

from gaelp.config.base import Frozen
from gaelp.config.field_types import Instant
from gaelp.config.settings import Settings
from gaelp.database import Place, Schema, Store, big_integer, open_database, shared_place_of
from gaelp.database.append_only import add_walls, drop_walls
from gaelp.errors import BadInput, Refused
from gaelp.observability.alert import Severity
from gaelp.observability.redact import mask, mask_text

__all__ = ["STORE", "Resolution", "Violation", "ViolationStore", "violations_place"]

_SEVERITIES: tuple[Severity, ...] = ("info", "warning", "critical")
_ID_MAX = 2**63 - 1
_APPEND_ONLY = ("violation", "violation_resolution")
_metadata = MetaData()
Table(
    "violation",
    _metadata,
    Column("id", big_integer, primary_key=True, autoincrement=True),
    *(Column(name, Text, nullable=False) for name in ("severity", "scope", "rule", "what", "at", "context")),
    CheckConstraint("severity IN ('info', 'warning', 'critical')", name="violation_severity_is_known"),
    CheckConstraint("length(scope) BETWEEN 1 AND 200", name="violation_names_a_scope"),
    CheckConstraint("length(rule) BETWEEN 1 AND 200", name="violation_names_a_rule"),
    CheckConstraint("length(what) BETWEEN 1 AND 4000", name="violation_says_what"),
    sqlite_strict=True,
    sqlite_autoincrement=True,  # a number is never reused
)
Table(
    "violation_resolution",
    _metadata,
    Column("violation_id", big_integer, ForeignKey("violation.id"), primary_key=True, autoincrement=False),
    *(Column(name, Text, nullable=False) for name in ("resolution", "resolved_by", "resolved_at")),
    CheckConstraint("length(trim(resolution)) > 0", name="resolution_says_how"),
    CheckConstraint("length(trim(resolved_by)) > 0", name="resolution_says_who"),
    sqlite_strict=True,
)


def _rename(connection: Connection) -> None:
    """Version 1 was a SQLite file of its own, with names that say too little in a database that stores share."""
    old = [f"no_{verb}_of_{table}" for table in ("violations", "resolutions") for verb in ("UPDATE", "DELETE")]
    drop_walls(connection, old)
    connection.exec_driver_sql("ALTER TABLE violations RENAME TO violation")
    connection.exec_driver_sql("ALTER TABLE resolutions RENAME TO violation_resolution")
    add_walls(connection, _APPEND_ONLY)


STORE = Store(
    title="the record of violations",
    file_name="violations.sqlite",
    lock_key=0x6761_656C_7003,
    schema=Schema(
        "violations",
        _metadata,
        old_tables=("violations", "resolutions"),
        old_on_postgres=False,
        upgrades=(_rename,),
        append_only=_APPEND_ONLY,
    ),
    meanwhile="nothing was stored",
)

_INSERT = text(
    "INSERT INTO violation (severity, scope, rule, what, at, context)"
    " VALUES (:severity, :scope, :rule, :what, :at, :context) RETURNING id"
)
_RESOLVE = text(
    "INSERT INTO violation_resolution (violation_id, resolution, resolved_by, resolved_at)"
    " VALUES (:id, :resolution, :resolved_by, :resolved_at)"
)
_SELECT = (
    "SELECT id, severity, scope, rule, what, at, context, resolution, resolved_by, resolved_at"
    " FROM violation LEFT JOIN violation_resolution ON violation_id = id"
)
_FIND = text(f"{_SELECT} WHERE id = :id")
_context = TypeAdapter(dict[str, JsonValue])


class Resolution(Frozen):
    """How a violation was resolved, and by whom."""

    text: str = Field(min_length=1, max_length=4000, pattern=r"\S")
    by: str = Field(min_length=1, max_length=200, pattern=r"\S")
    at: Instant


class Violation(Frozen):
    """A violation; `id` is 0 before it is stored."""

    id: int = 0
    severity: Severity
    scope: str = Field(min_length=1, max_length=200, description="the account, campaign or episode it happened to")
    rule: str = Field(min_length=1, max_length=200, description="the id of the rule or guard that found it")
    what: str = Field(min_length=1, max_length=4000)
    at: Instant
    context: dict[str, JsonValue] = Field(default_factory=dict)
    resolution: Resolution | None = None


class ViolationStore:
    """The violations in a database; every call is a transaction that is on disk when it returns."""

    def __init__(self, place: Place) -> None:
        self._database = open_database(place, STORE)

    def add(self, violation: Violation) -> Violation:
        """Store a violation, its secrets masked; return it with its number."""
        if violation.id or violation.resolution is not None:
            raise BadInput(
                f"violation {violation.id} is stored or resolved already: add a new one, then resolve it by number"
            )
        context = _context.dump_json(_context.validate_python(mask(violation.context))).decode()
        values = {
            **violation.model_dump(include={"severity", "scope", "rule"}),
            "what": mask_text(violation.what),
            "at": violation.at.isoformat(),
            "context": context,
        }
        with self._database.writing() as connection:
            return _get(connection, connection.execute(_INSERT, values).scalar_one())

    def resolve(self, violation_id: int, resolution: Resolution) -> Violation:
        """Resolve an open violation; a second resolution is refused."""
        if not resolution.by.isprintable():  # not in the model: older rows must stay readable
            raise BadInput(f"resolved by {resolution.by[:40]!r}; allowed: one printable line. Say who resolves it")
        with self._database.writing() as connection:
            violation = _get(connection, violation_id)
            if (before := violation.resolution) is not None:
                raise Refused(
                    f"violation {violation_id} was resolved by {before.by} at {before.at.isoformat()}, which is final:"
                    " add a new violation if it came back"
                )
            if resolution.at < violation.at:
                happened = violation.at.isoformat()
                raise BadInput(f"resolved at {resolution.at.isoformat()}, before it happened: {happened}")
            values = {
                "id": violation_id,
                "resolution": mask_text(resolution.text),
                "resolved_by": resolution.by,
                "resolved_at": resolution.at.isoformat(),
            }
            connection.execute(_RESOLVE, values)
            return _get(connection, violation_id)

    def get(self, violation_id: int) -> Violation:
        """One violation by its number."""
        with self._database.reading() as connection:
            return _get(connection, violation_id)

    def list(
        self, *, open_only: bool = False, severity: Severity | None = None, scope: str | None = None
    ) -> tuple[Violation, ...]:
        """Violations in the order in which they were added."""
        wanted = {name: value for name, value in (("severity", severity), ("scope", scope)) if value is not None}
        clauses = [f"{column} = :{column}" for column in wanted]
        clauses += ["violation_id IS NULL"] if open_only else []
        where = f" WHERE {' AND '.join(clauses)}" if clauses else ""
        with self._database.reading() as connection:
            return tuple(map(_violation, connection.execute(text(f"{_SELECT}{where} ORDER BY id"), wanted)))

    def counts(self) -> dict[tuple[Severity, bool], int]:
        """Their number by severity and whether they are open; all six combinations, even zeros."""
        counted = dict.fromkeys(product(_SEVERITIES, (True, False)), 0)
        for violation in self.list():
            counted[violation.severity, violation.resolution is None] += 1
        return counted


def violations_place(settings: Settings) -> Place:
    """Where violations are stored."""
    return shared_place_of(settings, STORE.file_name)


def _get(connection: Connection, violation_id: int) -> Violation:
    fits = 0 < violation_id <= _ID_MAX  # larger numbers do not fit into the column
    row = connection.execute(_FIND, {"id": violation_id}).one_or_none() if fits else None
    if row is None:
        raise BadInput(f"there is no violation {violation_id}: list them to see their numbers")
    return _violation(row)


def _violation(row: Row[Any]) -> Violation:
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
