"""How long learning takes to cover half of the way from a constant bid to the optimum, with no heuristic inside.

Three are timed on one core. Ours is a recipe with the rule `none`, run by the training loop with its guardrails and
checkpoints. PPO of stable-baselines3 runs twice: in the same arena and loop with the same settings, which compares the
learners; and with every setting at its default on the market as Gymnasium offers it, one flat vector a campaign, which
shows what the formulation gains. All see the same market and are judged by the project's reward on the same validation
episodes; judging takes place between updates and is not timed.
"""

import math
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, Protocol

from gaelp.agents.ppo import PpoConfig
from gaelp.clock import SystemClock
from gaelp.config.base import Frozen
from gaelp.config.fingerprint import fingerprint
from gaelp.market.baselines.bids import Bidder
from gaelp.market.baselines.episodes import play, validation_seeds
from gaelp.market.baselines.tuned import TunedRules
from gaelp.market.market import Market
from gaelp.training.assemble import RunPlace, assemble, ground_of
from gaelp.training.recipe import Recipe
from gaelp.training.reports import RoundDone, TrainingReport, TrainingStopped

__all__ = [
    "Duel",
    "Finish",
    "OwnRun",
    "RaceSpec",
    "RewardAt",
    "Runner",
    "ValidationJudge",
    "half_way",
    "run_race",
    "sb3_recipe",
    "seconds_ratio",
]

HEADROOM_SHARE = 0.5
_TORCH_ACTIVATIONS = {"relu": "ReLU", "silu": "SiLU", "tanh": "Tanh"}


class RaceSpec(Frozen):
    """When to look, and when to give up."""

    cap_seconds: float
    look_every_seconds: float = 2.0


class RewardAt(NamedTuple):
    """The reward after so much training."""

    seconds: float
    cpu_seconds: float
    reward: float


class Finish(Frozen):
    """How a race ended; the seconds are those of training up to the last look, wall-clock and CPU."""

    reached: bool
    seconds: float
    cpu_seconds: float
    best_reward: float
    curve: tuple[RewardAt, ...]


class Duel(Frozen):
    """Our learner and stable-baselines3's in the same arena with the same settings and the same seed."""

    seed: int
    ours: Finish
    sb3: Finish

    def ratio(self, *, cpu: bool = False) -> float:
        """Their seconds over ours; infinite or 0 where only one of them reached the target, 1 where neither did."""
        if self.ours.reached and self.sb3.reached:
            return _counted(self.sb3, cpu=cpu) / _counted(self.ours, cpu=cpu)
        if self.ours.reached == self.sb3.reached:
            return 1.0
        return math.inf if self.ours.reached else 0.0


class Runner(Protocol):
    """Something that trains and can be judged."""

    def update(self) -> bool:
        """Train a little further; False once training is over."""
        ...

    def policy(self) -> Bidder:
        """What it has learned so far, without exploring."""
        ...


class ValidationJudge:
    """Mean reward on the validation episodes, on a market of its own so that training is not disturbed."""

    def __init__(self, market: Market, *, episodes: int, seed: int) -> None:
        self._market, self._seeds = market, validation_seeds(seed, episodes)

    def __call__(self, policy: Bidder) -> float:
        """The reward of a policy."""
        return float(play(self._market, policy, self._seeds).reward.mean())


def half_way(judge: ValidationJudge, tuned: TunedRules) -> tuple[float, float]:
    """The constant bid's reward, and the reward that covers half of the way from there to the optimum, which is 1."""
    constant = judge(tuned.constant())
    return constant, constant + HEADROOM_SHARE * (1.0 - constant)


def run_race(
    runner: Runner,
    judge: ValidationJudge,
    target: float,
    spec: RaceSpec,
    report: Callable[[RewardAt], None] = lambda _: None,
) -> Finish:
    """Train until the target is reached, the cap is passed or training is over."""
    wall = cpu = looked = 0.0
    curve: list[RewardAt] = []
    going = True
    while going:
        wall_begin, cpu_begin = time.perf_counter(), time.process_time()
        going = runner.update()
        wall += time.perf_counter() - wall_begin
        cpu += time.process_time() - cpu_begin
        going = going and wall < spec.cap_seconds
        if going and wall - looked < spec.look_every_seconds:
            continue
        looked = wall
        curve.append(RewardAt(wall, cpu, judge(runner.policy())))
        report(curve[-1])
        if curve[-1].reward >= target:
            break
    best = max(look.reward for look in curve)
    return Finish(reached=best >= target, seconds=wall, cpu_seconds=cpu, best_reward=best, curve=tuple(curve))


def seconds_ratio(ours: tuple[Finish, ...], peer: Finish, cap_seconds: float, *, cpu: bool = False) -> float | None:
    """The peer's seconds over ours, the median of our runs; None unless most of ours reached the target.

    A peer that did not reach it counts with the cap, so that the ratio is then a lower bound.
    """
    own = statistics.median(_counted(run, cpu=cpu) if run.reached else float("inf") for run in ours)
    if own == float("inf"):
        return None
    return (_counted(peer, cpu=cpu) if peer.reached else min(cap_seconds, _counted(peer, cpu=cpu))) / own


def _counted(finish: Finish, *, cpu: bool) -> float:
    return finish.cpu_seconds if cpu else finish.seconds


def sb3_recipe(recipe: Recipe) -> Recipe:
    """A recipe of PPO for stable-baselines3's PPO: the same arena, loop, network, schedule and settings.

    It has no normalisation of observations; GAELP's own has if the recipe says so.
    """
    config: PpoConfig = recipe.agent
    hidden = list(config.network.hidden)
    arguments = {
        "n_steps": config.steps_per_update,
        "batch_size": -(-config.steps_per_update * recipe.arena.rows // config.minibatches),
        "n_epochs": config.epochs,
        "gamma": config.gamma,
        "gae_lambda": config.gae_lambda,
        "clip_range": config.clip_range.value(0.0),
        "ent_coef": config.entropy_weight.value(0.0),
        "vf_coef": config.value_weight,
        "max_grad_norm": config.max_gradient_norm,
        "normalize_advantage": config.normalise_advantages,
        "policy_kwargs": {
            "net_arch": {"pi": hidden, "vf": hidden},
            "activation_fn": _TORCH_ACTIVATIONS[config.network.activation],
            "log_std_init": config.log_std_start,
        },
    }
    settings = {"learning_rate": config.learning_rate.model_dump(), "arguments": arguments}
    return recipe.model_copy(update={"algorithm": "sb3:PPO", "settings": settings})


class OwnRun:
    """A recipe in the training loop, one round at a time; its checkpoints go to a folder that `close` removes."""

    def __init__(self, recipe: Recipe, market: Market, tuned: TunedRules, *, seed: int) -> None:
        # The loop's own looks at validation episodes are put off to its end: the race looks instead.
        loop = recipe.loop.model_copy(update={"validate_every": recipe.loop.rounds})
        self._temporary = TemporaryDirectory(prefix="gaelp-bench-")
        self.folder = Path(self._temporary.name)
        place = RunPlace(self.folder, fingerprint(recipe), SystemClock())
        ground = ground_of(market, tuned, recipe.rule)
        timed = recipe.model_copy(update={"loop": loop})
        training = assemble(timed, ground, seed=seed, validation_seed=seed, place=place)
        self._arena, self._loop = training.arena, training.loop
        self._reports: Iterator[TrainingReport] = self._loop.run()
        next(self._reports)  # the unchanged rule is played and the first checkpoint written: nothing is learned yet

    def update(self) -> bool:
        """Run one round and write the checkpoints that are due."""
        for report in self._reports:
            if isinstance(report, RoundDone):
                return report.round < report.rounds
            if isinstance(report, TrainingStopped):
                break
        return False

    def policy(self) -> Bidder:
        """The learner's likeliest actions."""
        return self._arena.policy("ours", lambda obs: self._loop.learner.act(obs, explore=False))

    def close(self) -> None:
        """Remove the checkpoints."""
        self._temporary.cleanup()
