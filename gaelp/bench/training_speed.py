"""Everything `gaelp bench train` measures, in one run on one core, with stable-baselines3 beside it if installed."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from gaelp.bench.frame_speed import FrameSpeed, MatmulShare, OwnTraining, Training, compare_frames, matmul_share
from gaelp.bench.time_to_target import (
    Finish,
    OwnRun,
    RaceSpec,
    RewardAt,
    ValidationJudge,
    half_way,
    run_race,
    seconds_ratio,
)
from gaelp.config.base import Frozen
from gaelp.market.baselines.tuned import TunedRules, load_tuned
from gaelp.market.build import build_market, load_market_spec
from gaelp.market.market import Market
from gaelp.market.personas import PersonaTable
from gaelp.training.assemble import ground_of
from gaelp.training.recipe import Recipe, load_recipe
from gaelp.training.segment_env import SegmentEnv

__all__ = ["FULL", "QUICK", "BenchSizes", "Race", "TrainSpeed", "measure_training"]

ReportLine = Callable[[str], None]

_PEER = "stable_baselines3"
_SEED, _JUDGING_SEED = 21, 11  # not among the seeds with which the recipes were chosen


class BenchSizes(Frozen):
    """How much is measured."""

    repetitions: int
    updates: int
    rows: int | None  # None: as many as the recipe says
    matmul_seconds: float
    own_seeds: int
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
    peer_campaigns=1,
    episodes=8,
    look_every_seconds=0.0,
    cap_seconds=10.0,
)


class Race(Frozen):
    """Time to half of the headroom; `sb3` is None where it is not installed."""

    market: str
    constant_reward: float
    target_reward: float
    cap_seconds: float
    ours: tuple[Finish, ...]
    sb3: Finish | None
    ratio: float | None
    cpu_ratio: float | None


class TrainSpeed(Frozen):
    """The figures that matter, and everything they come from."""

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
    rule = ground_of(own, load_tuned(own), recipe.rule).rule()
    return SegmentEnv(own, rule, recipe.arena.residual, campaigns=rows // own.spec.segments)


def _race(market: Market, recipe: Recipe, sizes: BenchSizes, cap_seconds: float, report: ReportLine) -> Race:
    tuned = load_tuned(market)
    judge = ValidationJudge(build_market(market.spec, market.personas), episodes=sizes.episodes, seed=_JUDGING_SEED)
    constant, target = half_way(judge, tuned)
    report(f"Race on market {market.spec.name}: constant bid {constant:.4f}, target {target:.4f} ...")
    spec = RaceSpec(cap_seconds=cap_seconds, look_every_seconds=sizes.look_every_seconds)
    seeds = range(_SEED, _SEED + sizes.own_seeds)
    ours = tuple(_own_finish(recipe, market, tuned, seed, judge, target, spec, report) for seed in seeds)
    sb3 = None
    if _peer_is_there():
        from gaelp.bench.sb3_peer import DefaultRun  # noqa: PLC0415 - the package is optional

        peer = DefaultRun(market, campaigns=sizes.peer_campaigns, seed=_SEED)
        sb3 = run_race(peer, judge, target, spec, lambda look: report(_line("stable-baselines3", look)))
    return Race(
        market=market.spec.name,
        constant_reward=constant,
        target_reward=target,
        cap_seconds=cap_seconds,
        ours=ours,
        sb3=sb3,
        ratio=seconds_ratio(ours, sb3, cap_seconds) if sb3 else None,
        cpu_ratio=seconds_ratio(ours, sb3, cap_seconds, cpu=True) if sb3 else None,
    )


def _own_finish(
    recipe: Recipe,
    market: Market,
    tuned: TunedRules,
    seed: int,
    judge: ValidationJudge,
    target: float,
    spec: RaceSpec,
    report: ReportLine,
) -> Finish:
    run = OwnRun(recipe, market, tuned, seed=seed)
    try:
        return run_race(run, judge, target, spec, lambda look: report(_line(f"ours, seed {seed}", look)))
    finally:
        run.close()


def _line(who: str, look: RewardAt) -> str:
    return f"  {who}: {look.reward:.4f} after {look.seconds:.1f} s ({look.cpu_seconds:.1f} s of CPU)"
