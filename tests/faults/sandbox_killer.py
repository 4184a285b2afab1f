"""Kills a process that replays stamped calls on a world, starts it again, and compares the end with an unbroken replay.

Run as `python sandbox_killer.py FOLDER KILLS` in a process of its own: it imports and compiles once and forks. Prints
what it saw as JSON.
"""

import json
import os
import random
import signal
import sys
import time
import traceback
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from gaelp.sandbox.canonical_dump import dump_sha256
from gaelp.sandbox.serving import OverdeliveryLimits, ServedCampaign, ServedGroup
from gaelp.sandbox.spec import load_sandbox_spec
from gaelp.sandbox.world import open_world
from gaelp.sandbox.world_call import Resource

CALLS_PER_KILL = 60
DEFAULT = load_sandbox_spec()
SPEC = DEFAULT.model_copy(
    update={
        "searches": DEFAULT.searches.model_copy(update={"per_hour": 300.0}),
        "users": DEFAULT.users.model_copy(update={"per_product": 300}),
    }
)
CAMPAIGN = ServedCampaign(
    id=1,
    account=SPEC.customer_ids[0],
    product="shop.example/shoes",
    enabled=True,
    groups=tuple(ServedGroup(10 + topic, (topic,), 3_000_000) for topic in range(8)),
    overdelivery=OverdeliveryLimits(200, "month", 3040),
    daily_micros=100_000_000,
)


def apply(call, number):
    """Call `number` of the sequence: a resource, a count, now and then a change of serving, now or later."""
    call.put(Resource("acc", "done", 1, "", str(number + 1).encode()))
    call.put(Resource("acc", "kind", call.next_id(), f"name {number}", b"x" * (number % 50)))
    call.count_operations("acc", 1)
    if number % 3 == 0:
        changed = replace(CAMPAIGN, id=1 + number % 2, groups=CAMPAIGN.groups[number % 7 :], enabled=number % 5 > 0)
        call.serve(changed, at=None if number % 2 else call.now + timedelta(minutes=200))


def replay(folder, calls, ready=None):
    """Continue the sequence behind the last call that is stored; `ready` is written to once the world is open."""
    world = open_world(folder, SPEC)
    if ready is not None:
        os.write(ready, b"r")
    with world.call() as call:
        done = call.resource("acc", "done", 1)
    for number in range(int(done.body) if done else 0, calls):
        with world.call(SPEC.start + timedelta(minutes=37 * number)) as call:
            apply(call, number)
        if number % 10 == 0:
            world.advance_ticks(11)
    world.advance(SPEC.start + timedelta(minutes=37 * calls, days=2))
    return world


def forked(folder, calls, ready):
    child = os.fork()
    if child:
        return child
    try:
        replay(folder, calls, ready).close()
        os._exit(0)
    except BaseException:  # noqa: BLE001 - a child must not continue as its parent
        traceback.print_exc()
        os._exit(1)


def stored(folder):
    """The number of events, and whether one is there twice."""
    world = open_world(folder)
    with world.at_rest() as (connection, _):
        clicks, different = connection.exec_driver_sql("SELECT count(*), count(DISTINCT id) FROM click").one()
    dump = dump_sha256(world)
    world.close()
    return {"clicks": clicks, "different": different, "dump": dump}


def killed_at_random(folder, calls, rng):
    """Start, and kill while the world is being opened (one time in four) or while calls are made; whether it was."""
    awaited, ready = os.pipe()
    child = forked(folder, calls, ready)
    if rng.random() < 0.75:
        os.read(awaited, 1)
    time.sleep(rng.uniform(0, 0.12))
    os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(awaited)
    os.close(ready)
    if code == 1:
        raise AssertionError("the world could not be opened again or did not continue")
    return code == -signal.SIGKILL


def main(folder, kills):
    rng, calls = random.Random(11), kills * CALLS_PER_KILL  # noqa: S311 - no secret
    replay(folder / "straight", calls).close()
    killed = 0
    while killed < kills and killed_at_random(folder / "killed", calls, rng):
        killed += 1
    replay(folder / "killed", calls).close()
    return {"killed": killed, "straight": stored(folder / "straight"), "resumed": stored(folder / "killed")}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]))))
