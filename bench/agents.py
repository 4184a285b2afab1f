"""Train recipes on markets with several seeds, each by `gaelp train`, and print one table of what came out.

    .venv/bin/python bench/agents.py --agents ppo --markets cal,signals --seeds 1,2,3 --home .gaelp-bench

Runs are named AGENT-MARKET-SEED: a run that exists is gone on with, a finished one is only judged again. Each row says
what the best uninformed and the best informed rule leave to win, with 95% bounds from the same held-out episodes, and
which of the bars below it missed. Exits 1 if one was missed or a run failed.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import product

# At least so much: the lower bound where a lead has to be shown, the figure itself where it is only reported with one.
BARS = {
    "cal": {("lead_over_best_rule", "lower_95"): -0.01, ("lead_over_constant", "lower_95"): 0.10},
    "signals": {("lead_over_best_rule", "lower_95"): 0.05, ("lead_over_informed_rule", "value"): -0.02},
}
MOST_SECONDS = {"ppo": 300, "sac": 900}  # of training; the other recipes have no bars


def missed(row):
    """The bars that a row does not reach, in words."""
    if row["agent"] not in MOST_SECONDS:
        return []
    ends = {"value": 0, "lower_95": 1}
    misses = [
        f"{name} ({end}) is {row[name][ends[end]]:.4f}, wanted {least}"
        for (name, end), least in BARS.get(row["market"], {}).items()
        if not row[name][ends[end]] >= least
    ]
    most = MOST_SECONDS[row["agent"]]
    slow = row["training_seconds"] > most
    return misses + ([f"training took {row['training_seconds']:.0f} s, wanted {most} at most"] if slow else [])


def trained(home, episodes, agent, market, seed):
    """One run; returns its row."""
    began = time.perf_counter()
    settings = {
        "home": home,
        "market.name": market,
        "training.agent": agent,
        "training.tracking": "false",
        "run.seed": seed,
        "evaluation.episodes": episodes,
    }
    overrides = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    command = [sys.executable, "-m", "gaelp.cli", "train", "--json", "--run", f"{agent}-{market}-{seed}", *overrides]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        return {"agent": agent, "market": market, "seed": seed, "failed": answer.stderr.strip().splitlines()[-1]}
    result = json.loads(answer.stdout)
    keys = ("reward", "headroom_share", "lead_over_constant", "lead_over_best_rule", "lead_over_informed_rule")
    figures = {key: [result["metrics"].get(f"{key}{end}") for end in ("", "_lower_95", "_upper_95")] for key in keys}
    row = {"agent": agent, "market": market, "seed": seed, "learned": result["learned"], "rounds": result["rounds"]}
    row |= {"training_seconds": result["training_seconds"], "seconds": time.perf_counter() - began} | figures
    return row | {"missed": missed(row)}


def main():
    """Read the arguments, train, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in (("agents", "ppo"), ("markets", "cal,signals"), ("seeds", "1,2,3")):
        parser.add_argument(f"--{name}", default=usual)
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=1, help="runs at once; each uses one core")
    parser.add_argument("--home", default=".gaelp-bench")
    given = parser.parse_args()
    runs = list(product(given.agents.split(","), given.markets.split(","), given.seeds.split(",")))
    with ThreadPoolExecutor(given.processes) as pool:
        rows = list(pool.map(lambda run: _told(trained(given.home, given.episodes, *run)), runs))
    cpu = resource.getrusage(resource.RUSAGE_CHILDREN)
    sys.stdout.write(json.dumps({"rows": rows, "cpu_seconds": cpu.ru_utime + cpu.ru_stime}, indent=1) + "\n")
    return 1 if any("failed" in row or row["missed"] for row in rows) else 0


def _told(row):
    sys.stderr.write(json.dumps(row) + "\n")
    return row


if __name__ == "__main__":
    sys.exit(main())
