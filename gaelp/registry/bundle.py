"""The folder of a version on disk: written whole or not at all, and compared with its manifest file by file."""

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from gaelp.config.places import shown
from gaelp.config.private_files import make_private_folder
from gaelp.errors import BadInput
from gaelp.registry.manifest import BundleFile, ModelManifest, check_bundle_path
from gaelp.registry.refusals import Tampered

__all__ = ["FILES", "MANIFEST_NAME", "SIGNATURE_NAME", "BundleDraft", "check_bundle", "draft_bundle", "read_checked"]

MANIFEST_NAME = "manifest.json"
SIGNATURE_NAME = "manifest.signature"
FILES = "files"
_CHUNK_BYTES = 1 << 20
_DRAFT = ".draft-"
_RESTORE = "Restore the folder from a backup; until then the version is not used."


@dataclass(frozen=True, slots=True)
class BundleDraft:
    """Files that were copied and hashed, in a folder that is not yet a version."""

    folder: Path
    files: tuple[BundleFile, ...]

    def place(self, target: Path, manifest: bytes, signature: str) -> None:
        """Add manifest and signature, and give the folder its final name; one of a crash before is replaced."""
        _write(self.folder / MANIFEST_NAME, manifest)
        _write(self.folder / SIGNATURE_NAME, signature.encode("ascii"))
        _sync_folder(self.folder)
        if target.exists():  # a process was killed after this rename and before its record was stored
            shutil.rmtree(target)
        self.folder.rename(target)
        _sync_folder(target.parent)

    def discard(self) -> None:
        """Remove what was not placed."""
        shutil.rmtree(self.folder, ignore_errors=True)


def draft_bundle(parent: Path, files: Mapping[str, Path], texts: Mapping[str, bytes]) -> BundleDraft:
    """Copy files (a folder means all files below it) and texts under their names into a new private folder.

    The caller holds the lock of the registry, so that any other draft is what a killed process left.
    """
    _make_private_folders(parent)
    for abandoned in parent.glob(f"{_DRAFT}*"):
        shutil.rmtree(abandoned)
    folder = Path(tempfile.mkdtemp(prefix=_DRAFT, dir=parent))
    try:
        entries = [_copy(source, folder, path) for path, source in sorted(_each_file(files))]
        for path, content in texts.items():
            _write(_target(folder, path), content)
            entries.append(BundleFile(path=path, size_bytes=len(content), sha256=hashlib.sha256(content).hexdigest()))
    except OSError as problem:
        shutil.rmtree(folder, ignore_errors=True)
        raise BadInput(
            f"a file of the version cannot be copied: {problem.strerror} ({problem.filename}). Nothing was registered"
        ) from problem
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return BundleDraft(folder, tuple(sorted(entries, key=lambda file: file.path)))


def check_bundle(folder: Path, manifest: ModelManifest, manifest_bytes: bytes, signature: str) -> None:
    """Raise Tampered for the first thing in the folder that is not what was signed."""
    what = f"version {manifest.version} of {manifest.name}"
    _check_entries(folder, manifest, what)
    expected = {MANIFEST_NAME: manifest_bytes, SIGNATURE_NAME: signature.encode("ascii")}
    for name, content in expected.items():
        if _read(folder / name, what) != content:
            raise Tampered(f"{what}: {shown(folder / name)} is not what was registered: it was changed. {_RESTORE}")
    for file in manifest.files:
        path = folder / FILES / file.path
        size_bytes, sha256 = _hash(path, what)
        if (size_bytes, sha256) != (file.size_bytes, file.sha256):
            raise Tampered(
                f"{what}: {shown(path)} has {size_bytes:,} bytes and the hash {sha256[:12]}; registered were"
                f" {file.size_bytes:,} and {file.sha256[:12]}: it was changed. {_RESTORE}"
            )


def read_checked(folder: Path, file: BundleFile, what: str) -> bytes:
    """The bytes of one file, hashed as they are read: what is returned is what was signed."""
    path = folder / FILES / file.path
    content = _read(path, what)
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise Tampered(f"{what}: {shown(path)} was changed after it was registered. {_RESTORE}")
    return content


def _check_entries(folder: Path, manifest: ModelManifest, what: str) -> None:
    if folder.is_symlink() or not folder.is_dir():
        raise Tampered(f"{what}: its folder {shown(folder)} is missing. {_RESTORE}")
    wanted = {MANIFEST_NAME, SIGNATURE_NAME, *(f"{FILES}/{file.path}" for file in manifest.files)}
    folders = {parent.as_posix() for path in wanted for parent in Path(path).parents if parent != Path()}
    actual = {path.relative_to(folder).as_posix(): path.lstat().st_mode for path in folder.rglob("*")}
    for name, mode in sorted(actual.items()):
        if name in wanted and not stat.S_ISREG(mode):
            raise Tampered(f"{what}: {shown(folder / name)} is a link or no file: it was replaced. {_RESTORE}")
        if name not in wanted and not (name in folders and stat.S_ISDIR(mode)):
            raise Tampered(
                f"{what}: {shown(folder / name)} does not belong to it: the folder was changed. Remove that file, or"
                " restore the folder from a backup"
            )
    if missing := sorted(wanted - actual.keys()):
        raise Tampered(f"{what}: {shown(folder / missing[0])} is missing. {_RESTORE}")


def _each_file(files: Mapping[str, Path]) -> Iterator[tuple[str, Path]]:
    for name, source in files.items():
        try:
            check_bundle_path(name)
        except ValueError as problem:
            raise BadInput(str(problem)) from None
        if not source.is_dir():
            yield name, source
            continue
        for path in source.rglob("*"):
            if path.is_file():
                yield f"{name}/{path.relative_to(source).as_posix()}", path


def _copy(source: Path, folder: Path, path: str) -> BundleFile:
    digest, size_bytes = hashlib.sha256(), 0
    with source.open("rb") as reader, _open_private(_target(folder, path)) as writer:
        while chunk := reader.read(_CHUNK_BYTES):
            digest.update(chunk)
            size_bytes += writer.write(chunk)
        writer.flush()
        os.fsync(writer.fileno())
    return BundleFile(path=path, size_bytes=size_bytes, sha256=digest.hexdigest())


def _target(folder: Path, path: str) -> Path:
    target = folder / FILES / path
    _make_private_folders(target.parent)
    return target


def _make_private_folders(folder: Path) -> None:
    for path in reversed([folder, *folder.parents]):
        make_private_folder(path)


def _open_private(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _hash(path: Path, what: str) -> tuple[int, str]:
    digest, size_bytes = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                digest.update(chunk)
                size_bytes += len(chunk)
    except OSError as problem:
        raise Tampered(f"{what}: {shown(path)} cannot be read ({problem.strerror}). {_RESTORE}") from problem
    return size_bytes, digest.hexdigest()


def _read(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise Tampered(f"{what}: {shown(path)} cannot be read ({problem.strerror}). {_RESTORE}") from problem


def _write(path: Path, content: bytes) -> None:
    with _open_private(path) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
