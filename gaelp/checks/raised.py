"""What was raised, in words without secrets, and whether it may end the program."""

import threading
from collections.abc import Callable

from gaelp.observability.redact import mask, mask_text

__all__ = ["ends_the_program", "in_words", "shown"]


def ends_the_program(error: BaseException) -> bool:
    """Whether it is Ctrl-C or an exit, which reach the main thread alone.

    Everything else that comes out of a call, a cancelled task among it, belongs to the call and ends nothing here.
    """
    return isinstance(error, KeyboardInterrupt | SystemExit) and threading.current_thread() is threading.main_thread()


def in_words(error: BaseException) -> str:
    """What was raised; it can always be printed, and an address or a key in it is masked."""
    return _always(error, lambda: mask_text(f"{type(error).__name__}: {error}"))


def shown(value: object) -> str:
    """A value without secrets; one that cannot be printed is named by its type."""
    return _always(value, lambda: repr(mask(value)))


def _always(value: object, text: Callable[[], str]) -> str:
    try:
        return text()
    except BaseException as error:
        if ends_the_program(error):
            raise
        return f"[a {type(value).__name__} that cannot be printed]"
