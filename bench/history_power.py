"""How often gate 2 passes or refuses policies whose true lift is known, on fresh histories; prints JSON.

    .venv/bin/python bench/history_power.py --histories 200 --root-seed 1 --cache .gaelp/bench-histories

Each history is another world of the local ad platform, its seed drawn from the root seed (random, and printed, unless
given). On all of them the incumbent's bids times a factor are judged as phase 2 judges: a policy that is truly better
by 15%, one worse by 10%, an identical one, and with --cases one that bids otherwise and gains nothing and some at the
ends of the reach, which is what `gaelp history plan` is about. Realised value and the estimate with a model of a
click's value are side by side. Exits 1 if the worse one passes in more than 5%, the better one in fewer than 80%
after all days, or the identical one passes the rule "better than the log" in more than 5%. A history of 12 campaigns
and six weeks takes 1 s of processor time, its judgement another 3; both are kept in --cache.
"""

import argparse
import json
import secrets
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gaelp.bench.history_power import CASES, PowerSize, lift_gate, world_result
from gaelp.bench.power_summary import summarise_worlds
from gaelp.sandbox.spec import load_sandbox_spec

FIRST_FRESH_SEED = 10_000  # factors were chosen below it
BARRED = ("better by 15%", "worse by 10%", "identical")


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the arguments, judge, print; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=int, default=200)
    parser.add_argument("--root-seed", type=int, default=None, help="of the histories' seeds; random unless given")
    parser.add_argument("--seeds", type=int, nargs="+", default=None, help="of the histories, instead of a root seed")
    parser.add_argument("--campaigns", type=int, default=12)
    parser.add_argument("--weeks", type=int, default=6)
    parser.add_argument("--days", type=int, nargs="+", default=[42], help="after which a history is judged")
    parser.add_argument("--cases", nargs="+", choices=tuple(CASES), default=BARRED)
    parser.add_argument("--true-weeks", type=int, default=None, help="that the truth is measured in; all unless given")
    parser.add_argument("--plan", action="store_true", help="compare with what `gaelp history plan` predicts")
    parser.add_argument("--cache", type=Path, default=None, help="folder of histories and results made before")
    given = parser.parse_args(arguments)
    root = secrets.randbelow(2**31) if given.root_seed is None else given.root_seed
    drawn = np.random.default_rng(root).integers(FIRST_FRESH_SEED, 2**31, given.histories).tolist()
    seeds = given.seeds or drawn
    true_weeks = given.weeks if given.true_weeks is None else given.true_weeks
    size = PowerSize(given.campaigns, given.weeks, tuple(given.days), true_weeks, given.plan)
    began, world, gate, results = time.process_time(), load_sandbox_spec(), lift_gate(), []
    for number, seed in enumerate(seeds, 1):
        results.append(world_result(world, seed, size, gate, given.cache, given.cases))
        sys.stderr.write(f"history {number} of {len(seeds)}, seed {seed}\n")
    summary: dict[str, Any] = summarise_worlds(results)
    missed = _missed(summary, max(given.days))
    answer = {
        "root_seed": None if given.seeds else root,
        "campaigns": given.campaigns,
        "weeks": given.weeks,
        "true_weeks": true_weeks,
        "factors": {name: [round(each, 4) for each in np.exp(shift).tolist()] for name, shift in CASES.items()},
        **summary,
        "missed": missed,
        "true_lifts": {world.seed: {each.case: round(each.true_lift, 4) for each in world.judged} for world in results},
        "cpu_seconds": time.process_time() - began,
    }
    sys.stdout.write(json.dumps(answer, indent=1) + "\n")
    return 1 if missed else 0


def _missed(summary: dict[str, Any], days: int) -> list[str]:
    """The bars of gate 2 that the judged estimate does not keep."""
    cases, rule = summary["cases"], "better_than_rule_passes"
    shares = {
        name: cases[f"{name}, {days} days"]["judged"][rule]["share"]
        for name in BARRED
        if f"{name}, {days} days" in cases
    }
    bars = (
        (BARRED[0], lambda share: share >= 0.8, "passes in at least 0.8"),
        (BARRED[1], lambda share: share <= 0.05, "is refused in at least 0.95"),
        (BARRED[2], lambda share: share <= 0.05, "passes in at most 0.05"),
    )
    return [
        f"{name} {bar}: passed in {shares[name]:.3f}"
        for name, kept, bar in bars
        if name in shares and not kept(shares[name])
    ]


if __name__ == "__main__":
    sys.exit(main())
