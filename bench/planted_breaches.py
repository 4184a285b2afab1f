"""How well the job `budget_safety` finds planted breaches: confusion counts by kind; prints JSON.

    .venv/bin/python bench/planted_breaches.py --breaches 500 --events 1000000 --seed 7

The month is written as stored tables and checked by the Beam job in a process of its own, as between two phases. Exits
1 if a planted breach was missed or something else was reported.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from gaelp.bench.planted_breaches import trial


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the arguments, generate, check, print; 1 if the job was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--breaches", type=int, default=500, help="of each kind")
    parser.add_argument("--events", type=int, default=1_000_000, help="spend events, about")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args(arguments)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        report = trial(Path(folder), given.breaches, given.events, given.seed)
    report["seconds"] = round(time.perf_counter() - began, 1)
    sys.stdout.write(json.dumps(report, indent=1) + "\n")
    return 0 if report["is_exact"] else 1


if __name__ == "__main__":
    sys.exit(main())
