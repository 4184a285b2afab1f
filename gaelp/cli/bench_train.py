"""`gaelp bench train`: how fast this machine trains, with stable-baselines3 in the same run where it is installed."""

from statistics import median
from typing import Annotated

import typer

from gaelp.bench.training_speed import FULL, QUICK, Race, TrainSpeed, measure_training
from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_table
from gaelp.cli.startup import prepare
from gaelp.market.build import configured_personas

__all__ = ["train"]


def train(
    config: ConfigOption = None,
    overrides: SetOption = None,
    cap_seconds: Annotated[
        float | None,
        typer.Option(
            "--cap-seconds",
            min=0.1,
            help="Of training, after which a race is given up.",
            show_default="600; 10 with --quick",
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="See that it works: a few frames, no true figures.")] = False,
    as_json: JsonOption = False,
) -> None:
    """PPO on one core: frames per CPU-second, the share of the matmul limit, and the time to learn a market.

    stable-baselines3 is measured in the same run if it is installed (the extra `bench`): frames with the same network,
    minibatches and epochs on the same environment; then a race to half of the way from a constant bid to the optimum on
    market `signals`, without a heuristic inside. It runs there twice: in our arena with the same settings, in turns on
    ten seeds (`same_arena_time_ratio`, which compares the learners); and with its default settings on one flat vector a
    campaign (`time_to_target_ratio`, which shows what the formulation gains). A peer that is not there by the cap
    counts with the cap. Expect a quarter of an hour.

    - `gaelp bench train --json`

    - `gaelp bench train --cap-seconds 120`
    """
    settings = prepare(config, overrides).settings
    sizes = QUICK if quick else FULL
    personas = configured_personas(settings)
    result = measure_training(settings.market.name, personas, sizes, cap_seconds or sizes.cap_seconds, say)
    if as_json:
        show_json(result.model_dump(mode="json"))
    else:
        _show_training(result)


def _show_training(result: TrainSpeed) -> None:
    frames, matmul, race = result.frames, result.matmul, result.race
    rows = [
        (
            "frames per CPU-second",
            f"{frames.ours_per_s:,.0f}",
            _figure(frames.peer_per_s, ",.0f"),
            _ratio(frames.ratio),
        ),
        _same_arena_row(race),
        (
            f"seconds to reward {race.target_reward:.3f} on {race.market}",
            ", ".join(f"{seed.seconds:.1f}" if seed.reached else "not reached" for seed in race.ours),
            "-" if race.sb3 is None else f"{race.sb3.seconds:.0f}" + ("" if race.sb3.reached else ", not reached"),
            ("" if result.sb3_reached else "at least ") + _ratio(race.ratio) if race.ratio else "-",
        ),
        ("share of the matmul limit in updates", f"{matmul.fraction:.0%}", "-", "-"),
    ]
    show_table(("PPO, one core", "ours", "stable-baselines3", "ratio"), rows)


def _same_arena_row(race: Race) -> tuple[str, str, str, str]:
    title = f"median seconds to reward {race.target_reward:.3f}, same arena and settings"
    if race.same_arena is None:
        return title, "-", "-", "-"
    duels = race.same_arena.duels
    ours, sb3 = (median(getattr(duel, who).seconds for duel in duels) for who in ("ours", "sb3"))
    return title, f"{ours:.1f}", f"{sb3:.1f}", f"{race.same_arena.ratio:.2f} (worst {race.same_arena.worst_ratio:.2f})"


def _figure(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _ratio(value: float | None) -> str:
    return _figure(value, ".2f")
