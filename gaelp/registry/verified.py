"""A version whose record, manifest, signature and files were all checked: the only form in which one is used."""

from dataclasses import dataclass
from pathlib import Path

from gaelp.errors import BadInput
from gaelp.gates import Verdict
from gaelp.registry.aliases import AliasName
from gaelp.registry.bundle import FILES, check_bundle, read_checked
from gaelp.registry.manifest import ModelManifest
from gaelp.registry.state import RecordedVersion

__all__ = ["VerifiedVersion", "verified_version"]


@dataclass(frozen=True, slots=True)
class VerifiedVersion:
    """A version that may be used."""

    manifest: ModelManifest
    manifest_hash: str
    signature: str
    aliases: tuple[AliasName, ...]
    folder: Path

    @property
    def model_path(self) -> Path:
        """The file with the model."""
        return self.folder / FILES / self.manifest.model_file

    def read(self, path: str) -> bytes:
        """The bytes of one of its files, hashed again as they are read."""
        for file in self.manifest.files:
            if file.path == path:
                return read_checked(self.folder, file, self.text)
        known = ", ".join(file.path for file in self.manifest.files)
        raise BadInput(f"{self.text} has no file {path!r}: there are {known}")

    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts of all gates that judged it, whole, oldest first."""
        return tuple(Verdict.model_validate_json(self.read(verdict.file)) for verdict in self.manifest.verdicts)

    @property
    def text(self) -> str:
        """How messages name it."""
        return f"version {self.manifest.version} of {self.manifest.name}"


def verified_version(version: RecordedVersion, folder: Path, aliases: tuple[AliasName, ...]) -> VerifiedVersion:
    """Compare the folder with the record; Tampered names what differs."""
    check_bundle(folder, version.manifest, version.manifest_bytes, version.signature)
    return VerifiedVersion(version.manifest, version.manifest_hash, version.signature, aliases, folder)
