"""Write one checkpoint to one file, whole or not at all, and read it back only if every byte is as it was written.

The file is a safetensors file: loading it copies bytes and reads JSON, it never runs code. One file, since it appears,
is copied and is deleted in one step, which a folder is not. Its header starts at a fixed place with the seal,

    {"__metadata__":{"gaelp-checkpoint-1":"<sha256> <bytes> <step, config hash, time as JSON>"}, ...

where 1 is the version of the format, <bytes> the length of the file and <sha256> the hash of the whole file with zeros
in its own place. The seal is checked before anything else is read. It shows damage and careless edits; whoever can
write the file can also write a new seal, so proof of origin is the registry's signature, not this.
"""

import hashlib
import json
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import numpy as np
from pydantic import AwareDatetime, Field
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from gaelp.config.base import Frozen
from gaelp.config.field_types import Sha256
from gaelp.config.places import shown
from gaelp.config.validation import validated
from gaelp.errors import BadInput, DataError, GaelpError, Refused
from gaelp.training.state_tree import flatten, unflatten

__all__ = ["DRAFT_PREFIX", "Checkpoint", "Header", "check_config", "load", "save", "sync_folder"]

DRAFT_PREFIX = ".draft-"  # of the folder a file is written in before it is put in place

_VERSION = 1
_KEY = "gaelp-checkpoint-"
_SKELETON = "state"  # no array of a state has this name: theirs start with a number
_SHA_DIGITS, _SIZE_DIGITS = 64, 20
_LENGTH_BYTES = 8  # safetensors starts with the length of its header
_START = re.compile(rb'.{8}\{"__metadata__":\{"gaelp-checkpoint-(\d{1,9})":"', re.DOTALL)
_SEAL = re.compile(rb"([0-9a-f]{64}) (\d{20}) ")
_START_BYTES_MAX = 128
_HEADER_BYTES_MAX = 100_000_000  # what safetensors reads
_CHUNK_BYTES = 1 << 20
_DTYPES = ("BOOL", "I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64", "F16", "F32", "F64")


class Header(Frozen):
    """The header of a checkpoint; `serial` counts the saves of a run, `step` its progress."""

    serial: Annotated[int, Field(ge=0, strict=True)]
    step: Annotated[int, Field(ge=0, strict=True)]
    config_hash: Sha256
    created_at: AwareDatetime


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint that was read whole and as written."""

    path: Path
    header: Header
    state: Any


def save(path: Path, state: object, header: Header) -> None:
    """Write a checkpoint; when this returns it is on disk, and if it raises, what was at `path` is untouched."""
    arrays, skeleton = flatten(state)
    arrays[_SKELETON] = np.frombuffer(skeleton.encode("ascii"), dtype=np.uint8)
    blank = f"{0:0{_SHA_DIGITS}} {0:0{_SIZE_DIGITS}} {header.model_dump_json()}"
    draft_folder = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft_folder = Path(tempfile.mkdtemp(prefix=DRAFT_PREFIX, dir=path.parent))
        draft = draft_folder / path.name
        save_file(arrays, draft, metadata={f"{_KEY}{_VERSION}": blank})
        _seal(draft)
        draft.replace(path)
        sync_folder(path.parent)
    except (OSError, SafetensorError) as problem:
        raise GaelpError(
            f"{shown(path)} cannot be written: {_reason(problem)}. Earlier checkpoints are untouched."
            " Free space, or name a folder that can be written."
        ) from problem
    finally:
        if draft_folder is not None:
            # The outcome is settled by now; a draft that stays is cleared away by the next save.
            shutil.rmtree(draft_folder, ignore_errors=True)


def load(path: Path, *, config_hash: str | None = None, allow_other_config: bool = False) -> Checkpoint:
    """Read a checkpoint; DataError names what is damaged, cut off, changed or of another format.

    With `config_hash`, one written under another configuration is refused too, unless that is allowed.
    """
    try:
        _check_seal(path)
        checkpoint = _read(path)
    except (OSError, SafetensorError) as problem:
        raise DataError(f"{shown(path)} cannot be read: {_reason(problem)}. {_ANOTHER}") from problem
    except DataError as problem:
        raise DataError(f"{shown(path)} is refused: {problem}. {_ANOTHER}") from problem
    if config_hash is not None and not allow_other_config:
        check_config(checkpoint, config_hash)
    return checkpoint


_ANOTHER = "Use another one: a run resumes from the newest whole checkpoint."


def check_config(checkpoint: Checkpoint, config_hash: str) -> None:
    """Refuse a checkpoint that was written under another configuration."""
    if checkpoint.header.config_hash != config_hash:
        raise Refused(
            f"{shown(checkpoint.path)} was written under the configuration {checkpoint.header.config_hash},"
            f" this run has {config_hash}: continue with that configuration, start in another folder,"
            " or allow another configuration"
        )


def sync_folder(folder: Path) -> None:
    """Make what was renamed or created in a folder survive a loss of power."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _seal(draft: Path) -> None:
    """Fill in size and hash, and make the file safe on disk."""
    draft.chmod(0o600)
    with draft.open("r+b") as file:
        header_bytes = int.from_bytes(file.read(_LENGTH_BYTES), "little")
        if header_bytes > _HEADER_BYTES_MAX:
            raise BadInput(
                f"the state has so many arrays that listing them takes {header_bytes} bytes, at most"
                f" {_HEADER_BYTES_MAX} can be read back: join small arrays into large ones"
            )
        place = _seal_place(file)
        file.seek(place + _SHA_DIGITS + 1)
        file.write(f"{draft.stat().st_size:0{_SIZE_DIGITS}}".encode("ascii"))
        file.flush()
        digest = _digest(file, place)
        file.seek(place)
        file.write(digest)
        file.flush()
        os.fsync(file.fileno())


def _check_seal(path: Path) -> None:
    with path.open("rb") as file:
        place = _seal_place(file)
        file.seek(place)
        seal = _SEAL.fullmatch(file.read(_SHA_DIGITS + _SIZE_DIGITS + 2))
        size = file.seek(0, os.SEEK_END)
        if not seal:
            raise DataError(f"its seal is damaged or cut off ({size} bytes)")
        if size != int(seal[2]):
            what = "cut off" if size < int(seal[2]) else "added to"
            raise DataError(f"it holds {size} bytes, {int(seal[2])} were written: it was {what}")
        digest = _digest(file, place)
        if digest != seal[1]:
            raise DataError(
                f"its content has the sha256 {digest.decode()}, it was sealed with {seal[1].decode()}:"
                " it was damaged or changed"
            )


def _seal_place(file: BinaryIO) -> int:
    """Offset of the seal from the start of the file."""
    file.seek(0)
    head = file.read(_START_BYTES_MAX)
    start = _START.match(head)
    if not start:
        raise DataError(f"it does not start like a checkpoint ({len(head)} of the first {_START_BYTES_MAX} bytes seen)")
    if start[1] != str(_VERSION).encode("ascii"):
        raise DataError(f"it has the format version {start[1].decode()}, this release reads {_VERSION}")
    return start.end()


def _digest(file: BinaryIO, place: int) -> bytes:
    """The hash of a file, with zeros in place of its own hash, in hex."""
    file.seek(0)
    digest = hashlib.sha256(file.read(place))
    digest.update(b"0" * _SHA_DIGITS)
    file.seek(place + _SHA_DIGITS)
    while chunk := file.read(_CHUNK_BYTES):
        digest.update(chunk)
    return digest.hexdigest().encode("ascii")


def _read(path: Path) -> Checkpoint:
    """The content of a file whose seal holds; it may still be a file that nobody here wrote."""
    with safe_open(path, framework="np", backend="pread") as file:
        header = _header((file.metadata() or {}).get(f"{_KEY}{_VERSION}", ""))
        for name in file.keys():  # noqa: SIM118 - the file is no mapping
            if (dtype := file.get_slice(name).get_dtype()) not in _DTYPES:
                raise DataError(f"its array {name!r} holds {dtype}; allowed: {', '.join(_DTYPES)}")
        arrays = file.get_tensors()
    skeleton = arrays.pop(_SKELETON, None)
    if skeleton is None:
        raise DataError("it does not say how its arrays make up a state")
    return Checkpoint(path, header, unflatten(arrays, skeleton.tobytes().decode("ascii", "replace")))


def _header(sealed: str) -> Header:
    try:
        values = json.loads(sealed[_SHA_DIGITS + _SIZE_DIGITS + 2 :])
    except (ValueError, RecursionError) as problem:
        raise DataError(f"its header is not JSON: {problem}") from problem
    if not isinstance(values, dict):
        raise DataError("its header is not a mapping")
    return validated(Header, values, lambda _: "its header", error=DataError)


def _reason(problem: OSError | SafetensorError) -> str:
    return (problem.strerror if isinstance(problem, OSError) else str(problem)) or type(problem).__name__
