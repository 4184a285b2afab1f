"""Kills processes that work on a ledger, races them, stops them; checks the books and prints what it saw as JSON.

Run as `python ledger_killer.py EXPERIMENT PLACE FOLDER KEY=VALUE...` in a process of its own: it imports everything
once and forks, so that a thousand workers take seconds. No thread runs and no connection is open when it forks.
"""

import json
import os
import random
import signal
import sqlite3
import sys
import time
import traceback
from pathlib import Path

from gaelp.budget.kill_switch import KillSwitch, fence_at, fence_of
from gaelp.budget.latch import Latch
from gaelp.budget.ledger import (
    AdAccount,
    Cap,
    CapKind,
    CapReached,
    Reservation,
    SpendingStopped,
    adjust,
    create_ledger,
    expire,
    find_transfer,
    mark_in_flight,
    open_account,
    open_ledger,
    overview,
    post,
    reserve,
    set_limit,
    verify,
    void,
)
from gaelp.budget.ledger.connection import STORE
from gaelp.database.engine import take_lock
from gaelp.errors import GaelpError
from gaelp.money import Money

CAPS = (
    Cap(CapKind.CAMPAIGN, "spring"),
    Cap(CapKind.ACCOUNT_DAY, "acc"),
    Cap(CapKind.ACCOUNT, "acc"),
    Cap(CapKind.TOTAL, "all"),
)


def usd(micros):
    return Money(micros, "USD")


def ask(key, micros=1000):
    return Reservation(key, "acc", usd(micros), CAPS)


def fill(ledger, limit):
    open_account(ledger, AdAccount("acc", "USD", "UTC"))
    for cap in CAPS:
        set_limit(ledger, cap, usd(limit), account_id="" if cap.kind is CapKind.TOTAL else "acc")


def forked(work, *args):
    """Run in a child that never comes back here; its pid."""
    child = os.fork()
    if child:
        return child
    try:
        work(*args)
        os._exit(0)
    except BaseException:  # noqa: BLE001 - a child must not continue as its parent
        traceback.print_exc()
        os._exit(1)


def ended(pid):
    """How a child ended: 0, 1, or minus the signal."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def balanced(ledger):
    checked = verify(ledger)
    if not checked.balances:
        raise AssertionError(checked.findings[:5])
    return checked


def totals(ledger):
    return {cap.id: (cap.reserved_micros, cap.posted_micros) for cap in overview(ledger).caps}


# Killed at every point


def whole_life(ledger, key):
    """One transfer in all its steps, each of which a blind retry makes again."""
    reserve(ledger, ask(key))
    mark_in_flight(ledger, key)
    post(ledger, key, usd(700))
    adjust(ledger, f"{key}+", transfer_key=key, difference=usd(-200), reason="revised")
    reserve(ledger, ask(f"{key}/void"))
    void(ledger, f"{key}/void")


def killed_at(place, latch, key, nth):
    actual = 0

    def die(_point):
        nonlocal actual
        actual += 1
        if actual == nth:
            os.kill(os.getpid(), signal.SIGKILL)

    whole_life(open_ledger(place, latch, at_point=die), key)


def points(place, latch):
    """Kill at the first point, the second, and so on; after each, all of it is retried with the same keys."""
    names = []
    ledger = create_ledger(place, latch)
    fill(ledger, 10**12)
    whole_life(open_ledger(place, latch, at_point=names.append), "dry")
    killed = 0
    for nth in range(1, len(names) + 2):
        ledger.close()
        code = ended(forked(killed_at, place, latch, f"k{nth}", nth))
        balanced(ledger)
        whole_life(ledger, f"k{nth}")
        if set(totals(ledger).values()) != {(0, 500 * (nth + 1))}:
            raise AssertionError((nth, names[nth - 1], totals(ledger)))
        killed += code == -signal.SIGKILL
    return {"points": len(names), "killed": killed, "kinds": sorted(set(names)), **counts(ledger)}


def counts(ledger):
    return {"transfers": balanced(ledger).transfers}


# Killed at random


def busy(place, latch, seed, ready):
    ledger, rng = open_ledger(place, latch), random.Random(seed)  # noqa: S311 - no secret
    for n in range(10**6):
        if n == 5:
            os.write(ready, b"r")  # well at work
        key = f"{seed}-{n}"
        try:
            reserve(ledger, ask(key, rng.randint(1, 50)))
        except CapReached:
            expire(ledger)
            time.sleep(0.001)
            continue
        step = rng.random()
        if step < 0.6:
            mark_in_flight(ledger, key)
        if step < 0.4:
            post(ledger, key, usd(rng.randint(0, 2)))
            if step < 0.1:
                adjust(ledger, f"{key}+", transfer_key=key, difference=usd(1), reason="late")
        elif step < 0.9:
            void(ledger, key)


def kills(place, latch, count, workers=4):
    """Kill busy workers at random moments; the books have to balance every time."""
    ledger = create_ledger(place, latch)
    fill(ledger, 50_000)
    done, rng = 0, random.Random(7)  # noqa: S311 - no secret
    while done < count:
        ledger.close()
        awaited, ready = os.pipe()
        children = [forked(busy, place, latch, f"{done}-{worker}", ready) for worker in range(workers)]
        for _ in children:
            os.read(awaited, 1)
        time.sleep(rng.uniform(0.0, 0.15))
        for child in children:
            os.kill(child, signal.SIGKILL)
        done += sum(ended(child) == -signal.SIGKILL for child in children)
        os.close(awaited)
        os.close(ready)
        balanced(ledger)
    states = {total.state: total.transfers for total in overview(ledger).states}
    return {"killed": done, "states": states, **counts(ledger)}


# Racing for one cap


def racer(place, latch, name, gate, answer):
    ledger, granted = open_ledger(place, latch), 0
    os.read(gate, 1)
    for n in range(40):
        try:
            granted += reserve(ledger, ask(f"{name}-{n}", 7)).is_new
        except CapReached:
            continue
    os.write(answer, f"{granted}\n".encode())


def race(places, latch, processes=8):
    """All ask for 7 of a cap of 1000 at the same moment: exactly floor(1000 / 7) may get it."""
    granted = []
    for place in places:
        ledger = create_ledger(place, latch)
        fill(ledger, 1000)
        ledger.close()
        (gate, open_gate), (answers, answer) = os.pipe(), os.pipe()
        children = [forked(racer, place, latch, n, gate, answer) for n in range(processes)]
        time.sleep(0.3)
        os.write(open_gate, b"g" * processes)
        codes = [ended(child) for child in children]
        os.close(answer)
        with os.fdopen(answers) as lines:
            granted.append(sum(int(line) for line in lines))
        os.close(gate)
        os.close(open_gate)
        if any(codes) or totals(ledger)["total:all"] != (granted[-1] * 7, 0):
            raise AssertionError((codes, granted, totals(ledger)))
        balanced(ledger)
        ledger.close()
    return {"granted": granted}


# Stopped under load


def spender(place, latch, name, answer):
    """Reserve until stopped; tell when the last grant was returned."""
    ledger, last, grants = open_ledger(place, latch), 0.0, 0
    while True:
        try:
            reserve(ledger, ask(f"{name}-{grants}", 1))
            last, grants = time.monotonic(), grants + 1
        except SpendingStopped:
            break
    os.write(answer, f"{last} {grants}\n".encode())


def hold(place, seconds, answer):
    """Keep the database locked for a while."""
    if isinstance(place, Path):
        held = sqlite3.connect(place, timeout=60, isolation_level=None)
        held.execute("BEGIN IMMEDIATE")
        os.write(answer, b"held\n")
        time.sleep(seconds)
        held.execute("ROLLBACK")
    else:
        with open_ledger(place, Latch(Path("/"))).database.engine.begin() as connection:
            take_lock(connection, STORE.lock_key, "shared")  # a spender that hangs
            os.write(answer, b"held\n")
            time.sleep(seconds)


def stop_round(place, latch, round_, database, spenders):
    """Stop so many busy spenders once."""
    answers, answer = os.pipe()
    pids = [forked(spender, place, latch, f"{round_}-{n}", answer) for n in range(spenders)]
    time.sleep(0.5 if spenders > 4 else 0.3)
    held = []
    if database == "locked":
        ready, tell = os.pipe()
        held = [forked(hold, place, 1.5, tell)]
        os.read(ready, 5)
        os.close(ready)
        os.close(tell)
    ours = Latch(latch.path.with_name("ANOTHER-MACHINE")) if database == "fence only" else latch
    gone = Path("/nowhere/ledger.db") if isinstance(place, Path) else "postgresql://nobody@127.0.0.1:1/none"
    opened = open_ledger(place, ours) if database != "gone" else None
    switch = KillSwitch(ours, fence=fence_of(opened) if opened else fence_at(lambda: open_ledger(gone, ours)))
    began = time.monotonic()
    report = switch.stop(by="drill", reason="drill")
    seconds = time.monotonic() - began
    if database == "fence only":
        switch.wait(10)  # the latch of this machine says nothing to the spenders of another
    returned = time.monotonic()
    codes = [ended(pid) for pid in pids + held]
    os.close(answer)
    with os.fdopen(answers) as lines:
        text = [line.split() for line in lines]
    if opened:
        deadline = time.monotonic() + 10
        while not fence_of(opened).read():  # a fence that had to wait comes up later
            if time.monotonic() > deadline:
                raise AssertionError("the fence did not come up")
            time.sleep(0.05)
        opened.close()
    if any(codes) or len(text) != spenders:
        raise AssertionError(codes)
    last, grants = max(float(last) for last, _ in text), sum(int(grants) for _, grants in text)
    fence = report.outcome("fence")
    return {"seconds": seconds, "last_grant": last - returned, "grants": grants, "fence": fence}


def stops(place, latch, rounds, database="reachable", spenders=16):
    """Rounds of stop and release; no grant may come back to its caller after the stop came back to its own."""
    ledger = create_ledger(place, latch)
    fill(ledger, 10**12)
    actual = []
    for round_ in range(rounds):
        ledger.close()
        actual.append(stop_round(place, latch, round_, database, spenders))
        KillSwitch(latch, fence=fence_of(ledger)).release(lambda _: None)
        balanced(ledger)
    return {
        "rounds": rounds,
        "grants": sum(each["grants"] for each in actual),
        "slowest_stop_s": max(each["seconds"] for each in actual),
        "last_grant_after_stop_s": max(each["last_grant"] for each in actual),
        "fences": sorted({each["fence"] for each in actual}),
    }


def unknown_outcome(place, latch):
    """Killed after it was sent: the blind retry learns that, and the money stays reserved."""
    ledger = create_ledger(place, latch)
    fill(ledger, 10**6)
    ledger.close()

    def send_and_die():
        mine = open_ledger(place, latch)
        reserve(mine, ask("k"))
        mark_in_flight(mine, "k")
        os.kill(os.getpid(), signal.SIGKILL)

    ended(forked(send_and_die))
    again = (reserve(ledger, ask("k")).is_new, mark_in_flight(ledger, "k").is_new)
    return {"again": again, "state": find_transfer(ledger, "k").state, "reserved": totals(ledger)["total:all"][0]}


EXPERIMENTS = {"points": points, "kills": kills, "race": race, "stops": stops, "unknown_outcome": unknown_outcome}


def main(experiment, place, folder, *options):
    latch = Latch(Path(folder) / "STOPPED")
    values = {key: int(value) if value.isdigit() else value for key, value in (each.split("=") for each in options)}
    places = [each if "://" in each else Path(each) for each in place.split(" ")]
    result = EXPERIMENTS[experiment](places if experiment == "race" else places[0], latch, **values)
    sys.stdout.write(json.dumps(result))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (AssertionError, GaelpError):
        traceback.print_exc()
        sys.exit(1)
