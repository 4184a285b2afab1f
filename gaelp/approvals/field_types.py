"""The kinds of text that actions and approvals are made of."""

import unicodedata
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, Field

from gaelp.config.field_types import Instant, Sha256
from gaelp.errors import BadInput
from gaelp.money import MAX_MICROS

__all__ = [
    "Count",
    "Instant",
    "Label",
    "LimitMicros",
    "Nonce",
    "PublicKeyHex",
    "Reason",
    "Sha256",
    "SignatureHex",
    "require_aware",
]


def _plain(text: str) -> str:
    # Zero-width and direction marks are not printable: two texts that look alike must not differ by them.
    if not text.isprintable() or text != text.strip():
        raise ValueError(f"saw {text[:40]!r}; allowed: one printable line that neither begins nor ends with a space")
    if not unicodedata.is_normalized("NFC", text):
        raise ValueError(f"saw {text[:40]!r}, not in Unicode's form NFC; allowed: composed characters. Normalise it.")
    return text


Label = Annotated[str, Field(strict=True, min_length=1, max_length=200), AfterValidator(_plain)]
Reason = Annotated[str, Field(strict=True, min_length=1, max_length=2000), AfterValidator(_plain)]
PublicKeyHex = Annotated[str, Field(strict=True, pattern=r"\A[0-9a-f]{64}\z")]
SignatureHex = Annotated[str, Field(strict=True, pattern=r"\A[0-9a-f]{128}\z")]
Nonce = Annotated[str, Field(strict=True, pattern=r"\A[0-9a-f]{32}\z")]
Count = Annotated[int, Field(strict=True, ge=0, le=1_000_000_000)]
LimitMicros = Annotated[int, Field(strict=True, ge=0, le=MAX_MICROS)]


def require_aware(instant: datetime) -> datetime:
    """The instant itself; one without a time zone is refused."""
    if instant.utcoffset() is None:
        raise BadInput(f"{instant.isoformat()} has no time zone: give an aware datetime, such as clock.now() returns")
    return instant
