"""The versions that were tried together: the pins of constraints.txt."""

import re
from collections.abc import Mapping
from pathlib import Path

from packaging.utils import canonicalize_name

from gaelp.config.document import read_text
from gaelp.config.places import repository_root

__all__ = ["pins_file", "read_pins"]

_PIN = re.compile(r"^\s*(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\s*==\s*(?P<version>[^\s;#]+)")


def pins_file() -> Path:
    """constraints.txt beside the package; it is there in a checkout, not in an installed wheel."""
    return repository_root() / "constraints.txt"


def read_pins(path: Path) -> Mapping[str, str]:
    """Package name to pinned version, for every line `name==version`; comments and other lines are passed over."""
    matches = (_PIN.match(line) for line in read_text(path).splitlines())
    return {canonicalize_name(match["name"]): match["version"] for match in matches if match}
