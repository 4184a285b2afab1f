"""How often off-policy intervals hold the truth, on synthetic logs whose truth is known; prints JSON.

    .venv/bin/python bench/interval_coverage.py --logs 2000 --seed 0

Run it again after changing gaelp/history, with a seed nobody has looked at. Exits 1 if a 95% interval that claims
coverage holds the truth in less than 93% or more than 97% of the logs, an empirical-Bernstein lower bound is wrong in
more than 5%, or the interval for many looks is wrong at any look in more than 5%. `claims: nothing` marks estimators
that are biased by design (the model alone, weights cut or shrunk by a fixed amount) and Student's t at many looks.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence

from gaelp.bench.interval_trial import interval_trial, not_covered


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the arguments, measure, print; 1 if an interval does not keep what it claims."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=2000)
    parser.add_argument("--seed", type=int, required=True)
    given = parser.parse_args(arguments)
    began = time.process_time()
    results = interval_trial(range(given.seed, given.seed + given.logs), _progress)
    broken = not_covered(results)
    report = {"logs": given.logs, "seed": given.seed, "cpu_seconds": time.process_time() - began}
    intervals = [result.model_dump() for result in results]
    sys.stdout.write(json.dumps(report | {"not_covered": broken, "intervals": intervals}, indent=1) + "\n")
    for line in broken:
        sys.stderr.write(f"NOT COVERED: {line}\n")
    return 1 if broken else 0


def _progress(place: int) -> None:
    if (place + 1) % 100 == 0:
        sys.stderr.write(f"{place + 1} logs\n")


if __name__ == "__main__":
    sys.exit(main())
