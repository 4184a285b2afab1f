"""Forks processes that use approvals up and write audit rows, kills them (-9), and looks at what they leave behind.

Run as `python approval_killer.py FOLDER KILLS`. Half of the kills hit at a random line of the code that writes, the
others at a random time, both within what all the work takes on this machine. It prints one JSON object, and ends with
an error as soon as something is half done.
"""

import hashlib
import json
import os
import random
import signal
import sqlite3
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gaelp.approvals import (
    ApprovalStore,
    Approver,
    AuditLog,
    SignedAction,
    SigningKey,
    Trust,
    action_hash,
    audit,
    database,
    load_policy,
    open_database,
    sign,
    store,
)
from gaelp.approvals.audit import verify_rows
from gaelp.clock import ManualClock
from gaelp.errors import Refused

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
WRITING_CODE = {audit.__file__, database.__file__, store.__file__}
PER_ROUND = 5
KEYS = {
    name: SigningKey(name, Ed25519PrivateKey.from_private_bytes(hashlib.sha256(name.encode()).digest()))
    for name in ("ann", "bob")
}
TRUST = Trust(
    approvers=tuple(
        Approver(name=name, public_key=key.public_key, roles=("finance",), added_at=NOW) for name, key in KEYS.items()
    )
)
POLICY = load_policy("live")


def opened(path):
    return ApprovalStore(path, ManualClock(NOW))


def action_number(number):
    return SignedAction(kind="revive", run_id="run", requester="cyd", subject=f"stop-{number}")


def prepare(path, numbers):
    """Actions that two people approved."""
    writer = opened(path)
    for number in numbers:
        action = action_number(number)
        writer.request(action)
        for key in KEYS.values():
            terms = {"decision": "approve", "reason": "seen", "at": NOW, "valid_for": timedelta(hours=1)}
            writer.submit(sign(action, key, **terms), POLICY, TRUST)


def die_at_line(count):
    """Kill this process when so many lines of the code that writes have been run."""

    def trace(frame, event, _argument):
        nonlocal count
        if frame.f_code.co_filename not in WRITING_CODE:
            return None
        count -= event == "line"
        if count == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)


def work(path, numbers, pipe):
    """Use approvals up and write rows between; tell each that was done."""
    log = AuditLog(open_database(path))
    for number in numbers:
        opened(path).consume(action_number(number), POLICY, TRUST, consumer=f"consumer-{number}")
        os.write(pipe, number.to_bytes(4, "big"))
        log.append("test", {"number": number}, NOW)


def measured(path):
    """How many lines of the code that writes the work of one round takes; and, of another, how many seconds."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        lines = 0

        def trace(frame, event, _argument):
            nonlocal lines
            if frame.f_code.co_filename not in WRITING_CODE:
                return None
            lines += event == "line"
            return trace

        sink = os.open(os.devnull, os.O_WRONLY)
        began = time.monotonic()
        work(path, range(PER_ROUND), sink)
        seconds = time.monotonic() - began
        sys.settrace(trace)
        work(path, range(PER_ROUND, 2 * PER_ROUND), sink)
        sys.settrace(None)
        os.write(writer, json.dumps([lines, seconds]).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader, "rb") as pipe:
        return json.loads(pipe.read())


def killed(path, numbers, rng, whole, *, by_line):
    """The numbers whose use the process reported before it died, and whether it was killed."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        if by_line:
            die_at_line(rng.randrange(1, whole[0]))
        work(path, numbers, writer)
        os._exit(0)
    os.close(writer)
    if not by_line:
        time.sleep(rng.uniform(0.001, whole[1]))
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reader, "rb") as pipe:
        raw = pipe.read()
    return {int.from_bytes(raw[at : at + 4], "big") for at in range(0, len(raw), 4)}, os.WIFSIGNALED(status)


def used(path, numbers):
    """The numbers that are used up; every table and the audit log must tell the same."""
    assert verify_rows(AuditLog(open_database(path)).rows()) is None
    opened(path).verify(TRUST)
    connection = sqlite3.connect(path)
    uses = {row[0] for row in connection.execute("SELECT action_hash FROM uses")}
    nonces = [row[0] for row in connection.execute("SELECT action_hash FROM used_nonces")]
    connection.close()
    assert sorted(nonces) == sorted([*uses, *uses]), "a use without both of its nonces, or the other way round"
    return {number for number in numbers if action_hash(action_number(number)) in uses}


def finish(path, numbers, done):
    """A blind retry of everything: each is used exactly once, and by nobody else."""
    again = opened(path)
    for number in numbers:
        action = action_number(number)
        again.consume(action, POLICY, TRUST, consumer=f"consumer-{number}")
        try:
            again.consume(action, POLICY, TRUST, consumer="thief")
        except Refused:
            continue
        raise AssertionError(f"{number} was used twice; used before the retry: {sorted(done)}")
    assert used(path, numbers) == set(numbers)


def main(folder, kills):
    rng = random.Random(7)  # noqa: S311 - when to kill is no secret
    report = {"kills": 0, "rounds": 0, "used_at_kill": []}
    prepare(folder / "measured.db", range(2 * PER_ROUND))
    whole = measured(folder / "measured.db")
    while report["kills"] < kills:
        path = folder / f"{report['rounds']}.db"
        numbers = range(PER_ROUND)
        prepare(path, numbers)
        reported, was_killed = killed(path, numbers, rng, whole, by_line=report["rounds"] % 2 == 0)
        done = used(path, numbers)
        assert reported <= done, f"reported {sorted(reported)}, but only {sorted(done)} are on disk"
        assert done == set(range(len(done))), "a later one was used before an earlier one"
        finish(path, numbers, done)
        report["kills"] += was_killed
        report["rounds"] += 1
        report["used_at_kill"].append(len(done))
    sys.stdout.write(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
