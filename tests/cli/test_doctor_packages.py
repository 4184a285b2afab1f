import shlex
import sys
from importlib.metadata import requires, version

import pytest
from packaging.requirements import Requirement

from gaelp.cli.doctor_packages import COMPONENTS, Component, check_component, check_packages, check_peer
from gaelp.cli.installation import required_packages
from gaelp.config.pins import pins_file, read_pins
from gaelp.config.places import repository_root

PYDANTIC = version("pydantic")


def statuses(required, pins):
    return [(check.name, check.status) for check in check_packages(map(Requirement, required), pins)]


def test_the_packages_of_this_environment_are_usable():
    checks = check_packages(required_packages(), read_pins(pins_file()))
    assert [check for check in checks if check.status == "broken"] == []


def test_extras_are_not_required():
    names = {item.name for item in required_packages()}
    assert {"pydantic", "torch"} <= names
    assert not {"ray", "ruff", "google-ads"} & names


def test_the_pinned_version_is_right_and_its_builds_too():
    assert statuses(["pydantic>=2"], {"pydantic": PYDANTIC}) == [("packages", "ok")]
    assert statuses(["torch"], {"torch": version("torch").split("+")[0]}) == [("packages", "ok")]


def test_another_version_than_the_pinned_one_is_a_warning():
    assert statuses(["pydantic>=2"], {"pydantic": "2.0.0"}) == [("packages", "ok"), ("pydantic", "warning")]


def test_the_way_back_to_a_pin_can_be_pasted_anywhere():
    [_, check] = check_packages([Requirement("pydantic>=2")], {"pydantic": "2.0.0"})
    assert shlex.split(check.way_out) == [sys.executable, "-m", "pip", "install", "pydantic==2.0.0"]


def test_a_version_outside_the_range_is_broken():
    assert ("pydantic", "broken") in statuses(["pydantic<2"], {"pydantic": PYDANTIC})


def test_a_required_package_that_is_missing_is_broken():
    assert statuses(["no-such-package>=1"], {}) == [("no-such-package", "broken")]


def test_a_pin_of_something_not_installed_says_nothing():
    assert statuses([], {"no-such-package": "1.0"}) == [("packages", "ok")]


def test_a_component_that_is_not_installed_names_the_extra():
    check = check_component(Component("Thing", ("no-such-package",), ("no_such_module",), "thing"))
    assert check.status == "absent"
    words = shlex.split(check.way_out)
    assert words[:4] == [sys.executable, "-m", "pip", "install"]
    assert words[4:] == ["-c", str(pins_file()), "-e", f"{repository_root()}[thing]"]


def test_a_component_that_can_be_imported_is_usable():
    check = check_component(Component("YAML", ("pyyaml",), ("yaml",), "yaml"))
    assert (check.status, check.detail) == ("ok", f"pyyaml {version('pyyaml')}")


@pytest.mark.parametrize(
    ("module", "words"),
    [("no_such_module", "ModuleNotFoundError"), ("os; os._exit(9)", "ended its process with code 9")],
)
def test_a_component_that_does_not_import_says_why(module, words):
    check = check_component(Component("YAML", ("pyyaml",), (module,), "yaml"))
    assert check.status == "warning"
    assert words in check.detail


def test_each_component_is_installed_by_an_extra_that_exists():
    extras = {item.split("extra == ")[1].strip("\"'") for item in requires("gaelp") if "extra ==" in item}
    assert {component.extra for component in COMPONENTS} <= extras
    for component in COMPONENTS:
        inside = {Requirement(item).name for item in requires("gaelp") if f'extra == "{component.extra}"' in item}
        assert set(component.packages) <= inside


def test_a_peer_that_is_not_there_tells_how_to_build_it(here):
    check = check_peer(here / "bench" / ".peers")
    assert check.status == "absent"
    assert shlex.split(check.way_out) == ["make", "-C", str(repository_root()), "bench-peers"]
    assert "\nbench-peers:" in (repository_root() / "Makefile").read_text(encoding="utf-8")


def test_a_peer_that_cannot_import_its_package_is_not_usable(here):
    folder = here / "rtbgym" / "bin"
    folder.mkdir(parents=True)
    (folder / "python").symlink_to(sys.executable)
    check = check_peer(here)
    assert check.status == "warning"
    assert "rtbgym" in check.detail
