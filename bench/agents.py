"""Train recipes on markets with several seeds, each by `gaelp train`, and print one table of what came out.

    .venv/bin/python bench/agents.py --agents ppo --markets cal,signals --seeds 1,2,3 --home .gaelp-bench

Runs are named AGENT-MARKET-SEED: a run that exists is gone on with, a finished one is only judged again. Each row says
what the best uninformed and the best informed rule leave to win, with 95% bounds from the same held-out episodes.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import product


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
    return row | {"training_seconds": result["training_seconds"], "seconds": time.perf_counter() - began} | figures


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


def _told(row):
    sys.stderr.write(json.dumps(row) + "\n")
    return row


if __name__ == "__main__":
    main()
