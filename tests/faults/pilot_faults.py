"""A signed pilot on the sandbox whose loop runs in a process of its own, and an API of which half the calls fail."""

import json
import os
import subprocess
import sys
from pathlib import Path

from gaelp.sandbox.faults import Fault
from tests.pilot.pilot_account import next_midnight, open_account, plan_of, settings_of

ROOT = Path(__file__).resolve().parents[2]
CALLS = 600


def prepare(folder, handle, **plan):
    """The folder of a pilot that is signed and has not begun."""
    planned = plan_of(next_midnight(handle).date(), **plan)
    settings = settings_of(folder / "home", handle)
    mandate = open_account(settings, planned)
    (folder / "plan.json").write_text(planned.model_dump_json())
    (folder / "mandate.json").write_text(json.dumps(mandate))
    return planned, settings


def own_environment(**more):
    """The environment of a process that runs this checkout."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **more}


def start(folder):
    """The loop, in a process of its own; `log_of` has what it printed."""
    program = [sys.executable, "-m", "tests.pilot.pilot_process", str(folder)]
    with (folder / "pilot.log").open("ab") as log:
        return subprocess.Popen(program, cwd=ROOT, stdout=log, stderr=log, env=own_environment())


def log_of(folder):
    """The end of what the loop printed."""
    return (folder / "pilot.log").read_text()[-3000:]


def failing_half(rng, calls=CALLS):
    """Faults so that each of the next calls fails with a chance of one half, in one of several ways."""
    failing = [call for call in range(calls) if rng.random() < 0.5]
    kinds = (
        {"effect": "error", "status": "UNAVAILABLE"},
        {"effect": "error", "status": "INTERNAL"},
        {"effect": "error", "status": "UNAVAILABLE", "when": "after"},
        {"effect": "delay", "seconds": 0.2},
    )
    # A call that fails is not counted by the faults behind it in the list.
    return [Fault(front="google", skip=call - place, **rng.choice(kinds)) for place, call in enumerate(failing)]
