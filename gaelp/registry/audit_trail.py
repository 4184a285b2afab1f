"""The registry's rows in the audit log: every record is there too, so that a deleted record is missed.

Two kinds of rows: `model.recorded` follows each record of the registry, `model.shown` says up to which record the
MLflow of a home shows the aliases. A record without its row is one whose process was killed in between; the next
opening adds the row. A row without its record means that somebody took the record away.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from gaelp.approvals import AuditLog, AuditRow, approvals_place, is_begun, open_database
from gaelp.approvals.audit import check_no_gap
from gaelp.approvals.database import ApprovalDatabase
from gaelp.authority.audit_records import check_approvals_kept
from gaelp.clock import Clock
from gaelp.config.settings import Settings
from gaelp.errors import DataError, Refused
from gaelp.registry.records import ModelRecord
from gaelp.registry.refusals import Tampered

__all__ = ["RECORDED", "SHOWN", "AuditTrail"]

RECORDED, SHOWN = "model.recorded", "model.shown"

_UNLOGGED_MAX = 4  # a process stores one or two records before it logs them, and few are killed at the same moment

_RESTORE = "Restore the newest backup (docs/models.md); `gaelp audit verify` checks the log itself"


class AuditTrail:
    """The rows about models in the audit log of a home."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._database: ApprovalDatabase | None = None

    def missing_rows(self, records: Sequence[ModelRecord]) -> tuple[ModelRecord, ...]:
        """The newest records that the log does not have yet; Tampered if the log and the records differ otherwise."""
        logged = {int(body["seq"]): body for body in self._bodies(RECORDED)}
        stored = {record.seq: record for record in records}
        for seq, body in sorted(logged.items()):
            record = stored.get(seq)
            if record is None:
                raise Tampered(
                    f"record {seq} of the registry ({body.get('what', '')}) is in the audit log and missing in the"
                    f" registry: it was deleted. {_RESTORE}"
                )
            if record.hash != body.get("hash"):
                raise Tampered(
                    f"record {seq} of the registry is not the one in the audit log ({body.get('what', '')}): it was"
                    f" exchanged. {_RESTORE}"
                )
        missing = [record for record in records if record.seq not in logged]
        if missing and (missing[0].seq < max(logged, default=-1) or len(missing) > _UNLOGGED_MAX):
            raise Tampered(
                f"the audit log lacks {len(missing)} records of the registry, the first is record {missing[0].seq}: it"
                f" was shortened, or belongs to another home. {_RESTORE}"
            )
        return tuple(missing)

    def add(self, records: Iterable[ModelRecord]) -> None:
        """Add the rows of these records, each once, whoever else does the same."""
        wanted = {record.seq: record for record in records}
        if not wanted:
            return

        def bodies(so_far: tuple[AuditRow, ...]) -> Iterable[dict[str, Any]]:
            known = {int(json.loads(row.body)["seq"]) for row in so_far}
            return [_recorded(record) for seq, record in sorted(wanted.items()) if seq not in known]

        self._log().append_following(RECORDED, bodies, self._clock.now())

    def shown_up_to(self, name: str, view: str) -> int | None:
        """The newest record that this MLflow was written up to for a model; None if it never was."""
        rows = [body for body in self._bodies(SHOWN) if (body["name"], body["view"]) == (name, view)]
        return max((int(body["seq"]) for body in rows), default=None)

    def note_shown(self, name: str, view: str, seq: int, facts: dict[str, str] | None = None) -> None:
        """Add that this MLflow shows a model as of a record."""
        self._log().append(SHOWN, {"name": name, "view": view, "seq": seq, **(facts or {})}, self._clock.now())

    def _log(self) -> AuditLog:
        check_approvals_kept(self._settings)
        return AuditLog(self._opened(create=True))

    def _opened(self, *, create: bool) -> ApprovalDatabase:
        if self._database is None:
            self._database = open_database(approvals_place(self._settings), create=create)
        return self._database

    def _bodies(self, kind: str) -> list[dict[str, Any]]:
        if self._database is None and not is_begun(approvals_place(self._settings)):
            return []
        try:
            with self._opened(create=False).reading() as session:
                check_no_gap(session)
                query = "SELECT seq, at, kind, body, previous_hash, hash FROM audit WHERE kind = ? ORDER BY seq"
                rows = [AuditRow(*values) for values in session.execute(query, (kind,))]
            return [json.loads(row.checked_body()) for row in rows]
        except (DataError, Refused) as problem:
            raise Tampered(f"the audit log, which knows the registry's records: {problem}. {_RESTORE}") from problem


def _recorded(record: ModelRecord) -> dict[str, Any]:
    return {"seq": record.seq, "hash": record.hash, "what": _what(record)}


def _what(record: ModelRecord) -> str:
    body = record.content()
    if record.kind == "version":
        manifest = body["manifest"]
        return f"version {manifest['version']} of {manifest['name']} from run {manifest['lineage']['run_id']}"
    if record.kind == "aliases":
        decided = body["approval"]["decided_by"]
        return (
            f"{body['kind']}: version {body['version']} of {body['name']} is {body['alias']}, by {body['by']};"
            f" approved by {decided}"
        )
    return f"the registry's public key {body['public_key'][:16]}"
