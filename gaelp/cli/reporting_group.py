"""The top group of the command line: it accepts `--debug` anywhere and reports every exception."""

import errno
import sys
from collections.abc import Sequence
from typing import Any

from typer import Abort, BadParameter
from typer.core import TyperGroup

from gaelp.cli.interruption import (
    STOPPED,
    forget_watched,
    leave_without_reader,
    reader_is_gone,
    stop_message,
    stopped_by_hand,
)
from gaelp.cli.output import say
from gaelp.errors import BadInput

__all__ = ["ReportingGroup"]

DEBUG = "--debug"


class ReportingGroup(TyperGroup):
    """Accepts --debug anywhere among the arguments, and reports every exception with a message and an exit code."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        """Run the command line; a failure is reported on stderr and becomes the exit code."""
        given, debug = _without_debug(sys.argv[1:] if args is None else args)
        forget_watched()
        try:
            return super().main(given, *rest, **extra)
        except SystemExit as leaving:
            if reader_is_gone(leaving):
                leave_without_reader()
            if leaving.code == STOPPED and stopped_by_hand(leaving):
                say(stop_message())
            raise
        except Exception as error:  # noqa: BLE001 - the one place where every failure has to become a message
            if reader_is_gone(error):
                leave_without_reader()
            from gaelp.cli.failures import report_failure  # noqa: PLC0415 - with settings and logs, which no help needs

            sys.exit(report_failure(error, debug=debug))

    def invoke(self, ctx: Any) -> Any:
        """Run the command; Ctrl-C at a prompt, which Click reports as "Aborted.", stays an interruption."""
        try:
            return super().invoke(ctx)
        except BadParameter as problem:
            problem.message = _option_problem(problem)
            raise
        except BrokenPipeError as problem:
            if reader_is_gone(problem):
                raise
            # Typer would take it for a closed stdout and end without a word.
            raise ConnectionAbortedError(errno.ECONNABORTED, str(problem.strerror), problem.filename) from problem
        except Abort as given_up:
            if stopped_by_hand(given_up):
                raise KeyboardInterrupt from given_up
            raise BadInput(
                "the input ended before the question was answered: answer it in a terminal, or give the answer as an"
                " option (--help lists them)"
            ) from given_up


def _option_problem(problem: BadParameter) -> str:
    """What is wrong with an option's value, in our words where Typer has those of its validation library."""
    details = getattr(problem.__cause__, "errors", None)
    if details is None:
        return str(problem.message)
    first = details()[0]
    limits = first.get("ctx", {})
    allowed = {
        "greater_than_equal": f"{limits.get('ge')} or more",
        "less_than_equal": f"at most {limits.get('le')}",
        "int_parsing": "a whole number",
        "float_parsing": "a number",
    }.get(first["type"], str(first["msg"]).removeprefix("Input should be "))
    return f"saw {first['input']}; allowed: {allowed}"


def _without_debug(args: Sequence[str]) -> tuple[list[str], bool]:
    """The arguments without --debug, and whether it was among them; arguments after a lone -- stay as they are."""
    end = list(args).index("--") if "--" in args else len(args)
    kept = [arg for arg in args[:end] if arg != DEBUG]
    return [*kept, *args[end:]], len(kept) < end
