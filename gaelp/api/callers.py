"""Who may call: whoever knows the token; without one, programs on this machine, but no web page in its browser.

A page from elsewhere can make a browser send requests to this machine. It cannot send JSON there without asking first,
which nothing here answers, and it cannot fake the name of the host that it believes to talk to.
"""

import hmac
from collections.abc import Collection, Mapping

from fastapi import HTTPException
from pydantic import SecretStr

from gaelp.config.loopback import is_loopback_host

__all__ = ["check_caller"]


def check_caller(
    token: SecretStr | None,
    method: str,
    headers: Mapping[str, str],
    *,
    variable: str = "GAELP__API__TOKEN",
    content_types: Collection[str] = ("application/json",),
) -> None:
    """Refuse with 401, 421 or 415 whoever may not call; `headers` has its names in lower case.

    `variable` is where the token comes from, for the message. Content types are those that no web page can send here.
    """
    if token is not None:
        _check_token(token.get_secret_value(), headers.get("authorization", ""), variable)
        return
    _check_host(headers.get("host", ""), variable)
    if method == "POST":
        _check_content_type(headers.get("content-type", ""), content_types)


def _check_token(token: str, given: str, variable: str) -> None:
    scheme, _, word = given.partition(" ")
    # Header values arrive as latin-1. Comparing takes equally long however much of the token is right.
    right = hmac.compare_digest(word.strip().encode("latin-1", "replace"), token.encode())
    if not (right and scheme.lower() == "bearer"):
        raise HTTPException(
            401,
            f"the token is missing or wrong: send the header `Authorization: Bearer TOKEN`, with what {variable} holds"
            " where the server runs",
            headers={"WWW-Authenticate": "Bearer"},
        )


def _check_host(host: str, variable: str) -> None:
    if not is_loopback_host(host):
        raise HTTPException(
            421,
            f"called as {host[:100]!r}: without a token this answers to 127.0.0.1, localhost and [::1] only. Use one"
            f" of them, or set {variable}.",
        )


def _check_content_type(content_type: str, allowed: Collection[str]) -> None:
    if content_type.partition(";")[0].strip().lower() not in allowed:
        raise HTTPException(
            415,
            f"content type {content_type[:100]!r}: send the header `Content-Type: {' or '.join(allowed)}`, which no web"
            " page from elsewhere can",
        )
