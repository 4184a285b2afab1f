"""The question at a gate as a person at a terminal meets it: a real pseudo-terminal, no server."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

import pytest

from flows.prompt import ask_in_terminal
from gaelp.clock import SystemClock
from gaelp.config import load_settings
from gaelp.errors import WaitingForPerson
from gaelp.gates.decisions import GateDecision, GateQuestion
from gaelp.phases.gate_approval import gate_approvals

# Asks the one open question of the home on its stdin and stderr, with a progress bar around it.
ASK = """
import sys
from gaelp.cli.training_progress import shown_progress
from gaelp.config import load_settings
from gaelp.errors import WaitingForPerson
from gaelp.phases.gate_approval import gate_approvals
from gaelp.phases.stage_report import StageReport
from flows.prompt import ask_in_terminal

store = gate_approvals(load_settings(overrides=sys.argv[1:], environ={}).settings).decisions()
[question] = store.open_questions()
with shown_progress() as screen:
    screen.report(StageReport("training", 3, 15, "round"))
    with screen.paused():
        try:
            decision = ask_in_terminal(question, store)
            sys.stderr.write(f"ENDED {decision.choice} {decision.who} {decision.why}\\n")
        except WaitingForPerson as waiting:
            sys.stderr.write(f"{waiting}\\nENDED waiting\\n")
"""


class Terminal:
    """A process whose stdin and stderr are a terminal of a given width; its stdout is a pipe."""

    def __init__(self, columns, *overrides):
        self._master, ours = pty.openpty()
        os.environ.pop("COLUMNS", None)
        import fcntl, struct, termios  # noqa: E401

        fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        command = [sys.executable, "-c", ASK, *overrides]
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("GAELP_", "COLUMNS"))}
        self.process = subprocess.Popen(
            command,
            stdin=ours,
            stderr=ours,
            stdout=subprocess.DEVNULL,
            env=environ | {"TERM": "xterm"},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(ours)
        self.raw = ""
