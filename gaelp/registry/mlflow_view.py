"""MLflow's model registry as a view of the record: compared when the registry is opened, written after each record.

MLflow's database and ours cannot change in one transaction. So our record is the truth: MLflow is written from it, and
what differs is either behind, because a process was killed in between, or was changed by somebody else.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gaelp.config.environment import process_environment
from gaelp.config.places import absolute
from gaelp.config.settings import Settings
from gaelp.database import DatabaseUnavailable
from gaelp.errors import GaelpError
from gaelp.observability.mlflow_client import connect_client, database_file, import_mlflow, local_uri, locked
from gaelp.registry.aliases import ALIASES, AliasName
from gaelp.registry.refusals import Tampered
from gaelp.registry.state import ModelState, RecordedVersion

if TYPE_CHECKING:
    from mlflow.entities.model_registry import ModelVersion, RegisteredModel
    from mlflow.tracking import MlflowClient

__all__ = ["MlflowView", "ShownModel", "ShownVersion", "is_behind"]

_HASH_TAG = "gaelp.manifest_hash"
_RESTORE = "`gaelp models restore` writes MLflow again from the record, and notes who asked for it"


@dataclass(frozen=True, slots=True)
class ShownVersion:
    """A version as MLflow has it."""

    manifest_hash: str
    source: str


@dataclass(frozen=True, slots=True)
class ShownModel:
    """A registered model as MLflow has it; `view` differs for each MLflow database and each place of the home."""

    view: str
    versions: dict[int, ShownVersion]
    aliases: dict[str, int]


class MlflowView:
    """The registered models in the MLflow of a home."""

    def __init__(self, settings: Settings) -> None:
        self._home = absolute(settings.home)
        self._database = database_file(local_uri(settings.home))
        self._client: MlflowClient | None = None

    def folder(self, name: str, version: int) -> Path:
        """Where the files of a version are."""
        return self._home / "models" / name / str(version)

    def read(self, name: str) -> ShownModel | None:
        """What MLflow shows of a model; None if it does not know it."""
        with self._answering() as client:
            registered = _registered(client, name)
            if registered is None:
                return None
            versions = {int(version.version): _shown(version) for version in _versions(client, name)}
            return ShownModel(self._view(registered), versions, _aliases(registered))

    def write(self, model: ModelState, *, again: bool = False) -> str:
        """Make MLflow show what is recorded of a model, from nothing if `again`; its view."""
        with self._answering() as client, locked(self._database):
            registered = _registered(client, model.name)
            if registered is not None and again:
                client.delete_registered_model(model.name)
            if registered is None or again:
                about = "Versions of GAELP's model registry: `gaelp models list`. Aliases changed here are refused."
                registered = client.create_registered_model(model.name, description=about)
            numbers = {int(version.version) for version in _versions(client, model.name)}
            for version in model.versions:
                if version.manifest.version not in numbers:
                    self._create(client, version)
            _write_aliases(client, model, _aliases(registered))
            return self._view(registered)

    def source(self, version: RecordedVersion) -> str:
        """The address of a version's folder."""
        return self.folder(version.manifest.name, version.manifest.version).as_uri()

    def _create(self, client: "MlflowClient", version: RecordedVersion) -> None:
        manifest = version.manifest
        created = client.create_model_version(
            manifest.name,
            source=self.source(version),
            tags={
                _HASH_TAG: version.manifest_hash,
                "gaelp.model_hash": manifest.model_hash,
                "gaelp.run_id": manifest.lineage.run_id,
            },
            description=f"{manifest.agent}: {manifest.verdicts[-1].summary}",
        )
        if int(created.version) != manifest.version:
            raise Tampered(
                f"MLflow numbers the next version of {manifest.name} {created.version}; recorded is {manifest.version}:"
                f" a version was deleted there. {_RESTORE}"
            )

    def _view(self, registered: "RegisteredModel") -> str:
        return f"{int(registered.creation_timestamp)}-{hashlib.sha256(str(self._home).encode()).hexdigest()[:12]}"

    @contextmanager
    def _answering(self) -> Iterator["MlflowClient"]:
        try:
            yield self._connected()
        except GaelpError:
            raise
        except Exception as problem:  # whatever its many layers raise
            first = (str(problem).splitlines() or [type(problem).__name__])[0]
            raise DatabaseUnavailable(
                f"MLflow's model registry in {self._database} did not answer ({first[:200]}): no model is used. Free"
                " the database; if it is damaged, move it away, and it is written again from the record"
            ) from problem

    def _connected(self) -> "MlflowClient":
        if self._client is None:
            import_mlflow(process_environment())
            with locked(self._database):
                self._client = connect_client(self._database)  # creates the tables of a new database
        return self._client


def is_behind(model: ModelState, shown: ShownModel | None, sources: dict[int, str], since: int | None) -> bool:
    """Whether MLflow has to be written; Tampered if it shows what it never was made to show.

    `since` is the record that this MLflow was last written up to, None if it never was.
    """
    if shown is None:
        return True
    _check_versions(model, shown, since)
    for alias in ALIASES:
        _check_alias(model, shown, alias, since)
    moved = {number: version.source for number, version in shown.versions.items()} != sources
    if moved and since is not None and shown.versions.keys() == sources.keys():
        changed = next(number for number, version in shown.versions.items() if version.source != sources[number])
        raise Tampered(
            f"MLflow says that the files of version {changed} of {model.name} are in"
            f" {shown.versions[changed].source!r:.120}; registered are {sources[changed]!r}: it was changed there."
            f" {_RESTORE}"
        )
    current = {alias: number for alias in ALIASES if (number := model.aliases.of(alias)) is not None}
    return moved or {alias: number for alias, number in shown.aliases.items() if alias in ALIASES} != current


def _check_versions(model: ModelState, shown: ShownModel, since: int | None) -> None:
    recorded = {version.manifest.version: version for version in model.versions}
    for number, version in sorted(shown.versions.items()):
        if number not in recorded:
            raise Tampered(
                f"MLflow has a version {number} of {model.name} that was never registered: somebody added it there."
                f" {_RESTORE}"
            )
        if version.manifest_hash != recorded[number].manifest_hash:
            raise Tampered(
                f"MLflow says that version {number} of {model.name} has the manifest"
                f" {version.manifest_hash[:12] or '(none)'}; registered is {recorded[number].manifest_hash[:12]}: it"
                f" was changed there. {_RESTORE}"
            )
    for number, registered in recorded.items():
        if number not in shown.versions and since is not None and registered.record.seq <= since:
            raise Tampered(f"version {number} of {model.name} was deleted in MLflow. {_RESTORE}")


def _check_alias(model: ModelState, shown: ShownModel, alias: AliasName, since: int | None) -> None:
    states = [model.aliases_at(-1 if since is None else since)]
    states += [moved.move.after for moved in model.moves if since is None or moved.record.seq > since]
    number = shown.aliases.get(alias)
    if number in {state.of(alias) for state in states}:
        return
    recorded, moved = model.aliases.of(alias), model.move_to(alias)
    by = f", by {moved.move.by} at {moved.record.recorded_at:%Y-%m-%d %H:%M} UTC" if moved else ""
    raise Tampered(
        f"MLflow says that {alias} of {model.name} is {_named(number)}; recorded is {_named(recorded)}{by}: the alias"
        f" was moved outside `gaelp models`. {_RESTORE}"
    )


def _named(number: int | None) -> str:
    return "no version" if number is None else f"version {number}"


def _registered(client: "MlflowClient", name: str) -> "RegisteredModel | None":
    try:
        return client.get_registered_model(name)
    except Exception as problem:
        if getattr(problem, "error_code", None) == "RESOURCE_DOES_NOT_EXIST":
            return None
        raise


def _write_aliases(client: "MlflowClient", model: ModelState, shown: dict[str, int]) -> None:
    for alias in ALIASES:
        number = model.aliases.of(alias)
        if number is None and alias in shown:
            client.delete_registered_model_alias(model.name, alias)
        elif number is not None and shown.get(alias) != number:
            client.set_registered_model_alias(model.name, alias, str(number))


def _aliases(registered: "RegisteredModel") -> dict[str, int]:
    return {str(alias): int(number) for alias, number in registered.aliases.items()}


def _versions(client: "MlflowClient", name: str) -> "Iterator[ModelVersion]":
    token: str | None = None
    while True:
        page = client.search_model_versions(f"name='{name}'", max_results=1000, page_token=token)
        yield from page
        token = page.token
        if not token:
            return


def _shown(version: "ModelVersion") -> ShownVersion:
    return ShownVersion(str(version.tags.get(_HASH_TAG, "")), str(version.source))
