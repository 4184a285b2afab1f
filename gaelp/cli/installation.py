"""What the installed package says of itself: its version, the Python and the packages it needs."""

from importlib.metadata import PackageNotFoundError, distribution, version

from packaging.requirements import Requirement

from gaelp.errors import ComponentMissing

__all__ = ["INSTALL", "installed_version", "package_version", "required_packages", "required_python"]

INSTALL = "pip install -c constraints.txt -e ."


def installed_version() -> str:
    """The version of GAELP."""
    found = package_version("gaelp")
    if found is None:
        raise ComponentMissing(f"gaelp is on the path but not installed, so its version is unknown. Run: {INSTALL}")
    return found


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
