"""How well a market calibrated from hourly reports predicts, on histories of the local ad platform; prints JSON.

    .venv/bin/python bench/report_calibration.py --seeds 7101 7102

Each seed is another world, with other products, rivals, budgets and bids. Curves are fitted on four weeks and predict
the two that follow, by segment and day. The errors are compared with those of somebody who knows the world and not its
chance (means over replays of the same bids with other random numbers), and the win rates with what is true. Use seeds
nobody has looked at. Exits 1 if a figure misses its bar, and says which on stderr.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence

from gaelp.bench.report_trial import floor_trial, report_trial, shortfalls
from gaelp.sandbox.spec import load_sandbox_spec


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the arguments, measure, print; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[7101, 7102])
    parser.add_argument("--campaigns", type=int, default=12)
    parser.add_argument("--replays", type=int, default=12)
    given = parser.parse_args(arguments)
    began = time.process_time()
    world = load_sandbox_spec()
    results = [report_trial(world, seed, campaigns=given.campaigns, replays=given.replays) for seed in given.seeds]
    missed = shortfalls(results)
    report = {
        "histories": results,
        "low_bids": floor_trial(range(given.seeds[0], given.seeds[0] + 5)),
        "missed": missed,
    }
    sys.stdout.write(json.dumps(report | {"cpu_seconds": time.process_time() - began}, indent=1) + "\n")
    for line in missed:
        sys.stderr.write(f"MISSED: {line}\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
