"""What late and revised reports cost an agent, with and without a task that has them in training.

    .venv/bin/python bench/lag_loss.py --seeds 5 --rounds 60

For each seed two agents are trained with the same recipe and rounds: one on the market `signals`, whose hours are
reported at once, and one along the curriculum `lag`, which adds the same market with lag and revision. Both, and the
rule that both start from, then play the same held-out episodes of both markets. Rewards are shares of the hindsight
optimum; errors are over episodes, paired. Episodes are begun from `--evaluation-seed`.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from gaelp.arrays import Floats
from gaelp.clock import SystemClock
from gaelp.config.fingerprint import fingerprint
from gaelp.market.baselines.bids import Bidder
from gaelp.market.baselines.episodes import play, validation_seeds
from gaelp.market.baselines.tuned import load_tuned
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.market.market import Market
from gaelp.phases.chosen_policy import chosen_policy
from gaelp.training.assemble import RunPlace, assemble, ground_of, task_grounds, with_chosen_rule
from gaelp.training.curriculum_spec import CurriculumSpec, load_curriculum
from gaelp.training.market_arena import Ground
from gaelp.training.recipe import Recipe, load_recipe
from gaelp.training.reports import TrainingStopped

PROMPT, LATE = "prompt", "late-reports"
VALIDATION_SEED = 1009


def trained(
    recipe: Recipe, target: Ground, seed: int, along: tuple[CurriculumSpec, dict[str, Ground]] | None
) -> Bidder:
    """The policy of the best checkpoint on the validation episodes of the target, or the rule if none did better."""
    with tempfile.TemporaryDirectory(prefix="gaelp-lag-") as name:
        place = RunPlace(Path(name), fingerprint(recipe), SystemClock())
        training = assemble(recipe, target, seed=seed, validation_seed=VALIDATION_SEED, place=place, curriculum=along)
        best = None
        for report in training.loop.run():
            if isinstance(report, TrainingStopped):
                best = report.best
        return chosen_policy(recipe, training, best)


def paired(rewards: Floats, other: Floats) -> dict[str, float]:
    """The mean difference of rewards on the same episodes, with its standard error."""
    difference = rewards - other
    return {"mean": float(difference.mean()), "error": float(difference.std(ddof=1) / np.sqrt(len(difference)))}


def row_of(seed: int, name: str, rewards: dict[str, Floats], rule: dict[str, Floats]) -> dict[str, object]:
    """What an agent does on both markets, what lag costs it, and its lead over the rule where reports are late."""
    return {
        "seed": seed,
        "agent": name,
        "prompt": round(float(rewards[PROMPT].mean()), 4),
        "late": round(float(rewards[LATE].mean()), 4),
        "loss_with_lag": paired(rewards[PROMPT], rewards[LATE]),
        "lead_over_rule_late": paired(rewards[LATE], rule[LATE]),
    }


def main() -> None:
    """Print one JSON object an agent and seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--evaluation-seed", type=int, default=4711)
    given = parser.parse_args()
    torch.set_num_threads(1)
    personas, spec = load_persona_table("personas"), load_curriculum("lag")
    market = build_market(load_market_spec("signals"), personas)
    tuned = load_tuned(market)
    recipe = with_chosen_rule(
        load_recipe("ppo").with_rounds(given.rounds), market, tuned, validation_seed=VALIDATION_SEED
    )
    grounds = task_grounds(spec, personas, recipe.rule)
    markets: dict[str, Market] = {PROMPT: grounds[PROMPT].market, LATE: grounds[LATE].market}
    seeds = validation_seeds(given.evaluation_seed, given.episodes)

    def rewards(policy: Bidder) -> dict[str, Floats]:
        return {name: play(place, policy, seeds).reward for name, place in markets.items()}

    rule = rewards(ground_of(market, tuned, recipe.rule).rule())
    print(json.dumps(row_of(0, f"rule ({recipe.rule})", rule, rule)), flush=True)  # noqa: T201 - the result
    for seed in given.seeds:
        agents = {
            "without the lag task": lambda seed=seed: trained(recipe, grounds[PROMPT], seed, None),
            "with the lag task": lambda seed=seed: trained(recipe, grounds[LATE], seed, (spec, grounds)),
        }
        for name, train in agents.items():
            began = time.process_time()
            row = row_of(seed, name, rewards(train()), rule)
            print(json.dumps(row | {"cpu_seconds": round(time.process_time() - began)}), flush=True)  # noqa: T201
    used = resource.getrusage(resource.RUSAGE_SELF)
    sys.stderr.write(f"{used.ru_utime + used.ru_stime:.0f} CPU seconds\n")


if __name__ == "__main__":
    main()
