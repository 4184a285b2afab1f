"""The group at the top of the command line: `--debug` anywhere, and no exception leaves it."""

import sys
from collections.abc import Sequence
from typing import Any

from typer.core import TyperGroup

from gaelp.cli.interruption import STOPPED, forget_watched, stop_message, stopped_by_hand
from gaelp.cli.output import say

__all__ = ["ReportingGroup"]

DEBUG = "--debug"


class ReportingGroup(TyperGroup):
    """The group at the top: it takes --debug wherever it stands, and no exception leaves it."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        """Run the command line; what goes wrong is told on stderr and becomes the exit code."""
        given, debug = _without_debug(sys.argv[1:] if args is None else args)
        forget_watched()
        try:
            return super().main(given, *rest, **extra)
        except SystemExit as leaving:
            if leaving.code == STOPPED and stopped_by_hand(leaving):
                say(stop_message())
            raise
        except Exception as error:  # noqa: BLE001 - the one place where every failure has to become a message
            from gaelp.cli.failures import report_failure  # noqa: PLC0415 - with settings and logs, which no help needs

            sys.exit(report_failure(error, debug=debug))


def _without_debug(args: Sequence[str]) -> tuple[list[str], bool]:
    """The arguments without --debug, and whether it was there; what follows a lone -- is left alone."""
    end = list(args).index("--") if "--" in args else len(args)
    kept = [arg for arg in args[:end] if arg != DEBUG]
    return [*kept, *args[end:]], len(kept) < end
