"""What a run was made from: seed, configuration, parameters, packages, machine and commit, in a JSON file.

Two runs with equal manifests but for `run_id` and `created_at` should have equal parameters. It holds no path, host
name, user name or setting of the environment.
"""

import hashlib
import json
import platform
import subprocess
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Annotated, Literal, Self

import torch
from pydantic import AwareDatetime, NonNegativeInt, PositiveInt, StringConstraints, model_validator

from gaelp.clock import Clock
from gaelp.config.base import Frozen
from gaelp.config.field_types import Sha256
from gaelp.config.places import repository_root, shown
from gaelp.config.validation import validated
from gaelp.config.write import write_models
from gaelp.errors import BadInput, DataError

__all__ = [
    "PACKAGES",
    "Commit",
    "Manifest",
    "describe_run",
    "package_versions",
    "parameter_hash",
    "read_commit",
    "read_manifest",
    "write_manifest",
]

PACKAGES = ("gaelp", "gymnasium", "numba", "numpy", "pydantic", "safetensors", "torch")  # those that results depend on

_GIT_SECONDS_MAX = 20

PackageName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]


class Commit(Frozen):
    """The state of the source; both None outside a checkout, `dirty` if it differs from the commit."""

    commit: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40,64}$")] | None
    dirty: bool | None

    @model_validator(mode="after")
    def _both_or_neither(self) -> Self:
        if (self.commit is None) != (self.dirty is None):
            raise ValueError(f"commit={self.commit} with dirty={self.dirty}: give both, or None for both")
        return self


class Manifest(Frozen):
    """Everything needed to run again and get the same parameters, with their hash to compare."""

    version: Literal[1] = 1
    run_id: PackageName
    seed: NonNegativeInt
    config_hash: Sha256
    parameter_hash: Sha256
    packages: dict[str, str | None]  # None: not installed
    python_version: str
    platform: str
    cpu_capability: str  # the instruction set that torch computes with, such as AVX2
    torch_threads: PositiveInt
    compile_mode: PackageName
    source: Commit
    created_at: AwareDatetime


def describe_run(
    *,
    run_id: str,
    seed: int,
    config_hash: str,
    parameters: Mapping[str, torch.Tensor],
    compile_mode: str,
    clock: Clock,
    packages: Iterable[str] = PACKAGES,
    repository: Path | None = None,
) -> Manifest:
    """The manifest of this process's run as it is now; `repository` is GAELP's own unless given."""
    values = {
        "run_id": run_id,
        "seed": seed,
        "config_hash": config_hash,
        "parameter_hash": parameter_hash(parameters),
        "packages": package_versions(packages),
        "python_version": platform.python_version(),
        "platform": platform.platform(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "torch_threads": torch.get_num_threads(),
        "compile_mode": compile_mode,
        "source": read_commit(repository or repository_root()).model_dump(),
        "created_at": clock.now().isoformat(),
    }
    return validated(Manifest, values, lambda _: "the run's manifest", error=BadInput)


def parameter_hash(parameters: Mapping[str, torch.Tensor]) -> str:
    """SHA-256 (hex) over names, types, shapes and bits, sorted by name: equal only if every bit is."""
    digest = hashlib.sha256()
    for name in sorted(parameters):
        tensor = parameters[name].detach().cpu().contiguous()
        # One line of JSON ends where the bits start, and says how many there are: no two mappings hash the same text.
        label = json.dumps([name, str(tensor.dtype), list(tensor.shape)], ensure_ascii=True)
        digest.update(label.encode("ascii") + b"\n")
        if tensor.numel():  # torch cannot view an empty tensor as bytes
            digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def package_versions(names: Iterable[str]) -> dict[str, str | None]:
    """The installed version of each package, None if it is not installed, sorted by name."""
    return {name: _version(name) for name in sorted(set(names))}


def read_commit(repository: Path) -> Commit:
    """The commit of a checkout and whether anything differs from it, new files included.

    Both are None without git, without a commit, or where the folder is not the top of its repository: a package that is
    installed inside another repository does not have that repository's commit.
    """
    top, commit = _git(repository, "rev-parse", "--show-toplevel"), _git(repository, "rev-parse", "--verify", "HEAD")
    changes = _git(repository, "status", "--porcelain")
    if not top or not commit or changes is None or Path(top).resolve() != repository.resolve():
        return Commit(commit=None, dirty=None)
    return Commit(commit=commit, dirty=bool(changes))


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write a manifest to a .json file, whole or not at all."""
    write_models({path: manifest})


def read_manifest(path: Path) -> Manifest:
    """Read a manifest; DataError names what is missing, unknown or wrong."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise DataError(f"{shown(path)} is no readable manifest: {problem}. Name a run's manifest.") from problem
    if not isinstance(values, dict):
        raise DataError(f"{shown(path)} is no manifest: saw a {type(values).__name__}, a mapping is wanted")
    return validated(Manifest, values, lambda _: shown(path), error=DataError)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _git(repository: Path, *arguments: str) -> str | None:
    """What git prints, None if it cannot answer."""
    # No optional locks: reading must not block somebody who commits.
    command = ("git", "--no-optional-locks", "-C", str(repository), *arguments)
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=_GIT_SECONDS_MAX
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None
