"""Queries in the Google Ads Query Language."""

from collections.abc import Iterable
from datetime import date

from gaelp.errors import BadInput

__all__ = ["between", "query", "quoted"]


def query(source: str, *fields: str, where: Iterable[str] = (), end: str = "") -> str:
    """A query for these fields; `end` may order or limit its rows."""
    conditions = " AND ".join(where)
    parts = (f"SELECT {', '.join(fields)} FROM {source}", f"WHERE {conditions}" if conditions else "", end)  # noqa: S608
    return " ".join(part for part in parts if part)


def between(first: date, last: date) -> str:
    """The condition that a row is of one of these days, both included."""
    return f"segments.date BETWEEN '{first.isoformat()}' AND '{last.isoformat()}'"


def quoted(text: str) -> str:
    """A string literal."""
    if not text.isprintable():
        raise BadInput(f"{text!r} contains characters that no query can hold: use printable names")
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
