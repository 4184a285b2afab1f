"""Turn whatever a command raises into one message without secrets and the exit code that belongs to it."""

import sys
import traceback
from collections.abc import Sequence
from typing import Any

from typer.core import TyperGroup

from gaelp.cli.output import say, say_error
from gaelp.config import known_secrets
from gaelp.errors import GaelpError

__all__ = ["FailureReporting", "report_failure"]

DEBUG = "--debug"


class FailureReporting(TyperGroup):
    """The group at the top: it takes --debug wherever it stands, and no exception leaves it."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        """Run the command line; what goes wrong is told on stderr and becomes the exit code."""
        given, debug = _without_debug(sys.argv[1:] if args is None else args)
        try:
            return super().main(given, *rest, **extra)
        except Exception as error:  # noqa: BLE001 - the one place where every failure has to become a message
            sys.exit(report_failure(error, debug=debug))


def report_failure(error: Exception, *, debug: bool) -> int:
    """Print what went wrong, with the traceback if asked for, and return the exit code."""
    # Imported here because structlog takes a sixth of a second that a command which succeeds need not spend.
    from gaelp.observability import mask_text, register_secrets  # noqa: PLC0415

    register_secrets(known_secrets())
    if debug:
        say(mask_text("".join(traceback.format_exception(error))))
    if isinstance(error, GaelpError):
        say_error(mask_text(str(error)))
        return error.exit_code
    way_out = "" if debug else " Run it again with --debug to see where, and report it: this is a defect."
    say_error(mask_text(f"unexpected {type(error).__name__}: {error}.{way_out}"))
    return 1


def _without_debug(args: Sequence[str]) -> tuple[list[str], bool]:
    """The arguments without --debug, and whether it was there; what follows a lone -- is left alone."""
    end = list(args).index("--") if "--" in args else len(args)
    kept = [arg for arg in args[:end] if arg != DEBUG]
    return [*kept, *args[end:]], len(kept) < end
