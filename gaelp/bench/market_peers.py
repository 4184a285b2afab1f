"""Speeds of other ad environments, each measured by its own interpreter; None where one is not installed."""

import json
import subprocess
from pathlib import Path

from gaelp.errors import ComponentMissing

__all__ = ["PEERS", "measure_peer"]

# Name of the peer: its interpreter and script below the bench folder. `make bench-peers` builds the interpreters.
PEERS: dict[str, tuple[str, str]] = {
    "rtbgym": (".peers/rtbgym/bin/python", "rtbgym_peer.py"),
    "auction_loop": ("../.venv/bin/python", "auction_loop_peer.py"),
}
_LONGEST_SECONDS = 300


def measure_peer(name: str, bench: Path, seconds: float) -> float | None:
    """Environment steps per CPU-second of one peer; one that is installed but fails is an error, not a None."""
    interpreter, script = (bench / part for part in PEERS[name])
    if not (interpreter.exists() and script.exists()):
        return None
    command = [str(interpreter), str(script), str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_LONGEST_SECONDS, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise ComponentMissing(
            f"peer {name} is installed but failed with exit code {done.returncode}: {last}. "
            "Rebuild it with `make bench-peers`, or remove bench/.peers to measure without it."
        )
    return float(json.loads(done.stdout.strip().splitlines()[-1])["steps_per_s"])
