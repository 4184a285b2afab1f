"""False alarms and power of the watched lift at gate 4, with sides of equal mean and unequal spread; prints JSON.

    .venv/bin/python bench/lift_alarms.py --runs 2000 --looks 2000 --seed 1811

Run it again after changing `clip_at`, `alpha` or `minimum_sample` in configs/gates/scale.yaml. Exits 1 if what the gate
configures raises false alarms in more than 6% of the runs, and says where on stderr. Under `asymptotic` are the figures
of the sequence without a limit, for comparison; they do not decide.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence

from gaelp.bench.lift_trial import lift_trial, not_kept
from gaelp.gates.criteria import load_gate
from gaelp.gates.lift_test import lift_plan


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the arguments, measure, print; 1 if there are too many false alarms."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gate", default="scale")
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--looks", type=int, default=2000, help="pairs in each run, looked at after every one")
    parser.add_argument("--seed", type=int, default=1811)
    parser.add_argument("--compare", action="store_true", help="measure the asymptotic sequence too")
    given = parser.parse_args(arguments)
    began = time.process_time()
    gate = load_gate(given.gate)
    size = {"runs": given.runs, "looks": given.looks, "seed": given.seed}
    rules, broken = {}, []
    for rule in (rule for rule in gate.criteria if rule.sequential):
        plan = lift_plan(gate, rule)
        results = lift_trial(plan, rule.threshold, **size)
        broken += not_kept(results)
        rules[rule.figure] = {"plan": plan.model_dump(), "configured": results}
        if given.compare:
            rules[rule.figure]["asymptotic"] = lift_trial(
                plan.model_copy(update={"clip_at": None}), rule.threshold, **size
            )
    report = {"gate": gate.name, **size, "rules": rules, "not_kept": broken, "cpu_seconds": time.process_time() - began}
    sys.stdout.write(json.dumps(report, indent=1) + "\n")
    for line in broken:
        sys.stderr.write(f"NOT KEPT: {line}\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
