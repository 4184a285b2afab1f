"""Signed heads of the audit log, kept in a second place: a log that was rewritten or cut short contradicts them."""

import fcntl
import os
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

from pydantic import ConfigDict, Field

from gaelp.approvals.audit import AuditProblem, AuditRow, verify_rows
from gaelp.approvals.canonical import model_bytes, read_model
from gaelp.approvals.field_types import Instant, Sha256, SignatureHex
from gaelp.approvals.keys import SigningKey, signed_by
from gaelp.approvals.trust import AUDITOR, Trust
from gaelp.config.base import Frozen
from gaelp.config.names import Name
from gaelp.config.places import shown
from gaelp.errors import BadInput, DataError, Refused

__all__ = ["HEAD_DOMAIN", "Head", "HeadStatement", "check_heads", "publish_head", "read_heads", "sign_head"]

HEAD_DOMAIN = "audit-head"


class HeadStatement(Frozen):
    """The last row of the log at an instant, and through its hash all rows before."""

    model_config = ConfigDict(strict=True)

    seq: int = Field(ge=0)
    hash: Sha256
    auditor: Name
    at: Instant


class Head(Frozen):
    """A statement and the auditor's signature."""

    model_config = ConfigDict(strict=True)

    statement: HeadStatement
    signature: SignatureHex


def sign_head(row: AuditRow, key: SigningKey, at: datetime) -> Head:
    """Vouch for the log up to this row."""
    statement = HeadStatement(seq=row.seq, hash=row.hash, auditor=key.name, at=at)
    return Head(statement=statement, signature=key.sign(HEAD_DOMAIN, statement.model_dump(mode="json")))


def publish_head(rows: Sequence[AuditRow], key: SigningKey, path: Path, *, trust: Trust, at: datetime) -> Head:
    """Add a head for the last row to the file; a log that is not whole, or denies an earlier head, gets none."""
    if problem := verify_rows(rows):
        raise Refused(f"the audit log is not whole, so no head is signed: {problem}. See `gaelp audit show`.")
    if not rows:
        raise BadInput("the audit log has no row yet: there is nothing to vouch for")
    head = sign_head(rows[-1], key, at)
    if check_heads(rows, (head,), trust):
        raise Refused(
            f"{key.name!r} is not trusted with this key and the role {AUDITOR}, so the head would not be accepted: run"
            f" `gaelp keys trust FILE --role {AUDITOR}` with the public key"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        whole, _, torn = file.read().rpartition(b"\n")
        if torn:
            # Only a publisher that was killed leaves half a line; what was never whole vouched for nothing.
            file.truncate(len(whole) + 1 if whole else 0)
        if whole and (problem := check_heads(rows, _parse_heads(whole, path), trust)):
            raise Refused(f"the audit log denies an earlier head of {shown(path)}, so no new one is signed: {problem}")
        file.write(model_bytes(head) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    return head


def read_heads(path: Path) -> tuple[Head, ...]:
    """Every head in a file; DataError for a line that is no head."""
    try:
        raw = path.read_bytes()
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise BadInput(
            f"the heads {shown(path)} cannot be read: {reason}. Name the file they are published to."
        ) from None
    whole, _, torn = raw.rpartition(b"\n")
    if torn:
        raise DataError(f"{shown(path)}: its last line is cut off. Publish a new head: `gaelp audit publish`.")
    return _parse_heads(whole, path) if whole else ()


def check_heads(rows: Sequence[AuditRow], heads: Iterable[Head], trust: Trust) -> AuditProblem | None:
    """The first head that was not signed by a trusted auditor, or that the log no longer agrees with."""
    before = -1
    for head in heads:
        said = head.statement
        if not _is_signed(head, trust):
            return AuditProblem(said.seq, f"its head is not signed by a key that {said.auditor!r} had as auditor then")
        if said.seq < before:
            return AuditProblem(said.seq, f"its head follows that of row {before}: the heads are out of order")
        if said.seq >= len(rows):
            return AuditProblem(
                len(rows), f"missing: the log was cut off, {said.auditor} vouched for row {said.seq} at {said.at}"
            )
        if rows[said.seq].hash != said.hash:
            return AuditProblem(
                said.seq, f"rewritten, or a row before it: {said.auditor} vouched for {said.hash[:12]}… at {said.at}"
            )
        before = said.seq
    return None


def _parse_heads(lines: bytes, path: Path) -> tuple[Head, ...]:
    heads = []
    for number, line in enumerate(lines.split(b"\n"), start=1):
        try:
            heads.append(read_model(Head, line))
        except DataError as problem:
            raise DataError(f"{shown(path)}:{number}: {problem}") from None
    return tuple(heads)


def _is_signed(head: Head, trust: Trust) -> bool:
    value = head.statement.model_dump(mode="json")
    return any(
        entry.trusted_at(head.statement.at)
        and AUDITOR in entry.roles
        and signed_by(entry.public_key, head.signature, HEAD_DOMAIN, value)
        for entry in trust.keys_of(head.statement.auditor)
    )
