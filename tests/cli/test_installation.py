import shlex
import sys

import pytest
from packaging.specifiers import SpecifierSet

from gaelp.cli import installation
from gaelp.cli.installation import install_command, package_version, required_packages, required_python
from gaelp.errors import ComponentMissing


def test_what_the_package_needs_is_what_it_declares():
    assert SpecifierSet(required_python()).contains("3.11")
    assert {"pydantic", "typer"} <= {item.name for item in required_packages()}


def test_a_package_that_is_not_installed_has_no_version():
    assert package_version("no-such-package") is None


def test_a_checkout_that_is_not_installed_is_reported_with_the_command(monkeypatch):
    monkeypatch.setattr(installation, "package_version", lambda _: None)
    with pytest.raises(ComponentMissing, match=r"not installed.*pip install"):
        installation.installed_version()


def test_the_install_command_can_be_pasted_and_names_the_extra():
    words = shlex.split(install_command("dev"))
    assert words[:4] == [sys.executable, "-m", "pip", "install"]
    assert words[-1].endswith("[dev]")
