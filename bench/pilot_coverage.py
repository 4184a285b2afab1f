"""How often the lower bound of a pilot's ROI is above the truth (nominal 2.5%), by kind and number of campaigns.

    .venv/bin/python bench/pilot_coverage.py --pilots 4000

Takes half a minute of processor time. Without --seed, a fresh one is drawn and printed.
"""

import argparse
import secrets
import sys

import numpy as np

from gaelp.bench.pilot_coverage import POPULATIONS, too_high_share


def main() -> None:
    """Print one line for each population."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pilots", type=int, default=4000)
    parser.add_argument("--campaigns", default="12,20,30")
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    seed = secrets.randbelow(2**31) if options.seed is None else options.seed
    rng = np.random.default_rng(seed)
    sys.stdout.write(f"seed {seed}, {options.pilots} pilots each\n")
    for name, population in POPULATIONS.items():
        for campaigns in (int(count) for count in options.campaigns.split(",")):
            share = too_high_share(population, options.pilots, campaigns, rng)
            sys.stdout.write(f"{name:16s} {campaigns:3d} campaigns: bound above the truth in {share:.2%}\n")


if __name__ == "__main__":
    main()
