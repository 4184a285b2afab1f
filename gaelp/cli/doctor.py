"""`gaelp doctor`: does this machine have what a run needs, and which optional parts can be used?"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

import typer

from gaelp.cli.doctor_checks import DoctorCheck, check_disk, check_home_folder, check_port, check_python
from gaelp.cli.doctor_packages import COMPONENTS, check_component, check_packages, check_peer
from gaelp.cli.installation import required_packages
from gaelp.cli.options import ConfigOption, JsonOption
from gaelp.cli.output import show_json, show_table, show_text
from gaelp.config import LoadedSettings, check_home, load_settings
from gaelp.config.pins import pins_file, read_pins
from gaelp.config.places import repository_root

__all__ = ["doctor"]

PREFECT_PORT = 4200


def doctor(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Say for every part whether it can be used, and if not, why and how to get it.

    **Examples**

    - `gaelp doctor`

    - `gaelp doctor --json`: for machines; `ok` is true if nothing required is broken

    Exits 0 if nothing required is broken, 2 if the home folder cannot be written, 1 otherwise. Nothing is written.
    """
    loaded = load_settings(config)
    checks = list(_checks(loaded))
    broken = any(check.status == "broken" for check in checks)
    _show(checks, ok=not broken, as_json=as_json)
    check_home(loaded.settings.home)
    if broken:
        raise typer.Exit(1)


def _checks(loaded: LoadedSettings) -> Iterator[DoctorCheck]:
    home = loaded.settings.home
    yield check_python()
    yield check_home_folder(home, loaded.origins["home"])
    yield check_disk(home)
    yield check_port(PREFECT_PORT, "the Prefect UI", "/api/health")
    yield from _package_checks()
    yield from map(check_component, COMPONENTS)
    yield check_peer(repository_root() / "bench" / ".peers")


def _package_checks() -> Iterator[DoctorCheck]:
    pins = pins_file()
    if not pins.is_file():
        yield DoctorCheck(
            "pins", "warning", f"{pins} is not there: only the allowed ranges are checked", "work in a checkout"
        )
    yield from check_packages(required_packages(), read_pins(pins) if pins.is_file() else {})


def _show(checks: Sequence[DoctorCheck], *, ok: bool, as_json: bool) -> None:
    if as_json:
        show_json({"ok": ok, "checks": [asdict(check) for check in checks]})
        return
    show_table(("part", "status", "what was found"), ([check.name, check.status, check.detail] for check in checks))
    for check in checks:
        if check.way_out:
            show_text(f"{check.name}: {check.way_out}")
