"""A key takes effect at most once, because each change creates a label of that key in the same request.

Google carries out a request of several operations as a whole or not at all, and refuses a second label of the same
name. So a change that is sent again, or arrives twice, or late, is refused as a whole; and whoever finds the label
knows that the change was made.
"""

import hashlib
from collections.abc import Callable
from typing import Any

from gaelp.platforms.google_ads.call_errors import ERRORS
from gaelp.platforms.google_ads.connection import AdsConnection
from gaelp.platforms.google_ads.gaql import query, quoted
from gaelp.platforms.platform import CallResult
from gaelp.platforms.retrying import make_once

__all__ = ["KeyTrace", "change_once", "find_trace"]

_PREFIX = "gaelp key "
_DIGITS = 40  # of a hash; a label's name has at most 80 characters
_MOST_DESCRIPTION = 200

KeyTrace = str  # what a change has written to the description of its label: its kind, and what look_up needs


def change_once(
    connection: AdsConnection,
    key: str,
    trace: KeyTrace,
    plan: Callable[[], list[Any]],
    *,
    search_first: bool = True,
) -> CallResult:
    """Carry out the operations that `plan` builds, unless the key was used; search before every further attempt.

    `plan` reads what it needs and raises Refused for what cannot be done, such as a change of a missing campaign. One
    that refuses nothing needs no search before the first attempt: a second label of its key is refused.
    """
    return make_once(
        was_made=lambda: find_trace(connection, key) is not None,
        make=lambda: connection.mutate([_label(connection, key, trace), *plan()]),
        errors=ERRORS,
        wait=connection.wait,
        search_first=search_first,
    )


def find_trace(connection: AdsConnection, key: str) -> KeyTrace | None:
    """What the change of this key has left behind; None if it was not made."""
    fields = ("label.id", "label.text_label.description")
    rows = connection.search(query("label", *fields, where=[f"label.name = {quoted(_name(key))}"]))
    return str(rows[0].label.text_label.description).partition(" | ")[0] if rows else None


def _label(connection: AdsConnection, key: str, trace: KeyTrace) -> Any:
    operation = connection.message("MutateOperation")
    label = operation.label_operation.create
    label.name = _name(key)
    label.text_label.description = f"{trace} | {key}"[:_MOST_DESCRIPTION]
    return operation


def _name(key: str) -> str:
    return _PREFIX + hashlib.sha256(key.encode(errors="backslashreplace")).hexdigest()[:_DIGITS]
