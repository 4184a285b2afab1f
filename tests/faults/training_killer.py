"""Trains on a tiny market, kills (-9) the process again and again, and prints hashes of the learned parameters as JSON.

    python training_killer.py points FOLDER            every algorithm, one run each, killed once at each of POINTS
    python training_killer.py random FOLDER ALGORITHM  one algorithm, killed at 20 random moments
    python training_killer.py finish FOLDER KIND       resume each run in FOLDER/NAME/ALGORITHM, started as KIND

Importing and compiling take longer than training does, so one process does both once and forks the trainings that it
kills. A fresh interpreter, which shares no memory with them, then finishes every run.
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
from gaelp.training import checkpoint
from gaelp.training.assemble import RunPlace, assemble
from gaelp.training.checkpoint_folder import CheckpointFolder, latest_good
from gaelp.training.manifest import parameter_hash
from gaelp.training.market_arena import Ground
from gaelp.training.recipe import Recipe
from gaelp.training.reports import Saved
from gaelp.training.state_tree import tensors_in

SHORT = {"network": {"hidden": [8]}, "normalise_obs": True}
REPLAY = SHORT | {"learning_starts": 100, "replay_capacity": 2000, "batch_size": 16, "n_step": 3}
SETTINGS = {
    "ppo": SHORT | {"steps_per_update": 24, "scale_rewards": True},
    "a2c": SHORT | {"steps_per_update": 8},
    "dqn": REPLAY | {"gradient_steps": 2, "target_every": 5, "priorities": {}},
    "qr_dqn": REPLAY | {"gradient_steps": 2, "target_every": 5},
    "sac": REPLAY | {"priorities": {}},
    "td3": REPLAY | {"scale_rewards": True},
}
RANDOM_KILLS = 20
ROUNDS = {"points": 6, "random": 12}
VALIDATE_EVERY = {"points": 2, "random": 4}


def die(*_arguments):
    os.kill(os.getpid(), signal.SIGKILL)


def die_in_call(number, owner, name):
    """Make call `number` of owner.name, counted from 1, kill this process."""
    original, calls_before = getattr(owner, name), iter(range(1, number))

    def counted(*arguments):
        return die() if next(calls_before, None) is None else original(*arguments)

    setattr(owner, name, counted)


def before_the_first_checkpoint(_loop):
    checkpoint.save_file = lambda *_arguments, **_options: die()


def in_a_round(loop):
    """In step 14 of the second round of this process; a round has 24."""
    die_in_call(24 + 14, loop, "_explore")


def in_validation(loop):
    """In hour 10 of 24 of the validation episodes."""
    die_in_call(10, loop, "_act")


def in_writing(_loop):
    """In the middle of the draft of the second checkpoint of this process."""
    write, writes_before = checkpoint.save_file, iter(range(1))

    def cut_off(arrays, draft, **options):
        write(arrays, draft, **options)
        if next(writes_before, None) is None:
            os.truncate(draft, draft.stat().st_size // 2)
            die()

    checkpoint.save_file = cut_off


def before_the_rename(_loop):
    """When the draft is whole and sealed."""
    seal = checkpoint._seal
    checkpoint._seal = lambda draft: (seal(draft), die())


def after_the_rename(_loop):
    """When the checkpoint is in its place, but neither reported nor the older ones deleted."""
    CheckpointFolder._delete_old = die


POINTS = (
    before_the_first_checkpoint,
    in_a_round,
    in_validation,
    in_writing,
    before_the_rename,
    after_the_rename,
    in_a_round,
)


def market():
    small = {"days": 1, "segments": 2, "volume": {"per_hour": 40}}
    spec = MarketSpec.model_validate(load_market_spec("calm").model_dump(exclude={"volume"}) | small)
    return build_market(spec, load_persona_table("personas"))


def training(algorithm, folder, kind):
    actions = "discrete" if algorithm in ("dqn", "qr_dqn") else "continuous"
    recipe = Recipe.model_validate(
        {
            "algorithm": algorithm,
            "settings": SETTINGS[algorithm],
            "arena": {"rows": 16, "validation_episodes": 8, "residual": {"actions": actions}},
            "loop": {"rounds": ROUNDS[kind], "validate_every": VALIDATE_EVERY[kind]},
        }
    )
    rule = next(kind for kind in CATALOG if kind.key == "mpc")
    ground = Ground(market(), lambda: rule.build({}))
    place = RunPlace(folder, fingerprint(recipe), ManualClock(datetime(2026, 1, 1, tzinfo=UTC)))
    return assemble(recipe, ground, seed=5, validation_seed=6, place=place)


def train(algorithm, folder, kind, begin=lambda _loop: None):
    """Train to the end, after calling `begin` with the loop; returns the hash of each round's checkpoint by round."""
    torch.set_num_threads(1)
    loop = training(algorithm, folder, kind).loop
    begin(loop)
    return dict(newest(folder) for report in loop.run() if isinstance(report, Saved))


def newest(folder):
    """The round of the newest good checkpoint, and all its learner has learned and its loop remembers but the time."""
    latest = latest_good(folder).checkpoint
    if latest is None:
        return -1, ""
    progress = latest.state["progress"] | {"seconds": 0.0}
    remembered = json.dumps([progress, latest.state["monitor"]], sort_keys=True)
    return progress["round"], parameter_hash(tensors_in(latest.state["learner"])) + remembered


def forked(algorithm, folder, kind, begin):
    """Train in a child process; returns its id and a pipe from which a byte can be read when `begin` has returned."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        train(algorithm, folder, kind, begin=lambda loop: (begin(loop), os.write(writer, b"!")))
        os._exit(0)
    os.close(writer)
    return child, reader


def was_killed(child):
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status) and os.WEXITSTATUS(status):
        raise RuntimeError(f"training failed with {os.WEXITSTATUS(status)}")
    return os.WIFSIGNALED(status)


def kill_at_points(folder):
    """By algorithm: what a whole run saved in each round, and what was the newest checkpoint after each kill."""
    answer = {}
    for algorithm in SETTINGS:
        whole = train(algorithm, folder / "whole" / algorithm, "points")
        run, left = folder / "killed" / "points" / algorithm, []
        for point in POINTS:
            child, reader = forked(algorithm, run, "points", point)
            killed = was_killed(child)
            os.close(reader)
            left.append((point.__name__, killed, *newest(run)))
        answer[algorithm] = {"whole": whole, "left": left}
    return answer


def killed_after(seconds, algorithm, folder):
    """Train in a child and kill it so long after its loop began; returns whether rounds were left to be done."""
    child, reader = forked(algorithm, folder, "random", lambda _loop: None)
    if os.read(reader, 1) != b"!":
        raise RuntimeError(f"training of {algorithm} did not begin")
    os.close(reader)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)  # it is not waited for yet, so its number is its own, dead or alive
    return was_killed(child) and newest(folder)[0] < ROUNDS["random"]


def kill_at_random(folder, algorithm):
    """What a whole run saved in each round, how many kills hit each run, and the checkpoint that each kill left.

    A run that ends before it could be killed once more is kept, and another one begun.
    """
    whole = train(algorithm, folder / "whole", "random")
    began = []
    train(algorithm, folder / "timed", "random", begin=lambda _loop: began.append(time.perf_counter()))
    seconds = time.perf_counter() - began[0]
    rng = random.Random(algorithm)  # noqa: S311 - when to kill is no secret
    hits, left = [0], []
    while sum(hits) < RANDOM_KILLS:
        run = folder / "killed" / f"{len(hits):02}" / algorithm
        if killed_after(rng.uniform(0, seconds / 2), algorithm, run):
            hits[-1] += 1
            left.append(newest(run))
        elif newest(run)[0] == ROUNDS["random"]:
            hits.append(0)  # it was faster than the kill
    return {"whole": whole, "hits": hits, "left": left}


def finish(folder, kind):
    """What is saved in the end by each run of folder/NAME/ALGORITHM, as [NAME, ALGORITHM, round, hash]."""
    answer = []
    for run in sorted(folder.glob("*/*")):
        train(run.name, run, kind)
        answer.append((run.parent.name, run.name, *newest(run)))
    return answer


def finish_elsewhere(folder, kind):
    command = [sys.executable, __file__, "finish", str(folder), kind]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout)


def main(mode, folder, *arguments):
    if mode == "finish":
        return finish(folder, *arguments)
    answer = kill_at_points(folder) if mode == "points" else kill_at_random(folder, *arguments)
    return {"killed": answer, "finished": finish_elsewhere(folder / "killed", mode)}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])))
