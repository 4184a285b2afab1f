"""The signed record of the registry: rows that are only added, each bound to the one before it and signed.

Versions and alias moves are rows of one chain, so a row that was changed, exchanged or deleted breaks it. Whoever can
write to the database but does not have the registry's key cannot add a row that counts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, cast, get_args

from sqlalchemy import CheckConstraint, Column, Connection, MetaData, Table, Text, insert, select

from gaelp.approvals.canonical import canonical, digest, parse
from gaelp.approvals.field_types import require_aware
from gaelp.approvals.keys import PublicKeyFile, SigningKey, signed_by
from gaelp.config.settings import Settings
from gaelp.database import Database, DatabaseDamaged, Place, Schema, Store, big_integer, open_database, place_of
from gaelp.errors import DataError, Refused
from gaelp.registry.refusals import Tampered

__all__ = [
    "STORE",
    "ModelRecord",
    "RecordKind",
    "RegistryDamaged",
    "add_record",
    "check_records",
    "open_records",
    "read_records",
    "registry_place",
]

RecordKind = Literal["key", "version", "aliases"]

START = "0" * 64  # the previous_hash of the first record
_DOMAIN = "model-record"
_RESTORE = "Nothing is returned for use: restore the newest backup (docs/models.md), or look at it with `sqlite3`"


class RegistryDamaged(DatabaseDamaged, Refused):
    """The record of models is not whole, so no model is used."""

    exit_code = 3


_metadata = MetaData()
_TABLE = Table(
    "model_record",
    _metadata,
    Column(
        "seq", big_integer, CheckConstraint("seq >= 0", name="seq_counts_up"), primary_key=True, autoincrement=False
    ),
    *(Column(name, Text, nullable=False) for name in ("at", "kind", "body")),
    *(Column(name, Text, nullable=False, unique=True) for name in ("previous_hash", "hash")),
    Column("signature", Text, nullable=False),
)

STORE = Store(
    title="the record of models",
    file_name="registry.db",
    lock_key=0x6761_656C_7007,
    schema=Schema("registry", _metadata, append_only=(_TABLE.name,)),
    meanwhile="nothing was registered or promoted, and no model is used",
    verify_command="gaelp models list",
    absent=Refused,
    damaged=RegistryDamaged,
)


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """One row as it is stored; `body` is canonical JSON, `signature` covers every other column."""

    seq: int
    at: str
    kind: str
    body: str
    previous_hash: str
    hash: str
    signature: str

    def content(self) -> Any:
        """The body as a value."""
        return parse(self.body.encode("utf-8", "surrogatepass"))

    @property
    def recorded_at(self) -> datetime:
        """When the row was added."""
        return datetime.fromisoformat(self.at)


def registry_place(settings: Settings) -> Place:
    """Where the record of models is."""
    return place_of(settings, STORE.file_name)


def open_records(place: Place, *, create: bool) -> Database:
    """The database at a path or at the URL of a PostgreSQL."""
    return open_database(place, STORE, create=create)


def read_records(connection: Connection) -> tuple[ModelRecord, ...]:
    """Every row, the oldest first; nothing is checked yet."""
    return tuple(ModelRecord(*row) for row in connection.execute(select(*_TABLE.columns).order_by(_TABLE.c.seq)))


def check_records(records: Sequence[ModelRecord]) -> str | None:
    """The registry's public key, after every row was checked: number, hash, chain, signature. None without rows.

    Raise Tampered for the first row that was changed, exchanged or deleted.
    """
    if not records:
        return None
    public_key = _public_key(records[0])
    for record, expected in zip(records, _expected(records), strict=True):
        if (record.seq, record.previous_hash) != expected:
            raise Tampered(
                f"record {expected[0]} of the registry is missing or was exchanged: after it comes record {record.seq}."
                f" {_RESTORE}"
            )
        problem = _problem_of(record, public_key)
        if problem:
            raise Tampered(f"record {record.seq} of the registry ({record.kind!r:.20}) {problem}. {_RESTORE}")
    return public_key


def add_record(
    connection: Connection,
    records: Sequence[ModelRecord],
    kind: RecordKind,
    body: object,
    at: datetime,
    key: SigningKey,
) -> ModelRecord:
    """Add one signed row inside a writing transaction, after the rows that this transaction read."""
    seq, previous_hash = (records[-1].seq + 1, records[-1].hash) if records else (0, START)
    when = require_aware(at).astimezone(UTC).isoformat(timespec="microseconds")
    covered = _covered(seq, when, kind, body, previous_hash)
    record = ModelRecord(
        seq=seq,
        at=when,
        kind=kind,
        body=canonical(body).decode("ascii"),
        previous_hash=previous_hash,
        hash=digest(_DOMAIN, covered),
        signature=key.sign(_DOMAIN, covered),
    )
    values = {name: getattr(record, name) for name in ModelRecord.__slots__}
    connection.execute(insert(_TABLE).values(values))
    return record


def _covered(seq: int, at: str, kind: str, body: object, previous_hash: str) -> dict[str, object]:
    return {"seq": seq, "at": at, "kind": kind, "body": body, "previous_hash": previous_hash}


def _expected(records: Sequence[ModelRecord]) -> Iterator[tuple[int, str]]:
    yield 0, START
    for record in records[:-1]:
        yield record.seq + 1, record.hash


def _problem_of(record: ModelRecord, public_key: str) -> str | None:
    if type(record.seq) is not int or any(type(getattr(record, name)) is not str for name in ModelRecord.__slots__[1:]):
        return "has a column of the wrong type: it was written by something else"
    try:
        covered = _covered(record.seq, record.at, record.kind, record.content(), record.previous_hash)
        own_hash = digest(_DOMAIN, covered)
        datetime.fromisoformat(record.at)
    except (DataError, ValueError) as problem:
        return f"cannot be read: {str(problem)[:120]}"
    if record.kind not in get_args(RecordKind):
        return "is of a kind that this release does not know"
    if own_hash != record.hash:
        return "was changed: it does not have the hash that is stored with it"
    if not signed_by(public_key, record.signature, _DOMAIN, covered):
        return "is not signed with the registry's key: it was forged"
    return None


def _public_key(first: ModelRecord) -> str:
    try:
        offered = PublicKeyFile.model_validate(cast("dict[str, Any]", first.content()), strict=True)
        offered.check()
    except (DataError, Refused, ValueError, AttributeError) as problem:
        raise Tampered(
            f"record 0 of the registry does not name its public key ({str(problem).splitlines()[0][:120]}). {_RESTORE}"
        ) from None
    return offered.public_key
