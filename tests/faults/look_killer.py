"""Kills processes that take or use a look at a sealed window, and races them for the last one; prints JSON.

Run as `python look_killer.py EXPERIMENT PLACE_OR_HOME`. It imports everything once and forks; no connection is open
when it forks.
"""

import json
import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path

from gaelp.clock import ManualClock
from gaelp.config import load_settings
from gaelp.errors import Refused
from gaelp.history import look_book, sealed_window
from gaelp.history.look_book import LookBook, TicketRequest
from gaelp.history.sealed_window import data_hash, issue_ticket, looks_left, open_window
from gaelp.history.splits import HistoryRows, fixed_splits

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
WINDOW = "a" * 64
RACERS = 6


def request(run):
    return TicketRequest(run_id=run, attempt=1, model_hash="1" * 64, gate="history-to-pilot", gate_file_hash="c" * 64)


def forked(work):
    """Run `work` in a child; its exit status."""
    child = os.fork()
    if child == 0:
        end = 9
        try:
            work()
            end = 0
        except Refused:
            end = 3
        finally:
            os._exit(end)
    return child


def die(*_args, **_kwargs):
    os.kill(os.getpid(), signal.SIGKILL)


def race(place):
    """Racers of several runs ask at once for the looks at one window; how many got one, and what is stored."""
    place = place if "://" in place else Path(place)
    begin, gate = os.pipe()

    def racer(number):
        os.close(gate)
        os.read(begin, 1)  # until the parent closes its end
        LookBook(place).take(WINDOW, request(f"run-{number}"), as_of=NOW, at=NOW, by="me", way_out="")

    LookBook(place).take(WINDOW, request("first"), as_of=NOW, at=NOW, by="me", way_out="")
    children = [forked(lambda number=number: racer(number)) for number in range(RACERS)]
    os.close(begin)
    os.close(gate)
    ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    return {
        "granted": ends.count(0),
        "refused": ends.count(3),
        "looks": [t.look for t in LookBook(place).looks(WINDOW)],
    }


def kills(home):
    """Kill an attempt at each step; looks left after it, and whether its retry reads what an unharmed one reads."""
    settings = load_settings(None, environ={}, overrides=[f"home={home}"]).settings
    splits, clock = fixed_splits(settings, HistoryRows()), ManualClock(NOW)

    def attempt(run):
        ticket = issue_ticket(settings, splits, request(run), clock)
        return open_window(settings, splits, ticket, clock)

    def is_killed_at(module, name):
        def work():
            setattr(module, name, die)
            attempt("run-1")

        return os.waitstatus_to_exitcode(os.waitpid(forked(work), 0)[1]) == -signal.SIGKILL

    steps = {
        "before the look": (sealed_window, "_read"),
        "look written, not committed": (look_book, "append"),
        "look committed, nothing read": (sys.modules[__name__], "open_window"),
        "read, not recorded": (sealed_window, "data_hash"),
    }
    left, killed = {}, []
    for step, (module, name) in steps.items():
        killed.append(is_killed_at(module, name))
        left[step] = looks_left(settings, splits)
    again = data_hash(attempt("run-1").logged)
    return {
        "killed": all(killed),
        "left": left,
        "left after the retry": looks_left(settings, splits),
        "same data": again == data_hash(attempt("run-1").logged) == data_hash(attempt("run-2").logged),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps({"race": race, "kills": kills}[sys.argv[1]](sys.argv[2])))
