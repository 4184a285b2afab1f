"""Kills a process at each step of `guarded`, retries blindly in others, and prints as JSON what became of the order.

Run as `python guarded_killer.py FOLDER [steps|points]` in a process of its own: it imports everything once and forks.
No thread runs and no connection is open when it forks. `points` are those of the ledger's transactions on the way.
"""

import importlib.util
import json
import os
import signal
import sys
import traceback
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from gaelp.budget.ledger import State, overview, verify
from gaelp.clock import ManualClock
from gaelp.platforms import find_order, guarded, reconcile
from gaelp.platforms.unknown_outcomes import transfer_of

_path = Path(__file__).resolve().parents[1] / "platforms" / "platform_double.py"
_spec = importlib.util.spec_from_file_location("platform_double", _path)
double = sys.modules["platform_double"] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(double)

STEPS = (
    "before switch",
    "before order",
    "before approval",
    "before content",
    "before reservation",
    "recorded",
    "reserved",
    "before send",
    "call begins",
    "call took effect",
    "sent",
    "before read back",
)


def die():
    os.kill(os.getpid(), signal.SIGKILL)


class Deadly(double.PlatformDouble):
    """Ends the process on its way into the call, or out of it."""

    at = ""

    def _call(self, what, campaign, key, values):
        if self.at == "call begins":
            self.calls.append((what, campaign, key))
            self._store()
            die()
        outcome = super()._call(what, campaign, key, values)
        if self.at == "call took effect":
            die()
        return outcome


def opened(folder, *, later=timedelta(0), at=""):
    clock = ManualClock(double.NOW + later)
    platform = Deadly(clock, path=folder / "platform")
    platform.at = at
    seen = []

    def at_point(point):
        seen.append(point)
        if at == f"point {len(seen)}":
            die()

    door = double.open_door(folder, clock=clock, platform=platform, at_point=at_point)
    door.guard = replace(door.guard, at_step=lambda step: die() if step == at else None)
    return door


def ended(work, *args, **options):
    """Do it in a child; how that ended: 0, 1, or minus the signal."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        work(*args, **options)
        os._exit(0)
    except BaseException:  # noqa: BLE001 - a child must not go on as its parent
        traceback.print_exc()
        os._exit(1)


def attempt(folder, **options):
    guarded(opened(folder, **options).guard, double.order())


def one_point(folder, step):
    """Kill at one step, retry twice, reconcile much later: what is left."""
    folder.mkdir()
    door = double.build_door(folder)
    double.approve(door, double.order())
    door.ledger.close()
    killed = ended(attempt, folder, at=step)
    retried = [ended(attempt, folder) for _ in range(2)]
    door = opened(folder, later=timedelta(hours=2))
    before = transfer_of(door.guard, "b1")
    held_while_unknown = find_order(door.ledger, "b1").outcome != "" or before.state is State.IN_FLIGHT
    failures = reconcile(door.guard).failures
    reserved = {cap.id: cap.reserved_micros for cap in overview(door.ledger).caps}
    told = {
        "step": step,
        "killed": killed == -signal.SIGKILL,
        "retried": retried,
        "sent": len(door.platform.sent("set_budget")),
        "effects": len(door.platform.campaigns),
        "outcome": find_order(door.ledger, "b1").outcome,
        "held_while_unknown": held_while_unknown,
        "reserved_micros": reserved["total:all"],
        "balances": verify(door.ledger).balances,
        "failures": failures,
    }
    door.ledger.close()
    return told


def main(folder, which):
    told = []
    for number, step in enumerate(STEPS if which == "steps" else (f"point {n}" for n in range(1, 200))):
        told.append(one_point(folder / str(number), step))
        if not told[-1]["killed"]:
            break  # there are no more points on the way
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
