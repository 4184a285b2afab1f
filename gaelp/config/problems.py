"""What is wrong with a configuration: one entry for each problem, all of them in one message."""

from collections.abc import Iterable
from dataclasses import dataclass

from gaelp.errors import BadInput, ConfigError

__all__ = ["KeyPath", "Problem", "describe_value", "dotted", "raise_problems"]

KeyPath = tuple[str | int, ...]

_SEEN_CHARACTERS_MAX = 60


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to correct: its place, its key, what was seen and what is allowed."""

    place: str
    path: KeyPath
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {dotted(self.path)}: {self.text}" if self.path else f"{self.place}: {self.text}"


def dotted(path: KeyPath) -> str:
    """A key path as people write it: run.seed, landscapes[2].name."""
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text


def describe_value(value: object) -> str:
    """A value short enough for a message; long text is cut, lists and mappings are counted."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return f"a mapping of {len(value)} keys"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    text = repr(value)
    return text if len(text) <= _SEEN_CHARACTERS_MAX else f"{text[:_SEEN_CHARACTERS_MAX]}…"


def raise_problems(problems: Iterable[Problem], *, error: type[BadInput] = ConfigError) -> None:
    """Raise all problems in a single error; do nothing if there are none."""
    lines = list(dict.fromkeys(str(problem) for problem in problems))
    if len(lines) == 1:
        raise error(lines[0])
    if lines:
        raise error("\n  ".join([f"{len(lines)} problems:", *lines]))
