"""A call to an ad platform: whatever comes back, or does not, is one of three outcomes, and holds no secrets."""

import threading
from collections.abc import Callable

from gaelp.observability.redact import mask, mask_text
from gaelp.platforms.platform import Done, Outcome, Rejected, Unknown

__all__ = ["attempt", "ends_the_program", "in_words", "shown", "understood"]

_SHOWN_CHARACTERS = 500


def attempt(call: Callable[[], object]) -> Outcome:
    """The platform's answer; whatever it raises leaves the outcome unknown."""
    try:
        return understood(call())
    except BaseException as error:  # an error on the way says nothing about what has arrived
        if ends_the_program(error):
            raise
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
    return Unknown(f"the answer is no outcome, it is {shown(answer)}"[:_SHOWN_CHARACTERS])


def ends_the_program(error: BaseException) -> bool:
    """Whether it is Ctrl-C or an exit, which reach the main thread alone.

    All else that comes out of a call, a cancelled task among it, is the platform's and ends nothing here.
    """
    return isinstance(error, KeyboardInterrupt | SystemExit) and threading.current_thread() is threading.main_thread()


def in_words(error: BaseException) -> str:
    """What was raised, which can always be said; a platform may put an address or a key into it."""
    return _always(error, lambda: mask_text(f"{type(error).__name__}: {error}"))


def shown(value: object) -> str:
    """What a platform gave, without secrets; some things cannot be printed, and that can be said too."""
    return _always(value, lambda: repr(mask(value)))


def _always(value: object, say: Callable[[], str]) -> str:
    """The words for a value, or for its type where making them fails."""
    try:
        return say()
    except BaseException as error:
        if ends_the_program(error):
            raise
        return f"[a {type(value).__name__} that cannot be printed]"
