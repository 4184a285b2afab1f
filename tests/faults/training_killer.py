"""Trains on a tiny market, killing (-9) the process at random moments, and prints hashes of the final parameters.

Run as `python training_killer.py ALGORITHM FOLDER KILLS`. It imports and compiles everything once and forks, so that
twenty kills take seconds. A run that ends before it could be killed once more is kept, and another one begun. Then a
fresh interpreter, `python training_killer.py ALGORITHM FOLDER`, finishes the last run and reads the result of each.
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
from gaelp.market.baselines.catalog import CATALOG
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.market.spec import MarketSpec
from gaelp.training.assemble import RunPlace, assemble
from gaelp.training.checkpoint_folder import latest_good
from gaelp.training.manifest import parameter_hash
from gaelp.training.market_arena import Ground
from gaelp.training.recipe import Recipe

ROUNDS = 12
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
            "loop": {"rounds": ROUNDS, "validate_every": 4},
        }
    )
    rule = next(kind for kind in CATALOG if kind.key == "mpc")
    ground = Ground(market(), lambda: rule.build({}))
    place = RunPlace(folder, fingerprint(recipe), ManualClock(datetime(2026, 1, 1, tzinfo=UTC)))
    return assemble(recipe, ground, seed=5, validation_seed=6, place=place)


def finish(algorithm, folder, begun=lambda: None):
    """Train to the end; `begun` is called when everything is built and the loop begins."""
    torch.set_num_threads(1)
    loop = training(algorithm, folder).loop
    begun()
    for _ in loop.run():
        pass
    return parameter_hash(loop.final_parameters())


def rounds_done(folder):
    """By the newest good checkpoint; -1 without one."""
    latest = latest_good(folder).checkpoint
    return latest.state["progress"]["round"] if latest else -1


def killed(algorithm, folder, after_seconds):
    """Train in a child and kill it so long after its loop began; returns whether rounds were left to be done."""
    hears, tells = os.pipe()
    child = os.fork()
    if child == 0:
        finish(algorithm, folder, begun=lambda: os.write(tells, b"!"))
        os._exit(0)
    os.close(tells)
    if os.read(hears, 1) != b"!":
        raise RuntimeError(f"training of {algorithm} did not begin")
    os.close(hears)
    time.sleep(after_seconds)
    os.kill(child, signal.SIGKILL)  # it is not waited for yet, so its number is its own, dead or alive
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status) and os.WEXITSTATUS(status):
        raise RuntimeError(f"training of {algorithm} failed with {os.WEXITSTATUS(status)}")
    return os.WIFSIGNALED(status) and rounds_done(folder) < ROUNDS


def main(algorithm, folder, kills):
    whole = finish(algorithm, folder / "whole")
    began = []
    finish(algorithm, folder / "timed", begun=lambda: began.append(time.perf_counter()))  # compiles nothing any more
    seconds = time.perf_counter() - began[0]
    rng = random.Random(algorithm)  # noqa: S311 - when to kill is no secret
    runs, hits, rounds = folder / "runs", [0], []
    while sum(hits) < kills:
        place = runs / f"{len(hits):02}"
        if killed(algorithm, place, rng.uniform(0, seconds / 2)):
            hits[-1] += 1
            rounds.append(rounds_done(place))
        elif rounds_done(place) == ROUNDS:
            hits.append(0)  # it was faster than the kill
    fresh = subprocess.run(
        [sys.executable, __file__, algorithm, str(runs)], capture_output=True, text=True, check=True, timeout=300
    )
    answer = {"whole": whole, "hits": hits, "rounds": rounds, "resumed": json.loads(fresh.stdout)}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    if len(sys.argv) > 3:
        main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
    else:
        sys.stdout.write(json.dumps([finish(sys.argv[1], run) for run in sorted(Path(sys.argv[2]).iterdir())]))
