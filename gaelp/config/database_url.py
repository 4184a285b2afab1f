"""The address of a PostgreSQL: read in one place, so that all who use it mean the same server, and never shown."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote

from gaelp.errors import BadInput

if TYPE_CHECKING:
    from sqlalchemy import URL

__all__ = ["parse_database_url", "secret_parts"]

_SCHEME = re.compile(r"(?:postgresql|postgres)://")
_BAD_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_MARKS = re.compile(r"[\s:/?#@&=\[\]]+")  # where one reader or another would take the password to end
_SECRET_KEYS = ("password", "sslpassword")
_LAST_PORT = 65535
# Shorter pieces are no secret of their own: to hide every "to" or "db" would shred what is said.
_SHORTEST_PIECE = 4


def parse_database_url(address: str) -> "URL":
    """The parts of the address; one that two readers could take apart in two ways is refused without showing it."""
    from sqlalchemy import exc, make_url  # noqa: PLC0415 - settings are read without it, in a fraction of the time

    if problem := _problem(address):
        raise BadInput(_refusal(problem))
    try:
        url = make_url(_SCHEME.sub("postgresql+psycopg://", address, count=1))
        url.get_dialect()().create_connect_args(url)
    except (exc.ArgumentError, ValueError):
        # Without its cause, whose words may hold a part of the address.
        raise BadInput(_refusal("a port that is no number, or parts that do not fit together")) from None
    if "@" in address and url.username is None:
        raise BadInput(_refusal("a / in the user's name"))
    if url.port is not None and not 1 <= url.port <= _LAST_PORT:
        raise BadInput(_refusal(f"a port that is not one of 1 to {_LAST_PORT}"))
    return url


def secret_parts(text: str) -> Iterator[str]:
    """If a secret is a URL with a password: the password as written and as meant, and what a wrong split would show."""
    _, separator, rest = text.partition("://")
    if not separator:
        return
    login = rest.rpartition("@")[0]
    # The first part is the user's name, unless it is the only one.
    password = re.split(r"[:@]", login, maxsplit=1)[1:] or [""]
    in_query = [value for key, value in parse_qsl(rest.partition("?")[2]) if key in _SECRET_KEYS]
    for secret in (*password, *in_query):
        pieces = [piece for piece in _MARKS.split(secret) if len(piece) >= _SHORTEST_PIECE]
        yield from dict.fromkeys(form for part in (secret, *pieces) for form in (part, unquote(part)) if form.strip())


def _problem(address: str) -> str:
    """What keeps it from being read in one way only; nothing if it is clean."""
    if not _SCHEME.match(address):
        return "text that does not begin with postgresql://"
    if " " in address or not address.isprintable():
        return "a space or a character that cannot be printed"
    head, _, query = address.partition("?")
    if head.count("@") > 1 or "@" in query:
        return "more than one @, or one after a ?"
    if _BAD_PERCENT.search(address):
        return "a % that no two hexadecimal digits follow"
    try:
        decoded = unquote(address, errors="strict")
    except UnicodeDecodeError:
        return "a percent code that is not UTF-8"
    return "" if "\0" not in decoded else "a percent code of a zero byte"


def _refusal(problem: str) -> str:
    # LOGIN, for an example with a password in its place would be masked like a real one.
    return (
        f"the address of the database (not shown) has {problem}; allowed: a path, or postgresql://LOGIN@host:port/database"
        " with user:password for LOGIN, in which @ : / ? # % and spaces are written as %40 %3A %2F %3F %23 %25 %20. Set"
        " GAELP__BUDGET__DATABASE_URL again."
    )
