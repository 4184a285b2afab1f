"""How often gate 3 is right: simulated pilots of several bidders with a known true return, as a table and as JSON.

    .venv/bin/gaelp train --config quick-test --run 20261118-153000-aaaaaa
    .venv/bin/python bench/pilot_trials.py --run 20261118-153000-aaaaaa --worlds 10 --pilots 10 --campaigns 24

The worlds are like that of the run's history (`history.synthesize.world`), for which its agent was trained. The figures
of docs/gates.md are of the default world: add `--set market.name=shop --set history.synthesize.world=default` to both.

Each world takes about 40 s of processor time (history, fit, forecast), a pilot of the agent 5 s, one of another bidder
half a second. Without --seeds, worlds are drawn afresh; their seeds are printed.
"""

import argparse
import json
import secrets
import sys
import tempfile
import time
from pathlib import Path

import torch

from gaelp.bench.pilot_trials import CASES, PilotSize, TrialResult, TrialWorld, draw_world, run_case, summary
from gaelp.config import Settings, load_settings
from gaelp.gates import Gate, load_gate
from gaelp.phases.agent_bundle import Agent, load_bundle, write_bundle
from gaelp.phases.phase_result import read_result
from gaelp.phases.run_folder import RunFolder
from gaelp.pilot.local_account import synthesized
from gaelp.pilot.power import find_size, pilot_power
from gaelp.sandbox.spec import load_sandbox_spec
from gaelp.types import Phase, RunId

_FRESH_FROM = 10_000  # lower seeds are for development


def main() -> None:
    """Print one line for each world and the summary; with --json also write every pilot to a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", required=True, help="the run of `gaelp train` whose agent is piloted")
    parser.add_argument("--config", default="quick-test", help="the configuration of that run")
    parser.add_argument("--set", action="append", default=[], help="overrides of it, such as run.seed=3")
    parser.add_argument("--home", help="where the run is; without it, that of the configuration")
    parser.add_argument("--worlds", type=int, default=5)
    parser.add_argument("--seeds", help="seeds of the worlds, with commas, instead of fresh ones")
    parser.add_argument("--pilots", type=int, default=10, help="of each bidder with a chosen return, on each world")
    parser.add_argument("--agent-pilots", type=int, default=10, help="of the agent, on each world")
    parser.add_argument("--other-pilots", type=int, default=5, help="of each other bidder, on each world")
    parser.add_argument("--campaigns", type=int, default=24)
    parser.add_argument("--days", type=int, default=14)
    parser.add_argument("--cpu-minutes", type=float, default=25.0, help="no world is begun after this")
    parser.add_argument("--find-size", action="store_true", help="print the size that the first world's plan needs")
    parser.add_argument("--json", type=Path, help="file for all pilots and the summary")
    options = parser.parse_args()
    torch.set_num_threads(1)
    settings = _settings(options)
    agent, gate = _agent(settings, options.run), load_gate("pilot")
    world_spec = load_sandbox_spec(synthesized(settings).world)
    size = PilotSize(campaigns=options.campaigns, days=options.days)
    started, results = time.process_time(), []
    for place, seed in enumerate(_seeds(options)):
        if time.process_time() - started > 60 * options.cpu_minutes:
            sys.stdout.write(f"stopped before world {seed}: {options.cpu_minutes:g} CPU minutes are used\n")
            break
        world = draw_world(world_spec, seed, agent, size)
        if place == 0:
            _show_power(world, gate, options)
        rows = _pilots(world, gate, options)
        results += rows
        used = time.process_time() - started
        _show_world(world, rows, used)
        if options.json:
            figures = {"size": size.model_dump(), "cpu_seconds": used, "cases": summary(results)}
            pilots = [result.model_dump() for result in results]
            options.json.write_text(json.dumps(figures | {"pilots": pilots}, indent=1), encoding="utf-8")
    for case, row in summary(results).items():
        sys.stdout.write(f"{case:42s} {json.dumps(row)}\n")


def _pilots(world: TrialWorld, gate: Gate, options: argparse.Namespace) -> list[TrialResult]:
    rows = []
    for case in CASES:
        count = options.pilots if case in world.factors else options.other_pilots
        count = options.agent_pilots if case == "agent" else count
        rows += [run_case(world, case, key, gate) for key in range(count)]
    return rows


def _seeds(options: argparse.Namespace) -> list[int]:
    if options.seeds:
        return [int(seed) for seed in options.seeds.split(",")]
    return [_FRESH_FROM + secrets.randbelow(2**31) for _ in range(options.worlds)]


def _settings(options: argparse.Namespace) -> Settings:
    overrides = [] if options.home is None else [f"home={options.home}"]
    return load_settings(options.config, overrides=[*overrides, *options.set]).settings


def _agent(settings: Settings, run: str) -> Agent:
    result = read_result(RunFolder(settings.home, RunId(run)).phase(Phase.SIMULATION).path / "result.json")
    with tempfile.TemporaryDirectory() as folder:
        write_bundle(settings, result, Path(folder))
        return load_bundle(Path(folder), settings)


def _show_power(world: TrialWorld, gate: Gate, options: argparse.Namespace) -> None:
    ground = world.ground(gate)
    power = pilot_power(world.expected, ground, seed=world.seed)
    sys.stdout.write(f"power of this size: {power.model_dump_json()}\n")
    sys.stdout.write(f"chance: {world.account.chance.model_dump_json()}; late: {world.late.model_dump_json()}\n")
    if options.find_size:
        needed = find_size(world.expected, ground, seed=world.seed, campaigns_most=options.campaigns)
        sys.stdout.write(f"size it needs: {needed.model_dump_json() if needed else 'none'}\n")


def _show_world(world: TrialWorld, rows: list[TrialResult], cpu_seconds: float) -> None:
    passed = {case: sum(not row.failed for row in rows if row.case == case) for case in CASES}
    expected = world.expected
    sys.stdout.write(
        f"world {world.seed}: passed {json.dumps(passed)}; expected ROI {expected.roi.value:+.2f}"
        f" ({expected.roi.lower_95:+.2f} to {expected.roi.upper_95:+.2f}), wish {expected.wished_micros / 1e6:,.0f};"
        f" factors {json.dumps(world.factors)}; {cpu_seconds:.0f} CPU s so far\n"
    )
    sys.stdout.flush()


if __name__ == "__main__":
    main()
