"""Train recipes on markets with several seeds, each by `gaelp train`, and print one table of what came out.

    .venv/bin/python bench/agents.py --agents ppo --markets cal,signals --seeds 1,2,3 --home .gaelp-bench
    .venv/bin/python bench/agents.py --markets signals --rule mpc-informed --seeds 11,12
    .venv/bin/python bench/agents.py --markets search,display --objective profit --seeds 11,12

A run that exists is resumed, a finished one is only judged again. Each row shows the lead over the best uninformed and
the best informed rule, with 95% bounds from the same held-out episodes, and which of the bars below it missed. Exits 1
if one was missed or a run failed.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

from gaelp.config.write import write_models
from gaelp.training.recipe import load_recipe

# At least so much: the lower bound where a lead has to be shown, the figure itself where it is only reported with one.
BARS = {
    "cal": {("lead_over_best_rule", "lower_95"): -0.01, ("lead_over_constant", "lower_95"): 0.10},
    "signals": {("lead_over_best_rule", "lower_95"): 0.095, ("lead_over_informed_rule", "value"): -0.02},
    "search": {("lead_over_best_rule", "lower_95"): -0.01},
    "display": {("lead_over_best_rule", "lower_95"): -0.01},
}
INFORMED_BARS = {("lead_over_informed_rule", "lower_95"): 1e-6}  # above 0, for a run that starts from an informed rule
MOST_SECONDS = {"ppo": 300, "sac": 900}  # of training; the other recipes have no bars


def missed(row):
    """The bars that a row does not reach, in words."""
    if row["agent"] not in MOST_SECONDS:
        return []
    bars = INFORMED_BARS if (row["rule"] or "").endswith("-informed") else BARS.get(row["market"], {})
    ends = {"value": 0, "lower_95": 1}
    misses = [
        f"{name} ({end}) is {row[name][ends[end]]:.4f}, wanted {least}"
        for (name, end), least in bars.items()
        if not row[name][ends[end]] >= least
    ]
    most = MOST_SECONDS[row["agent"]]
    slow = row["training_seconds"] > most
    return misses + ([f"training took {row['training_seconds']:.0f} s, wanted {most} at most"] if slow else [])


def trained(given, agent, market, seed):
    """One run; returns its row."""
    began = time.perf_counter()
    about = {"agent": agent, "rule": given.rule, "market": market, "objective": given.objective, "seed": seed}
    settings = {
        "home": given.home,
        "market.name": market,
        "objective.kind": given.objective,
        "training.agent": recipe_around(given.rule, agent, given.home) if given.rule else agent,
        "training.tracking": "false",
        "run.seed": seed,
        "evaluation.episodes": given.episodes,
        "evaluation.seed": given.evaluation_seed,
    }
    overrides = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    command = [sys.executable, "-m", "gaelp.cli", "train", "--json", "--run", run_name(about), *overrides]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        return about | {"failed": answer.stderr.strip().splitlines()[-1]}
    result = json.loads(answer.stdout)
    keys = ("reward", "headroom_share", "lead_over_constant", "lead_over_best_rule", "lead_over_informed_rule")
    figures = {key: [result["metrics"].get(f"{key}{end}") for end in ("", "_lower_95", "_upper_95")] for key in keys}
    row = about | {"learned": result["learned"], "rounds": result["rounds"]}
    row |= {"training_seconds": result["training_seconds"], "seconds": time.perf_counter() - began} | figures
    return row | {"missed": missed(row)}


def run_name(about):
    """Agent, rule if it was named, market, objective other than value, and seed."""
    parts = (about["agent"], about["rule"], about["market"], about["objective"], about["seed"])
    return "-".join(part for part in parts if part not in (None, "value"))


def recipe_around(rule, agent, home):
    """The path of the agent's recipe with another rule inside."""
    path = Path(home) / "recipes" / f"{agent}-{rule}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_models({path: load_recipe(agent).with_rule(rule)})
    return str(path)


def main():
    """Read the arguments, train, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in (("agents", "ppo"), ("markets", "cal,signals"), ("seeds", "1,2,3")):
        parser.add_argument(f"--{name}", default=usual)
    parser.add_argument("--rule", help="the rule inside instead of the recipe's")
    parser.add_argument("--objective", default="value", choices=("value", "profit"))
    parser.add_argument("--evaluation-seed", type=int, default=1009, help="of the held-out episodes")
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=1, help="runs at once; each uses one core")
    parser.add_argument("--home", default=".gaelp-bench")
    given = parser.parse_args()
    runs = list(product(given.agents.split(","), given.markets.split(","), given.seeds.split(",")))
    with ThreadPoolExecutor(given.processes) as pool:
        rows = list(pool.map(lambda run: report(trained(given, *run)), runs))
    cpu = resource.getrusage(resource.RUSAGE_CHILDREN)
    sys.stdout.write(json.dumps({"rows": rows, "cpu_seconds": cpu.ru_utime + cpu.ru_stime}, indent=1) + "\n")
    return 1 if any("failed" in row or row["missed"] for row in rows) else 0


def report(row):
    """Write a row to stderr as soon as it is known; returns it."""
    sys.stderr.write(json.dumps(row) + "\n")
    return row


if __name__ == "__main__":
    sys.exit(main())
