"""Personal data and keys removed from text and tables: allow-listed columns, keyed hashes, patterns in free text.

The functions are pure. The importer runs them on what it stores and sets aside, the Beam job `redact` on what is
exported. Where a text could be either, such as a long random name, it is hidden: a lost word costs less than a leak.
"""

import hmac
import re
import secrets
from collections.abc import Callable, Collection
from pathlib import Path

import pyarrow as pa

from gaelp.config.private_files import read_or_create_private
from gaelp.errors import BadInput
from gaelp.observability import mask_text

__all__ = ["IDENTIFIERS", "TRUSTED_TEXT", "redact_identifier", "redact_table", "redact_text", "redaction_key"]

# Columns that identify a person's click or an account. Equal values stay equal, so tables can still be joined.
IDENTIFIERS = frozenset({"account", "auction", "click", "conversion", "id", "order"})
# Columns that GAELP itself writes: nothing a person typed, and their digits are no phone numbers.
TRUSTED_TEXT = frozenset(
    {"density_kind", "episode", "kind", "market", "objective", "phase", "policy", "source", "state"}
)

_NUMBERED = frozenset({"campaign", "segment"})
_KEY_BYTES_MIN = 16
_HASH_CHARACTERS = 32  # 128 bits: two of a billion identifiers do not collide

_EMAIL = re.compile(r"[^\s@<>\"',;:()\[\]=]+(?:@|%40|\uff20)[^\s@<>\"',;:()\[\]=]+", re.IGNORECASE)
_IP = re.compile(
    r"(?<![\w.])(?:\d{1,3}\.){3}(?:\d{1,3}|\*)(?![\w.])|(?<![\w:])(?:[0-9a-f]{1,4}:){5,7}[0-9a-f]{1,4}", re.IGNORECASE
)
_GAP = r" ()./\u00a0\u202f\u2010-\u2015-"
_NUMBER = re.compile(
    r"(?P<date>(?:19|20)\d{2}([-/.])\d{1,2}\2\d{1,2}(?!\d)|(?<!\d)\d{1,2}([-/.])\d{1,2}\3(?:19|20)\d{2}(?!\d))"
    rf"|\+(?:[{_GAP}]{{0,3}}\d){{7,19}}"
    rf"|(?<![\d.])(?:\(\d{{2,5}}\)|\d{{2,8}})(?:[{_GAP}]{{1,2}}\d{{2,8}})+"
    r"|(?<![\d.])\d{10,19}(?!\d)"
)
_TOKEN = re.compile(r"[A-Za-z0-9_\-+/=.~]{16,}")
_KNOWN_KEY = re.compile(
    r"\b(?:[sprx]k[-_]|AKIA|ASIA|AIza|gh[oprsu]_|github_pat_|glpat-|xox[a-z]-|ya29\.|EAA[A-Z]|eyJ|hooks\.slack)"
    r"[A-Za-z0-9_\-+/=.~]{6,}|-----BEGIN[^-]+-----[\s\S]*?(?:-----END[^-]+-----|$)"
)
_SUSPECT = re.compile(rf"@|%40|\uff20|[\d{_GAP}]{{7}}|[\w\-+/=.~]{{12}}|-----BEGIN", re.IGNORECASE)
_MOMENT = re.compile(r"(?:19|20)\d{12}(?:\d{3})?|1\d{9}(?:\d{3})?")  # yyyymmddHHMMSS(fff), epoch (milli)seconds
_PHONE_DIGITS_MIN = 7
_CARD_DIGITS = range(13, 20)
_RANDOM_LENGTH = 24


def redaction_key(home: Path) -> bytes:
    """The key under which a home hashes identifiers, created on first use; copy the file to hash alike elsewhere."""
    path = home / "redaction.key"
    key = read_or_create_private(path, lambda: secrets.token_hex(32)).encode()
    if len(key) < _KEY_BYTES_MIN:
        raise BadInput(f"{path} holds {len(key)} characters; allowed: {_KEY_BYTES_MIN} or more. Restore it.")
    return key


def redact_identifier(value: str, key: bytes) -> str:
    """A keyed hash: the same for the same value, and not to be reversed or recomputed without the key."""
    return hmac.digest(key, value.encode(errors="surrogatepass"), "sha256").hex()[:_HASH_CHARACTERS]


def redact_table(
    table: pa.Table,
    allowed: Collection[str],
    key: bytes,
    *,
    identifiers: Collection[str] = IDENTIFIERS,
    trusted: Collection[str] = TRUSTED_TEXT,
) -> pa.Table:
    """Keep only the allowed columns; hash the identifiers among them, and redact other text unless it is trusted.

    A campaign or segment whose whole name is digits keeps it: platforms number them.
    """
    if len(key) < _KEY_BYTES_MIN:
        raise BadInput(f"the redaction key has {len(key)} bytes; allowed: {_KEY_BYTES_MIN} or more")
    names = [name for name in table.column_names if name in set(allowed)]
    kept = table.select(names)
    for index, name in enumerate(names):
        field = kept.schema.field(name)
        if not (pa.types.is_string(field.type) or pa.types.is_large_string(field.type)):
            continue
        if name in identifiers:
            kept = kept.set_column(index, field, _each_value(kept[name], lambda text: redact_identifier(text, key)))
        elif name not in trusted:
            redact = _redact_unless_number if name in _NUMBERED else redact_text
            kept = kept.set_column(index, field, _each_value(kept[name], redact))
    return kept


def redact_text(text: str) -> str:
    """Replace e-mail addresses, phone and card numbers, IP addresses, keys and registered secrets by [what it was]."""
    text = mask_text(text)
    if not _SUSPECT.search(text):
        return text
    text = _KNOWN_KEY.sub("[key]", text)
    text = _EMAIL.sub("[email]", text)
    text = _IP.sub("[ip]", text)
    text = _NUMBER.sub(_redact_number, text)
    return _TOKEN.sub(_redact_token, text)


def _each_value(column: pa.ChunkedArray, redact: Callable[[str], str]) -> pa.ChunkedArray:
    """Call `redact` once for each distinct value."""
    encoded = column.combine_chunks().dictionary_encode()
    array = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    values = pa.array([None if text is None else redact(text) for text in array.dictionary.to_pylist()], column.type)
    return pa.chunked_array([values.take(array.indices)], column.type)


def _redact_unless_number(text: str) -> str:
    return text if text.isdigit() else redact_text(text)


def _redact_number(match: re.Match[str]) -> str:
    """A card number, else a phone number: any other long number in groups, or bare if it is no time."""
    text = match[0]
    digits = [int(character) for character in text if character.isdigit()]
    is_decimal = text.count(".") == 1 and text.replace(".", "").isdigit()
    if match["date"] or is_decimal or _MOMENT.fullmatch(text) or len(digits) < _PHONE_DIGITS_MIN:
        return text
    return "[card]" if len(digits) in _CARD_DIGITS and _passes_luhn(digits) else "[phone]"


def _passes_luhn(digits: list[int]) -> bool:
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _redact_token(match: re.Match[str]) -> str:
    """Long text without spaces that mixes cases and digits, or is largely digits, is a key and not a word."""
    text = match[0]
    digits = sum(character.isdigit() for character in text)
    is_mixed = bool(digits) and text != text.lower() and text != text.upper()
    is_random = len(text) >= _RANDOM_LENGTH and (is_mixed or 0.2 * len(text) <= digits < len(text))
    return "[key]" if is_random else text
