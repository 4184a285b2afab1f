"""Read and add records so that the registry, the audit log and MLflow agree, whoever is killed in between.

A change is: one transaction with the record, then the audit log, then MLflow, then a note in the log that MLflow shows
it. Whatever is missing of that is finished by the next one who opens the registry, from the record. Everything is
compared before anything is written.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from gaelp.approvals.keys import PublicKeyFile, SigningKey
from gaelp.clock import Clock
from gaelp.config.places import absolute
from gaelp.config.settings import Settings
from gaelp.database import Database, has_store
from gaelp.observability import get_logger
from gaelp.observability.mlflow_client import locked
from gaelp.registry.audit_trail import AuditTrail
from gaelp.registry.mlflow_view import MlflowView, is_behind
from gaelp.registry.records import (
    STORE,
    ModelRecord,
    RecordKind,
    add_record,
    check_records,
    open_records,
    read_records,
    registry_place,
)
from gaelp.registry.refusals import Tampered
from gaelp.registry.registry_key import check_key_file, key_place, make_key, signing_key
from gaelp.registry.state import ModelState, RegistryState, read_state

__all__ = ["RecordKeeper", "RegistryChange"]


@dataclass(frozen=True, slots=True)
class RegistryChange:
    """A transaction under way: the state it began with, and the means to add a record to it."""

    state: RegistryState
    key: SigningKey
    _connection: Connection
    _clock: Clock

    def add(self, kind: RecordKind, body: object) -> ModelRecord:
        """Add the record of this change; all that was written here is stored together."""
        return add_record(self._connection, self.state.records, kind, body, self._clock.now(), self.key)


@dataclass(frozen=True, slots=True)
class _Stale:
    """A model that MLflow does not show as recorded."""

    model: ModelState
    again: bool  # write it from nothing: this MLflow never showed it


class RecordKeeper:
    """The records of one home, always compared with the audit log and MLflow."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._place = registry_place(settings)
        self._key_place = key_place(settings)
        self._lock = absolute(settings.home) / STORE.file_name
        self._clock = clock
        self._trail = AuditTrail(settings, clock)
        self._view = MlflowView(settings)
        self._database: Database | None = None

    def folder(self, name: str, version: int) -> Path:
        """Where the files of a version are."""
        return self._view.folder(name, version)

    def state(self) -> tuple[RegistryState, tuple[str, ...]]:
        """What is recorded, and what had to be finished after a crash; Tampered if anything was changed."""
        if not self._is_begun():
            self._trail.missing_rows(())  # raises if the log knows of records: they are lost
            return read_state((), None), ()
        with self._held():
            return self._recovered()

    @contextmanager
    def changing(self) -> Iterator[RegistryChange]:
        """One change, alone: refused before it begins if anything stored was changed; shown in MLflow when it ends."""
        with self._held():
            if self._is_begun():
                self._recovered()
            else:
                self._trail.missing_rows(())
            with self._opened(create=True).writing() as connection:
                records = read_records(connection)
                public_key = check_records(records)
                if public_key is None:
                    key = make_key(self._key_place)
                    named = PublicKeyFile.of(key).model_dump(mode="json")
                    records = (add_record(connection, (), "key", named, self._clock.now(), key),)
                else:
                    key = signing_key(self._key_place, public_key)
                yield RegistryChange(read_state(records, key.public_key), key, connection, self._clock)
            self._settled()

    def write_view_again(self, facts: dict[str, str]) -> tuple[str, ...]:
        """Write MLflow from the record, whatever it shows now; the names of the models."""
        with self._held():
            state = self._checked()
            self._trail.add(self._trail.missing_rows(state.records))
            for model in state.models.values():
                view = self._view.write(model, again=True)
                self._trail.note_shown(model.name, view, model.last_seq, facts)
            return tuple(state.models)

    @contextmanager
    def _held(self) -> Iterator[None]:
        self._lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with ExitStack() as held:
            try:
                held.enter_context(locked(self._lock))
            except TimeoutError as problem:
                raise STORE.unavailable(
                    f"another process changes the registry ({problem}): {STORE.meanwhile}; try again later"
                ) from problem
            yield

    def _is_begun(self) -> bool:
        return self._database is not None or has_store(self._place, STORE)

    def _opened(self, *, create: bool) -> Database:
        """Opened once; each transaction has a connection of its own."""
        if self._database is None:
            self._database = open_records(self._place, create=create)
        return self._database

    def _checked(self) -> RegistryState:
        database = self._opened(create=False)
        if gone := database.missing_walls():
            raise Tampered(
                f"triggers that keep the registry's records from being changed are missing: {', '.join(gone)}."
                " Somebody took them out: restore the newest backup (docs/models.md)"
            )
        with database.reading() as connection:
            records = read_records(connection)
        public_key = check_records(records)
        if public_key is not None:
            check_key_file(self._key_place, public_key)
        return read_state(records, public_key)

    def _recovered(self) -> tuple[RegistryState, tuple[str, ...]]:
        state, finished = self._settled()
        if finished:
            get_logger(__name__).warning("an interrupted change of the registry was finished", finished=finished)
        return state, finished

    def _settled(self) -> tuple[RegistryState, tuple[str, ...]]:
        state = self._checked()
        unlogged = self._trail.missing_rows(state.records)
        stale = [entry for model in state.models.values() if (entry := self._stale(model)) is not None]
        if unlogged:
            self._trail.add(unlogged)
        finished = [f"record {record.seq} ({record.kind}) was missing in the audit log" for record in unlogged]
        for entry in stale:
            view = self._view.write(entry.model, again=entry.again)
            self._trail.note_shown(entry.model.name, view, entry.model.last_seq)
            finished.append(f"MLflow did not yet show {entry.model.name} as recorded")
        return state, tuple(finished)

    def _stale(self, model: ModelState) -> _Stale | None:
        shown = self._view.read(model.name)
        since = self._trail.shown_up_to(model.name, shown.view) if shown else None
        sources = {version.manifest.version: self._view.source(version) for version in model.versions}
        if is_behind(model, shown, sources, since) or since is None or since < model.last_seq:
            return _Stale(model, again=shown is not None and since is None)
        return None
