"""Read creatives from a YAML, JSON or CSV file; what a creative lacks is left for the check to find."""

import csv
import io
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from gaelp.config.base import Frozen
from gaelp.config.document import DEPTH_MAX, read_text
from gaelp.config.load import load_model
from gaelp.config.places import absolute, shown
from gaelp.config.validation import validated
from gaelp.content.creative import Creative
from gaelp.errors import DataError

__all__ = ["CreativeFile", "read_creatives"]

_AUDIENCE = ("min_age", "max_age", "interests")
_CREATIVES_MAX = 100_000


class CreativeFile(Frozen):
    """The creatives of one file."""

    creatives: tuple[Creative, ...] = Field(max_length=_CREATIVES_MAX)

    @field_validator("creatives")
    @classmethod
    def _not_empty(cls, creatives: tuple[Creative, ...]) -> tuple[Creative, ...]:
        """A min_length would count only creatives that are right, and call a list with a wrong one too short."""
        if not creatives:
            raise ValueError(f"saw an empty list; allowed: 1 to {_CREATIVES_MAX} entries. Add a creative.")
        return creatives


def read_creatives(path: Path) -> tuple[Creative, ...]:
    """Every creative of a file; DataError names what cannot be read, and an id that is given twice."""
    _refuse_missing(path)
    kind = path.suffix.lower()
    if kind in (".yaml", ".yml"):
        creatives = load_model(CreativeFile, path, error=DataError).creatives
    elif kind == ".json":
        creatives = _checked(path, _json(path))
    elif kind == ".csv":
        creatives = _checked(path, {"creatives": _csv_rows(path)})
    else:
        raise DataError(f"saw {path.name!r}; allowed: a file that ends in .yaml, .json or .csv. Rename or convert it.")
    ids = [creative.id for creative in creatives]
    if len(set(ids)) < len(ids):
        twice = sorted({name for name in ids if ids.count(name) > 1})
        raise DataError(f"{shown(absolute(path))}: id {', '.join(twice[:5])} given twice; allowed: once. Rename one.")
    return creatives


def _refuse_missing(path: Path) -> None:
    """Refuse a file that does not exist; other problems are reported by whoever reads it."""
    place = absolute(path)
    with suppress(OSError):
        if not place.exists():
            raise DataError(
                f"{shown(place)} is not there; allowed: an existing .yaml, .json or .csv file. Check name and folder."
            )


def _checked(path: Path, values: Mapping[str, Any]) -> tuple[Creative, ...]:
    source = shown(absolute(path))
    return validated(CreativeFile, values, lambda _: source, error=DataError).creatives


def _json(path: Path) -> dict[str, Any]:
    source = shown(absolute(path))
    try:
        value = json.loads(read_text(absolute(path), error=DataError))
    except (json.JSONDecodeError, RecursionError) as problem:
        raise DataError(f"{source}: not valid JSON: {problem}. Check quotes and brackets there.") from None
    if _is_deeper(value, DEPTH_MAX):
        raise DataError(
            f"{source}: nested deeper than {DEPTH_MAX} levels, the most a file may have. Check the brackets."
        )
    _refuse_half_characters(source, value)
    value = {"creatives": value} if isinstance(value, list) else value
    if not isinstance(value, dict):
        raise DataError(f"{source}: saw a single value; allowed: a list of creatives, or an object that holds one.")
    return value


def _is_deeper(value: object, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels == 0 or any(_is_deeper(item, levels - 1) for item in inner)


def _refuse_half_characters(source: str, value: object) -> None:
    """JSON can write one half of a character that takes two escapes; no text can hold it, and nothing can print it."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as problem:
        half, before = f"\\u{ord(problem.object[problem.start]):04x}", problem.object[: problem.start][-20:]
        raise DataError(
            f"{source}: saw {half} alone, after {before!r}; allowed: both halves of a character, as in \\ud83d\\ude00."
            " Write the character itself, or add its other half."
        ) from None


def _csv_rows(path: Path) -> list[dict[str, Any]]:
    source = shown(absolute(path))
    reader = csv.DictReader(io.StringIO(read_text(absolute(path), error=DataError), newline=""), strict=True)
    try:
        rows = list(reader)
    except csv.Error as problem:
        raise DataError(f"{source}:{reader.line_num}: not valid CSV: {problem}. Check the quotes there.") from None
    for number, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise DataError(f"{source}: row {number} has more or fewer cells than the header. Quote cells with commas.")
    return [_from_cells(row) for row in rows]


def _from_cells(row: Mapping[str, str]) -> dict[str, Any]:
    """A row as nested values; an empty cell is a value that is not there, and interests are split at semicolons."""
    values: dict[str, Any] = {key: cell for key, cell in row.items() if cell != "" and key not in _AUDIENCE}
    audience: dict[str, Any] = {key: _age(row[key]) for key in ("min_age", "max_age") if row.get(key, "") != ""}
    if row.get("interests"):
        audience["interests"] = [interest.strip() for interest in row["interests"].split(";")]
    return {**values, "audience": audience}


def _age(cell: str) -> int | str:
    """A whole number, or the cell itself, which the model then refuses by name."""
    text = cell.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 3 else cell
