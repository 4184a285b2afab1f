"""What a run needs from this machine: Python, a home it can write to, disk space, a port."""

import http.client
import platform
import shlex
import shutil
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from packaging.specifiers import SpecifierSet

from gaelp.cli.installation import required_python
from gaelp.config import check_home
from gaelp.config.home import existing_part
from gaelp.config.origins import Origin
from gaelp.config.places import absolute, repository_root
from gaelp.errors import ConfigError

__all__ = ["DoctorCheck", "DoctorStatus", "check_disk", "check_home_folder", "check_port", "check_python"]

DoctorStatus = Literal["ok", "warning", "absent", "broken"]

DISK_BYTES_MIN = 1_000_000_000
DISK_BYTES_COMFORTABLE = 5_000_000_000
PROBE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """One finding: broken stops a run, a warning does not, absent is an optional part that is not installed."""

    name: str
    status: DoctorStatus
    detail: str
    way_out: str = ""


def check_python(version: str | None = None) -> DoctorCheck:
    """The Python that runs this, against what the package asks for."""
    version = version or platform.python_version()
    wanted = required_python()
    if SpecifierSet(wanted).contains(version, prereleases=True):
        return DoctorCheck("Python", "ok", f"{version}, needs {wanted}")
    rebuild = shlex.join(["make", "-C", str(repository_root()), "clean", "test"])
    return DoctorCheck(
        "Python", "broken", f"{version}, needs {wanted}", f"install it and rebuild the environment: {rebuild}"
    )


def check_home_folder(home: Path, origin: Origin) -> DoctorCheck:
    """Can a run write to its home? One that somebody named and that does not exist may be a typing error."""
    try:
        check_home(home)
    except ConfigError as error:
        return DoctorCheck("home", "broken", str(error), "set GAELP_HOME to a folder that can be written")
    path = absolute(home)
    if path.is_dir():
        return DoctorCheck("home", "ok", f"{path} can be written")
    detail = f"{path} does not exist yet; it can be made in {existing_part(home)}"
    if origin.layer in ("base", "default"):
        return DoctorCheck("home", "ok", detail)
    return DoctorCheck(
        "home", "warning", detail, f"{origin.place} names it: correct the path if you expect runs or a ledger there"
    )


def check_disk(home: Path, free_bytes: int | None = None) -> DoctorCheck:
    """Whether there is room where the home is."""
    place = existing_part(home)
    free = shutil.disk_usage(place).free if free_bytes is None else free_bytes
    detail = f"{free / 1e9:.1f} GB free at {place}"
    if free < DISK_BYTES_MIN:
        wanted = f"free at least {DISK_BYTES_MIN / 1e9:.0f} GB, or set GAELP_HOME to a folder on another disk"
        return DoctorCheck("disk", "broken", detail, wanted)
    if free < DISK_BYTES_COMFORTABLE:
        return DoctorCheck("disk", "warning", detail, f"long runs want {DISK_BYTES_COMFORTABLE / 1e9:.0f} GB")
    return DoctorCheck("disk", "ok", detail)


def check_port(port: int, purpose: str, health_path: str) -> DoctorCheck:
    """A port is right if it is free, or if what listens there answers as the service it is meant for."""
    name = f"port {port}"
    if not _listens(port):
        return DoctorCheck(name, "ok", f"free for {purpose}")
    if _answers(port, health_path):
        return DoctorCheck(name, "ok", f"{purpose} already answers there")
    return DoctorCheck(
        name, "warning", f"taken by something that is not {purpose}", f"stop it, or give {purpose} another port"
    )


def _listens(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(PROBE_SECONDS)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _answers(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PROBE_SECONDS)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
