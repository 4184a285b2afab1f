"""Whether the installed packages are those that were tried together, and which optional parts can be used."""

import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from gaelp.cli.doctor_checks import DoctorCheck
from gaelp.cli.installation import install_command, package_version, pip_command
from gaelp.config.places import repository_root, shown

__all__ = ["COMPONENTS", "Component", "check_component", "check_packages", "check_peer"]

IMPORT_SECONDS_MAX = 120


@dataclass(frozen=True, slots=True)
class Component:
    """An optional part: the packages it needs, the modules that prove them, and the extra that installs them."""

    name: str
    packages: tuple[str, ...]
    modules: tuple[str, ...]
    extra: str

    @property
    def install(self) -> str:
        """The command that installs it."""
        return install_command(self.extra)


COMPONENTS = (
    Component("Google Ads", ("google-ads",), ("google.ads.googleads.client",), "google-ads"),
    Component("Meta Ads", ("facebook-business",), ("facebook_business.api",), "meta"),
    Component(
        "BigQuery storage",
        ("google-cloud-bigquery-storage", "db-dtypes"),
        ("google.cloud.bigquery_storage", "db_dtypes"),
        "bigquery",
    ),
    Component("Ray", ("ray", "prefect-ray"), ("ray", "prefect_ray"), "ray"),
    Component(
        "Stable-Baselines3 (bench)",
        ("stable-baselines3", "sb3-contrib"),
        ("stable_baselines3", "sb3_contrib"),
        "bench",
    ),
)


def check_packages(required: Iterable[Requirement], pins: Mapping[str, str]) -> list[DoctorCheck]:
    """One finding for all that is right, one for each package that is missing, too old, too new or not as pinned."""
    required = tuple(required)
    broken = [finding for item in required if (finding := _unusable(item))]
    installed = list(_installed(pins))
    findings = [*broken, *(_differs(*entry) for entry in installed if not _is_pinned(*entry))]
    if not broken:
        exact = sum(_is_pinned(*entry) for entry in installed)
        detail = f"{len(required)} required are here; {exact} installed as pinned, {len(installed) - exact} otherwise"
        findings.insert(0, DoctorCheck("packages", "ok", detail))
    return findings


def check_component(component: Component) -> DoctorCheck:
    """Whether an optional part is installed and can be imported, tried in a process of its own."""
    missing = [name for name in component.packages if package_version(name) is None]
    if missing:
        return DoctorCheck(component.name, "absent", f"not installed: {', '.join(missing)}", component.install)
    failure = _import_failure(sys.executable, component.modules)
    if failure:
        return DoctorCheck(component.name, "warning", f"installed but not usable: {failure}", component.install)
    return DoctorCheck(
        component.name, "ok", ", ".join(f"{name} {package_version(name)}" for name in component.packages)
    )


def check_peer(folder: Path) -> DoctorCheck:
    """Is RTBGym, which needs old versions of everything, installed in an environment of its own?"""
    name = "RTBGym (bench peer)"
    pythons = sorted(folder.glob("*/bin/python"))
    way_out = shlex.join(["make", "-C", str(repository_root()), "bench-peers"])
    if not pythons:
        return DoctorCheck(name, "absent", f"no environment in {shown(folder)}", way_out)
    failures = [_import_failure(str(python), ("rtbgym",)) for python in pythons]
    if all(failures):
        return DoctorCheck(name, "warning", f"not usable: {failures[0]}", way_out)
    return DoctorCheck(name, "ok", f"usable in {shown(folder)}")


def _unusable(item: Requirement) -> DoctorCheck | None:
    version = package_version(item.name)
    if version is None:
        return DoctorCheck(
            item.name, "broken", f"not installed, needs {item.specifier or 'any version'}", install_command()
        )
    if not item.specifier.contains(version, prereleases=True):
        return DoctorCheck(item.name, "broken", f"{version}, needs {item.specifier}", install_command())
    return None


def _is_pinned(_name: str, version: str, pin: str) -> bool:
    """Whether a version is the pinned one; a build of it such as 2.13.0+cpu is."""
    return SpecifierSet(f"=={pin}").contains(version, prereleases=True)


def _differs(name: str, version: str, pin: str) -> DoctorCheck:
    return DoctorCheck(name, "warning", f"{version}, pinned {pin}", pip_command(f"{name}=={pin}"))


def _installed(pins: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Name, version and pin of every pinned package that is installed."""
    for name, pin in pins.items():
        if version := package_version(name):
            yield name, version, pin


def _import_failure(python: str, modules: Iterable[str]) -> str:
    """Why an import fails, in one line; empty if it works. A library that kills its process kills only that one."""
    # -P: a folder that happens to be called like the package must not pass for it.
    code = "; ".join(f"import {module}" for module in modules)
    try:
        done = subprocess.run(
            [python, "-P", "-W", "ignore", "-c", code],
            capture_output=True,
            text=True,
            timeout=IMPORT_SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"import took longer than {IMPORT_SECONDS_MAX} s"
    except OSError as error:
        return f"{python} does not start: {error.strerror}"
    if done.returncode == 0:
        return ""
    lines = done.stderr.strip().splitlines()
    return lines[-1] if lines else f"import ended its process with code {done.returncode}"
