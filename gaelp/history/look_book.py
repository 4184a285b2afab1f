"""The record of looks at sealed windows: at most three each, in one transaction with the audit log.

The tables are in the database of the audit log, so a look and its row in the log are stored together or not at all, and
one writer at a time counts. Rows are never changed; the database itself refuses a fourth look and a second look of the
same number.
"""

import json
import secrets
from contextlib import closing
from datetime import datetime

from pydantic import Field, PositiveInt, ValidationError
from sqlalchemy import CheckConstraint, Column, Connection, MetaData, Table, Text, UniqueConstraint, text

from gaelp.approvals.audit import append
from gaelp.approvals.database import STORE as APPROVALS
from gaelp.approvals.database import Session
from gaelp.config.base import Frozen
from gaelp.config.field_types import Instant, Sha256
from gaelp.database import Database, Place, Schema, big_integer, open_database
from gaelp.database.append_only import missing_walls
from gaelp.errors import Refused

__all__ = ["LOOKS_MAX", "LOOK_TAKEN", "WINDOW_READ", "GateTicket", "LookBook", "TicketRequest"]

LOOKS_MAX = 3
LOOK_TAKEN, WINDOW_READ = "history.look_taken", "history.window_read"  # kinds of rows in the audit log
_TOKEN_BYTES = 16

_TABLES = ("sealed_look", "sealed_reading")
_metadata = MetaData()
Table(
    "sealed_look",
    _metadata,
    Column("fingerprint", Text, primary_key=True),
    Column("look", big_integer, primary_key=True, autoincrement=False),
    *(Column(name, Text, nullable=False) for name in ("run_id", "model_hash", "body")),
    Column("attempt", big_integer, nullable=False),
    CheckConstraint(f"look BETWEEN 1 AND {LOOKS_MAX}", name="no_further_look"),
    UniqueConstraint("fingerprint", "run_id", "attempt", "model_hash", name="a_run_looks_once"),
)
Table(
    "sealed_reading",
    _metadata,
    Column("fingerprint", Text, primary_key=True),
    Column("look", big_integer, primary_key=True, autoincrement=False),
    Column("data_hash", Text, nullable=False),
)
_SCHEMA = Schema("history_looks", _metadata, append_only=_TABLES)

_LOOKS = text("SELECT body FROM sealed_look WHERE fingerprint = :fingerprint ORDER BY look")
_INSERT_LOOK = text(
    "INSERT INTO sealed_look (fingerprint, look, run_id, model_hash, body, attempt)"
    " VALUES (:fingerprint, :look, :run_id, :model_hash, :body, :attempt)"
)
_READING = text("SELECT data_hash FROM sealed_reading WHERE fingerprint = :fingerprint AND look = :look")
_INSERT_READING = text(
    "INSERT INTO sealed_reading (fingerprint, look, data_hash) VALUES (:fingerprint, :look, :data_hash)"
)


class TicketRequest(Frozen):
    """Who wants to look: one attempt of one run, with one model, before one gate's rules."""

    run_id: str = Field(min_length=1)
    attempt: PositiveInt
    model_hash: Sha256
    gate: str = Field(min_length=1)
    gate_file_hash: Sha256


class GateTicket(Frozen):
    """Opens one sealed window for one attempt. What counts is the stored row: a ticket without one opens nothing."""

    fingerprint: Sha256 = Field(description="of the window")
    look: PositiveInt = Field(le=LOOKS_MAX)
    request: TicketRequest
    as_of: Instant = Field(description="the window is read as it was known then, also when it is read again")
    issued_at: Instant
    issued_by: str = Field(min_length=1)
    token: str = Field(min_length=1)


class LookBook:
    """The looks at all windows of one database."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def looks(self, fingerprint: str) -> tuple[GateTicket, ...]:
        """The looks at a window so far, the first one first; Refused if the record was altered."""
        with closing(self._open()) as database, database.reading() as connection:
            return _looks(connection, fingerprint)

    def take(
        self, fingerprint: str, request: TicketRequest, *, as_of: datetime, at: datetime, by: str, way_out: str
    ) -> GateTicket:
        """The ticket of this request: the one it was given before, or the next look while there is one.

        The look counts from here on, whether or not anything is read with it.
        """
        with closing(self._open()) as database, database.writing() as connection:
            taken = _looks(connection, fingerprint)
            for ticket in taken:
                if _same_attempt(ticket.request, request):
                    return _unchanged(ticket, request)
            if len(taken) >= LOOKS_MAX:
                raise Refused(
                    f"the sealed window {fingerprint[:12]} was looked at {len(taken)} times ({_named(taken)}); allowed:"
                    f" {LOOKS_MAX}, whatever the model. {way_out}"
                )
            ticket = GateTicket(
                fingerprint=fingerprint,
                look=len(taken) + 1,
                request=request,
                as_of=as_of,
                issued_at=at,
                issued_by=by,
                token=secrets.token_hex(_TOKEN_BYTES),
            )
            _insert(connection, ticket)
            append(Session(connection), LOOK_TAKEN, _body(ticket), at)
            return ticket

    def check(self, ticket: GateTicket) -> None:
        """Refuse a ticket that was not issued here, word for word."""
        if ticket not in self.looks(ticket.fingerprint):
            raise Refused(
                f"the ticket of run {ticket.request.run_id} for look {ticket.look} at window {ticket.fingerprint[:12]}"
                " was not issued, or was changed since: ask the gate for one"
            )

    def note_reading(self, ticket: GateTicket, data_hash: str, at: datetime) -> None:
        """Record that the window was read with this ticket; Refused if other data were read with it before."""
        key = {"fingerprint": ticket.fingerprint, "look": ticket.look}
        with closing(self._open()) as database, database.writing() as connection:
            before = connection.execute(_READING, key).scalar_one_or_none()
            if before is not None and before != data_hash:
                raise Refused(
                    f"look {ticket.look} at window {ticket.fingerprint[:12]} read data {before[:12]} before and now"
                    f" {data_hash[:12]}: stored rows were changed or removed since. Restore them, or wait for the next"
                    " window"
                )
            if before is None:
                connection.execute(_INSERT_READING, {**key, "data_hash": data_hash})
            append(Session(connection), WINDOW_READ, {**_body(ticket), "data_hash": data_hash}, at)

    def _open(self) -> Database:
        database = open_database(self._place, APPROVALS)
        try:
            database.install(_SCHEMA)
        except BaseException:
            database.close()
            raise
        return database


def _looks(connection: Connection, fingerprint: str) -> tuple[GateTicket, ...]:
    """The looks of the table, which the audit log must know too."""
    if gone := missing_walls(connection, _TABLES):
        raise _altered(f"triggers that keep rows from being changed are gone: {', '.join(gone)}")
    try:
        rows = connection.execute(_LOOKS, {"fingerprint": fingerprint}).scalars()
        taken = tuple(GateTicket.model_validate_json(body) for body in rows)
    except ValidationError as problem:
        raise _altered(f"a look at window {fingerprint[:12]} cannot be read") from problem
    logged = Session(connection).execute("SELECT body FROM audit WHERE kind = ? ORDER BY seq", (LOOK_TAKEN,))
    bodies = [body for (text_,) in logged if (body := json.loads(text_))["fingerprint"] == fingerprint]
    if bodies != [_body(ticket) for ticket in taken]:
        raise _altered(f"it has {len(taken)} looks at window {fingerprint[:12]}, the audit log {len(bodies)}")
    return taken


def _altered(what: str) -> Refused:
    return Refused(
        f"the record of looks was altered: {what}; no sealed window is opened. Restore a copy that is whole, or wait"
        " for new data and fix the next windows"
    )


def _insert(connection: Connection, ticket: GateTicket) -> None:
    request = ticket.request
    values = {"run_id": request.run_id, "model_hash": request.model_hash, "attempt": request.attempt}
    key = {"fingerprint": ticket.fingerprint, "look": ticket.look}
    connection.execute(_INSERT_LOOK, {**key, **values, "body": ticket.model_dump_json()})


def _same_attempt(earlier: TicketRequest, request: TicketRequest) -> bool:
    names = ("run_id", "attempt", "model_hash")
    return all(getattr(earlier, name) == getattr(request, name) for name in names)


def _unchanged(ticket: GateTicket, request: TicketRequest) -> GateTicket:
    if ticket.request != request:
        before = ticket.request
        raise Refused(
            f"run {request.run_id} attempt {request.attempt} took look {ticket.look} for gate {before.gate} with rules"
            f" {before.gate_file_hash[:12]}, and now asks for {request.gate} with {request.gate_file_hash[:12]}: rules"
            " may not change after a look. Restore the gate's file, or begin another attempt, which is another look"
        )
    return ticket


def _body(ticket: GateTicket) -> dict[str, str | int]:
    """What the audit log says of a look."""
    return {
        "fingerprint": ticket.fingerprint,
        "look": ticket.look,
        **ticket.request.model_dump(mode="json"),
        "as_of": ticket.as_of.isoformat(),
        "by": ticket.issued_by,
        "token": ticket.token,
    }


def _named(taken: tuple[GateTicket, ...]) -> str:
    return ", ".join(f"run {ticket.request.run_id} attempt {ticket.request.attempt}" for ticket in taken)
