"""What the records say: the versions of each model, and who has which alias after each record."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from gaelp.approvals.canonical import canonical, model_bytes, read_model
from gaelp.approvals.keys import signed_by
from gaelp.errors import BadInput, Refused
from gaelp.registry.aliases import Aliases, AliasMove, AliasName
from gaelp.registry.manifest import MANIFEST_DOMAIN, ModelManifest, manifest_hash
from gaelp.registry.records import ModelRecord
from gaelp.registry.refusals import Tampered

__all__ = ["ModelState", "RecordedMove", "RecordedVersion", "RegistryState", "read_state", "version_body"]


@dataclass(frozen=True, slots=True)
class RecordedVersion:
    """A version as it was registered; its files are not looked at."""

    record: ModelRecord
    manifest: ModelManifest
    manifest_hash: str
    signature: str  # over the manifest

    @property
    def manifest_bytes(self) -> bytes:
        """The manifest as it was signed."""
        return model_bytes(self.manifest)


@dataclass(frozen=True, slots=True)
class RecordedMove:
    """A move of an alias as it was recorded."""

    record: ModelRecord
    move: AliasMove


@dataclass(slots=True)
class ModelState:
    """One model by name: its versions in order of their number, and every move of its aliases."""

    name: str
    versions: list[RecordedVersion] = field(default_factory=list)
    moves: list[RecordedMove] = field(default_factory=list)

    @property
    def aliases(self) -> Aliases:
        """Who has which alias now."""
        return self.moves[-1].move.after if self.moves else Aliases()

    def aliases_at(self, seq: int) -> Aliases:
        """Who had which alias after the record of that number."""
        earlier = [moved.move.after for moved in self.moves if moved.record.seq <= seq]
        return earlier[-1] if earlier else Aliases()

    def version(self, number: int) -> RecordedVersion:
        """One version; BadInput names those there are."""
        if not 1 <= number <= len(self.versions):
            raise BadInput(f"{self.name} has no version {number}: there are 1 to {len(self.versions)}")
        return self.versions[number - 1]

    def parent_for(self, run_id: str) -> int | None:
        """The version that a new one of a run builds on: the run's own newest, else the champion, if there is one."""
        own = [version.manifest.version for version in self.versions if version.manifest.lineage.run_id == run_id]
        return own[-1] if own else self.aliases.champion

    def promotion_of(self, number: int) -> AliasMove | None:
        """The newest promotion of a version to champion."""
        promotions = [
            moved.move
            for moved in self.moves
            if moved.move.kind == "promote" and moved.move.alias == "champion" and moved.move.version == number
        ]
        return promotions[-1] if promotions else None

    def move_to(self, alias: AliasName) -> RecordedMove | None:
        """The move that gave an alias to its present holder."""
        holder = self.aliases.of(alias)
        for moved in reversed(self.moves):
            if moved.move.after.of(alias) == holder != moved.move.before.of(alias):
                return moved
        return None

    @property
    def last_seq(self) -> int:
        """The number of the newest record about this model."""
        records = [version.record for version in self.versions] + [moved.record for moved in self.moves]
        return max(record.seq for record in records)


@dataclass(frozen=True, slots=True)
class RegistryState:
    """Everything that is recorded, checked."""

    records: tuple[ModelRecord, ...]
    public_key: str | None  # None: nothing was ever registered
    models: dict[str, ModelState]

    def model(self, name: str) -> ModelState:
        """One model; BadInput names those there are."""
        if name in self.models:
            return self.models[name]
        known = f"there are {', '.join(sorted(self.models))}" if self.models else "nothing is registered yet"
        raise BadInput(f"no model {name!r} is registered: {known}. A run registers its model after a gate was passed")

    def of_run(self, run_id: str) -> RecordedVersion:
        """The newest version that a run registered; BadInput if there is none."""
        versions = [
            version
            for model in self.models.values()
            for version in model.versions
            if version.manifest.lineage.run_id == run_id
        ]
        if not versions:
            raise Refused(
                f"run {run_id!r} has registered no version: a run registers its model after it passed a gate."
                " `gaelp models list` shows the versions, `gaelp runs` the runs"
            )
        return max(versions, key=lambda version: version.record.seq)


def version_body(manifest: ModelManifest, signature: str) -> dict[str, object]:
    """What the record of a version holds."""
    return {
        "manifest": manifest.model_dump(mode="json"),
        "manifest_hash": manifest_hash(manifest),
        "signature": signature,
    }


def read_state(records: Sequence[ModelRecord], public_key: str | None) -> RegistryState:
    """Fold checked records into a state; Tampered if they contradict each other."""
    models: dict[str, ModelState] = {}
    for record in records[1:]:  # the first one names the key
        try:
            if record.kind == "version":
                version = _version(record, public_key or "")
                model = models.setdefault(version.manifest.name, ModelState(version.manifest.name))
                _require(version.manifest.version == len(model.versions) + 1, "a version's number is not the next one")
                model.versions.append(version)
            else:
                _add_move(models, record)
        except (BadInput, Refused, KeyError, TypeError, ValueError) as problem:
            raise Tampered(
                f"record {record.seq} of the registry is signed but contradicts the records before it"
                f" ({str(problem)[:200]}): restore the newest backup (docs/models.md)"
            ) from problem
    return RegistryState(tuple(records), public_key, models)


def _version(record: ModelRecord, public_key: str) -> RecordedVersion:
    body = record.content()
    manifest = read_model(ModelManifest, canonical(body["manifest"]))
    hashed, signature = manifest_hash(manifest), str(body["signature"])
    _require(hashed == body["manifest_hash"], "the manifest does not have its hash")
    _require(
        signed_by(public_key, signature, MANIFEST_DOMAIN, manifest.model_dump(mode="json")),
        "the manifest is not signed with the registry's key",
    )
    return RecordedVersion(record, manifest, hashed, signature)


def _add_move(models: dict[str, ModelState], record: ModelRecord) -> None:
    move = read_model(AliasMove, record.body.encode("ascii"))
    model = models[move.name]
    _require(move.before == model.aliases, "the aliases before it are others")
    version = model.version(move.version)
    _require(version.manifest_hash == move.manifest_hash, "the version has another manifest")
    _require(version.manifest.model_hash == move.approval.model_hash, "another model was approved")
    model.moves.append(RecordedMove(record, move))


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise ValueError(problem)
