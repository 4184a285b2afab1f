"""How often the money rules stop a healthy campaign, and how soon they stop a broken one; prints one JSON object.

    .venv/bin/python bench/budget_rules.py --months 1000 --faulty 150 --seed 7

Run it again after changing configs/budget/campaign.yaml or signals.yaml: the thresholds there are chosen by it. Exits 1
if more than 1% of the campaign-months end in a false kill or a stated hour is not kept, and says which on stderr.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence

import numpy as np

from gaelp.bench.rule_trial import fault_trial, healthy_trial, not_kept
from gaelp.budget.rules import load_rules
from gaelp.budget.signals import load_signals


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the arguments, measure, print; 1 if something that is stated was not kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rules", default="campaign")
    parser.add_argument("--signals", default="signals")
    parser.add_argument("--months", type=int, default=1000, help="healthy campaign-months")
    parser.add_argument("--faulty", type=int, default=150, help="campaigns that each fault is planted into")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args(arguments)
    began = time.process_time()
    rules, signals = load_rules(given.rules), load_signals(given.signals)
    healthy = healthy_trial(rules, signals, given.months, np.random.default_rng([given.seed, 0]))
    faults = fault_trial(rules, signals, given.faulty, np.random.default_rng([given.seed, 1]))
    broken = not_kept(healthy, faults)
    report = {
        "seed": given.seed,
        **healthy.figures(),
        "faults": faults,
        "not_kept": broken,
        "cpu_seconds": time.process_time() - began,
    }
    sys.stdout.write(json.dumps(report, indent=1) + "\n")
    for line in broken:
        sys.stderr.write(f"NOT KEPT: {line}\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
