"""The folder of an export: written whole or not at all, and used only if every file is what the registry signed."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gaelp.approvals.keys import SigningKey, signed_by
from gaelp.config.places import absolute, shown
from gaelp.config.private_files import make_private_folder
from gaelp.config.settings import Settings
from gaelp.errors import Refused
from gaelp.export.export_manifest import EXPORT_DOMAIN, EXPORT_FILE, EXPORT_SIGNATURE, ExportManifest
from gaelp.registry.manifest import BundleFile
from gaelp.registry.refusals import Tampered

__all__ = ["CheckedExport", "bundle_file", "export_place", "place_export", "read_export"]


@dataclass(frozen=True, slots=True)
class CheckedExport:
    """An export whose signature and files were checked; `files` holds what was hashed."""

    manifest: ExportManifest
    folder: Path
    files: Mapping[str, bytes]


def export_place(settings: Settings, name: str, version: int) -> Path:
    """Where the export of a version is."""
    return absolute(settings.home) / "exports" / name / str(version)


def bundle_file(path: str, content: bytes) -> BundleFile:
    """What a manifest says of a file."""
    return BundleFile(path=path, size_bytes=len(content), sha256=hashlib.sha256(content).hexdigest())


def place_export(folder: Path, manifest: ExportManifest, files: Mapping[str, bytes], key: SigningKey) -> None:
    """Write all files, manifest and signature beside the folder and give it its name; an older export is replaced."""
    text = manifest.model_dump_json(indent=1).encode("utf-8")
    signature = key.sign(EXPORT_DOMAIN, {"sha256": hashlib.sha256(text).hexdigest()})
    for parent in (folder.parent.parent, folder.parent):
        make_private_folder(parent)
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=folder.parent))
    try:
        written = {**files, EXPORT_FILE: text, EXPORT_SIGNATURE: signature.encode("ascii")}
        for name, content in written.items():
            with (draft / name).open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        if folder.exists():
            shutil.rmtree(folder)
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def read_export(folder: Path, public_key: str) -> CheckedExport:
    """Read an export and check its signature and every file; Refused if there is none, Tampered names what differs."""
    if not (folder / EXPORT_FILE).is_file():
        raise Refused(f"there is no export in {shown(folder)}: run `gaelp models export {folder.name}` first")
    text = _read(folder / EXPORT_FILE)
    signature = _read(folder / EXPORT_SIGNATURE).decode("ascii", "replace")
    if not signed_by(public_key, signature, EXPORT_DOMAIN, {"sha256": hashlib.sha256(text).hexdigest()}):
        raise Tampered(f"{shown(folder / EXPORT_FILE)} is not what the registry's key signed: {_AGAIN}")
    manifest = ExportManifest.model_validate_json(text)
    files = {file.path: _read(folder / file.path) for file in manifest.files}
    for file in manifest.files:
        if bundle_file(file.path, files[file.path]) != file:
            raise Tampered(f"{shown(folder / file.path)} was changed after it was exported: {_AGAIN}")
    return CheckedExport(manifest, folder, files)


_AGAIN = "it is not used. Export the version again with `gaelp models export`"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise Tampered(f"{shown(path)} cannot be read ({problem.strerror}): {_AGAIN}") from problem
