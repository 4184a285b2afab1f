"""A call to an ad platform: whatever comes back, or does not, is one of three outcomes, and holds no secrets."""

from collections.abc import Callable

from gaelp.observability.redact import mask, mask_text
from gaelp.platforms.platform import Done, Outcome, Rejected, Unknown

__all__ = ["attempt", "in_words", "understood"]

_SHOWN_CHARACTERS = 500


def attempt(call: Callable[[], object]) -> Outcome:
    """The platform's answer; whatever it raises leaves the outcome unknown."""
    try:
        return understood(call())
    except Exception as error:  # noqa: BLE001 - an error on the way says nothing about what has arrived
        return Unknown(in_words(error))


def understood(answer: object) -> Outcome:
    """An answer as one of the three outcomes: one that makes no sense says nothing about what was done."""
    match answer:
        case Done():
            return answer
        case Rejected(reason):
            return Rejected(str(mask(reason)))
        case Unknown(detail):
            return Unknown(str(mask(detail)))
    return Unknown(f"the answer is no outcome, it is {mask(answer)!r}"[:_SHOWN_CHARACTERS])


def in_words(error: Exception) -> str:
    """What was raised; a platform may put an address or a key into it."""
    return mask_text(f"{type(error).__name__}: {error}")
