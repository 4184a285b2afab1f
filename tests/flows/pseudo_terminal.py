"""A process in a terminal of a given width: what it shows can be read, and keys can be pressed."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

ENTER_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A process whose stdin, stdout and stderr are a terminal of its own, so that Ctrl-C reaches it."""

    def __init__(self, command, columns=80, **environ):
        self._master, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GAELP_", "PREFECT_"))}
        kept.pop("COLUMNS", None)
        folder = environ.pop("cwd", None)
        self.process = subprocess.Popen(
            [sys.executable, "-c", ENTER_TERMINAL, *command],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=folder,
            env=kept | {"TERM": "xterm"} | environ,
            start_new_session=True,
        )
        os.close(theirs)
        self._shown, self._read_until = "", 0

    def type(self, text):
        """Type a line and press Enter."""
        self.press(f"{text}\r")

    def press(self, keys):
        os.write(self._master, keys.encode())

    def expect(self, text, seconds=30):
        """Wait until the text appears after what was expected before."""
        begun = time.monotonic()
        while (at := self.text().find(text, self._read_until)) < 0:
            assert time.monotonic() - begun < seconds, f"no {text!r} in\n{self.text()[-3000:]}"
            self.wait(0.2)
        self._read_until = at + len(text)

    def wait(self, seconds):
        """Read what the process writes for some seconds."""
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0:
            if select.select([self._master], [], [], left)[0]:
                try:
                    self._shown += os.read(self._master, 65536).decode(errors="replace")
                except OSError:  # the process is gone
                    time.sleep(max(0.0, ends - time.monotonic()))

    def text(self):
        """Everything that was written, without the control sequences of the bar."""
        return CONTROL.sub("", self._shown).replace("\r\n", "\n")

    def lines(self):
        """The lines that are visible: a carriage return begins a line again."""
        return [line.rpartition("\r")[2] for line in self.text().split("\n")]

    def ended(self, seconds=60):
        """The exit code, once the process has ended; what it writes is read meanwhile."""
        begun = time.monotonic()
        while self.process.poll() is None:
            assert time.monotonic() - begun < seconds, f"it does not end\n{self.text()[-3000:]}"
            self.wait(0.2)
        self.wait(0.2)
        return self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._master)
