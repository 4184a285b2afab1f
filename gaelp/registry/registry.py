"""The model registry of a home: register, verify, promote, roll back, and return what may be used.

Each operation first checks everything that is stored: the chain of records and its signatures, the audit log, and what
MLflow shows. What a killed process left undone is finished; what somebody else changed is refused by name.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from gaelp.approvals.canonical import model_bytes
from gaelp.clock import Clock, SystemClock
from gaelp.config.settings import Settings
from gaelp.errors import BadInput, Refused
from gaelp.gates import Verdict
from gaelp.gates.decision_store import DecisionStore, decisions_place
from gaelp.registry.aliases import AliasMove, AliasName, PromotedAlias, promoted, rolled_back
from gaelp.registry.approved_gate import check_still_approved, find_approved_gate, reference_of
from gaelp.registry.bundle import FILES, BundleDraft, draft_bundle
from gaelp.registry.description import HashModel, ModelDescription, make_manifest, verdict_texts
from gaelp.registry.manifest import MANIFEST_DOMAIN, as_label, manifest_hash
from gaelp.registry.record_keeper import RecordKeeper, RegistryChange
from gaelp.registry.state import ModelState, RecordedVersion, RegistryState, version_body
from gaelp.registry.verified import VerifiedVersion, verified_version

__all__ = ["Registry", "file_sha256", "open_registry", "restore_mlflow"]


def file_sha256(path: Path) -> str:
    """SHA-256 (hex) of a file's bytes: the model hash of phases that name no other."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Registry:
    """Versions of models and their aliases. `finished` says what a crash had left undone when it was opened."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._keeper = RecordKeeper(settings, clock)
        self._clock = clock
        self._decisions = DecisionStore(decisions_place(settings))
        self.finished: tuple[str, ...] = ()
        self.check()

    def check(self) -> RegistryState:
        """Compare everything but the files of versions; Tampered names what was changed."""
        state, finished = self._keeper.state()
        self.finished += finished
        return state

    def register(
        self,
        description: ModelDescription,
        files: Mapping[str, Path],
        verdicts: Sequence[Verdict],
        *,
        hash_model: HashModel = file_sha256,
    ) -> VerifiedVersion:
        """Store a new version: files, manifest, signature. The same model with the same verdicts is stored once.

        `files` are copied under their names; a folder means every file below it. `hash_model` computes the model hash
        of the copied `model_file`, which has to be the one that is described.
        """
        with self._keeper.changing() as change:
            model = change.state.models.get(description.name, ModelState(description.name))
            version = _registered(model, description, verdicts)
            if version is None:
                folder = self._keeper.folder(description.name, 1).parent
                draft = draft_bundle(folder, files, verdict_texts(verdicts))
                try:
                    _check_model(draft, description, hash_model)
                    version = self._add_version(change, model, draft, description, verdicts)
                finally:
                    draft.discard()
        return self._verified(model, version)

    def verify(self, name: str, version: int) -> VerifiedVersion:
        """A version after everything about it was checked; Tampered names what differs."""
        model = self.check().model(name)
        return self._verified(model, model.version(version))

    def promote(
        self, name: str, version: int, alias: PromotedAlias, decisions: DecisionStore, *, by: str, why: str
    ) -> AliasMove:
        """Give an alias to a version whose newest gate passed and was approved by a person.

        `decisions` is the record of decisions with the policy of the version's run, which checks signatures.
        """
        with self._keeper.changing() as change:
            model = change.state.model(name)
            recorded = model.version(version)
            self._verified(model, recorded)
            reference = reference_of(find_approved_gate(decisions, recorded.manifest))
            _check_promotable(model, version, alias, reference.decision_hash)
            move = AliasMove(
                name=name,
                kind="promote",
                alias=alias,
                version=version,
                manifest_hash=recorded.manifest_hash,
                before=model.aliases,
                after=promoted(model.aliases, version, alias),
                approval=reference,
                by=as_label(by),
                why=as_label(why),
            )
            change.add("aliases", move.model_dump(mode="json"))
        return move

    def rollback(self, name: str, *, by: str, why: str) -> AliasMove:
        """Return to the previous champion, which is verified again; a second rollback undoes the first."""
        with self._keeper.changing() as change:
            model = change.state.model(name)
            after = rolled_back(model.aliases)
            recorded = model.version(after.champion or 0)
            self._verified(model, recorded)
            promotion = model.promotion_of(recorded.manifest.version)
            if promotion is None:
                raise Refused(f"version {recorded.manifest.version} of {name} was never promoted: promote it instead")
            check_still_approved(self._decisions, promotion.approval, _text(recorded))
            move = promotion.model_copy(
                update={
                    "kind": "rollback",
                    "before": model.aliases,
                    "after": after,
                    "by": as_label(by),
                    "why": as_label(why),
                }
            )
            change.add("aliases", move.model_dump(mode="json"))
        return move

    def champion(self, name: str) -> VerifiedVersion | None:
        """The champion of a model, verified; None if no version was promoted yet."""
        return self.holder(name, "champion")

    def holder(self, name: str, alias: AliasName) -> VerifiedVersion | None:
        """The version that has an alias, verified, and its approval with it; None if no version has it."""
        model = self.check().models.get(name)
        number = model.aliases.of(alias) if model else None
        if model is None or number is None:
            return None
        recorded = model.version(number)
        for moved in model.moves:
            if moved.move.version == number and moved.move.kind == "promote":
                check_still_approved(self._decisions, moved.move.approval, f"{_text(recorded)} ({alias})")
        return self._verified(model, recorded)

    def _verified(self, model: ModelState, version: RecordedVersion) -> VerifiedVersion:
        number = version.manifest.version
        return verified_version(version, self._keeper.folder(model.name, number), model.aliases.named(number))

    def _add_version(
        self,
        change: RegistryChange,
        model: ModelState,
        draft: BundleDraft,
        description: ModelDescription,
        verdicts: Sequence[Verdict],
    ) -> RecordedVersion:
        manifest = make_manifest(
            description,
            version=len(model.versions) + 1,
            parent=model.parent_for(description.run_id),
            verdicts=verdicts,
            files=draft.files,
            at=self._clock.now(),
        )
        signature = change.key.sign(MANIFEST_DOMAIN, manifest.model_dump(mode="json"))
        draft.place(self._keeper.folder(manifest.name, manifest.version), model_bytes(manifest), signature)
        # The files are in place before the record says so.
        record = change.add("version", version_body(manifest, signature))
        return RecordedVersion(record, manifest, manifest_hash(manifest), signature)


def open_registry(settings: Settings, clock: Clock | None = None) -> Registry:
    """The registry of these settings, checked; nothing is made until something is registered."""
    return Registry(settings, clock or SystemClock())


def restore_mlflow(settings: Settings, clock: Clock, *, by: str, why: str) -> tuple[str, ...]:
    """Write MLflow again from the record after somebody changed it there; the names of the models.

    The records themselves have to be whole. The audit log says who asked for it.
    """
    return RecordKeeper(settings, clock).write_view_again({"by": as_label(by), "why": as_label(why)})


def _registered(
    model: ModelState, description: ModelDescription, verdicts: Sequence[Verdict]
) -> RecordedVersion | None:
    """The version that this run registered before with this model and these verdicts."""
    judged = [(verdict.gate.name, verdict.evidence_hash) for verdict in verdicts]
    for version in model.versions:
        manifest = version.manifest
        same = (manifest.lineage.run_id, manifest.model_hash) == (description.run_id, description.model_hash)
        if same and [(verdict.gate, verdict.evidence_hash) for verdict in manifest.verdicts] == judged:
            return version
    return None


def _check_model(draft: BundleDraft, description: ModelDescription, hash_model: HashModel) -> None:
    paths = [file.path for file in draft.files]
    if description.model_file not in paths:
        raise BadInput(f"the model file {description.model_file!r} is not among the files: {', '.join(paths)}")
    actual_hash = hash_model(draft.folder / FILES / description.model_file)
    if actual_hash != description.model_hash:
        raise Refused(
            f"{description.model_file} has the model hash {actual_hash[:12]}; judged was {description.model_hash[:12]}:"
            " register the file that the gate judged"
        )


def _check_promotable(model: ModelState, version: int, alias: PromotedAlias, decision_hash: str) -> None:
    if model.aliases.of(alias) == version:
        raise Refused(f"version {version} of {model.name} is the {alias} already")
    if alias == "challenger" and model.aliases.champion == version:
        raise Refused(f"version {version} of {model.name} is the champion; allowed as challenger: another version")
    for moved in model.moves:
        used = (moved.move.kind, moved.move.alias, moved.move.approval.decision_hash)
        if used == ("promote", alias, decision_hash):
            raise Refused(
                f"the approval of version {version} of {model.name} was used at"
                f" {moved.record.recorded_at:%Y-%m-%d %H:%M} UTC to make it {alias}, and counts once. To return to the"
                " previous champion use `gaelp models rollback`; otherwise begin another run and have it approved"
            )


def _text(version: RecordedVersion) -> str:
    return f"version {version.manifest.version} of {version.manifest.name}"
