"""Turn whatever a command raises into one message without secrets, and its exit code."""

import errno
import os
import shutil
import traceback
from pathlib import Path

from gaelp.cli.interruption import STOPPED, stop_message, stopped_by_hand
from gaelp.cli.output import say, say_error, say_unchanged, say_waiting
from gaelp.config import known_secrets
from gaelp.config.home import existing_part
from gaelp.errors import GaelpError, WaitingForPerson
from gaelp.observability import mask_text, register_secrets

__all__ = ["report_failure"]

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def report_failure(error: Exception, *, debug: bool) -> int:
    """Print why the command did not finish, with the traceback if asked for, and return the exit code."""
    register_secrets(known_secrets())
    if debug:
        say_unchanged(mask_text("".join(traceback.format_exception(error))))
    if stopped_by_hand(error):
        say(stop_message())
        return STOPPED
    report = say_waiting if isinstance(error, WaitingForPerson) else say_error
    report(mask_text(_message(error, debug=debug)))
    return error.exit_code if isinstance(error, GaelpError) else 1


def _message(error: Exception, *, debug: bool) -> str:
    if isinstance(error, GaelpError):
        return str(error)
    look = "" if debug else " Run it again with --debug to see where"
    if isinstance(error, OSError):
        return _describe_os_error(error) + (look and f"{look}.")
    if isinstance(error, MemoryError):
        return f"this machine has too little memory for that ({error or 'no size was given'}): ask for less at a time."
    return f"unexpected {type(error).__name__}: {error}." + (look and f"{look}, and report it: this is a defect.")


def _describe_os_error(error: OSError) -> str:
    """The operating system's reason, the path, and the free space there."""
    reason = error.strerror or str(error) or type(error).__name__
    if not isinstance(error.filename, str | os.PathLike):
        return f"the machine refused to read or write a file without a name, such as standard output: {reason}."
    place = existing_part(Path(error.filename))
    room = f"{shutil.disk_usage(place).free / 1e9:.1f} GB free at {place}"
    way_out = "make room there, or name another place" if error.errno in _NO_SPACE else "check the path and its rights"
    return f"{error.filename}: {reason} ({room}): {way_out}."
