"""Trains on a tiny market, killing (-9) the process at random moments, and prints the hash of the final parameters.

Run as `python training_killer.py ALGORITHM FOLDER KILLS`. It imports and compiles everything once and forks, so that
twenty kills take seconds; the last stretch runs in a fresh interpreter: `python training_killer.py ALGORITHM FOLDER`.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import torch

from gaelp.clock import ManualClock
from gaelp.config.fingerprint import fingerprint
from gaelp.config.market import MarketSpec
from gaelp.market.baselines.catalog import CATALOG
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.training.assemble import RunPlace, assemble
from gaelp.training.checkpoint_folder import latest_good
from gaelp.training.manifest import parameter_hash
from gaelp.training.market_arena import Ground
from gaelp.training.recipe import Recipe

SHORT = {"network": {"hidden": [8]}, "normalise_obs": True}
REPLAY = SHORT | {"learning_starts": 100, "replay_capacity": 2000, "batch_size": 16, "n_step": 3}
SETTINGS = {
    "ppo": SHORT | {"steps_per_update": 24, "scale_rewards": True},
    "a2c": SHORT | {"steps_per_update": 8},
    "dqn": REPLAY | {"gradient_steps": 2, "priorities": {}},
    "qr_dqn": REPLAY | {"gradient_steps": 2},
    "sac": REPLAY | {"priorities": {}},
    "td3": REPLAY | {"scale_rewards": True},
}


def market():
    small = {"days": 1, "segments": 2, "volume": {"per_hour": 40}}
    spec = MarketSpec.model_validate(load_market_spec("calm").model_dump(exclude={"volume"}) | small)
    return build_market(spec, load_persona_table("personas"))


def training(algorithm, folder):
    actions = "discrete" if algorithm in ("dqn", "qr_dqn") else "continuous"
    recipe = Recipe.model_validate(
        {
            "algorithm": algorithm,
            "settings": SETTINGS[algorithm],
            "arena": {"rows": 16, "validation_episodes": 8, "residual": {"actions": actions}},
            "loop": {"rounds": 12, "validate_every": 4},
        }
    )
    rule = next(kind for kind in CATALOG if kind.key == "mpc")
    ground = Ground(market(), lambda: rule.build({}))
    place = RunPlace(folder, fingerprint(recipe), ManualClock(datetime(2026, 1, 1, tzinfo=UTC)))
    return assemble(recipe, ground, seed=5, validation_seed=6, place=place)


def finish(algorithm, folder):
    torch.set_num_threads(1)
    loop = training(algorithm, folder).loop
    for _ in loop.run():
        pass
    return parameter_hash(loop.final_parameters())


def killed(algorithm, folder, after_seconds):
    """Train in a child that is killed; returns whether it was still at work."""
    child = os.fork()
    if child == 0:
        finish(algorithm, folder)
        os._exit(0)
    time.sleep(after_seconds)
    at_work = os.waitpid(child, os.WNOHANG) == (0, 0)
    if at_work:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return at_work


def main(algorithm, folder, kills):
    whole = finish(algorithm, folder / "whole")
    began = time.perf_counter()
    finish(algorithm, folder / "timed")  # without what only the first run compiles
    seconds = time.perf_counter() - began
    rng = random.Random(algorithm)  # noqa: S311 - when to kill is no secret
    place, done, rounds = folder / "killed", 0, []
    while done < kills:
        done += killed(algorithm, place, rng.uniform(0, seconds))
        latest = latest_good(place).checkpoint
        rounds.append(latest.state["progress"]["round"] if latest else -1)
        if latest and rounds[-1] == 12:  # finished before it could be killed often enough: begin again
            place = folder / f"killed-{done}"
    answer = subprocess.run(
        [sys.executable, __file__, algorithm, str(place)], capture_output=True, text=True, check=True, timeout=300
    )
    sys.stdout.write(json.dumps({"kills": done, "rounds": rounds, "whole": whole, "resumed": answer.stdout.strip()}))


if __name__ == "__main__":
    if len(sys.argv) > 3:
        main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
    else:
        sys.stdout.write(finish(sys.argv[1], Path(sys.argv[2])))
