"""How often the first gate refuses planted bad agents and passes good ones, as JSON on stdout.

    .venv/bin/python bench/first_gate.py --markets cal,signals --pool 10000 --repetitions 200

Each agent plays a pool of fresh episodes once. A repetition judges 2,000 of them, drawn without replacement, on the
market and on the shifted one. The gate compares with the constant bid and with MPC, which has been the best rule on
both markets with every seed so far; the other rules would only take their time. Exits 1 if a bad agent was refused, or
a good one passed, in fewer than 95% of the repetitions. Takes 11 s of processor time for 1,000 episodes of a market.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import torch

from gaelp.bench.gate_trial import Plant, Pool, PoolOutcome, mixed, nothing_delivered, play_pool, trial
from gaelp.bench.planted_agents import Spoiled, at_night, everywhere, without_segment
from gaelp.clock import ManualClock
from gaelp.gates import load_gate
from gaelp.market.baselines.bids import Bidder
from gaelp.market.baselines.tuned import TunedRules, load_tuned
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.market.market import Market
from gaelp.phases.data_evidence import without_data_rules
from gaelp.phases.judging import MarketShift, shifted
from gaelp.training.assemble import RunPlace, assemble, ground_of
from gaelp.training.recipe import load_recipe

GOOD = ("mpc", "mpc (informed)", "bids x0.97")
WANTED = 0.95
HALF_TRAINED_ROUNDS = 6  # of 60


def networks(market: Market, tuned: TunedRules, seed: int) -> Iterator[Bidder]:
    """PPO without a heuristic inside, before training and after a tenth of it."""
    recipe = load_recipe("ppo-plain").with_rounds(HALF_TRAINED_ROUNDS)
    for name, trained in (("untrained network", False), ("half-trained network", True)):
        with tempfile.TemporaryDirectory() as folder:
            place = RunPlace(Path(folder), "0" * 64, ManualClock(datetime(2026, 11, 18, tzinfo=UTC)))
            ground = ground_of(market, tuned, recipe.rule)
            training = assemble(recipe, ground, seed=seed, validation_seed=seed + 1, place=place)
            if trained:
                for _ in training.loop.run():
                    pass
        learner = training.loop.learner
        yield training.arena.policy(name, lambda obs, learner=learner: learner.act(obs, explore=False))


def pool_of(name: str, episodes: int, seed: int) -> Pool:
    """Every agent that is judged, on fresh episodes."""
    personas = load_persona_table("personas")
    market = build_market(load_market_spec(name), personas)
    elsewhere = build_market(shifted(market.spec, MarketShift()), personas)
    tuned = load_tuned(market)
    spoiled = {
        "bids x0.97": everywhere(0.97),
        "bids x0.8": everywhere(0.8),
        "bids x1.3": everywhere(1.3),
        "bids x20": everywhere(20),
        "bids x1.5 at night": at_night(1.5),
        "one segment never served": without_segment(0),
    }
    agents = [
        tuned.build("mpc-informed"),
        *(Spoiled(title, tuned.build("mpc"), factor) for title, factor in spoiled.items()),
        *networks(market, tuned, seed),
    ]
    rules = [tuned.constant(), tuned.build("mpc")]
    return play_pool(market, elsewhere, rules, agents, episodes=episodes, seed=seed)


def plants(pool: Pool) -> dict[str, Plant]:
    """Agents that are spoiled in some campaigns, or on the shifted market alone."""
    played = pool.outcomes

    def spoiled(rule: str, share: float, other: PoolOutcome) -> Plant:
        pairs = list(zip(played[rule], other, strict=True))
        return lambda lot: PoolOutcome(*(mixed(usual, bad, lot < share) for usual, bad in pairs))

    nothing = PoolOutcome(*(nothing_delivered(side) for side in played["mpc"]))
    rules = ("mpc", "mpc (informed)")
    return {
        **{f"{rule}, no delivery in 5% of campaigns": spoiled(rule, 0.05, nothing) for rule in rules},
        **{f"{rule}, bids x20 in 1% of campaigns": spoiled(rule, 0.01, played["bids x20"]) for rule in rules},
        "good here, bids x0.8 on the shifted market": lambda _: PoolOutcome(
            played["mpc"].own, played["bids x0.8"].shifted
        ),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the arguments, play, judge, print; 1 if the gate does not keep what is stated."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markets", default="cal,signals")
    parser.add_argument("--pool", type=int, default=10_000, help="fresh episodes that each agent plays")
    parser.add_argument("--episodes", type=int, default=2_000, help="that each repetition judges")
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=9_120_417, help="give one that was never used before")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    began = time.process_time()
    gate, report, broken = without_data_rules(load_gate("simulation")), {}, []
    for market in given.markets.split(","):
        pool, rng = pool_of(market, given.pool, given.seed), np.random.default_rng(given.seed)
        report[market] = {}
        agents = {name: name for name in pool.outcomes if name not in ("bids x20", "constant")}
        for name, agent in (agents | plants(pool)).items():
            sizes = {"episodes": given.episodes, "repetitions": given.repetitions}
            figures = report[market][name] = trial(pool, agent, gate, rng=rng, **sizes)
            kept = 1 - figures["refused"] if name in GOOD else figures["refused"]
            broken += [f"{market}: {name}: {kept:.3f}"] if kept < WANTED else []
    answer = {**vars(given), "agents": report, "not_kept": broken, "cpu_seconds": time.process_time() - began}
    sys.stdout.write(json.dumps(answer, indent=1) + "\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
