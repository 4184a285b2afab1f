"""`gaelp bench pipeline`: what the orchestration costs, beside the same work without it."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from gaelp.cli.options import ConfigOption, JsonOption
from gaelp.cli.output import say, show_json, show_table
from gaelp.cli.startup import prepare
from gaelp.config.environment import process_environment
from gaelp.errors import GaelpError

__all__ = ["pipeline"]

_GAELP = (sys.executable, "-m", "gaelp.cli")


def pipeline(
    config: ConfigOption = "quick-test",
    rounds: Annotated[
        int | None, typer.Option("--rounds", min=1, help="Train this long.", show_default="config")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Seconds that the flow takes in a terminal, beside those of its phases without Prefect.

    Both are whole commands, from start to end, in a fresh home: `gaelp run --approve auto` and `gaelp train`.
    """
    prepare(config)
    words = ["--config", config or "base", *(("--set", f"training.rounds={rounds}") if rounds else ())]
    say("running the phases alone ...")
    phases_s = _seconds("train", *words)
    say(f"  {phases_s:.1f} s; running them as the flow ...")
    wall_s = _seconds("run", *words, "--approve", "auto")
    overhead_s = wall_s - phases_s
    figures = {
        "wall_s": round(wall_s, 2),
        "phases_s": round(phases_s, 2),
        "overhead_s": round(overhead_s, 2),
        "overhead_fraction": round(overhead_s / wall_s, 4),
    }
    if as_json:
        show_json(figures)
    else:
        show_table(("figure", "value"), [(name, f"{value:.4g}") for name, value in figures.items()])


def _seconds(*words: str) -> float:
    with tempfile.TemporaryDirectory() as home:
        environ = {**process_environment(), "GAELP_HOME": str(Path(home) / "home")}
        begun = time.perf_counter()
        done = subprocess.run([*_GAELP, *words], env=environ, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - begun
    if done.returncode != 0:
        raise GaelpError(f"`gaelp {' '.join(words)}` ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return seconds
