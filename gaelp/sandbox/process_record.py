"""What a sandbox's folder records about its running process: pid, ports, certificate and the token of its control."""

from pathlib import Path
from typing import Self

import psutil
from pydantic import Field, ValidationError

from gaelp.config.base import Frozen
from gaelp.config.write import write_models
from gaelp.errors import GaelpError

__all__ = ["SandboxRecord", "forget_process", "record_path", "running_record", "write_record"]

_NAME = "sandbox.json"


class SandboxRecord(Frozen):
    """A running sandbox; with `created` a later process with the same id is recognised."""

    pid: int
    created: float
    control_port: int
    token: str = Field(repr=False)
    ports: dict[str, int]  # of the fronts
    certificate_path: str
    fingerprint: str  # of the certificate, SHA-256 in hex

    @classmethod
    def of_process(
        cls, pid: int, *, control_port: int, token: str, ports: dict[str, int], certificate_path: str, fingerprint: str
    ) -> Self:
        """The record of a process that is alive."""
        return cls(
            pid=pid,
            created=psutil.Process(pid).create_time(),
            control_port=control_port,
            token=token,
            ports=ports,
            certificate_path=certificate_path,
            fingerprint=fingerprint,
        )

    def process(self) -> psutil.Process | None:
        """The process, if it is still alive."""
        try:
            process = psutil.Process(self.pid)
            alive = process.create_time() == self.created and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return None
        return process if alive else None


def record_path(folder: Path) -> Path:
    """Where the record of a folder is."""
    return folder / _NAME


def write_record(folder: Path, record: SandboxRecord) -> None:
    """Record this process; only its owner may read the file."""
    write_models({record_path(folder): record})


def running_record(folder: Path) -> SandboxRecord | None:
    """The record of a process that is alive; that of one that was killed does not count."""
    path = record_path(folder)
    try:
        record = SandboxRecord.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as problem:
        raise GaelpError(
            f"{path} is not the record of a sandbox ({type(problem).__name__}): end that process if there is one, then"
            " remove the file"
        ) from problem
    return record if record.process() else None


def forget_process(folder: Path) -> None:
    """Delete the record of a process that has ended."""
    record_path(folder).unlink(missing_ok=True)
