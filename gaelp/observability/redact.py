"""Hides secrets in anything that is about to be logged or printed.

Three rules, from certain to best effort: a registered secret is hidden wherever it occurs, in any usual spelling; the
value under a telling name (`api_key`, `refresh_token`, …) and a pydantic `SecretStr` are hidden whole; and in running
text, what follows such a name (`token=…`, `"password": "…"`, `Authorization: …`, `user:…@host`) is hidden as well.
"""

import dataclasses
import json
import logging
import re
from collections.abc import Iterable, Mapping, Set
from numbers import Integral, Real
from typing import TypeAlias
from urllib.parse import quote, quote_plus

from pydantic import BaseModel, Secret, SecretBytes, SecretStr

from gaelp.errors import BadInput

__all__ = ["MASK", "MIN_SECRET_LENGTH", "Plain", "Redactor", "mask", "mask_text", "register_secrets"]

Plain: TypeAlias = "str | int | float | bool | list[Plain] | dict[str, Plain] | None"

MASK = "[redacted]"
MIN_SECRET_LENGTH = 4
_MAX_DEPTH = 12
_MIN_LINE_LENGTH = 16

_NAMES = r"(?:(?:access|api|private|secret|signing).?key|authorization|cookie|passphrase|password|secret|token)s?"
_TELLING = re.compile(rf"{_NAMES}$", re.IGNORECASE)
_QUOTED = r"""[bru]{0,2}"(?:[^"\\]|\\.)*"|[bru]{0,2}'(?:[^'\\]|\\.)*'"""
_VALUE = rf"""(?:{_QUOTED}|\[[^\]]{{0,2000}}\]|(?!(?:None|null)\b)["']?[^\s&,;()\[\]{{}}"']+)"""
_SCHEME = "(?:(?:basic|bearer|digest|token) +)?"
_IN_TEXT = (
    re.compile(rf"""(\bauthorization["']?\s*[:=]\s*["']?){_SCHEME}[^\s"',;]+""", re.IGNORECASE),
    re.compile(r"(\bbearer +)[\w.~+/=-]{8,}", re.IGNORECASE),
    re.compile(rf"""({_NAMES}(?:["']\]?\s*[:=]|\s*=)(?!=)\s*){_VALUE}""", re.IGNORECASE),
    re.compile(r"(://[^\s/:@]*:)[^\s/@]+(?=@)"),
)


class Redactor:
    """Knows the registered secrets and converts any value to plain, printable data without them."""

    def __init__(self) -> None:
        self._secrets: frozenset[str] = frozenset()
        self._spellings: re.Pattern[str] | None = None

    def register(self, secrets: Iterable[str | SecretStr]) -> int:
        """Add secrets to those known; return how many of the new ones are too short to hide inside longer text.

        Hiding every "7" or "the" would shred the log and give the secret away, so a secret below MIN_SECRET_LENGTH
        characters is hidden only where it is the whole value, and under a telling name like any other.
        """
        new = {_revealed(secret).strip() for secret in _require_many(secrets)} - {""} - self._secrets
        if not new:
            return 0
        self._secrets |= new
        long_enough = [secret for secret in self._secrets if len(secret) >= MIN_SECRET_LENGTH]
        spellings = {spelling for secret in long_enough for spelling in _spellings(secret)}
        longest_first = sorted(spellings, key=len, reverse=True)
        self._spellings = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None
        return sum(len(secret) < MIN_SECRET_LENGTH for secret in new)

    def text(self, text: str) -> str:
        """Return running text with every secret in it masked."""
        if text.strip() in self._secrets:
            return MASK
        if self._spellings is not None:
            text = self._spellings.sub(MASK, text)
        for pattern in _IN_TEXT:
            text = pattern.sub(rf"\g<1>{MASK}", text)
        return text

    def clean(self, value: object, depth: int = 0) -> Plain:  # noqa: PLR0911 - one return per kind of value
        """Return `value` as plain data that JSON can hold, with every secret in it masked, however deep."""
        if depth > _MAX_DEPTH:
            return f"[nested deeper than {_MAX_DEPTH}]"
        value = _opened(value)
        match value:
            case None | bool():
                return value
            case str():
                return self.text(str(value))
            case Integral() | Real():
                return self._number(value)
            case SecretStr() | SecretBytes() | Secret():
                return MASK
            case bytes() | bytearray() | memoryview():
                return self.text(_printed(bytes(value)))
            case Mapping():
                return {self.text(_printed(key)): self._under(key, item, depth) for key, item in value.items()}
            case (str() | bytes() as key, item) if isinstance(value, tuple):  # headers and gRPC metadata are such pairs
                return [self.text(_printed(key)), self._under(key, item, depth)]
            case list() | tuple() | Set():
                return [self.clean(item, depth + 1) for item in value]
        return self.text(_printed(value))

    def _under(self, key: object, value: object, depth: int) -> Plain:
        return MASK if value is not None and _TELLING.search(_printed(key)) else self.clean(value, depth + 1)

    def _number(self, value: Integral | Real) -> Plain:
        number = int(value) if isinstance(value, Integral) else float(value)
        printed = _printed(number)
        # A secret may be all digits, and JSON has no NaN and no infinity.
        safe = self.text(printed) == printed and printed.lstrip("-")[0].isdigit()
        return number if safe else self.text(printed)


_of_this_process = Redactor()


def register_secrets(secrets: Iterable[str | SecretStr]) -> None:
    """Hide these values in every log line and `mask` of this process from now on; there is no way to unregister."""
    too_short = _of_this_process.register(secrets)
    if too_short:
        logging.getLogger(__name__).warning(
            "%d registered secret(s) below %d characters: hidden only where they are the whole value, use longer ones",
            too_short,
            MIN_SECRET_LENGTH,
        )


def mask(value: object) -> Plain:
    """Return `value` as plain data with the secrets of this process masked."""
    return _of_this_process.clean(value)


def mask_text(text: str) -> str:
    """Return text, such as a traceback, with the secrets of this process masked."""
    return _of_this_process.text(text)


def _spellings(secret: str) -> set[str]:
    """How a secret looks raw, in a repr, in JSON, in a URL and, if it has many lines, line by line."""
    raw = secret.encode(errors="surrogateescape")
    beside_both_quotes = repr(f"'\"{secret}")[4:-1]
    in_python = {repr(secret)[1:-1], beside_both_quotes, repr(raw)[2:-1]}
    in_json = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    lines = {line for line in secret.splitlines() if len(line) >= _MIN_LINE_LENGTH}
    return {secret, quote(raw), quote(raw, safe=""), quote_plus(raw)} | in_python | in_json | lines


def _opened(value: object) -> object:
    """Turn a record into a dict, so that its field names can tell; leave alone what is none or prints itself."""
    if isinstance(value, BaseModel):
        return dict(value)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return value._asdict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type) and type(value).__str__ is object.__str__:
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return value


def _printed(value: object) -> str:
    try:
        if isinstance(value, bytes):
            return value.decode(errors="backslashreplace")
        return repr(value) if isinstance(value, BaseException) else str(value)
    except Exception as error:  # noqa: BLE001 - whatever a foreign __str__ raises must not stop the work being logged
        return f"[unprintable {type(value).__name__}: {type(error).__name__}]"


def _require_many(secrets: object) -> Iterable[object]:
    if isinstance(secrets, str | bytes | SecretStr) or not isinstance(secrets, Iterable):
        raise BadInput(f"secrets is one {type(secrets).__name__}, not a collection: give a list of str or SecretStr")
    return secrets


def _revealed(secret: object) -> str:
    if isinstance(secret, SecretStr):
        return secret.get_secret_value()
    if not isinstance(secret, str):
        raise BadInput(
            f"a secret is a {type(secret).__name__}: register str or SecretStr, and leave out what is not set"
        )
    return secret
