"""Read one YAML file into plain values and the line of each.

The dialect is small on purpose: true and false are the only booleans (so the country NO stays text), 1e6 is a number,
dates and times stay text, keys are always text. A key given twice, an alias or a tag is a problem, because then a value
would have no single line to point at.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import yaml

from gaelp.config.places import shown
from gaelp.config.problems import KeyPath, Problem
from gaelp.errors import BadInput, ConfigError

__all__ = ["Document", "parse_scalar", "parse_yaml", "read_document", "read_text"]

FILE_BYTES_MAX = 4_000_000
DEPTH_MAX = 32
DIGITS_MAX = 40

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_WORDS: dict[str, object] = {"": None, "~": None, "null": None, "true": True, "false": False}
_INTEGER = re.compile(r"[-+]?(0|[1-9](_?[0-9])*)")
_DECIMAL = re.compile(r"[-+]?(\.[0-9]+|[0-9](_?[0-9])*(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"[-+]?\.inf|\.nan", re.IGNORECASE)
_LEADING_ZERO = re.compile(r"[-+]?0[0-9_]+")


@dataclass(frozen=True, slots=True)
class Document:
    """The values of one file, the line of each, and what is wrong with the file itself."""

    source: str
    values: dict[str, Any]
    lines: dict[KeyPath, int]
    problems: tuple[Problem, ...] = ()

    def place(self, path: KeyPath) -> str:
        """file:line of a key, or of the closest section around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return f"{self.source}:{self.lines[path]}" if path in self.lines else self.source


def read_text(path: Path, *, error: type[BadInput] = ConfigError) -> str:
    """The text of a file, or an error that says why it cannot be read."""
    try:
        with path.open("rb") as file:
            raw = file.read(FILE_BYTES_MAX + 1)
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise error(f"{shown(path)} cannot be read: {reason}. Name a readable file.") from None
    if len(raw) > FILE_BYTES_MAX:
        raise error(f"{shown(path)} is larger than {FILE_BYTES_MAX:,} bytes, the most a configuration file may have.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        # `from None`: the decoder's exception carries the bytes, and the file may hold a secret.
        raise error(f"{shown(path)} is not UTF-8 text (byte {problem.start}). Save it as UTF-8.") from None


def read_document(path: Path, *, error: type[BadInput] = ConfigError) -> Document:
    """Read one YAML mapping from a file."""
    source = shown(path)
    values, lines, problems = parse_yaml(read_text(path, error=error), source, error=error)
    if values is None:
        raise error(
            f"{source} is empty; allowed: a mapping of keys to values. Write at least one key, or drop the file."
        )
    if not isinstance(values, dict):
        raise error(f"{source}:{lines[()]}: saw {_kind(values)} at the top; allowed: a mapping such as `key: value`.")
    return Document(source, values, lines, problems)


def parse_yaml(
    text: str, source: str, *, error: type[BadInput] = ConfigError
) -> tuple[Any, dict[KeyPath, int], tuple[Problem, ...]]:
    """The value of one YAML text, the line of each part, and the problems found on the way."""
    builder = _Builder(source, error)
    try:
        value = builder.build(yaml.parse(text, Loader=_LOADER))
    except yaml.MarkedYAMLError as problem:
        # The text of the line is left out: it may hold a secret.
        mark = problem.problem_mark or problem.context_mark
        place = f"{source}:{mark.line + 1}:{mark.column + 1}" if mark else source
        what = ", ".join(part for part in (problem.context, problem.problem) if part)
        raise error(f"{place}: not valid YAML: {what}. Check indentation, quotes and brackets there.") from None
    except yaml.YAMLError as problem:
        reason = getattr(problem, "reason", type(problem).__name__)
        raise error(f"{source}: not valid YAML: {reason}. Remove the special characters.") from None
    return value, builder.lines, tuple(builder.problems)


def parse_scalar(text: str) -> object:
    """What a plain YAML word means: null, true, false, a whole number, a decimal number, or the text itself."""
    lowered = text.lower()
    if lowered in _WORDS:
        return _WORDS[lowered]
    if _INTEGER.fullmatch(text) and len(text) <= DIGITS_MAX:
        return int(text)
    if _SPECIAL.fullmatch(text):
        return float(lowered.replace(".", ""))
    # 010 is eight to one YAML reader and ten to another: as text it is refused where a number is due.
    if _DECIMAL.fullmatch(text) and not _LEADING_ZERO.fullmatch(text) and len(text) <= DIGITS_MAX:
        return float(text)
    return text


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


def _kind(value: object) -> str:
    return "a list" if isinstance(value, list) else "a single value"


@dataclass(slots=True)
class _Builder:
    """Turns the event stream of the YAML parser into values, without recursion deeper than DEPTH_MAX."""

    source: str
    error: type[BadInput]
    lines: dict[KeyPath, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def build(self, events: Iterator[yaml.Event]) -> Any:
        value: Any = None
        documents = 0
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise self.error(f"{self._at(event)}: a second document starts here; allowed: one per file.")
            elif isinstance(event, yaml.NodeEvent):
                value = self._node(event, events, ())
        return value

    def _at(self, event: yaml.Event) -> str:
        return f"{self.source}:{_line(event)}"

    def _complain(self, event: yaml.Event, path: KeyPath, text: str) -> None:
        self.problems.append(Problem(self._at(event), path, text))

    def _node(self, event: yaml.Event, events: Iterator[yaml.Event], path: KeyPath) -> Any:
        if len(path) > DEPTH_MAX:
            raise self.error(f"{self._at(event)}: nested deeper than {DEPTH_MAX} levels, the most a file may have.")
        self.lines.setdefault(path, _line(event))
        if isinstance(event, yaml.AliasEvent):
            self._complain(event, path, "saw a YAML alias; allowed: plain values. Write the value out.")
            return None
        if getattr(event, "tag", None) not in (None, "!"):
            self._complain(event, path, "saw a YAML tag; allowed: plain values. Remove the tag.")
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(events, path)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(events, path)
        scalar = cast("yaml.ScalarEvent", event)
        return parse_scalar(scalar.value) if scalar.implicit[0] else scalar.value

    def _sequence(self, events: Iterator[yaml.Event], path: KeyPath) -> list[Any]:
        values: list[Any] = []
        while isinstance(event := next(events), yaml.NodeEvent):
            values.append(self._node(event, events, (*path, len(values))))
        return values

    def _mapping(self, events: Iterator[yaml.Event], path: KeyPath) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while isinstance(event := next(events), yaml.NodeEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise self.error(f"{self._at(event)}: a key is not plain text; allowed: `key: value`.")
            key = event.value
            here = (*path, key)
            if key in values:
                self._complain(event, here, f"key given twice, first on line {self.lines[here]}. Keep one of them.")
            self.lines.setdefault(here, _line(event))
            values.setdefault(key, self._node(next(events), events, here))
        return values
