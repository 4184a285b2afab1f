"""Everything `gaelp bench train` measures, in one run on one core, with stable-baselines3 beside it if installed."""

import os
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import torch

from gaelp.bench.frame_speed import FrameSpeed, MatmulShare, OwnTraining, Training, compare_frames, matmul_share
from gaelp.bench.time_to_target import (
    Duel,
    Finish,
    OwnRun,
    RaceSpec,
    RewardAt,
    Runner,
    ValidationJudge,
    half_way,
    run_race,
    sb3_recipe,
    seconds_ratio,
)
from gaelp.config.base import Frozen
from gaelp.market.baselines.tuned import TunedRules, load_tuned
from gaelp.market.build import build_market, load_market_spec
from gaelp.market.market import Market
from gaelp.market.personas import PersonaTable
from gaelp.training.assemble import ground_of, with_chosen_rule
from gaelp.training.recipe import Recipe, load_recipe
from gaelp.training.segment_env import SegmentEnv

__all__ = ["FULL", "QUICK", "BenchSizes", "Race", "SameArena", "TrainSpeed", "measure_training"]

ReportLine = Callable[[str], None]

_PEER = "stable_baselines3"
# Not among the seeds with which recipes and learners were developed.
_SEED, _JUDGING_SEED, _FIRST_DUEL_SEED = 21, 11, 7001


class BenchSizes(Frozen):
    """How much is measured."""

    repetitions: int
    updates: int
    rows: int | None  # None: as many as the recipe says
    matmul_seconds: float
    own_seeds: int
    duels: int
    peer_campaigns: int
    episodes: int
    look_every_seconds: float
    cap_seconds: float  # unless another one is asked for


# Eight campaigns side by side: stable-baselines3 collects 2,048 steps of each by default, so an update learns from
# 16,384 frames or 227 flights. Alone, a campaign would give it 28, and each step would carry the cost of a whole call.
FULL = BenchSizes(
    repetitions=5,
    updates=2,
    rows=None,
    matmul_seconds=1.0,
    own_seeds=3,
    duels=10,
    peer_campaigns=8,
    episodes=256,
    look_every_seconds=1.0,
    cap_seconds=600.0,
)
QUICK = BenchSizes(
    repetitions=1,
    updates=1,
    rows=64,
    matmul_seconds=0.05,
    own_seeds=1,
    duels=1,
    peer_campaigns=1,
    episodes=8,
    look_every_seconds=0.0,
    cap_seconds=10.0,
)


class SameArena(Frozen):
    """The race between the learners alone, in turns; ratios are stable-baselines3's seconds over ours."""

    duels: tuple[Duel, ...]
    ratio: float  # median over the seeds
    cpu_ratio: float
    worst_ratio: float


class Race(Frozen):
    """Time to half of the headroom; `sb3`, on flat vectors, and `same_arena` are None where it is not installed."""

    market: str
    constant_reward: float
    target_reward: float
    cap_seconds: float
    ours: tuple[Finish, ...]
    sb3: Finish | None
    ratio: float | None
    cpu_ratio: float | None
    same_arena: SameArena | None


class TrainSpeed(Frozen):
    """The figures that matter, and everything they come from."""

    same_arena_time_ratio: float | None
    frames_ratio_to_sb3: float | None
    time_to_target_ratio: float | None
    fraction_of_matmul_limit: float
    time_to_target_cpu_ratio: float | None
    ours_reached: bool
    sb3_reached: bool | None
    frames: FrameSpeed
    matmul: MatmulShare
    race: Race
    settings: dict[str, Any]


def measure_training(
    market: str | Path,
    personas: PersonaTable,
    sizes: BenchSizes,
    cap_seconds: float,
    report: ReportLine,
) -> TrainSpeed:
    """Time frames of recipe `ppo` on a market, and how soon recipe `ppo-plain` learns market `signals`."""
    frames_on, race_on = (build_market(load_market_spec(name), personas) for name in (market, "signals"))
    recipes = (load_recipe("ppo"), load_recipe("ppo-plain"))
    load = os.getloadavg()
    with _one_thread():
        frames, matmul = _frames(frames_on, recipes[0], sizes, report)
        race = _race(race_on, recipes[1], sizes, cap_seconds, report)
    return TrainSpeed(
        same_arena_time_ratio=race.same_arena.ratio if race.same_arena else None,
        frames_ratio_to_sb3=frames.ratio,
        time_to_target_ratio=race.ratio,
        fraction_of_matmul_limit=matmul.fraction,
        time_to_target_cpu_ratio=race.cpu_ratio,
        ours_reached=all(run.reached for run in race.ours),
        sb3_reached=race.sb3.reached if race.sb3 else None,
        frames=frames,
        matmul=matmul,
        race=race,
        settings={
            "frames": {"market": frames_on.spec.name, "recipe": recipes[0].model_dump(mode="json")},
            "race": {"market": race_on.spec.name, "recipe": recipes[1].model_dump(mode="json")},
            "sizes": sizes.model_dump(mode="json"),
            "machine": {"load_average": (load, os.getloadavg()), "processors": os.cpu_count(), "threads": 1},
            "versions": {"torch": version("torch"), _PEER: version(_PEER) if _peer_is_there() else None},
        },
    )


def _peer_is_there() -> bool:
    return find_spec(_PEER) is not None


@contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _frames(market: Market, recipe: Recipe, sizes: BenchSizes, report: ReportLine) -> tuple[FrameSpeed, MatmulShare]:
    rows = sizes.rows or recipe.arena.rows
    report(f"Frames on market {market.spec.name}: {rows} rows, {sizes.repetitions} x {sizes.updates} updates each ...")
    ours = OwnTraining(recipe.agent, _env(market, recipe, rows), seed=_SEED)
    peer: Training | None = None
    if _peer_is_there():
        from gaelp.bench.sb3_peer import ppo_like  # noqa: PLC0415 - the package is optional

        peer = ppo_like(recipe.agent, _env(market, recipe, rows), seed=_SEED)
    speed = compare_frames(ours, peer, repetitions=sizes.repetitions, updates=sizes.updates, report=report)
    return speed, matmul_share(ours, seconds=sizes.matmul_seconds)


def _env(market: Market, recipe: Recipe, rows: int) -> SegmentEnv:
    own = build_market(market.spec, market.personas)  # a market runs one batch of flights at a time
    tuned = load_tuned(own)
    chosen = with_chosen_rule(recipe, own, tuned, validation_seed=_JUDGING_SEED)
    rule = ground_of(own, tuned, chosen.rule).rule()
    return SegmentEnv(own, rule, recipe.arena.residual, campaigns=rows // own.spec.segments)


class _Course(NamedTuple):
    """What every runner of the race shares."""

    market: Market
    tuned: TunedRules
    judge: ValidationJudge
    target: float
    report: ReportLine

    def run(self, recipe: Recipe, who: str, seed: int, spec: RaceSpec) -> Finish:
        """Race with the training loop."""
        runner = OwnRun(recipe, self.market, self.tuned, seed=seed)
        try:
            return self.run_with(runner, f"{who}, seed {seed}", spec)
        finally:
            runner.close()

    def run_with(self, runner: Runner, who: str, spec: RaceSpec) -> Finish:
        return run_race(runner, self.judge, self.target, spec, lambda look: self.report(_line(who, look)))


def _race(market: Market, recipe: Recipe, sizes: BenchSizes, cap_seconds: float, report: ReportLine) -> Race:
    tuned = load_tuned(market)
    judge = ValidationJudge(build_market(market.spec, market.personas), episodes=sizes.episodes, seed=_JUDGING_SEED)
    constant, target = half_way(judge, tuned)
    report(f"Race on market {market.spec.name}: constant bid {constant:.4f}, target {target:.4f} ...")
    course = _Course(market, tuned, judge, target, report)
    spec = RaceSpec(cap_seconds=cap_seconds, look_every_seconds=sizes.look_every_seconds)
    seeds = range(_SEED, _SEED + sizes.own_seeds)
    ours = tuple(course.run(recipe, "ours", seed, spec) for seed in seeds)
    sb3, same_arena = None, None
    if _peer_is_there():
        from gaelp.bench.sb3_peer import DefaultRun  # noqa: PLC0415 - the package is optional

        same_arena = _same_arena(course, recipe, sizes.duels, cap_seconds)
        peer = DefaultRun(market, campaigns=sizes.peer_campaigns, seed=_SEED)
        sb3 = course.run_with(peer, "stable-baselines3 on flat vectors", spec)
    return Race(
        market=market.spec.name,
        constant_reward=constant,
        target_reward=target,
        cap_seconds=cap_seconds,
        ours=ours,
        sb3=sb3,
        ratio=seconds_ratio(ours, sb3, cap_seconds) if sb3 else None,
        cpu_ratio=seconds_ratio(ours, sb3, cap_seconds, cpu=True) if sb3 else None,
        same_arena=same_arena,
    )


def _same_arena(course: _Course, recipe: Recipe, duels: int, cap_seconds: float) -> SameArena:
    """Race seed by seed, in turns, with a look after every round: a round is what both learn from."""
    spec = RaceSpec(cap_seconds=cap_seconds, look_every_seconds=0.0)
    contestants = {"ours": recipe, "sb3": sb3_recipe(recipe)}
    results = []
    for number in range(duels):
        seed = _FIRST_DUEL_SEED + number
        order = ("ours", "sb3") if number % 2 == 0 else ("sb3", "ours")
        finishes = {who: course.run(contestants[who], f"same arena, {who}", seed, spec) for who in order}
        results.append(Duel(seed=seed, **finishes))
    return SameArena(
        duels=tuple(results),
        ratio=statistics.median(duel.ratio() for duel in results),
        cpu_ratio=statistics.median(duel.ratio(cpu=True) for duel in results),
        worst_ratio=min(duel.ratio() for duel in results),
    )


def _line(who: str, look: RewardAt) -> str:
    return f"  {who}: {look.reward:.4f} after {look.seconds:.1f} s ({look.cpu_seconds:.1f} s of CPU)"
