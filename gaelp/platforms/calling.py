"""A call to an ad platform: whatever comes back, or does not, is one of three outcomes, and holds no secrets."""

from collections.abc import Callable

from gaelp.checks.raised import ends_the_program, in_words, shown
from gaelp.observability.redact import mask
from gaelp.platforms.platform import CallResult, Done, Rejected, Unknown

__all__ = ["attempt", "understood"]

_SHOWN_CHARACTERS = 500


def attempt(call: Callable[[], object]) -> CallResult:
    """The platform's answer; whatever it raises leaves the outcome unknown."""
    try:
        return understood(call())
    except BaseException as error:  # an error on the way says nothing about what has arrived
        if ends_the_program(error):
            raise
        return Unknown(in_words(error))


def understood(answer: object) -> CallResult:
    """An answer as one of the three outcomes: one that makes no sense says nothing about what was done."""
    match answer:
        case Done():
            return answer
        case Rejected(reason):
            return Rejected(str(mask(reason)))
        case Unknown(detail):
            return Unknown(str(mask(detail)))
    return Unknown(f"the answer is no outcome, it is {shown(answer)}"[:_SHOWN_CHARACTERS])
