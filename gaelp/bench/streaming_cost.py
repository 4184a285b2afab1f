"""What streaming episodes into the store costs `gaelp train`: phase 1 with and without it, alternately."""

import math
import tempfile
import time
from contextlib import closing
from pathlib import Path

from gaelp.clock import SystemClock
from gaelp.config import load_settings
from gaelp.config.settings import EvaluationSettings, Settings
from gaelp.gates import load_gate
from gaelp.phases.data_evidence import without_data_rules
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.simulation import plan_simulation, run_simulation
from gaelp.storage.backends import build_store
from gaelp.types import Phase, RunId

__all__ = ["streaming_cost"]


def streaming_cost(rounds: int = 15, episodes: int = 1000, repeats: int = 2) -> dict[str, float]:
    """Train and judge as `gaelp train --config quick-test` does, with the store and without, and compare the times.

    `wall_share` is what streaming adds to the wall time, of the fastest run of each kind. `cpu_share` is the same for
    CPU seconds of all threads, which other programs on the machine disturb less.
    """
    overrides = (
        f"training.rounds={rounds}",
        f"evaluation.episodes={episodes}",
        "training.tracking=false",
        "logging.level=warning",
    )
    settings = load_settings("quick-test", overrides=overrides).settings
    _measured(settings.model_copy(update={"evaluation": _short(settings)}), store_episodes=True)  # compiles the market
    best = dict.fromkeys((False, True), (math.inf, math.inf))
    rows = 0
    for _ in range(repeats):
        for kind in (False, True):
            wall, cpu, rows = _measured(settings, store_episodes=kind)
            best[kind] = (min(best[kind][0], wall), min(best[kind][1], cpu))
    (wall_off, cpu_off), (wall_on, cpu_on) = best[False], best[True]
    return {
        "rows": rows,
        "wall_seconds_without": wall_off,
        "wall_seconds_with": wall_on,
        "wall_share": wall_on / wall_off - 1,
        "cpu_seconds_without": cpu_off,
        "cpu_seconds_with": cpu_on,
        "cpu_share": cpu_on / cpu_off - 1,
    }


def _short(settings: Settings) -> EvaluationSettings:
    return settings.evaluation.model_copy(update={"episodes": 2})


def _measured(settings: Settings, *, store_episodes: bool) -> tuple[float, float, int]:
    """Wall seconds, CPU seconds and stored rows of one run in a home of its own."""
    with tempfile.TemporaryDirectory() as home:
        own = settings.model_copy(update={"home": Path(home)})
        folder = RunFolder(own.home, RunId("bench")).phase(Phase.SIMULATION)
        gate = without_data_rules(load_gate(Phase.SIMULATION, own.gate))  # storing is measured, not checking
        plan = plan_simulation(own, gate=gate)
        wall, cpu = time.perf_counter(), time.process_time()
        run_simulation(plan, folder, clock=SystemClock(), on_report=lambda _: None, store_episodes=store_episodes)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        with closing(build_store(own)) as store:
            return wall, cpu, sum(part.rows for part in store.describe())
