"""The header of a file: which columns are read, under which names, and which are not used."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from gaelp.errors import DataError

__all__ = ["LogColumns", "match_columns", "normal_name"]

_OTHER_MARKS = {";": "semicolons", "\t": "tabs", "|": "bars"}
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


@dataclass(frozen=True, slots=True)
class LogColumns:
    """What became of the columns of a file."""

    read_as: Mapping[str, str] = field(default_factory=dict)  # the name in the file -> the declared name
    unused: tuple[str, ...] = ()  # as the file spells them
    similar: Mapping[str, str] = field(default_factory=dict)  # an unused column -> the absent one it resembles

    def notes(self) -> list[str]:
        """Sentences on columns that are read under another name, and on those that are not used."""
        other = [f"{name} as {declared}" for name, declared in self.read_as.items() if name != declared]
        notes = [f"Columns read under another name: {', '.join(other)}."] if other else []
        if self.unused:
            notes.append(f"Columns not used: {', '.join(self.unused)}.")
        notes += [
            f"If {name} holds {declared}, rename it to {declared} in the file's first line."
            for name, declared in self.similar.items()
        ]
        return notes


def match_columns(names: Sequence[str], source: str, *, needed: Sequence[str], optional: Sequence[str]) -> LogColumns:
    """Find the declared columns, in any case; DataError if a needed one is missing or one is there more than once."""
    read_as: dict[str, str] = {}
    declared_names = (*needed, *optional)
    for declared in declared_names:
        fitting = [name for name in names if name == declared]
        fitting = fitting or [name for name in names if normal_name(name) == normal_name(declared)]
        if len(fitting) > 1:
            raise DataError(
                f"{source}: column {declared!r} is {len(fitting)} times in the header, as {', '.join(fitting)};"
                " allowed: once. Rename or drop the others."
            )
        read_as |= dict.fromkeys(fitting, declared)
    absent = [name for name in declared_names if name not in read_as.values()]
    missing = [name for name in absent if name in needed]
    if missing:
        raise DataError(
            f"{source}: {_columns(missing)} missing; seen: {', '.join(names) or 'none'};"
            f" needed: {', '.join(needed)}. {_how_to_fix_header(names, missing, declared_names)}"
        )
    unused = tuple(name for name in names if name not in read_as)
    return LogColumns(read_as, unused, _renames(unused, absent, declared_names))


def _columns(missing: Sequence[str]) -> str:
    named = ", ".join(map(repr, missing))
    return f"column {named} is" if len(missing) == 1 else f"columns {named} are"


def _how_to_fix_header(names: Sequence[str], missing: Sequence[str], declared: Sequence[str]) -> str:
    for mark, called in _OTHER_MARKS.items():
        if len(names) == 1 and mark in names[0]:
            return f"The header is separated by {called}, not by commas: save the file with commas."
    if any(map(_NUMBER.fullmatch, names)):
        return "There seems to be no header line: put the names of the columns in the file's first line."
    new_names = _renames(names, missing, declared)
    added = [name for name in missing if name not in new_names.values()]
    steps = []
    if new_names:
        steps.append("rename " + ", ".join(f"{old} to {new}" for old, new in new_names.items()))
    if added:
        steps.append(
            f"add {', '.join(added)} or rename the {'columns that hold them' if added[1:] else 'column that holds it'}"
        )
    return f"In the header, the file's first line, {'; '.join(steps)}."


def _renames(names: Sequence[str], wanted: Sequence[str], declared: Sequence[str]) -> dict[str, str]:
    """Columns that are not read, and the wanted names that they resemble most."""
    taken = set(map(normal_name, declared))
    free = {normal_name(name): name for name in names if normal_name(name) not in taken}
    new_names: dict[str, str] = {}
    for name in wanted:
        if similar := get_close_matches(normal_name(name), free, n=1):
            new_names[free.pop(similar[0])] = name
    return new_names


def normal_name(name: str) -> str:
    """The name without differences of case, spaces and hyphens."""
    return name.strip().lower().replace(" ", "_").replace("-", "_")
