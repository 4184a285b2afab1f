"""`gaelp bench train`: how fast this machine trains, with stable-baselines3 in the same run where it is installed."""

from typing import Annotated

import typer

from gaelp.bench.training_speed import FULL, QUICK, TrainSpeed, measure_training
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

    stable-baselines3 is measured in the same run if it is installed (the extra `bench`): first with the same network,
    minibatches and epochs on the same environment; then, with its default settings, in a race to half of the way from a
    constant bid to the optimum on market `signals`, where ours starts without a heuristic inside too. A peer that is
    not there by the cap counts with the cap. Expect a quarter of an hour.

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
        (
            f"seconds to reward {race.target_reward:.3f} on {race.market}",
            ", ".join(f"{seed.seconds:.1f}" if seed.reached else "not reached" for seed in race.ours),
            "-" if race.sb3 is None else f"{race.sb3.seconds:.0f}" + ("" if race.sb3.reached else ", not reached"),
            ("" if result.sb3_reached else "at least ") + _ratio(race.ratio) if race.ratio else "-",
        ),
        ("share of the matmul limit in updates", f"{matmul.fraction:.0%}", "-", "-"),
    ]
    show_table(("PPO, one core", "ours", "stable-baselines3", "ratio"), rows)


def _figure(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _ratio(value: float | None) -> str:
    return _figure(value, ".2f")
