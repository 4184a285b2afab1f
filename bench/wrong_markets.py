"""Whether fidelity refuses markets that are wrong on purpose, and names what was planted; prints JSON.

    .venv/bin/python bench/wrong_markets.py --seeds 3001 3002 --cache .gaelp/bench-histories

Each seed is another world of the local ad platform: six weeks of 12 campaigns, four to calibrate on, two held out. One
number of the calibrated market at a time is made wrong: prices +20%, CTR -20%, the delay of conversions removed, the
volume of one segment doubled. Exits 1 if a planted cause is named first in fewer than nine of ten histories. Use seeds
nobody has looked at. A history takes half a minute to make, and is kept in --cache; the rest takes about as long.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gaelp.bench.wrong_markets import wrong_market_trial
from gaelp.sandbox.spec import load_sandbox_spec

_NAMED_SHARE = 0.9


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the arguments, measure, print; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[101, 102])
    parser.add_argument("--campaigns", type=int, default=12)
    parser.add_argument("--cache", type=Path, default=None, help="folder of histories that were made before")
    given = parser.parse_args(arguments)
    began, world = time.process_time(), load_sandbox_spec()
    results: list[dict[str, Any]] = []
    for seed in given.seeds:
        results.append(dict(wrong_market_trial(world, seed, given.cache, campaigns=given.campaigns)))
        sys.stderr.write(f"seed {seed} done\n")
    counts = _counts(results)
    report = {"counts": counts, "histories": results, "cpu_seconds": time.process_time() - began}
    sys.stdout.write(json.dumps(report, indent=1) + "\n")
    missed = [name for name, count in counts["named_first"].items() if count < _NAMED_SHARE * len(results)]
    for name in missed:
        sys.stderr.write(f"MISSED: {name} was named first in {counts['named_first'][name]} of {len(results)}\n")
    return 1 if missed else 0


def _counts(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    harms = [name for name in results[0] if name not in ("seed", "unharmed")]
    bars = ("simulator_match", "prediction_accuracy", "correlation_with_actuals")
    return {
        "histories": len(results),
        "unharmed_misses": {
            bar: sum(any(line.startswith(bar) for line in each["unharmed"]["failures"]) for each in results)
            for bar in bars
        },
        "unharmed_passes": sum(
            not any(line.startswith(bars) for line in each["unharmed"]["failures"]) for each in results
        ),
        "fails": {name: sum(each[name]["fails"] for each in results) for name in harms},
        "named_first": {name: sum(each[name]["named_first"] for each in results) for name in harms},
        "beyond_its_interval": {name: sum(each[name]["beyond_its_interval"] for each in results) for name in harms},
    }


if __name__ == "__main__":
    sys.exit(main())
