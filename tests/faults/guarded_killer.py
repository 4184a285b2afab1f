"""Kills a process at each step of `guarded`, retries blindly in others, and prints as JSON what became of the order.

Run as `python guarded_killer.py FOLDER steps|points [URL]` in a process of its own: it imports everything once and
forks. No thread runs and no connection is open when it forks. `points` are those of the ledger's transactions on the
way. With a URL, ledger and approvals are on that PostgreSQL, in a schema for each step.
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

from gaelp.budget.ledger import TransferState, overview, verify
from gaelp.clock import ManualClock
from gaelp.platforms import find_order, guarded, reconcile
from gaelp.platforms.unknown_outcomes import transfer_of


def _loaded(name, folder):
    path = Path(__file__).resolve().parents[1] / folder / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


double, databases = _loaded("platform_double", "platforms"), _loaded("ledger_databases", "budget")

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


def opened(folder, place, *, later=timedelta(0), at=""):
    clock = ManualClock(double.NOW + later)
    platform = Deadly(clock, path=folder / "platform")
    platform.at = at
    actual = []

    def at_point(point):
        actual.append(point)
        if at == f"point {len(actual)}":
            die()

    door = double.open_door(folder, place=place, clock=clock, platform=platform, at_point=at_point)
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
    except BaseException:  # noqa: BLE001 - a child must not continue as its parent
        traceback.print_exc()
        os._exit(1)


def attempt(folder, place, **options):
    guarded(opened(folder, place, **options).guard, double.order())


def one_point(folder, place, step):
    """Kill at one step, retry twice, reconcile much later: what is left."""
    folder.mkdir()
    door = double.build_door(folder, place=place)
    double.approve(door, double.order())
    door.ledger.close()
    killed = ended(attempt, folder, place, at=step)
    retried = [ended(attempt, folder, place) for _ in range(2)]
    door = opened(folder, place, later=timedelta(hours=2))
    before = transfer_of(door.guard, "b1")
    held_while_unknown = find_order(door.ledger, "b1").outcome != "" or before.state is TransferState.IN_FLIGHT
    failures = reconcile(door.guard).failures
    reserved = {cap.id: cap.reserved_micros for cap in overview(door.ledger).caps}
    text = {
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
    return text


def main(folder, which, url=None):
    text = []
    for number, step in enumerate(STEPS if which == "steps" else (f"point {n}" for n in range(1, 200))):
        place = databases.fresh_schema(url) if url else None
        text.append(one_point(folder / str(number), place, step))
        if not text[-1]["killed"]:
            break  # there are no more points on the way
    sys.stdout.write(json.dumps(text))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
