"""What the monitor of a release does: false rollbacks, power and design faults on simulated releases; prints JSON.

    .venv/bin/python bench/release_trials.py --releases 1000 --seed 1900 --json > trials.json

Every kind of reward is judged with the limit that each release derives from its own pilot, and with the one that the
gate configures. Without --json a line is printed for each rule. Exits 1 if an identical agent is called worse in more
than 5% of the releases, in any world, with the derived limit; stderr says where.
"""

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from gaelp.bench.release_calendar import CalendarCase, TrialCalendar, calendar_trial
from gaelp.bench.release_designs import adapting_control, carry_over, parallel_campaigns, wrong_value_model
from gaelp.bench.release_trials import TrialSize, keeps, release_trials
from gaelp.bench.release_worlds import WORLDS
from gaelp.gates.criteria import load_gate
from gaelp.gates.lift_test import LiftPlan, lift_plan

_ROLLED_BACK_MAX = 0.05
_WORSE = "worse: upper bound < 0"
_PLATFORM_LIMIT = 20.0  # what the derived limit is near on the platform's campaign-days


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the arguments, measure, print; 1 if identical agents are rolled back too often."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--releases", type=int, default=1000)
    parser.add_argument("--campaigns", type=int, default=100)
    parser.add_argument("--days", type=int, default=60, help="campaigns x days / 2 pairs in each release")
    parser.add_argument("--seed", type=int, default=1900)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    began = time.process_time()
    gate = load_gate("scale")
    plan = lift_plan(gate, next(rule for rule in gate.criteria if rule.sequential))
    size = TrialSize(given.releases, given.campaigns, given.days, given.seed)
    quarter = TrialSize(given.releases // 4, given.campaigns, given.days, given.seed)
    derived = release_trials(plan, size, WORLDS)
    report: dict[str, Any] = {
        "derived_limit": derived,
        "limit_of_the_gate": release_trials(plan, quarter, WORLDS, limit_factor=None),
        "designs": _designs(plan, given.releases // 4, given.campaigns, given.seed),
        "calendar": _calendar(plan, given.releases, given.seed),
    }
    broken = keeps(derived, _WORSE, _ROLLED_BACK_MAX)
    report |= {"seed": given.seed, "releases": given.releases, "not_kept": broken}
    report["cpu_seconds"] = time.process_time() - began
    sys.stdout.write(json.dumps(report, indent=1) + "\n" if given.json else _table(report))
    for line in broken:
        sys.stderr.write(f"NOT KEPT: {line}\n")
    return 1 if broken else 0


def _designs(plan: LiftPlan, releases: int, campaigns: int, seed: int) -> dict[str, Any]:
    """Faults and other designs, with fewer releases: their effects are large."""
    plan, size = plan.model_copy(update={"clip_at": _PLATFORM_LIMIT}), TrialSize(releases, campaigns, 40, seed)
    return {
        "value model 20% too high": wrong_value_model(plan, size, error=0.2),
        "takes 1/6 of the next day, gains 20%": carry_over(plan, size, lift=0.2, left=-1 / 6),
        "gains 10% on the next day alone": carry_over(plan, size, lift=0.0, left=0.1),
        **{
            f"control not yet scaled, {days} shadow days": adapting_control(plan, size, shadow_days=days)
            for days in (0, 4, 14)
        },
        **{
            f"parallel campaigns, {lift:+.0%}, {each}": parallel_campaigns(
                plan, TrialSize(releases, each, 40, seed), lift=lift
            )
            for lift in (0.0, 0.3)
            for each in (20, 100)
        },
    }


def _calendar(plan: LiftPlan, releases: int, seed: int) -> dict[str, Any]:
    plan = plan.model_copy(update={"clip_at": _PLATFORM_LIMIT})
    cases = {
        "no lift": CalendarCase(),
        "-30%": CalendarCase(lift=-0.3),
        "+50%": CalendarCase(lift=0.5),
        "no lift, sales of the treatment take twice as long": CalendarCase(treatment_delay=2.0),
    }
    return {name: calendar_trial(TrialCalendar(releases, seed=seed), plan, case) for name, case in cases.items()}


def _table(report: Mapping[str, Any]) -> str:
    lines = []
    for part in ("derived_limit", "limit_of_the_gate"):
        for world, effects in report[part].items():
            lines += [f"{part}: {world}"]
            for effect, rules in effects.items():
                lines += [f"  {effect:5s} {rule:32s} {_shown(of)}" for rule, of in rules.items()]
    for part in ("designs", "calendar"):
        lines += [f"{part}: {name}: {json.dumps(figures)}" for name, figures in report[part].items()]
    return "\n".join([*lines, f"{report['cpu_seconds']:.0f} s of processor time"]) + "\n"


def _shown(figures: Mapping[str, Any] | float) -> str:
    if isinstance(figures, float):
        return f"{figures:.3f}"
    return f"{figures['share']:6.1%}  half after {figures['median_pairs']}, 80% after {figures['pairs_80']} pairs"


if __name__ == "__main__":
    sys.exit(main())
