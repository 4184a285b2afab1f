"""The `fields` parameter: `id,name,campaign{name},adsets.limit(5){id}` as a tree of names."""

import re
from dataclasses import dataclass
from datetime import UTC

from gaelp.sandbox.meta.graph_error import GraphError
from gaelp.sandbox.meta.parameter_readers import listed

__all__ = ["FieldSelection", "parse_fields"]

_TOKEN = re.compile(r"\s*(?:(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<limit>\.limit\((?P<count>\d{1,4})\))|(?P<mark>[{},]))")
_MAX_DEPTH = 4


@dataclass(frozen=True, slots=True)
class FieldSelection:
    """A field to return, the fields below it, and how many entries if it is an edge."""

    name: str
    below: tuple["FieldSelection", ...] = ()
    limit: int | None = None


def parse_fields(text: str) -> tuple[FieldSelection, ...]:
    """Read a selection, which may also be a JSON array of names; an empty one selects nothing beyond the id."""
    if text.lstrip().startswith("["):
        text = ",".join(listed()("fields", text, UTC))
    selection, rest = _several(text, 0)
    if rest.strip():
        raise _syntax(rest)
    return selection


def _several(text: str, depth: int) -> tuple[tuple[FieldSelection, ...], str]:
    """The fields up to the end or a closing brace, and the text after them."""
    if depth > _MAX_DEPTH:
        raise GraphError(f"Syntax error in fields: nested deeper than {_MAX_DEPTH}", blame="fields")
    fields: dict[str, FieldSelection] = {}
    while (token := _TOKEN.match(text)) and token["mark"] != "}":
        if token["mark"] == ",":
            text = text[token.end() :]
            continue
        if not token["name"]:
            raise _syntax(text)
        field, text = _one(token["name"], text[token.end() :], depth)
        fields.setdefault(field.name, field)
    return tuple(fields.values()), text


def _one(name: str, text: str, depth: int) -> tuple[FieldSelection, str]:
    limit: int | None = None
    below: tuple[FieldSelection, ...] = ()
    if (token := _TOKEN.match(text)) and token["limit"]:
        limit, text = int(token["count"]), text[token.end() :]
    if (token := _TOKEN.match(text)) and token["mark"] == "{":
        below, text = _several(text[token.end() :], depth + 1)
        if not text.startswith("}"):
            raise _syntax(text or "the end: a closing brace is missing")
        text = text[1:]
    return FieldSelection(name, below, limit), text


def _syntax(rest: str) -> GraphError:
    return GraphError(
        f"Syntax error in fields at {rest[:40]!r}; write names separated by commas, with braces for what is below",
        code=2500,
        blame="fields",
    )
