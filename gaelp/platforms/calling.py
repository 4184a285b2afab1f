"""Call an ad platform: any answer, or none, becomes one of three outcomes without secrets."""

from collections.abc import Callable

from gaelp.checks.raised import ends_the_program, in_words, shown
from gaelp.observability.redact import mask
from gaelp.platforms.platform import CallResult, Done, Rejected, Unknown

__all__ = ["as_outcome", "attempt"]

_SHOWN_CHARACTERS = 500


def attempt(call: Callable[[], object]) -> CallResult:
    """Make a call; any exception leaves the outcome unknown."""
    try:
        return as_outcome(call())
    except BaseException as error:  # an error says nothing about whether the call arrived
        if ends_the_program(error):
            raise
        return Unknown(in_words(error))


def as_outcome(answer: object) -> CallResult:
    """Convert an answer to an outcome; an invalid answer is Unknown."""
    match answer:
        case Done():
            return answer
        case Rejected(reason):
            return Rejected(str(mask(reason)))
        case Unknown(detail):
            return Unknown(str(mask(detail)))
    return Unknown(f"the answer is not an outcome but {shown(answer)}"[:_SHOWN_CHARACTERS])
