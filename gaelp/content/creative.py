"""What is checked: one advert as it would be published, and the hash that names exactly it."""

from pydantic import Field

from gaelp.config.base import Frozen
from gaelp.config.fingerprint import fingerprint

__all__ = ["PRINTED_FIELDS", "TEXT_FIELDS", "Audience", "Creative", "creative_hash"]

# The fields that people read, in the order in which they meet them.
TEXT_FIELDS = ("headline", "description", "call_to_action", "display_url", "landing_text")

# Texts that are printed as they are; a page or an address may hold markup that is resolved before it is seen.
PRINTED_FIELDS = ("headline", "description", "call_to_action")

LANDING_TEXT_MAX = 50_000


class Audience(Frozen):
    """Whom the advert is shown to; an age left out is not known."""

    min_age: int | None = Field(default=None, ge=0, le=120)
    max_age: int | None = Field(default=None, ge=0, le=120)
    interests: tuple[str, ...] = ()


class Creative(Frozen):
    """An advert. Only the id is required to read one: what else is missing is a finding, not an unreadable file."""

    id: str = Field(min_length=1, max_length=128)
    advertiser: str = ""
    headline: str = Field(default="", max_length=1_000)
    description: str = Field(default="", max_length=5_000)
    call_to_action: str = Field(default="", max_length=200)
    display_url: str = Field(default="", max_length=2_000)
    landing_url: str = Field(default="", max_length=2_000)
    landing_text: str = Field(default="", max_length=LANDING_TEXT_MAX)
    language: str = Field(default="", max_length=35, description="a BCP 47 tag such as en or en-GB")
    audience: Audience = Audience()


def creative_hash(creative: Creative) -> str:
    """SHA-256 (hex) of every field: whatever is edited, the hash is another."""
    return fingerprint(creative)
