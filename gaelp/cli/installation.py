"""What the installed package says of itself: its version, the Python and the packages it needs."""

import shlex
import sys
from importlib.metadata import PackageNotFoundError, distribution, version

from packaging.requirements import Requirement

from gaelp.config.pins import pins_file
from gaelp.config.places import repository_root
from gaelp.errors import ComponentMissing

__all__ = [
    "install_command",
    "installed_version",
    "package_version",
    "pip_command",
    "required_packages",
    "required_python",
]


def pip_command(*arguments: str) -> str:
    """A command that installs into the Python that runs this; it can be pasted into a shell in any folder."""
    return shlex.join([sys.executable, "-m", "pip", "install", *arguments])


def install_command(extra: str = "") -> str:
    """The command that installs this checkout as pinned, with an extra if one is named."""
    what = f"{repository_root()}[{extra}]" if extra else str(repository_root())
    return pip_command("-c", str(pins_file()), "-e", what)


def installed_version() -> str:
    """The version of GAELP."""
    version = package_version("gaelp")
    if version is None:
        raise ComponentMissing(
            f"gaelp is on the path but not installed, so its version is unknown. Run: {install_command()}"
        )
    return version


def package_version(name: str) -> str | None:
    """The version of an installed package, None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def required_python() -> str:
    """The Python versions that GAELP runs on, such as >=3.11."""
    installed_version()
    return distribution("gaelp").metadata["Requires-Python"]


def required_packages() -> tuple[Requirement, ...]:
    """What GAELP cannot run without, extras left out."""
    installed_version()
    wanted = (Requirement(line) for line in distribution("gaelp").requires or ())
    return tuple(item for item in wanted if item.marker is None or item.marker.evaluate({"extra": ""}))
