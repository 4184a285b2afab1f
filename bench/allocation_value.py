"""What splitting one total between campaigns by marginal value is worth on the local ad platform.

    .venv/bin/python bench/allocation_value.py --seeds 20

Each seed is a world: 12 campaigns with products and budgets of their own, 21 days of history, and then the same 35 days
under each split of the same total, with the same searches and rivals; the last 28 are measured. Without --first, seeds
are drawn at random and printed. Takes about 4 s of processor time for each seed.
"""

import argparse
import json
import secrets
import sys

from gaelp.bench.allocation_value import BY_MARGINAL_VALUE, SplitOutcome, measure_splits, split_gains
from gaelp.sandbox.spec import load_sandbox_spec


def main() -> None:
    """Print the gains of the split by marginal value over each other one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20, help="how many worlds")
    parser.add_argument("--first", type=int, help="the first seed, the others follow it; without it they are random")
    parser.add_argument("--campaigns", type=int, default=12)
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    options = parser.parse_args()
    seeds = [
        secrets.randbelow(2**29) if options.first is None else options.first + number for number in range(options.seeds)
    ]
    outcomes: list[SplitOutcome] = []
    for seed in seeds:
        outcomes += measure_splits(load_sandbox_spec(), seed, options.campaigns)
        sys.stderr.write(f"seed {seed} is measured\n")
    gains = split_gains(outcomes, BY_MARGINAL_VALUE)
    if options.json:
        rows = {"outcomes": outcomes, "gains": gains}
        sys.stdout.write(json.dumps({name: [row.model_dump() for row in kept] for name, kept in rows.items()}) + "\n")
        return
    sys.stdout.write(f"{BY_MARGINAL_VALUE}, {options.campaigns} campaigns, seeds {', '.join(map(str, seeds))}\n")
    for gain in gains:
        sys.stdout.write(
            f"against {gain.against:42s} value {gain.value_gain:+.1%} ({gain.value_low:+.1%} to {gain.value_high:+.1%})"
            f"  profit {gain.profit_gain:+.1%} ({gain.profit_low:+.1%} to {gain.profit_high:+.1%})"
            f"  spend {gain.spend_gain:+.1%}  worst seed {gain.worst_seed} {gain.worst_value_gain:+.1%}\n"
        )


if __name__ == "__main__":
    main()
