"""One text for one value: canonical JSON, and the tagged bytes that are hashed and signed.

Keys are sorted, there is no space, everything is ASCII, numbers are whole and fit 64 bits, text is in Unicode's form
NFC. Whatever has two ways to be written is refused instead of being repaired, so that a hash has one value behind it.
"""

import hashlib
import json
import unicodedata
from functools import lru_cache
from typing import Any, NoReturn, TypeVar, cast

from pydantic import BaseModel, ValidationError

from gaelp.errors import DataError
from gaelp.money import MAX_MICROS, MIN_MICROS

__all__ = ["DEPTH_MAX", "SIZE_MAX", "canonical", "digest", "model_bytes", "parse", "read_model", "tagged"]

SIZE_MAX = 65_536  # bytes: a decision of a person is short, and what is longer is refused before it is read
DEPTH_MAX = 16
_KEPT_MODELS = 512

Model = TypeVar("Model", bound=BaseModel)


def canonical(value: object) -> bytes:
    """The one text of a value made of None, bool, int, str, lists and dicts with text keys."""
    _check(value, 0)
    raw = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode("ascii")
    if len(raw) > SIZE_MAX:
        raise DataError(f"saw {len(raw):,} bytes of JSON; allowed: {SIZE_MAX:,}. Keep the hash of what is so long.")
    return raw


def parse(raw: bytes) -> Any:
    """The value of a canonical text; any other way of writing the same value is refused."""
    if len(raw) > SIZE_MAX:
        raise DataError(f"saw {len(raw):,} bytes of JSON; allowed: {SIZE_MAX:,}")
    try:
        value = json.loads(
            raw.decode("ascii"),
            object_pairs_hook=_each_key_once,
            parse_float=_no_float,
            parse_constant=_no_float,
        )
    except (ValueError, RecursionError) as problem:
        raise DataError(f"saw {_start(raw)}, which is not canonical JSON: {problem or 'nested too deep'}") from None
    if canonical(value) != raw:
        raise DataError(f"saw {_start(raw)}, which is JSON but not canonical: keys sorted, no spaces, ASCII only")
    return value


def tagged(domain: str, value: object) -> bytes:
    """Canonical bytes under the name of what they mean, so that no signature of one thing passes for another."""
    return f"gaelp/{domain}/1\n".encode("ascii") + canonical(value)


def digest(domain: str, value: object) -> str:
    """SHA-256 (hex) of the tagged bytes."""
    return hashlib.sha256(tagged(domain, value)).hexdigest()


def model_bytes(model: BaseModel) -> bytes:
    """A model as canonical JSON."""
    return canonical(model.model_dump(mode="json"))


def read_model(kind: type[Model], raw: bytes) -> Model:
    """A model from its canonical JSON; what the model would write differently is refused.

    The same few rows are read for every order, and the same bytes are always the same model: frozen ones are kept.
    """
    return cast("Model", _read_frozen(kind, raw) if kind.model_config.get("frozen") else _read(kind, raw))


@lru_cache(_KEPT_MODELS)
def _read_frozen(kind: type[BaseModel], raw: bytes) -> BaseModel:
    return _read(kind, raw)


def _read(kind: type[Model], raw: bytes) -> Model:
    parse(raw)
    try:
        model = kind.model_validate_json(raw, strict=True)
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        raise DataError(f"saw {_start(raw)}, which is no {kind.__name__}: {where}: {first['msg']}") from None
    if model_bytes(model) != raw:
        raise DataError(f"saw {_start(raw)}, a {kind.__name__} that is not written the canonical way")
    return model


def _check(value: object, depth: int) -> None:
    # Exact types: True equals 1, an enum equals its text, and a key 1 would be written like the key "1".
    if depth > DEPTH_MAX:
        raise DataError(f"a value is nested deeper than {DEPTH_MAX} levels: flatten it")
    match value:
        case dict() if type(value) is dict:
            for key, below in value.items():
                _check_key(key)
                _check(below, depth + 1)
        case list() | tuple() if type(value) in (list, tuple):
            for below in value:
                _check(below, depth + 1)
        case str() if type(value) is str:
            _check_text(value)
        case int() if type(value) is int:
            _check_number(value)
        case None | True | False:
            pass
        case _:
            raise DataError(
                f"{value!r} is {type(value).__name__}; allowed: null, true, false, whole numbers, text, lists, maps"
            )


def _check_key(key: object) -> None:
    if type(key) is not str:
        raise DataError(f"the key {key!r} is {type(key).__name__}; allowed: text. Write it as text.")
    _check_text(key)


def _check_number(number: int) -> None:
    if not MIN_MICROS <= number <= MAX_MICROS:
        raise DataError(f"a number of {number.bit_length()} bits; allowed: what fits a signed 64-bit integer")


def _check_text(text: str) -> None:
    if text.isascii():
        return  # has one form only
    if not unicodedata.is_normalized("NFC", text):
        raise DataError(f"the text {text[:40]!r} is not in Unicode's form NFC, so it can be written in two ways")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise DataError(f"the text {text[:40]!r} holds half a character: give whole Unicode text")


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a key is given twice")
    return values


def _no_float(text: str) -> NoReturn:
    raise ValueError(f"{text[:40]} is not a whole number")


def _start(raw: bytes) -> str:
    return repr(raw[:60].decode("ascii", "replace")) + ("…" if len(raw) > 60 else "")
