"""Forks processes that save checkpoints, kills them (-9) in the middle, and looks at what they leave behind.

Run as `python checkpoint_killer.py FOLDER`. It imports everything once, so that hundreds of kills take seconds, and
prints one JSON object; it ends with an error as soon as a folder is without a whole checkpoint.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from gaelp.clock import ManualClock
from gaelp.training import checkpoint, checkpoint_folder
from gaelp.training.checkpoint_folder import CheckpointFolder, latest_good

KILLS_BY_TIME = 30
LINES_MAX = 1000
SAVING_CODE = {checkpoint.__file__, checkpoint_folder.__file__}


def opened(folder: Path) -> CheckpointFolder:
    """A folder that keeps as little as it may."""
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    return CheckpointFolder(folder, config_hash="ab" * 32, clock=clock, keep=1)


def save(folder: Path, step: int, *, best: bool = False) -> None:
    opened(folder).save({"step": step, "array": np.full(20_000, step)}, step, best=best)


def newest_step(folder: Path) -> int:
    """The step of the newest checkpoint; every one in the folder must be whole and hold its own state."""
    for path in opened(folder).paths:
        loaded = opened(folder).load(path)
        assert loaded.state["step"] == loaded.header.step
        assert (loaded.state["array"] == loaded.header.step).all()
    return latest_good(folder).checkpoint.header.step


def forked(work: Callable[[int], None], *, kill_after_seconds: float | None = None) -> tuple[int, bool]:
    """Do work in a process of its own; the last number it wrote to its pipe, and whether it was killed."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        work(writer)
        os._exit(0)
    os.close(writer)
    if kill_after_seconds is not None:
        time.sleep(kill_after_seconds)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reader, "rb") as pipe:
        return int.from_bytes(pipe.read()[-8:], "big"), os.WIFSIGNALED(status)


def die_at_line(count: int) -> None:
    """Kill this process when so many lines of the code that saves have been run."""

    def trace(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        if frame.f_code.co_filename not in SAVING_CODE:
            return None
        count -= event == "line"
        if count == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)


def kill_at_every_line(root: Path) -> dict[str, int]:
    """Kill the second save of a folder at its first line, in another folder at its second line, until one ends."""
    counts = {"kills": 0, "left_drafts": 0, "old_left": 0, "new_left": 0}
    for line in range(1, LINES_MAX):
        folder = root / str(line)
        save(folder, 1)

        def work(_pipe: int, folder: Path = folder, line: int = line) -> None:
            die_at_line(line)
            save(folder, 2, best=True)

        _, killed = forked(work)
        step = newest_step(folder)
        counts["left_drafts"] += any(folder.glob(".draft-*/*"))
        counts["new_left" if step == 2 else "old_left"] += 1
        counts["kills"] += killed
        if not killed:
            assert step == 2
            break
        if any(folder.glob(".draft-*")):
            save(folder, 3)
            assert newest_step(folder) == 3
            assert not any(folder.glob(".draft-*"))
    return counts


def kill_at_random_times(folder: Path) -> dict[str, int]:
    """Kill a process that saves on and on, again and again, each time after a few milliseconds."""
    rng = np.random.default_rng(7)
    save(folder, 0)
    counts = {"kills": 0, "left_drafts": 0, "saves": 0}
    newest = 0
    for _ in range(KILLS_BY_TIME):

        def work(pipe: int, start: int = newest + 1) -> None:
            for step in range(start, start + 10**6):
                save(folder, step)
                os.write(pipe, step.to_bytes(8, "big"))

        reported, killed = forked(work, kill_after_seconds=rng.uniform(0.002, 0.04))
        step = newest_step(folder)
        assert step >= max(newest, reported), f"step {step} is left, {newest} was there, {reported} was reported"
        newest = step
        counts["kills"] += killed
        counts["left_drafts"] += any(folder.glob(".draft-*/*"))
    return counts | {"saves": newest}


if __name__ == "__main__":
    place = Path(sys.argv[1])
    sys.stdout.write(
        json.dumps({"line": kill_at_every_line(place / "line"), "time": kill_at_random_times(place / "time")})
    )
