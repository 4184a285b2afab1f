"""How often calibration's intervals hold the truth, over small logs with one price mode or two; prints JSON.

    .venv/bin/python bench/calibration_coverage.py --logs 400 --seed 774000

Run it again after changing an estimator in gaelp/market/calibration, with a seed nobody has looked at. Exits 1 if an
interval of 95% holds the truth in less than 90% or more than 98% of the logs, and says which on stderr.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence

from gaelp.bench.calibration_trial import coverage_trial, not_covered


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the arguments, measure, print; 1 if a statistic is not covered."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=400)
    parser.add_argument("--seed", type=int, default=774000)
    given = parser.parse_args(arguments)
    began = time.process_time()
    results = coverage_trial(range(given.seed, given.seed + given.logs))
    broken = not_covered(results)
    report = {"logs": given.logs, "seed": given.seed, "statistics": results, "not_covered": broken}
    sys.stdout.write(json.dumps(report | {"cpu_seconds": time.process_time() - began}, indent=1) + "\n")
    for line in broken:
        sys.stderr.write(f"NOT COVERED: {line}\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
