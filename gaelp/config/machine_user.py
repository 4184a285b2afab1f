"""Who is at the keyboard, as the operating system knows it."""

import os
import pwd

__all__ = ["machine_user"]


def machine_user() -> str:
    """The login name of this process's user; the number where the system has no name for it."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user {os.getuid()}"
